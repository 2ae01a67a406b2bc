//! Networks, disks, passwords and blobs that aren't as they should be.

use std::fs;
use std::path::{Path, PathBuf};

use crate::archives::Layout;
use crate::proxy::{Fault, Proxy, Way};
use crate::registries::{Embedded, Registry as _, free_address};
use crate::tree::{Author, Published, noise};

/// A file in a bundle that takes many reads to arrive.
const LARGE: usize = 400 << 10;

/// A bundle with a large file in it, built under its name in `dist`.
pub(crate) fn large_bundle(author: &Author) -> String {
    let name = author.bundle("3.0.0");
    Layout::of_bundle()
        .file("manifests/large.bin", &noise(LARGE))
        .write(&author.path("dist"), &name);
    name
}

#[test]
fn a_registry_that_is_not_there_is_named() {
    let author = Author::new(free_address());
    author.template(&[("Stable", &["1.0.0"])]);
    insta::assert_snapshot!(
        "unreachable_when_publishing",
        author.fails(&author.publishing("1.0.0", "latest"))
    );
    author.has_built("1.0.0");
    insta::assert_snapshot!(
        "unreachable_when_pushing",
        author.fails(&["bundle", "push", &author.bundle("1.0.0")])
    );
    insta::assert_snapshot!(
        "unreachable_when_rendering",
        author.fails(&["catalog", "template", "catalog/operator_catalog.yaml"])
    );
    assert!(!author.path("catalog/configs").exists(), "nothing was rendered");
}

#[test]
fn a_download_that_breaks_off_goes_on_where_it_was() {
    let registry = Embedded::start();
    let proxy = Proxy::before(registry.address());
    let author = Author::new(proxy.address());
    let bundle = large_bundle(&author);
    author.succeeds(&["bundle", "push", &bundle]);
    author.empty_the_cache();
    let is_whole = |folder: &str| {
        let file = author.path(folder).join("manifests/large.bin");
        assert!(
            fs::read(file).expect("a file") == noise(LARGE),
            "the file is whole"
        );
    };

    proxy.suffer(Fault::Cut {
        way: Way::FromRegistry,
        after: 150 << 10,
        connections: 2,
    });
    author.succeeds(&["bundle", "unpack", &bundle, "--output", "first"]);
    assert!(proxy.connections() > 2, "it was cut twice");
    is_whole("first");

    // Next to nothing of the blob gets through any more after the first part: that is told, and the part is kept.
    author.empty_the_cache();
    let before = Published::at(&registry);
    proxy.suffer(Fault::Exhaust { bytes: 200 << 10 });
    insta::assert_snapshot!(
        "download_breaks_off",
        without_chance(&author.fails(&["bundle", "unpack", &bundle, "--output", "second"]))
    );
    assert!(!author.path("second").exists(), "nothing is half unpacked");
    before.assert_still_there(&registry);

    proxy.suffer(Fault::None);
    author.succeeds(&["bundle", "unpack", &bundle, "--output", "second"]);
    is_whole("second");
    assert!(
        proxy.received() < (LARGE as u64) * 3 / 4,
        "only the rest was fetched: {} bytes",
        proxy.received()
    );
}

#[test]
fn an_upload_that_breaks_off_is_tried_again() {
    let registry = Embedded::start();
    let proxy = Proxy::before(registry.address());
    let author = Author::new(proxy.address());
    author.has_published(&["1.0.0"]);
    author.template(&[("Stable", &["1.0.0", "1.1.0"])]);
    let before = Published::at(&registry);

    proxy.suffer(Fault::Cut {
        way: Way::ToRegistry,
        after: 64 << 10,
        connections: u64::MAX,
    });
    let bundle = large_bundle(&author);
    insta::assert_snapshot!(
        "upload_breaks_off",
        without_chance(&author.fails(&["bundle", "push", &bundle]))
    );
    before.assert_still_there(&registry);

    proxy.suffer(Fault::Cut {
        way: Way::ToRegistry,
        after: 64 << 10,
        connections: 3,
    });
    author.succeeds(&["bundle", "push", &bundle]);
    assert!(proxy.connections() > 3, "it was cut three times");
    proxy.suffer(Fault::None);
    author.succeeds(&author.publishing("1.1.0", "latest"));
    author.succeeds(&["catalog", "validate", &author.catalog("latest")]);
    author.empty_the_cache();
    author.succeeds(&["bundle", "unpack", &bundle, "--output", "unpacked"]);
}

