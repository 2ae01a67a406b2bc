use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use oci_spec::image::MediaType;
use proptest::prelude::*;
use tar::{EntryType, Header};

use super::*;
use crate::build::{self, ImageSettings};
use crate::content::ContentError;
use crate::digest::Digest;
use crate::layer::{Compression, Layer, LayerFiles};

/// Writes tars that no careful tool would write.
#[derive(Default)]
struct RawTar(Vec<u8>);

impl RawTar {
    fn entry(mut self, kind: EntryType, name: &str, link: &str, content: &[u8]) -> Self {
        if name.len() > 100 {
            self = self.entry(EntryType::GNULongName, "././@LongLink", "", name.as_bytes());
        }
        if link.len() > 100 {
            self = self.entry(EntryType::GNULongLink, "././@LongLink", "", link.as_bytes());
        }
        let mut header = Header::new_gnu();
        let old = header.as_old_mut();
        for (field, text) in [(&mut old.name, name), (&mut old.linkname, link)] {
            let text = &text.as_bytes()[..text.len().min(100)];
            field[..text.len()].copy_from_slice(text);
        }
        header.set_entry_type(kind);
        header.set_mode(0o4640);
        header.set_size(content.len() as u64);
        self.block(header, content)
    }

    fn block(mut self, mut header: Header, content: &[u8]) -> Self {
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, name: &str, content: &str) -> Self {
        self.entry(EntryType::Regular, name, "", content.as_bytes())
    }

    fn directory(self, name: &str) -> Self {
        self.entry(EntryType::Directory, name, "", b"")
    }

    fn symlink(self, name: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, name, target, b"")
    }

    fn hard_link(self, name: &str, target: &str) -> Self {
        self.entry(EntryType::Link, name, target, b"")
    }

    fn records(self, records: &[(&str, &str)]) -> Self {
        let mut text = String::new();
        for (key, value) in records {
            let rest = format!(" {key}={value}\n");
            let mut length = rest.len() + 1;
            while length != rest.len() + length.to_string().len() {
                length += 1;
            }
            text.push_str(&length.to_string());
            text.push_str(&rest);
        }
        self.entry(EntryType::XHeader, "PaxHeaders/x", "", text.as_bytes())
    }

    fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

fn image_of(store: &ContentStore, layers: &[Vec<u8>]) -> Descriptor {
    let layers: Vec<_> = layers.iter().map(|tar| packed(store, tar, tar)).collect();
    build::image(store, &ImageSettings::default(), "amd64", &layers)
        .unwrap()
        .descriptor
}

/// A layer whose blob is `blob` and says that it unpacks to `tar`.
fn packed(store: &ContentStore, tar: &[u8], blob: &[u8]) -> Layer {
    let digest = store.insert(blob).unwrap();
    Layer {
        diff_id: Digest::of(tar),
        digest,
        size: blob.len() as u64,
        compression: Compression::None,
        pin: store.pin(&digest).unwrap(),
    }
}

fn unpack(layers: &[Vec<u8>], prefixes: &[&str]) -> Result<BTreeMap<String, String>, UnpackError> {
    let store = ContentStore::temporary().unwrap();
    let image = image_of(&store, layers);
    let files = files(&store, &image, prefixes, &Limits::IN_MEMORY)?.files;
    let on_disk = tempfile::tempdir().unwrap();
    let target = on_disk.path().join("target");
    to_directory(&store, &image, &target, prefixes, &Limits::ON_DISK).unwrap();
    for (path, content) in &files {
        assert_eq!(&fs::read(target.join(path)).unwrap(), content, "{path}");
    }
    Ok(files
        .into_iter()
        .map(|(path, content)| (path, String::from_utf8(content).unwrap()))
        .collect())
}

