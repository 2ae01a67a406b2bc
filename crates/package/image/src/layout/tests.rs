use std::fs;
use std::path::Path;

use super::*;
use crate::build::{self, ARCHITECTURES, ImageSettings};
use crate::content::ContentStore;
use crate::layer::{Compression, LayerFiles};
use crate::manifest::{digest_of, parts};
use crate::unpack::{self, Limits};

fn image(store: &ContentStore, content: &str, name: Option<&str>) -> NamedImage {
    let mut files = LayerFiles::new();
    files.add_bytes("manifests/a.yaml", content, 0o644).unwrap();
    let layer = files.write(store, Compression::Gzip).unwrap();
    let settings = ImageSettings {
        labels: [("content".to_owned(), content.to_owned())].into(),
        ..ImageSettings::default()
    };
    NamedImage {
        descriptor: build::for_architectures(store, &settings, &ARCHITECTURES, &[layer])
            .unwrap()
            .descriptor,
        name: name.map(str::to_owned),
    }
}

fn assert_whole(store: &ContentStore, image: &NamedImage) {
    for part in parts(store, &image.descriptor).unwrap() {
        store.read(&digest_of(&part).unwrap(), 1 << 20).unwrap();
    }
}

#[test]
fn a_layout_directory_is_read_as_it_was_written() {
    let store = ContentStore::temporary().unwrap();
    let images = [image(&store, "one", Some("v1")), image(&store, "two", Some("v2"))];
    let directory = tempfile::tempdir().unwrap();
    export_directory(&store, &images, directory.path()).unwrap();
    let other = ContentStore::temporary().unwrap();
    let imported = import(&other, directory.path()).unwrap();
    let names: Vec<_> = imported
        .images
        .iter()
        .map(|image| image.name.as_deref())
        .collect();
    assert_eq!(names, [Some("v1"), Some("v2")]);
    for (read, written) in imported.images.iter().zip(&images) {
        assert_eq!(read.descriptor.digest(), written.descriptor.digest());
        assert_whole(&other, read);
    }
    assert_eq!(other.blobs().unwrap(), store.blobs().unwrap());
}

#[test]
fn an_image_with_the_same_name_is_replaced_and_others_stay() {
    let store = ContentStore::temporary().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let [first, second, nameless] = [("one", Some("v1")), ("two", Some("v2")), ("three", None)]
        .map(|(content, name)| image(&store, content, name));
    for images in [
        &[first, second][..],
        std::slice::from_ref(&nameless),
        std::slice::from_ref(&nameless),
    ] {
        export_directory(&store, images, directory.path()).unwrap();
    }
    let new = image(&store, "new", Some("v1"));
    export_directory(&store, std::slice::from_ref(&new), directory.path()).unwrap();
    let imported = import(&ContentStore::temporary().unwrap(), directory.path()).unwrap();
    let names: Vec<_> = imported
        .images
        .iter()
        .map(|image| image.name.as_deref())
        .collect();
    assert_eq!(names, [Some("v2"), None, Some("v1")]);
    assert_eq!(imported.images[2].descriptor.digest(), new.descriptor.digest());
    let left: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_tar_is_read_as_it_was_written_however_it_is_packed() {
    let store = ContentStore::temporary().unwrap();
    let images = [image(&store, "one", Some("example.com/stack:v1"))];
    let directory = tempfile::tempdir().unwrap();
    let mut sizes = Vec::new();
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let path = directory.path().join("image.tar");
        export_tar(&store, &images, &path, compression).unwrap();
        let written = fs::read(&path).unwrap();
        export_tar(&store, &images, &path, compression).unwrap();
        assert_eq!(fs::read(&path).unwrap(), written);
        sizes.push(written.len());
        let other = ContentStore::temporary().unwrap();
        let imported = import(&other, &path).unwrap();
        assert_eq!(imported.images[0].name, images[0].name);
        assert_whole(&other, &imported.images[0]);
    }
    assert!(sizes[1] < sizes[0] && sizes[2] < sizes[0], "{sizes:?}");
    let mut streamed = Vec::new();
    write_tar(&store, &images, &mut streamed).unwrap();
    assert_eq!(streamed.len(), sizes[0]);
}

fn tar_of(files: &[(&str, &[u8])], links: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    for (name, content) in files {
        header.set_size(content.len() as u64);
        header.set_entry_type(tar::EntryType::Regular);
        tar.append_data(&mut header, name, *content).unwrap();
    }
    for (name, target) in links {
        header.set_size(0);
        header.set_entry_type(tar::EntryType::Symlink);
        tar.append_link(&mut header, name, target).unwrap();
    }
    tar.into_inner().unwrap()
}

fn read(tar: &[u8]) -> Result<(ContentStore, Imported), LayoutError> {
    let store = ContentStore::temporary().unwrap();
    let imported = import_tar(&store, Path::new("image.tar"), tar)?;
    Ok((store, imported))
}