#[test]
fn a_full_disk_of_the_author_damages_nothing() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.has_published(&["1.0.0"]);
    let bundle = large_bundle(&author);
    author.succeeds(&["bundle", "push", &bundle]);
    let before = Published::at(&registry);
    author.template(&[("Stable", &["1.0.0", "1.1.0"])]);
    let configs = author.read("catalog/configs/catalog.yaml");

    // The images of a version, of which the operator's is larger than what the disk takes.
    author.empty_the_cache();
    let publishing = author.publishing("1.1.0", "latest");
    let told = author.fails_as(&publishing, author.command_on_a_full_disk(100, &publishing));
    insta::assert_snapshot!("full_disk_when_publishing", without_chance(&told));
    before.assert_still_there(&registry);
    assert_eq!(author.read("catalog/configs/catalog.yaml"), configs);

    let unpack = ["bundle", "unpack", &bundle, "--output", "unpacked"];
    let told = author.fails_as(&unpack, author.command_on_a_full_disk(100, &unpack));
    insta::assert_snapshot!("full_disk_when_fetching", without_chance(&told));
    assert!(!author.path("unpacked").exists());

    // The blobs are in the cache by now, and the disk is full when the files are written.
    author.succeeds(&["bundle", "unpack", &bundle, "--output", "elsewhere"]);
    let told = author.fails_as(&unpack, author.command_on_a_full_disk(100, &unpack));
    insta::assert_snapshot!("full_disk_when_unpacking", without_chance(&told));
    let left = author.files_below("unpacked");
    assert!(left.is_empty(), "no half of a file is left: {left:?}");

    author.succeeds(&unpack);
    author.succeeds(&publishing);
    author.succeeds(&["catalog", "validate", &author.catalog("latest")]);
}

#[test]
fn a_full_disk_of_the_registry_damages_nothing() {
    let mut registry = Embedded::start();
    let author = Author::new(registry.address());
    author.has_published(&["1.0.0"]);
    author.template(&[("Stable", &["1.0.0", "1.1.0"])]);
    // Everything of the next version that is large must be new to the registry.
    let mut program = fs::read(author.beside("program")).expect("a program");
    program[64..].reverse();
    fs::write(author.beside("program"), program).expect("written");

    registry.kill();
    registry.start_again(Some(100));
    let before = Published::at(&registry);
    let publishing = author.publishing("1.1.0", "latest");
    insta::assert_snapshot!("full_registry", author.fails(&publishing));
    before.assert_still_there(&registry);
    author.empty_the_cache();
    author.succeeds(&["catalog", "validate", &author.catalog("latest")]);

    registry.kill();
    registry.start_again(None);
    before.assert_still_there(&registry);
    author.succeeds(&publishing);
    author.succeeds(&["catalog", "validate", &author.catalog("latest")]);
}

