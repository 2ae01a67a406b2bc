//! `opm alpha bundle generate` and `build`.

use std::fs;

use insta::assert_snapshot;

use crate::program::{opm, refused, see, text};
use crate::world::World;

/// A bundle in the old nested form, below the manifest of its package.
fn nested() -> World {
    let version = "kind: ClusterServiceVersion\napiVersion: operators.coreos.com/v1alpha1\nmetadata:\n  name: demo.v1.0.0\nspec:\n  version: 1.0.0\n";
    World::new()
        .file("demo/1.0.0/csv.yaml", version)
        .file(
            "demo/demo.package.yaml",
            "packageName: demo\nchannels:\n- name: beta\n  currentCSV: demo.v1.0.0\n- name: alpha\n  currentCSV: demo.v1.0.0\n- name: other\n  currentCSV: demo.v9\ndefaultChannel: alpha\n",
        )
}

#[test]
fn a_bundles_metadata_is_generated_and_inferred() {
    let world = nested();
    assert_snapshot!(
        "opm_bundle_generate",
        see(
            &world,
            &[
                "alpha",
                "bundle",
                "generate",
                "-d",
                "demo/1.0.0",
                "-p",
                "demo",
                "-c",
                "stable,beta",
                "-u",
                "out"
            ]
        )
    );
    let read = |name: &str| fs::read_to_string(world.path(name)).expect("a file");
    assert_snapshot!("opm_bundle_annotations", read("out/metadata/annotations.yaml"));
    assert_snapshot!("opm_bundle_dockerfile", read("bundle.Dockerfile"));
    assert_eq!(read("out/manifests/csv.yaml"), read("demo/1.0.0/csv.yaml"));

    assert_snapshot!(
        "opm_bundle_inferred",
        see(&world, &["alpha", "bundle", "generate", "--directory=demo/1.0.0"])
    );
    assert_snapshot!("opm_bundle_inferred_dockerfile", read("bundle.Dockerfile"));
    assert_snapshot!(
        "opm_bundle_inferred_annotations",
        read("demo/metadata/annotations.yaml")
    );
    assert_snapshot!("opm_bundle_empty", {
        fs::create_dir(world.path("empty")).expect("a directory");
        refused(&opm(&world, &["alpha", "bundle", "generate", "-d", "empty"]))
            .replace(&world.path("").to_string_lossy().into_owned(), "[WORLD]/")
    });
}

#[test]
fn a_bundles_image_is_built_without_a_container_tool() {
    let world = nested();
    let line = [
        "alpha",
        "bundle",
        "build",
        "-d",
        "demo/1.0.0",
        "-t",
        "quay.io/demo/bundle:1",
        "-p",
        "demo",
        "-c",
        "a",
        "-e",
        "a",
        "-u",
        "out",
    ];
    let first = opm(&world, &line);
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert!(text(&first.stdout).starts_with("dist quay.io/demo/bundle:1@sha256:"));
    let unpacked = world.run(&[
        "bundle",
        "unpack",
        "oci:dist:quay.io/demo/bundle:1",
        "-o",
        "unpacked",
    ]);
    assert!(unpacked.status.success(), "{}", text(&unpacked.stderr));
    for file in ["manifests/csv.yaml", "metadata/annotations.yaml"] {
        assert_eq!(
            fs::read(world.path(&format!("unpacked/{file}"))).expect("a file"),
            fs::read(world.path(&format!("out/{file}"))).expect("a file")
        );
    }
    // Without --overwrite, what is there must say the same.
    let again = opm(&world, &line);
    assert!(text(&again.stderr).contains("A bundle.Dockerfile already exists in current working directory"));
    assert_eq!(
        text(&first.stdout),
        text(&again.stdout),
        "the same files make the same image"
    );
    // The Dockerfile that is there is of the first bundle; a second one in the same folder is built of its own files.
    fs::create_dir_all(world.path("second/1.0.0")).expect("a directory");
    fs::write(
        world.path("second/1.0.0/csv.yaml"),
        fs::read_to_string(world.path("demo/1.0.0/csv.yaml"))
            .expect("a file")
            .replace("demo", "second"),
    )
    .expect("a file");
    let second = opm(
        &world,
        &[
            "alpha",
            "bundle",
            "build",
            "-d",
            "second/1.0.0",
            "-t",
            "quay.io/second/bundle:1",
            "-p",
            "second",
            "-c",
            "a",
        ],
    );
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert!(
        text(&second.stderr).contains("bundle.Dockerfile in the working directory is of another bundle"),
        "{}",
        text(&second.stderr)
    );
    let unpacked = world.run(&[
        "bundle",
        "unpack",
        "oci:dist:quay.io/second/bundle:1",
        "-o",
        "second-unpacked",
    ]);
    assert!(unpacked.status.success(), "{}", text(&unpacked.stderr));
    for (file, expected) in [
        ("manifests/csv.yaml", "name: second.v1.0.0"),
        ("metadata/annotations.yaml", "package.v1: second"),
    ] {
        let unpacked = fs::read_to_string(world.path(&format!("second-unpacked/{file}"))).expect("a file");
        assert!(unpacked.contains(expected), "{unpacked}");
    }

    let mut other = line;
    other[8] = "other";
    assert_eq!(
        text(&opm(&world, &other).stderr)
            .lines()
            .find(|line| line.starts_with("Error: ")),
        Some(
            "Error: Expect field \"operators.operatorframework.io.bundle.package.v1\" to have value \"other\" instead of \"demo\""
        )
    );
}
