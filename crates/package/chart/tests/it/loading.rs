//! Directories and archives that are hostile, odd or too large.

use std::io::Write as _;
use std::path::Path;

use chart::archive::{self, PackageOptions};
use chart::loader;

const CHART: &str = "apiVersion: v2\nname: demo\nversion: 1.2.3\n";

fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, content) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, content).expect("a file");
    }
    directory
}

fn failure(path: &Path) -> String {
    let error = loader::load(path, &mut |_| {}).expect_err("a fault").to_string();
    error.replace(&*path.to_string_lossy(), "CHART")
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_out_of_the_chart_is_refused_by_name() {
        let outside = directory(&[("secret", "x")]);
        let chart = directory(&[("Chart.yaml", CHART)]);
        symlink(outside.path().join("secret"), chart.path().join("leak")).expect("a link");
        let error = failure(chart.path());
        assert!(
            error.starts_with("symbolic link CHART/leak leads out of the chart directory to "),
            "{error}"
        );
        symlink(outside.path(), chart.path().join("a-directory")).expect("a link");
        assert!(failure(chart.path()).starts_with("symbolic link CHART/a-directory leads out"));
    }

    #[test]
    fn an_ignored_link_is_not_followed() {
        let chart = directory(&[("Chart.yaml", CHART), (".helmignore", "leak\n")]);
        symlink("/etc/hostname", chart.path().join("leak")).expect("a link");
        let loaded = loader::load(chart.path(), &mut |_| {}).expect("a chart");
        assert!(loaded.files.iter().all(|file| file.name != "leak"));
    }

    #[test]
    fn a_link_inside_the_chart_is_followed_and_told() {
        let chart = directory(&[("Chart.yaml", CHART), ("files/a.txt", "hello")]);
        symlink("files", chart.path().join("again")).expect("a link");
        let mut warnings = Vec::new();
        let loaded =
            loader::load(chart.path(), &mut |warning| warnings.push(warning.to_string())).expect("a chart");
        let names: Vec<&str> = loaded.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["again/a.txt", "files/a.txt"]);
        assert!(
            warnings[0].starts_with("walk.go:75: found symbolic link in path: "),
            "{warnings:?}"
        );
    }

    #[test]
    fn links_that_lead_back_or_nowhere_end() {
        let chart = directory(&[("Chart.yaml", CHART), ("a/b/c.txt", "x")]);
        symlink("../..", chart.path().join("a/b/up")).expect("a link");
        assert!(
            failure(chart.path())
                .starts_with("symbolic link CHART/a/b/up leads to CHART, a directory that contains")
        );
        let chart = directory(&[("Chart.yaml", CHART)]);
        symlink("self", chart.path().join("self")).expect("a link");
        assert_eq!(
            failure(chart.path()),
            "error evaluating symlink CHART/self: lstat CHART/self: too many levels of symbolic links"
        );
        let chart = directory(&[("Chart.yaml", CHART)]);
        symlink("gone", chart.path().join("dangling")).expect("a link");
        assert!(failure(chart.path()).ends_with("no such file or directory"));
    }

    #[test]
    fn a_socket_is_no_file_of_a_chart() {
        let chart = directory(&[("Chart.yaml", CHART)]);
        let _socket = std::os::unix::net::UnixListener::bind(chart.path().join("s")).expect("a socket");
        assert_eq!(
            failure(chart.path()),
            "cannot load irregular file CHART/s as it has file mode type bits set"
        );
    }

    #[test]
    fn a_huge_sparse_file_is_refused_without_reading_it() {
        let chart = directory(&[("Chart.yaml", CHART), ("huge.bin", "")]);
        let file = std::fs::File::options()
            .write(true)
            .open(chart.path().join("huge.bin"))
            .expect("a file");
        file.set_len(100 << 30).expect("a sparse file");
        assert_eq!(
            failure(chart.path()),
            "chart file \"huge.bin\" is larger than the maximum file size 5242880"
        );
    }
}

/// An archive with the given entries, names taken as they are.
fn archive_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for (name, data) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, *data).expect("memory");
    }
    builder
        .into_inner()
        .and_then(flate2::write::GzEncoder::finish)
        .expect("memory")
}

fn archive_failure(entries: &[(&str, &[u8])]) -> String {
    loader::load_archive(archive_of(entries).as_slice(), &mut |_| {})
        .expect_err("a fault")
        .to_string()
}

#[test]
fn archives_that_reach_out_are_refused_in_helms_words() {
    let chart = CHART.as_bytes();
    for (name, expected) in [
        ("demo/../../evil", "chart illegally references parent directory"),
        ("demo//evil", "chart illegally contains absolute paths"),
        (
            "evil",
            "chart illegally contains content outside the base directory: \"evil\"",
        ),
        ("demo/c:/evil", "chart contains illegally named files"),
        ("Chart.yaml/evil", "chart yaml not in base directory"),
    ] {
        assert_eq!(
            archive_failure(&[("demo/Chart.yaml", chart), (name, b"x")]),
            expected
        );
    }
    assert_eq!(archive_failure(&[]), "no files in chart archive");
    assert_eq!(
        archive_failure(&[("demo/readme", b"x")]),
        "Chart.yaml file is missing"
    );
}

