//! Archives that want to write where they shouldn't.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use image::digest::Digest;
use serde_json::json;

use crate::tree::Author;

/// An image in the making, written without any of the checks that a builder has.
pub(crate) struct Layout {
    labels: BTreeMap<String, String>,
    layer: tar::Builder<Vec<u8>>,
}

impl Layout {
    /// A bundle's image with the files that every bundle has.
    pub(crate) fn of_bundle() -> Self {
        let label = |key: &str, value: &str| {
            (
                format!("operators.operatorframework.io.bundle.{key}.v1"),
                value.to_owned(),
            )
        };
        let labels = BTreeMap::from([
            label("package", "stack"),
            label("mediatype", "registry+v1"),
            label("manifests", "manifests/"),
            label("metadata", "metadata/"),
            label("channels", "stable"),
        ]);
        let annotations = labels
            .iter()
            .fold("annotations:\n".to_owned(), |text, (key, value)| {
                text + "  " + key + ": " + value + "\n"
            });
        let bundle = Self {
            labels,
            layer: tar::Builder::new(Vec::new()),
        };
        bundle
            .file("metadata/annotations.yaml", annotations.as_bytes())
            .file(
                "manifests/config.yaml",
                b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stack}\n",
            )
    }

    /// Adds a file under exactly this name.
    pub(crate) fn file(self, name: &str, content: &[u8]) -> Self {
        self.entry(name, tar::EntryType::Regular, "", content)
    }

    /// Adds a link under exactly this name.
    fn link(self, kind: tar::EntryType, name: &str, target: &str) -> Self {
        self.entry(name, kind, target, b"")
    }

    fn entry(mut self, name: &str, kind: tar::EntryType, target: &str, content: &[u8]) -> Self {
        let mut header = raw_header(name, kind, content.len());
        let field = &mut header.as_gnu_mut().expect("a GNU header").linkname;
        field[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        self.layer.append(&header, content).expect("an entry");
        self
    }

    /// The files of the image's OCI layout.
    fn files(self, name: &str) -> Vec<(String, Vec<u8>)> {
        let tar = self.layer.into_inner().expect("a layer");
        let diff = Digest::of(&tar);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&tar).expect("compressed");
        let layer = encoder.finish().expect("compressed");
        let config = json!({
            "architecture": "amd64", "os": "linux",
            "config": {"Labels": self.labels},
            "rootfs": {"type": "layers", "diff_ids": [diff.to_string()]},
        });
        let config = config.to_string().into_bytes();
        let described = |kind: &str, bytes: &[u8]| {
            json!({
                "mediaType": format!("application/vnd.oci.image.{kind}"),
                "digest": Digest::of(bytes).to_string(),
                "size": bytes.len(),
            })
        };
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": described("config.v1+json", &config),
            "layers": [described("layer.v1.tar+gzip", &layer)],
        });
        let manifest = manifest.to_string().into_bytes();
        let mut root = described("manifest.v1+json", &manifest);
        root["annotations"] = json!({"org.opencontainers.image.ref.name": name});
        let index = json!({"schemaVersion": 2, "manifests": [root]}).to_string();
        let mut files = vec![
            (
                "oci-layout".to_owned(),
                br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec(),
            ),
            ("index.json".to_owned(), index.into_bytes()),
        ];
        files.extend([config, manifest, layer].map(|blob| {
            let digest = Digest::of(&blob).to_string();
            (format!("blobs/{}", digest.replace(':', "/")), blob)
        }));
        files
    }

    /// Writes the image as an OCI layout directory.
    pub(crate) fn write(self, folder: &Path, name: &str) {
        fs::remove_dir_all(folder).ok();
        for (path, content) in self.files(name) {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, content).expect("written");
        }
    }

    /// Writes the image as a tar, with more entries of any name in front.
    fn write_tar(self, path: &Path, more: &[(&str, &[u8])]) {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in more {
            let header = raw_header(name, tar::EntryType::Regular, content.len());
            builder.append(&header, *content).expect("an entry");
        }
        for (name, content) in self.files("stack:1") {
            let header = raw_header(&name, tar::EntryType::Regular, content.len());
            builder.append(&header, content.as_slice()).expect("an entry");
        }
        fs::write(path, builder.into_inner().expect("a tar")).expect("written");
    }
}