#[test]
fn wrong_credentials_are_told_and_right_ones_found() {
    let registry = Embedded::start_with_user("ada", "secret");
    let author = Author::new(registry.address());
    author.template(&[("Stable", &["1.0.0"])]);
    let publishing = author.publishing("1.0.0", "latest");
    insta::assert_snapshot!("no_credentials", author.fails(&publishing));

    let login = |password: &str| {
        let encoded = match password {
            "secret" => "YWRhOnNlY3JldA==",
            _ => "YWRhOndyb25n",
        };
        format!(
            "{{\"auths\":{{\"{}\":{{\"auth\":\"{encoded}\"}}}}}}",
            registry.address()
        )
    };
    author.write("../wrong.json", login("wrong"));
    author.write("../right.json", login("secret"));
    author.write("../broken.json", "{\"auths\":");
    let with = |file: &str| {
        let mut arguments = publishing.clone();
        arguments.extend(["--authfile".to_owned(), format!("../{file}.json")]);
        arguments
    };
    insta::assert_snapshot!("wrong_credentials", author.fails(&with("wrong")));
    insta::assert_snapshot!("broken_credentials", author.fails(&with("broken")));
    assert_eq!(registry.files().len(), 0, "nothing was published");

    author.succeeds(&with("right"));
    let list = ["catalog", "list", "packages", &author.catalog("latest")];
    let mut command = author.command(&list);
    command.env("REGISTRY_AUTH_FILE", author.beside("right.json"));
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{}", author.describe(&list, &output));
    insta::assert_snapshot!("no_credentials_for_reading", author.fails(&list));
}

#[test]
fn a_tampered_blob_is_not_used() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.has_published(&["1.0.0"]);
    let bundle = large_bundle(&author);
    author.succeeds(&["bundle", "push", &bundle]);
    let unpack = ["bundle", "unpack", &bundle, "--output", "unpacked"];

    // In the author's own cache: it is noticed, and the next run fetches the true one.
    tamper(&author.beside("cache"));
    insta::assert_snapshot!("tampered_cache", author.fails(&unpack));
    author.succeeds(&unpack);
    assert!(fs::read(author.path("unpacked/manifests/large.bin")).expect("a file") == noise(LARGE));
    fs::remove_dir_all(author.path("unpacked")).expect("removed");

    // At the registry: nobody has the true one any more.
    author.empty_the_cache();
    tamper(&registry.storage().join("blobs"));
    insta::assert_snapshot!("tampered", author.fails(&unpack));
    insta::assert_snapshot!("tampered_again", author.fails(&unpack));
    assert!(!author.path("unpacked").exists(), "nothing of it is used");
    author.succeeds(&["catalog", "validate", &author.catalog("latest")]);
}

/// Changes one byte in the middle of the largest file below a folder, and not its time.
fn tamper(folder: &Path) {
    fn largest(folder: &Path) -> Option<(u64, PathBuf)> {
        let entries = fs::read_dir(folder).ok()?.flatten();
        let sizes = entries.filter_map(|entry| {
            if entry.path().is_dir() {
                largest(&entry.path())
            } else {
                Some((entry.metadata().ok()?.len(), entry.path()))
            }
        });
        sizes.max()
    }
    let (size, path) = largest(folder).expect("a file");
    assert!(
        size > 100 << 10,
        "{} is a blob with a large file in it",
        path.display()
    );
    let modified = fs::metadata(&path)
        .and_then(|metadata| metadata.modified())
        .expect("a time");
    let mut content = fs::read(&path).expect("a blob");
    let middle = content.len() / 2;
    content[middle] ^= 1;
    let mut permissions = fs::metadata(&path).expect("a file").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    fs::set_permissions(&path, permissions).expect("writable");
    fs::write(&path, content).expect("written");
    let file = fs::File::options().write(true).open(&path).expect("a file");
    file.set_modified(modified).expect("the old time");
}

/// Replaces what depends on when the network broke, and on how much was written at a time.
fn without_chance(text: &str) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for word in &mut words {
        if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) {
            "[COUNT]".clone_into(word);
        }
    }
    let mut text = words.join(" ");
    for cause in [
        "connection closed before message completed",
        "Connection reset by peer (os error 104)",
        "Broken pipe (os error 32)",
        "end of file before message length reached",
    ] {
        text = text.replace(cause, "[CAUSE]");
    }
    text
}