#[test]
fn large_files_and_archives_are_refused_in_helms_words() {
    let big = vec![b' '; 5 * 1024 * 1024 + 1];
    assert_eq!(
        archive_failure(&[("demo/Chart.yaml", CHART.as_bytes()), ("demo/big", &big)]),
        "decompressed chart file \"demo/big\" is larger than the maximum file size 5242880"
    );
    let part = &big[..5 * 1024 * 1024];
    let entries: Vec<(&str, &[u8])> = std::iter::repeat_n(("demo/part", part), 21).collect();
    assert_eq!(
        archive_failure(&entries),
        "decompressed chart is larger than the maximum file size 104857600"
    );
}

#[test]
fn archives_inside_archives_end() {
    let mut data = archive_of(&[("demo/Chart.yaml", CHART.as_bytes())]);
    for _ in 0..40 {
        data = archive_of(&[
            ("demo/Chart.yaml", CHART.as_bytes()),
            ("demo/charts/demo.tgz", &data),
        ]);
    }
    let error = loader::load_archive(data.as_slice(), &mut |_| {})
        .expect_err("a fault")
        .to_string();
    assert!(error.ends_with("charts are nested more than 32 deep"), "{error}");
}

#[test]
fn damaged_archives_are_refused() {
    let whole = archive_of(&[("demo/Chart.yaml", CHART.as_bytes())]);
    for length in [0, 1, 5, 11, whole.len() / 2] {
        assert!(
            loader::load_archive(&whole[..length], &mut |_| {}).is_err(),
            "{length}"
        );
    }
    let mut file = tempfile::Builder::new()
        .suffix(".yaml")
        .tempfile()
        .expect("a file");
    file.write_all(b"a: 1\n").expect("a file");
    assert_eq!(
        failure(file.path()),
        "file 'CHART' seems to be a YAML file, but expected a gzipped archive"
    );
}

#[test]
fn packages_are_the_same_each_time_and_load_again() {
    let source = directory(&[
        (
            "Chart.yaml",
            "name: demo\nversion: 1.2.3\napiVersion: v2\nkeywords: [b, a]\n",
        ),
        ("values.yaml", "# comment\na: 1\n"),
        ("values.schema.json", "{}"),
        ("templates/a.yaml", "kind: A\n"),
        ("templates/.hidden", "x"),
        ("README.md", "read"),
        (
            "charts/sub/Chart.yaml",
            "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
        ),
        ("charts/sub/templates/b.yaml", "kind: B\n"),
    ]);
    let chart = loader::load(source.path(), &mut |_| {}).expect("a chart");
    let package = || {
        let mut bytes = Vec::new();
        archive::write(&chart, &mut bytes, PackageOptions::default()).expect("an archive");
        bytes
    };
    assert_eq!(package(), package());
    assert_eq!(archive::file_name(&chart).to_string_lossy(), "demo-1.2.3.tgz");
    let again = loader::load_archive(package().as_slice(), &mut |_| {}).expect("a chart");
    let names: Vec<&str> = again.raw.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Chart.yaml",
            "values.yaml",
            "values.schema.json",
            "templates/a.yaml",
            "README.md",
            "charts/sub/Chart.yaml",
            "charts/sub/templates/b.yaml"
        ]
    );
    let yaml = String::from_utf8_lossy(&again.raw[0].data);
    assert_eq!(
        yaml,
        "apiVersion: v2\nkeywords:\n- b\n- a\nname: demo\nversion: 1.2.3\n"
    );
    assert_eq!(again.metadata, chart.metadata);
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic_the_loader(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..2000)) {
        let _ = loader::load_archive(bytes.as_slice(), &mut |_| {});
        let entries: &[(&str, &[u8])] = &[("demo/Chart.yaml", &bytes), ("demo/values.yaml", &bytes)];
        let _ = loader::load_archive(archive_of(entries).as_slice(), &mut |_| {});
    }
}

#[test]
#[cfg(unix)]
fn a_link_that_leads_nowhere_names_the_part_that_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    let chart = root.join("chart");
    std::fs::create_dir_all(chart.join("templates")).expect("a folder");
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    )
    .expect("a file");
    let link = chart.join("templates/a.tpl");
    std::os::unix::fs::symlink("../../common/a.tpl", &link).expect("a link");
    let error = chart::loader::load(&chart, &mut |_| {})
        .expect_err("a broken link")
        .to_string();
    assert_eq!(
        error,
        format!(
            "error evaluating symlink {}: lstat {}: no such file or directory",
            link.display(),
            root.join("common").display()
        )
    );
}

#[test]
fn values_with_more_keys_than_there_is_memory_for_are_refused() {
    let keys = |count: usize| {
        let lines: Vec<String> = (0..count).map(|key| format!("k{key}: 1\n")).collect();
        lines.concat()
    };
    // Keys and values, and the table that they are in.
    let accepted = loader::decode_values(keys(99_999).as_bytes()).expect("many, but not too many");
    assert_eq!(accepted.map(|table| table.len()), Some(99_999));
    let maps = format!("list: [{}]", "{a: 1},".repeat(100_000));
    for text in [keys(1_000_000), keys(100_000), maps] {
        let error = loader::decode_values(text.as_bytes()).expect_err("too many");
        assert_eq!(
            error,
            "error converting YAML to JSON: yaml: the document has more than 200000 keys and values; leave out what \
             isn't needed, or split it"
        );
    }
}