/// A header with a name that the crate itself would refuse.
fn raw_header(name: &str, kind: tar::EntryType, size: usize) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size as u64);
    header.set_mode(0o644);
    let field = &mut header.as_gnu_mut().expect("a GNU header").name;
    field[..name.len()].copy_from_slice(name.as_bytes());
    header.set_cksum();
    header
}

/// Unpacks an archive that must be refused, and checks that nothing was written anywhere.
fn refused(author: &Author, name: &str) -> String {
    let before = author.everything();
    let told = author.fails(&["bundle", "unpack", name, "--output", "unpacked"]);
    let mut after = author.everything();
    after.retain(|path| !path.starts_with("cache"));
    let mut expected = before;
    expected.retain(|path| !path.starts_with("cache"));
    assert_eq!(after, expected, "nothing was written");
    told
}

#[test]
fn a_layer_that_climbs_out_is_refused() {
    let author = Author::new("registry.example.com");
    for (number, name) in ["../evil", "manifests/../../evil", "/evil/../../../evil"]
        .iter()
        .enumerate()
    {
        let layout = format!("climbing-{number}");
        Layout::of_bundle()
            .file(name, b"evil")
            .write(&author.path(&layout), "stack:1");
        insta::assert_snapshot!(
            layout.replace('-', "_"),
            refused(&author, &format!("oci:{layout}"))
        );
    }
}

#[test]
fn a_layer_that_writes_through_a_link_is_refused() {
    let author = Author::new("registry.example.com");
    let outside = author.beside("outside");
    fs::create_dir(&outside).expect("a folder");
    let outside = outside.to_string_lossy().into_owned();
    for (name, bundle) in [
        (
            "symlink_to_outside",
            Layout::of_bundle()
                .link(tar::EntryType::Symlink, "manifests/way", "../../outside")
                .file("manifests/way/evil", b"evil"),
        ),
        (
            "symlink_to_an_absolute_path",
            Layout::of_bundle()
                .link(tar::EntryType::Symlink, "manifests/way", &outside)
                .file("manifests/way/evil", b"evil"),
        ),
        (
            "hard_link_to_outside",
            Layout::of_bundle().link(tar::EntryType::Link, "manifests/copy", "../../program"),
        ),
    ] {
        bundle.write(&author.path(name), "stack:1");
        let before = author.everything();
        let arguments = ["bundle", "unpack", &format!("oci:{name}"), "--output", "unpacked"];
        let output = author.command(&arguments).output().expect("the program runs");
        insta::assert_snapshot!(name, author.describe(&arguments, &output));
        let mut written = author.everything();
        written.retain(|path| !before.contains(path) && !path.starts_with("cache"));
        assert!(
            written.iter().all(|path| path.starts_with("tree/unpacked/")),
            "only where it was told to: {written:?}"
        );
        fs::remove_dir_all(author.path("unpacked")).ok();
    }
}

#[test]
fn a_tar_of_an_image_that_climbs_out_is_refused() {
    let author = Author::new("registry.example.com");
    for (number, name) in ["../evil", "blobs/../../evil", "/tmp/../evil"].iter().enumerate() {
        let file = format!("climbing-{number}.tar");
        Layout::of_bundle().write_tar(&author.path(&file), &[(name, b"evil")]);
        insta::assert_snapshot!(format!("climbing_tar_{number}"), refused(&author, &file));
    }
    Layout::of_bundle().write_tar(&author.path("fine.tar"), &[]);
    author.succeeds(&["bundle", "unpack", "fine.tar", "--output", "unpacked"]);
    assert_eq!(author.files_below("unpacked").len(), 2);
}

#[test]
fn a_tar_with_a_changed_blob_is_refused() {
    let author = Author::new("registry.example.com");
    let mut files = Layout::of_bundle().files("stack:1");
    if let Some((_, layer)) = files.last_mut() {
        let middle = layer.len() / 2;
        layer[middle] ^= 1;
    }
    for (path, content) in files {
        author.write(&format!("changed/{path}"), content);
    }
    insta::assert_snapshot!("changed_layout", refused(&author, "oci:changed"));
}
