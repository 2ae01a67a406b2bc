use std::fs;

use proptest::prelude::*;

use super::*;

fn write(files: &LayerFiles, compression: Compression) -> (ContentStore, Layer) {
    let store = ContentStore::temporary().unwrap();
    let layer = files.write(&store, compression).unwrap();
    (store, layer)
}

fn entries(files: &LayerFiles) -> Vec<(String, u32, u64)> {
    let (store, layer) = write(files, Compression::None);
    let mut archive = tar::Archive::new(store.open_blob(&layer.digest).unwrap());
    archive
        .entries()
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!(
                (
                    header.uid().unwrap(),
                    header.gid().unwrap(),
                    header.mtime().unwrap()
                ),
                (0, 0, 0)
            );
            let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
            (path, header.mode().unwrap(), entry.size())
        })
        .collect()
}

#[test]
fn entries_are_sorted_and_every_directory_has_one() {
    let mut files = LayerFiles::new();
    files.add_bytes("/manifests/b.yaml", "b", 0o644).unwrap();
    files.add_bytes("./manifests//a.yaml", "aa", 0o600).unwrap();
    files.add_bytes("bin/baton", "#!", 0o755).unwrap();
    files.add_directory("tmp/", 0o1777).unwrap();
    files.add_symlink("bin/opm", "baton").unwrap();
    let long = format!("deep/{}/x", "n".repeat(200));
    files.add_bytes(&long, "", 0o644).unwrap();
    let expected = [
        ("bin/", 0o755, 0),
        ("bin/baton", 0o755, 2),
        ("bin/opm", 0o777, 0),
        ("deep/", 0o755, 0),
        (&long[..206], 0o755, 0),
        (&long, 0o644, 0),
        ("manifests/", 0o755, 0),
        ("manifests/a.yaml", 0o600, 2),
        ("manifests/b.yaml", 0o644, 1),
        ("tmp/", 0o1777, 0),
    ]
    .map(|(path, mode, size)| (path.to_owned(), mode, size));
    assert_eq!(entries(&files), expected);
}

#[test]
fn the_digests_of_a_layer_never_change() {
    let mut files = LayerFiles::new();
    files
        .add_bytes(
            "manifests/operator.yaml",
            "kind: ClusterServiceVersion\n".repeat(5000),
            0o644,
        )
        .unwrap();
    let digests = [Compression::None, Compression::Gzip, Compression::Zstd].map(|compression| {
        let layer = write(&files, compression).1;
        format!(
            "{compression:?}: {} {} {}",
            layer.diff_id, layer.digest, layer.size
        )
    });
    insta::assert_snapshot!(digests.join("\n"));
}

#[test]
fn the_diff_id_is_that_of_the_plain_tar() {
    let mut files = LayerFiles::new();
    files.add_bytes("a", "content", 0o644).unwrap();
    let plain = write(&files, Compression::None).1;
    assert_eq!(plain.diff_id, plain.digest);
    for compression in [Compression::Gzip, Compression::Zstd] {
        let layer = write(&files, compression).1;
        assert_eq!(layer.diff_id, plain.diff_id);
        assert_ne!(layer.digest, plain.digest);
    }
}

#[test]
fn a_file_on_disk_gives_the_same_layer_as_its_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("binary");
    let content: Vec<u8> = (0..300_000_u32)
        .flat_map(|n| (n ^ (n >> 7)).to_le_bytes())
        .collect();
    fs::write(&source, &content).unwrap();
    let mut from_disk = LayerFiles::new();
    from_disk.add_file("bin/baton", &source, 0o755).unwrap();
    let mut from_memory = LayerFiles::new();
    from_memory.add_bytes("bin/baton", content, 0o755).unwrap();
    for compression in [Compression::Gzip, Compression::Zstd] {
        assert_eq!(
            write(&from_disk, compression).1.digest,
            write(&from_memory, compression).1.digest
        );
    }
}

#[test]
fn a_source_that_cannot_be_read_is_named() {
    let directory = tempfile::tempdir().unwrap();
    for source in [directory.path().join("missing"), directory.path().to_path_buf()] {
        let mut files = LayerFiles::new();
        files.add_file("bin/baton", &source, 0o755).unwrap();
        let store = ContentStore::temporary().unwrap();
        let error = files.write(&store, Compression::Gzip).unwrap_err().to_string();
        assert!(
            error.contains("bin/baton") && error.contains(&*source.to_string_lossy()),
            "{error}"
        );
        assert_eq!(store.blobs().unwrap(), []);
    }
}

#[test]
fn a_file_of_another_length_than_promised_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("log");
    fs::write(&source, "12345").unwrap();
    for (promised, right) in [(4, false), (5, true), (6, false)] {
        let mut exactly = Exactly {
            file: File::open(&source).unwrap(),
            left: promised,
            outcome: Ok(()),
        };
        let read = io::copy(&mut exactly, &mut io::sink());
        assert_eq!(read.is_ok(), right);
        assert_eq!(matches!(exactly.outcome, Err(None)), !right);
    }
}

#[test]
fn paths_that_no_file_can_have_are_refused() {
    let mut files = LayerFiles::new();
    for path in [
        "",
        "/",
        ".",
        "../x",
        "a/../../x",
        "a/..",
        "a\0b",
        "d/.wh.x",
        &"n".repeat(256),
        &"n/".repeat(2100),
    ] {
        assert!(
            matches!(files.add_bytes(path, "", 0o644), Err(LayerError::Path { .. })),
            "{path:?}"
        );
    }
    files.add_bytes("a", "1", 0o644).unwrap();
    files.add_bytes("a", "1", 0o644).unwrap();
    for path in ["a", "a/b"] {
        assert!(
            matches!(
                files.add_bytes(path, "2", 0o644),
                Err(LayerError::Conflict { .. })
            ),
            "{path:?}"
        );
    }
    assert!(matches!(
        files.add_directory("a", 0o755),
        Err(LayerError::Conflict { .. })
    ));
}

#[test]
fn docker_has_no_name_for_zstd() {
    let (_store, layer) = write(&LayerFiles::new(), Compression::Zstd);
    assert!(matches!(
        layer.descriptor(Format::Docker),
        Err(LayerError::NoMediaType)
    ));
    assert_eq!(
        layer.descriptor(Format::Oci).unwrap().media_type(),
        &MediaType::ImageLayerZstd
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_of_adding_does_not_matter(
        content in proptest::collection::btree_map("[a-z]{1,3}(/[a-z]{1,3}){0,2}", ".{0,50}", 0..12),
        gzip: bool,
    ) {
        let compression = if gzip { Compression::Gzip } else { Compression::Zstd };
        let mut forwards = LayerFiles::new();
        let accepted: Vec<_> = content
            .iter()
            .filter(|(path, text)| forwards.add_bytes(path, text.as_bytes(), 0o644).is_ok())
            .collect();
        let mut backwards = LayerFiles::new();
        for (path, text) in accepted.iter().rev() {
            backwards.add_bytes(path, text.as_bytes(), 0o644).unwrap();
        }
        let (first, second) = (write(&forwards, compression).1, write(&backwards, compression).1);
        prop_assert_eq!((first.digest, first.diff_id), (second.digest, second.diff_id));
    }
}
