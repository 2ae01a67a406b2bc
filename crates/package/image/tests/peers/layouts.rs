//! Exchanges images with skopeo, the other tool that reads and writes layouts.

use std::path::Path;
use std::process::Command;

use image::build::{self, ARCHITECTURES, ImageSettings};
use image::content::ContentStore;
use image::layer::{Compression, LayerFiles};
use image::layout::{self, NamedImage};
use image::unpack::{self, Limits};

/// Runs skopeo and returns what it printed.
fn skopeo(arguments: &[&str]) -> String {
    let output = Command::new("skopeo").args(arguments).output();
    let output = output.expect("skopeo can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "skopeo {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn image(store: &ContentStore, compression: Compression) -> NamedImage {
    let mut files = LayerFiles::new();
    files.add_bytes("manifests/a.yaml", "a: 1\n", 0o644).unwrap();
    files.add_bytes("bin/program", "#!", 0o755).unwrap();
    files.add_symlink("bin/link", "program").unwrap();
    files
        .add_bytes(&format!("deep/{}/x", "n".repeat(200)), "x", 0o644)
        .unwrap();
    let layer = files.write(store, compression).unwrap();
    let settings = ImageSettings {
        labels: [("package".to_owned(), "stack".to_owned())].into(),
        annotations: [("title".to_owned(), "stack".to_owned())].into(),
        entrypoint: vec!["/bin/program".to_owned()],
        working_directory: Some("/".to_owned()),
        ..ImageSettings::default()
    };
    NamedImage {
        descriptor: build::for_architectures(store, &settings, &ARCHITECTURES, &[layer])
            .unwrap()
            .descriptor,
        name: Some("v1".to_owned()),
    }
}

fn address(transport: &str, path: &Path) -> String {
    format!("{transport}:{}:v1", path.display())
}

fn assert_imports(path: &Path) {
    let store = ContentStore::temporary().unwrap();
    let imported = layout::import(&store, path).unwrap();
    let found = unpack::files(
        &store,
        &imported.images[0].descriptor,
        &["manifests"],
        &Limits::IN_MEMORY,
    )
    .unwrap();
    assert_eq!(found.files["manifests/a.yaml"], b"a: 1\n", "{}", path.display());
    assert_eq!(found.labels["package"], "stack");
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("files");
    unpack::to_directory(
        &store,
        &imported.images[0].descriptor,
        &target,
        &[],
        &Limits::ON_DISK,
    )
    .unwrap();
    assert_eq!(std::fs::read(target.join("bin/link")).unwrap(), b"#!");
}

pub(crate) fn skopeo_reads_what_is_written_and_its_copies_are_read_again() {
    for compression in [Compression::Gzip, Compression::Zstd, Compression::None] {
        let work = tempfile::tempdir().unwrap();
        let store = ContentStore::temporary().unwrap();
        let images = [image(&store, compression)];
        let directory = work.path().join("layout");
        layout::export_directory(&store, &images, &directory).unwrap();
        let tar = work.path().join("layout.tar");
        layout::export_tar(&store, &images, &tar, Compression::None).unwrap();
        for address in [address("oci", &directory), address("oci-archive", &tar)] {
            let host = ["--override-os", "linux"];
            let printed = skopeo(&[&host[..], &["inspect", &address]].concat());
            let seen: serde_json::Value = serde_json::from_str(&printed).unwrap();
            assert_eq!(seen["Labels"]["package"], "stack", "{address}");
            assert_eq!(seen["Layers"].as_array().unwrap().len(), 1);

            // Every blob of every platform, verified by skopeo.
            let copy = work.path().join("copy");
            skopeo(&["copy", "--all", &address, &format!("oci:{}:v1", copy.display())]);
            assert_imports(&copy);
            std::fs::remove_dir_all(&copy).unwrap();
        }
        for transport in ["oci-archive", "docker-archive"] {
            // Docker's formats have no layers with zstd.
            if transport == "docker-archive" && compression == Compression::Zstd {
                continue;
            }
            let copy = work.path().join(format!("{transport}.tar"));
            let to = format!("{transport}:{}:example.com/stack:v1", copy.display());
            skopeo(&["copy", &address("oci", &directory), &to]);
            assert_imports(&copy);
        }
    }
}