/// The parts of an image as `docker save` writes them: a plain layer and its configuration.
fn saved() -> (Vec<u8>, Vec<u8>) {
    let store = ContentStore::temporary().unwrap();
    let mut files = LayerFiles::new();
    files.add_bytes("manifests/a.yaml", "content", 0o644).unwrap();
    let layer = files.write(&store, Compression::None).unwrap();
    let tar = store.read(&layer.digest, 1 << 20).unwrap();
    let config = format!(
        r#"{{"architecture":"amd64","os":"linux","config":{{"Labels":{{"a":"b"}}}},"rootfs":{{"type":"layers","diff_ids":["{0}","{0}"]}}}}"#,
        layer.diff_id
    );
    (tar, config.into_bytes())
}

#[test]
fn what_docker_save_writes_is_read() {
    let (layer, config) = saved();
    let manifest = br#"[{"Config":"c.json","RepoTags":["stack:v1","stack:latest"],"Layers":["1/layer.tar","2/layer.tar"]}]"#;
    let tar = tar_of(
        &[
            ("1/layer.tar", &layer),
            ("1/VERSION", b"1.0"),
            ("c.json", &config),
            ("manifest.json", manifest),
            ("repositories", b"{}"),
        ],
        &[("2/layer.tar", "../1/layer.tar")],
    );
    let (store, imported) = read(&tar).unwrap();
    let names: Vec<_> = imported
        .images
        .iter()
        .map(|image| image.name.as_deref())
        .collect();
    assert_eq!(names, [Some("stack:v1"), Some("stack:latest")]);
    let found = unpack::files(&store, &imported.images[0].descriptor, &[], &Limits::IN_MEMORY).unwrap();
    assert_eq!(found.files["manifests/a.yaml"], b"content");
    assert_eq!(found.labels["a"], "b");
}

#[test]
fn what_is_not_a_layout_is_refused_with_what_is_missing() {
    let (layer, config) = saved();
    let wrong_name = format!("blobs/sha256/{}", "0".repeat(64));
    let index = |digest: &str| {
        format!(
            r#"{{"schemaVersion":2,"manifests":[{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{digest}","size":1,"annotations":{{"{REF_NAME}":"v1"}}}}]}}"#
        )
    };
    let missing = index(&format!("sha256:{}", "1".repeat(64)));
    let unverifiable = index("sha512:00");
    let texts: Vec<String> = [
        tar_of(&[("readme.txt", b"hello")], &[]),
        tar_of(&[("index.json", br#"{"schemaVersion":2,"manifests":[]}"#)], &[]),
        tar_of(&[("index.json", b"{")], &[]),
        tar_of(&[("index.json", missing.as_bytes())], &[]),
        tar_of(&[("index.json", unverifiable.as_bytes())], &[]),
        tar_of(&[(&wrong_name, b"content")], &[]),
        tar_of(&[("manifest.json", b"{}")], &[]),
        tar_of(
            &[
                ("manifest.json", br#"[{"Config":"../c.json"}]"#),
                ("c.json", &config),
            ],
            &[],
        ),
        tar_of(
            &[
                (
                    "manifest.json",
                    br#"[{"Config":"c.json","RepoTags":null,"Layers":["l.tar"]}]"#,
                ),
                ("c.json", &config),
            ],
            &[("l.tar", "l.tar")],
        ),
        tar_of(&[("1/layer.tar", &layer)], &[])[..2000].to_vec(),
        b"neither a tar nor packed".repeat(50),
    ]
    .iter()
    .map(|tar| {
        read(tar)
            .err()
            .map_or("no error".to_owned(), |error| error.to_string())
    })
    .collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_damaged_blob_in_a_directory_is_refused_and_does_not_reach_the_store() {
    let store = ContentStore::temporary().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let image = image(&store, "one", None);
    export_directory(&store, std::slice::from_ref(&image), directory.path()).unwrap();
    let part = digest_of(&parts(&store, &image.descriptor).unwrap()[0]).unwrap();
    let path = directory.path().join("blobs/sha256").join(part.hex());
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(&path, bytes).unwrap();
    let other = ContentStore::temporary().unwrap();
    assert!(matches!(
        import(&other, directory.path()),
        Err(LayoutError::WrongDigest { .. })
    ));
    assert!(!other.contains(&part));
    fs::remove_file(&path).unwrap();
    let error = import(&other, directory.path()).unwrap_err();
    assert!(matches!(&error, LayoutError::Incomplete { part: missing, .. } if *missing == part.to_string()));
}

#[test]
fn a_directory_without_an_index_is_no_layout() {
    let directory = tempfile::tempdir().unwrap();
    let store = ContentStore::temporary().unwrap();
    assert!(matches!(
        import(&store, directory.path()),
        Err(LayoutError::NotALayout { .. })
    ));
    assert!(matches!(
        import(&store, &directory.path().join("missing")),
        Err(LayoutError::Read { .. })
    ));
}

#[test]
fn an_image_with_a_missing_part_is_not_written() {
    let store = ContentStore::temporary().unwrap();
    let whole = image(&store, "one", Some("v1"));
    let other = ContentStore::temporary().unwrap();
    let digest = digest_of(&whole.descriptor).unwrap();
    other.insert(&store.read(&digest, 1 << 20).unwrap()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.tar");
    assert!(export_tar(&other, &[whole], &path, Compression::None).is_err());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