fn names(layers: &[RawTar]) -> String {
    let layers: Vec<_> = layers.iter().map(|tar| RawTar(tar.0.clone()).end()).collect();
    let files = unpack(&layers, &[]).unwrap();
    files
        .iter()
        .map(|(path, content)| format!("{path}={content}"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn problem(tar: RawTar) -> String {
    let store = ContentStore::temporary().unwrap();
    let tar = tar.end();
    let layer = Digest::of(&tar).to_string();
    let image = image_of(&store, &[tar]);
    let in_memory = files(&store, &image, &[], &Limits::IN_MEMORY).unwrap_err();
    let parent = tempfile::tempdir().unwrap();
    let target = parent.path().join("target");
    let on_disk = to_directory(&store, &image, &target, &[], &Limits::ON_DISK).unwrap_err();
    assert_eq!(in_memory.to_string(), on_disk.to_string());
    assert_eq!(
        fs::read_dir(parent.path()).unwrap().count(),
        0,
        "something was left"
    );
    on_disk.to_string().replace(&layer, "<layer>")
}

#[test]
fn later_layers_cover_and_remove_what_earlier_ones_have() {
    let lower = || {
        RawTar::default()
            .directory("d/")
            .file("d/kept", "1")
            .file("d/removed", "1")
            .file("d/changed", "1")
            .file("gone/deep/file", "1")
            .file("opaque/old", "1")
            .file("file-then-directory", "1")
    };
    let upper = RawTar::default()
        .file("d/changed", "2")
        .file("d/.wh.removed", "")
        .file(".wh.gone", "")
        .file("opaque/new", "2")
        .file("opaque/.wh..wh..opq", "")
        .file(".wh..wh.plnk", "")
        .file(".wh.file-then-directory", "")
        .file("file-then-directory/below", "2");
    assert_eq!(
        names(&[lower(), upper]),
        "d/changed=2 d/kept=1 file-then-directory/below=2 opaque/new=2"
    );
    // A removed file can come back, in the same layer or a later one.
    let again = RawTar::default().file("d/.wh.kept", "").file("d/kept", "3");
    assert_eq!(names(&[lower(), again]).split(' ').nth(1), Some("d/kept=3"));
}

#[test]
fn links_to_files_count_as_files() {
    let tar = RawTar::default()
        .file("configs/a.yaml", "a")
        .symlink("configs/link.yaml", "a.yaml")
        .symlink("configs/absolute.yaml", "/configs/a.yaml")
        .hard_link("configs/hard.yaml", "configs/a.yaml")
        .symlink("configs/dangling.yaml", "../missing")
        .symlink("configs/directory", "..")
        .end();
    let store = ContentStore::temporary().unwrap();
    let image = image_of(&store, &[tar]);
    let found = files(&store, &image, &["/configs"], &Limits::IN_MEMORY).unwrap();
    assert_eq!(
        found.files.keys().collect::<Vec<_>>(),
        [
            "configs/a.yaml",
            "configs/absolute.yaml",
            "configs/hard.yaml",
            "configs/link.yaml"
        ]
    );
    assert!(found.files.values().all(|content| content == b"a"));
    assert_eq!(
        found.unresolved_links,
        ["configs/dangling.yaml", "configs/directory"]
    );
}

#[test]
fn only_what_is_wanted_is_unpacked() {
    let tar = RawTar::default()
        .file("configs/a", "1")
        .file("configs/deep/b", "2")
        .file("configs.old/c", "3")
        .file("bin/program", "4")
        .end();
    let found = unpack(std::slice::from_ref(&tar), &["configs/"]).unwrap();
    assert_eq!(
        found.into_keys().collect::<Vec<_>>(),
        ["configs/a", "configs/deep/b"]
    );
    let found = unpack(std::slice::from_ref(&tar), &["configs/deep", "bin"]).unwrap();
    assert_eq!(
        found.into_keys().collect::<Vec<_>>(),
        ["bin/program", "configs/deep/b"]
    );
    assert_eq!(unpack(std::slice::from_ref(&tar), &["/"]).unwrap().len(), 4);
    let removed = RawTar::default().file(".wh..wh..opq", "").end();
    assert_eq!(unpack(&[tar, removed], &["configs/deep"]).unwrap().len(), 0);
}

#[test]
fn names_are_understood_in_every_form_that_tars_have() {
    let long = format!("long/{}", "n".repeat(150));
    let tar = RawTar::default()
        .file("/absolute", "1")
        .file("./dotted/./x", "2")
        .file("inner/../climbed", "3")
        .file(&long, "4")
        .records(&[
            ("path", "records/über"),
            ("mtime", "1.5"),
            ("SCHILY.xattr.user.a", "b"),
        ])
        .file("short", "5")
        .records(&[("linkpath", "records/über")])
        .hard_link("linked", "nothing")
        .entry(
            EntryType::XGlobalHeader,
            "pax_global_header",
            "",
            b"18 comment=ignored\n",
        )
        .entry(EntryType::Char, "dev/null", "", b"")
        .entry(EntryType::Fifo, "pipe", "", b"")
        .entry(EntryType::Regular, "old-directory/", "", b"")
        .file("short", "6")
        .file("short", "7");
    assert_eq!(
        names(&[tar]),
        format!("absolute=1 climbed=3 dotted/x=2 linked=5 {long}=4 records/über=5 short=7")
    );
}

#[test]
fn what_is_dangerous_or_broken_is_refused_with_its_place_and_the_next_step() {
    let big = "n".repeat(300);
    let deep = "d/".repeat(129);
    let texts: Vec<String> = [
        RawTar::default().file("../outside", "x"),
        RawTar::default().file("a/../../outside", "x"),
        RawTar::default().hard_link("copy", "../../etc/passwd"),
        RawTar::default().file("file", "").file("file/below", ""),
        RawTar::default()
            .symlink("a", "b")
            .symlink("b", "a")
            .file("a/x", ""),
        RawTar::default().entry(EntryType::GNUSparse, "holes", "", b""),
        RawTar::default()
            .records(&[("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0")])
            .file("holes", ""),
        RawTar::default().records(&[("size", "7")]).file("two-sizes", "x"),
        RawTar::default()
            .entry(EntryType::XHeader, "x", "", b"99 path=short\n")
            .file("a", ""),
        RawTar::default().entry(EntryType::Directory, "directory", "", b"content"),
        RawTar::default().symlink("link", ""),
        RawTar::default().file("d/.wh.", ""),
        RawTar::default().file("d/.wh...", ""),
        RawTar::default().file(&big, ""),
        RawTar::default().file(&deep, ""),
        RawTar::default().records(&[("path", "zero\0byte")]).file("x", ""),
    ]
    .map(problem)
    .into();
    insta::assert_snapshot!(texts.join("\n").replace(&big, "<name>").replace(&deep, "<path>"));
}

#[test]
fn a_name_that_is_not_text_is_refused() {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..2].copy_from_slice(&[0xff, b'x']);
    header.set_size(0);
    header.set_mode(0o644);
    assert!(problem(RawTar::default().block(header, b"")).contains("not UTF-8"));
}

#[test]
fn every_packing_is_recognised_by_how_it_starts() {
    let tar = RawTar::default().file("a", "1").end();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar[..600]).unwrap();
    let mut gzip_in_two_parts = gzip.finish().unwrap();
    let mut rest = flate2::write::GzEncoder::new(&mut gzip_in_two_parts, flate2::Compression::fast());
    rest.write_all(&tar[600..]).unwrap();
    rest.finish().unwrap();
    let mut skippable = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    skippable.extend(zstd::encode_all(&tar[..], 3).unwrap());
    for blob in [
        tar.clone(),
        gzip_in_two_parts,
        zstd::encode_all(&tar[..], 3).unwrap(),
        skippable,
    ] {
        let store = ContentStore::temporary().unwrap();
        let layer = packed(&store, &tar, &blob);
        let image = build::image(&store, &ImageSettings::default(), "amd64", &[layer]).unwrap();
        let found = files(&store, &image.descriptor, &[], &Limits::IN_MEMORY).unwrap();
        assert_eq!(found.files["a"], b"1");
    }
}

#[test]
fn a_layer_that_unpacks_to_other_bytes_than_promised_is_refused() {
    let store = ContentStore::temporary().unwrap();
    let tar = RawTar::default().file("a", "1").end();
    let layer = packed(&store, b"something else", &tar);
    let image = build::image(&store, &ImageSettings::default(), "amd64", &[layer]).unwrap();
    assert!(matches!(
        files(&store, &image.descriptor, &[], &Limits::IN_MEMORY),
        Err(UnpackError::WrongDiffId { .. })
    ));
}

#[test]
fn a_layer_that_ends_early_is_an_error_wherever_it_ends() {
    let mut files_in_layer = LayerFiles::new();
    files_in_layer.add_bytes("a", "1".repeat(2000), 0o644).unwrap();
    let store = ContentStore::temporary().unwrap();
    for compression in [Compression::Gzip, Compression::Zstd] {
        let whole = files_in_layer.write(&store, compression).unwrap();
        let blob = store.read(&whole.digest, 1 << 20).unwrap();
        for end in (0..blob.len()).step_by(3) {
            let mut layer = packed(&store, b"", &blob[..end]);
            layer.diff_id = whole.diff_id;
            let image = build::image(&store, &ImageSettings::default(), "amd64", &[layer]).unwrap();
            let found = files(&store, &image.descriptor, &[], &Limits::IN_MEMORY);
            assert!(found.is_err(), "{compression:?} {end}");
        }
    }
}

#[test]
fn a_damaged_layer_is_set_aside_wherever_the_damage_is() {
    let mut layer_files = LayerFiles::new();
    layer_files.add_bytes("a", "content".repeat(40), 0o644).unwrap();
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let directory = tempfile::tempdir().unwrap();
        let store = ContentStore::open(directory.path(), 1 << 20).unwrap();
        let layer = layer_files.write(&store, compression).unwrap();
        let digest = layer.digest;
        let good = store.read(&digest, 1 << 20).unwrap();
        let image = build::image(&store, &ImageSettings::default(), "amd64", &[layer]).unwrap();
        for place in (0..good.len()).step_by(good.len() / 20 + 1) {
            let mut damaged = good.clone();
            damaged[place] ^= 0x55;
            fs::write(directory.path().join("blobs/sha256").join(digest.hex()), damaged).unwrap();
            let error = files(&store, &image.descriptor, &[], &Limits::IN_MEMORY).unwrap_err();
            assert!(
                matches!(error, UnpackError::Content(ContentError::Damaged { .. })),
                "{compression:?} at {place}: {error}"
            );
            assert!(!store.contains(&digest));
            store.insert(&good).unwrap();
        }
        files(&store, &image.descriptor, &[], &Limits::IN_MEMORY).unwrap();
    }
}

