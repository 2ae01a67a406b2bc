//! A bundle that is there already, without the tree that it was made of.

use std::fs;

use crate::tree::Author;

/// Moves the tree's bundle into a folder beside it.
fn move_beside_the_tree(author: &Author) {
    fs::rename(author.path("bundle"), author.beside("plain")).expect("moved");
}

/// Builds something; returns the last line, with the digest.
fn built<A: AsRef<str>>(author: &Author, arguments: &[A]) -> String {
    let output = author.command(arguments).output().expect("the program runs");
    assert!(output.status.success(), "{}", author.describe(arguments, &output));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().last().expect("a line").to_owned()
}

#[test]
fn the_image_of_a_plain_bundle_is_that_of_its_directory() {
    let author = Author::new("registry.example.com");
    let of_tree = [
        vec!["bundle".to_owned(), "build".to_owned()],
        author.build_flags("2.0.0"),
    ]
    .concat();
    let of_tree = built(&author, &of_tree);
    move_beside_the_tree(&author);
    fs::remove_dir_all(author.path("dist")).expect("removed");
    let files = author.everything().into_iter();
    let expected: Vec<String> = files
        .filter_map(|file| Some(file.strip_prefix("plain/")?.to_owned()))
        .collect();
    author.write("../plain/README.md", "For people.\n");
    // A Dockerfile of another bundle is nobody's business.
    author.write(
        "bundle.Dockerfile",
        "FROM scratch\nLABEL operators.operatorframework.io.bundle.package.v1=another\nCOPY catalog /manifests/\n",
    );
    author.write("../plain/bundle.Dockerfile", "FROM scratch\nRUN false\n");
    let image = author.bundle("2.0.0");
    let build = ["bundle", "build", "../plain", "--bundle-image", &image];
    let plain = built(&author, &build);
    assert!(plain.starts_with(&format!("dist {image}@sha256:")), "{plain}");
    assert_eq!(
        built(&author, &build),
        plain,
        "the same directory makes the same image"
    );

    author.succeeds(&[
        "bundle",
        "unpack",
        &format!("oci:dist:{image}"),
        "--output",
        "unpacked",
    ]);
    let unpacked: Vec<String> = author
        .files_below("unpacked")
        .iter()
        .filter_map(|file| Some(file.strip_prefix("tree/unpacked/")?.to_owned()))
        .collect();
    assert_eq!(unpacked, expected);
    author.succeeds(&["bundle", "validate", &format!("oci:dist:{image}")]);
    // Catalogs and clusters take it for the same bundle, because it is even the same image.
    assert_eq!(plain, of_tree);
}

#[test]
fn what_is_no_bundle_is_not_built() {
    let author = Author::new("registry.example.com");
    author.succeeds(
        &[
            vec!["bundle".to_owned(), "generate".to_owned()],
            author.version_flags("2.0.0"),
        ]
        .concat(),
    );
    move_beside_the_tree(&author);
    let image = author.bundle("2.0.0");
    let told = |directory: &str| author.fails(&["bundle", "build", directory, "--bundle-image", &image]);
    let said = told("chart");
    assert!(
        said.contains(
            "chart is no bundle's directory: a bundle has the directories manifests/ and metadata/"
        ),
        "{said}"
    );
    author.write("../plain/metadata/annotations.yaml", "annotations: {}\n");
    let said = told("../plain");
    assert!(said.contains("bundle ../plain: Missing annotation"), "{said}");
    assert!(!author.path("dist").exists(), "nothing was built");
    // Of a tree, it must be said which version.
    let said = author
        .command(&["bundle", "build", "--bundle-image", &image])
        .output();
    let said = String::from_utf8(said.expect("the program runs").stderr).expect("text");
    assert!(
        said.contains("--version <VERSION>") && said.contains("--image <IMAGE>"),
        "{said}"
    );
}