#[test]
fn every_limit_stops_what_goes_beyond_it() {
    let store = ContentStore::temporary().unwrap();
    let tar = RawTar::default()
        .file("a", "12345")
        .file("b", "12345")
        .hard_link("c", "a")
        .end();
    let image = image_of(&store, &[tar]);
    let fitting = Limits {
        total_bytes: 15,
        file_bytes: 5,
        layer_bytes: 4096,
        entries: 3,
        compression_ratio: 1,
    };
    files(&store, &image, &[], &fitting).unwrap();
    let texts = [
        Limits {
            total_bytes: 9,
            ..fitting
        },
        Limits {
            total_bytes: 14,
            ..fitting
        },
        Limits {
            file_bytes: 4,
            ..fitting
        },
        Limits {
            layer_bytes: 2048,
            ..fitting
        },
        Limits {
            entries: 2,
            ..fitting
        },
    ]
    .map(|limits| files(&store, &image, &[], &limits).unwrap_err().to_string());
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_decompression_bomb_is_stopped() {
    let store = ContentStore::temporary().unwrap();
    let zeros = vec![0; (RATIO_FREE_BYTES + (8 << 20)) as usize];
    let mut header = Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(zeros.len() as u64);
    header.set_mode(0o644);
    let tar = RawTar::default().block(header, &zeros).end();
    let blob = zstd::encode_all(&tar[..], 3).unwrap();
    let layer = packed(&store, &tar, &blob);
    let image = build::image(&store, &ImageSettings::default(), "amd64", &[layer]).unwrap();
    for prefixes in [&[][..], &["elsewhere"]] {
        let error = files(&store, &image.descriptor, prefixes, &Limits::IN_MEMORY).unwrap_err();
        assert!(
            matches!(
                error,
                UnpackError::LayerTooBig {
                    what: "times its own size, unpacked",
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn modes_are_taken_over_but_the_owner_can_always_read_and_write() {
    let mut layer_files = LayerFiles::new();
    layer_files.add_bytes("d/secret", "1", 0o4040).unwrap();
    layer_files.add_bytes("d/program", "1", 0o755).unwrap();
    layer_files.add_directory("d", 0o1050).unwrap();
    let store = ContentStore::temporary().unwrap();
    let layer = layer_files.write(&store, Compression::Gzip).unwrap();
    let image = build::image(&store, &ImageSettings::default(), "amd64", &[layer]).unwrap();
    let parent = tempfile::tempdir().unwrap();
    let target = parent.path().join("new/target");
    to_directory(&store, &image.descriptor, &target, &[], &Limits::ON_DISK).unwrap();
    let modes = ["d", "d/secret", "d/program"].map(|path| {
        let metadata = fs::metadata(target.join(path)).unwrap();
        metadata.permissions().mode() & 0o7777
    });
    assert_eq!(modes, [0o750, 0o640, 0o755]);
}

#[test]
fn hard_links_are_one_file_on_disk() {
    let tar = RawTar::default().file("a", "1").hard_link("b", "a").end();
    let store = ContentStore::temporary().unwrap();
    let image = image_of(&store, &[tar]);
    let parent = tempfile::tempdir().unwrap();
    let target = parent.path().join("target");
    to_directory(&store, &image, &target, &[], &Limits::ON_DISK).unwrap();
    let [first, second] = ["a", "b"].map(|path| fs::metadata(target.join(path)).unwrap().ino());
    assert_eq!(first, second);
}

#[test]
fn a_target_with_something_in_it_is_left_alone() {
    let store = ContentStore::temporary().unwrap();
    let image = image_of(&store, &[RawTar::default().file("a", "1").end()]);
    let target = tempfile::tempdir().unwrap();
    to_directory(&store, &image, target.path(), &[], &Limits::ON_DISK).unwrap();
    fs::write(target.path().join("mine"), "1").unwrap();
    assert!(matches!(
        to_directory(&store, &image, target.path(), &[], &Limits::ON_DISK),
        Err(UnpackError::Occupied { .. })
    ));
    assert!(target.path().join("mine").exists());
}

#[test]
fn labels_come_from_the_image_for_this_machine() {
    let store = ContentStore::temporary().unwrap();
    let settings = ImageSettings {
        labels: [("key".to_owned(), "value".to_owned())].into(),
        ..ImageSettings::default()
    };
    let index =
        build::for_architectures(&store, &settings, &[manifest::host_architecture(), "plan9"], &[]).unwrap();
    assert_eq!(labels(&store, &index.descriptor).unwrap(), settings.labels);
    let other = build::for_architectures(&store, &settings, &["plan9"], &[]).unwrap();
    assert!(labels(&store, &other.descriptor).is_err());
}

#[test]
fn the_configuration_of_other_tools_is_understood() {
    let store = ContentStore::temporary().unwrap();
    let try_config = |config: &str| {
        let digest = store.insert(config.as_bytes()).unwrap();
        let built = build::image(&store, &ImageSettings::default(), "amd64", &[]).unwrap();
        let Manifest::Image(mut image) = Manifest::read(&store, &built.descriptor).unwrap() else {
            panic!("not an image")
        };
        image.set_config(manifest::descriptor(
            MediaType::ImageConfig,
            &digest,
            config.len() as u64,
        ));
        let bytes = serde_json::to_vec(&image).unwrap();
        let digest = store.insert(&bytes).unwrap();
        let image = manifest::descriptor(MediaType::ImageManifest, &digest, bytes.len() as u64);
        labels(&store, &image).map(|labels| labels.into_iter().collect::<Vec<_>>())
    };
    let nothing = [
        r#"{"architecture":"","os":"","config":{"Labels":null},"history":null,"rootfs":{"type":"layers","diff_ids":null}}"#,
        r#"{"config":null}"#,
        "{}",
    ];
    for config in nothing {
        assert_eq!(try_config(config).unwrap(), []);
    }
    assert_eq!(
        try_config(r#"{"config":{"Labels":{"a":null,"b":"c"}}}"#).unwrap(),
        [("a".to_owned(), String::new()), ("b".to_owned(), "c".to_owned())]
    );
    for config in ["", "[]", r#"{"rootfs":{"diff_ids":["sha256:00"]}}"#] {
        assert!(try_config(config).is_err(), "{config}");
    }
    let too_many = format!(r#"{{"rootfs":{{"diff_ids":["{}"]}}}}"#, Digest::of(b""));
    assert!(matches!(
        try_config(&too_many),
        Err(UnpackError::Configuration { .. })
    ));
}

fn any_path() -> impl Strategy<Value = String> {
    let component = prop_oneof![
        4 => "[ab]",
        2 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just(String::new()),
        1 => Just("canary".to_owned()),
        1 => Just("target".to_owned()),
        1 => "\\.wh\\.(a|b|\\.\\.|\\.wh\\.\\.opq)",
        1 => "\\PC{0,5}",
    ];
    proptest::collection::vec(component, 0..6).prop_map(|components| components.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_outside_the_target_is_ever_touched_or_reached(
        layers in proptest::collection::vec(proptest::collection::vec((0..5_u8, any_path(), any_path()), 0..10), 1..3),
    ) {
        let outer = tempfile::tempdir().unwrap();
        let around = outer.path().join("around");
        fs::create_dir(&around).unwrap();
        fs::write(around.join("canary"), "alive").unwrap();
        let target = around.join("target");
        let store = ContentStore::temporary().unwrap();
        let layers: Vec<_> = layers
            .iter()
            .map(|entries| {
                let tar = entries.iter().fold(RawTar::default(), |tar, (kind, name, link)| match kind {
                    0 => tar.directory(name),
                    1 | 2 => tar.symlink(name, link),
                    3 => tar.hard_link(name, link),
                    _ => tar.file(name, "dead"),
                });
                tar.end()
            })
            .collect();
        let image = image_of(&store, &layers);
        let unpacked = to_directory(&store, &image, &target, &[], &Limits::ON_DISK);
        prop_assert_eq!(fs::read(around.join("canary")).unwrap(), b"alive");
        let present: Vec<_> = fs::read_dir(&around).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        prop_assert_eq!(present.len(), if unpacked.is_ok() { 2 } else { 1 });
        prop_assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
        let mut folders = vec![target.clone()];
        while let Some(folder) = folders.pop().filter(|folder| folder.exists()) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if let Ok(real) = path.canonicalize() {
                    prop_assert!(real.starts_with(target.canonicalize().unwrap()), "{:?} leads to {:?}", path, real);
                }
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                }
            }
        }
        let in_memory = files(&store, &image, &[], &Limits::IN_MEMORY);
        prop_assert_eq!(in_memory.is_ok(), unpacked.is_ok());
    }

    #[test]
    fn what_is_built_is_what_is_unpacked(
        content in proptest::collection::btree_map(
            "[a-z.ü]{1,60}(/[a-z.ü]{1,60}){0,3}",
            proptest::collection::vec(any::<u8>(), 0..2000),
            0..10,
        ),
        compression in prop_oneof![
            Just(Compression::None),
            Just(Compression::Gzip),
            Just(Compression::Zstd),
        ],
    ) {
        let mut layer_files = LayerFiles::new();
        let expected: BTreeMap<_, _> = content
            .into_iter()
            .filter(|(path, bytes)| layer_files.add_bytes(path, bytes.clone(), 0o644).is_ok())
            .filter(|(path, _)| !path.split('/').any(|component| component == "."))
            .collect();
        let store = ContentStore::temporary().unwrap();
        let layer = layer_files.write(&store, compression).unwrap();
        let image = build::image(&store, &ImageSettings::default(), "amd64", &[layer]).unwrap();
        let mut found = files(&store, &image.descriptor, &[], &Limits::IN_MEMORY).unwrap().files;
        found.retain(|path, _| expected.contains_key(path));
        prop_assert_eq!(found, expected);
    }
}
