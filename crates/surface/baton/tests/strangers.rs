//! Charts that nobody should have made: each ends in a clear error and exit code 1, quickly, and leaves no file.

mod world;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use insta::assert_snapshot;
use world::World;

/// Packs entries as they are, whatever their names.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        builder.append(&header, *content).expect("an entry");
    }
    builder
        .into_inner()
        .expect("an archive")
        .finish()
        .expect("an archive")
}

const DEFINITION: &[u8] = b"apiVersion: v2\nname: demo\nversion: 1.0.0\n";

/// Runs `template` with output to files, and makes sure that it failed and wrote none.
fn refused(world: &World, chart: &str) -> String {
    let before = world.files();
    let output = world.run(&["template", chart, "--output-dir", "out"]);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.stdout.is_empty());
    assert_eq!(world.files(), before);
    world.describe(&["template", chart], &output)
}

#[test]
fn paths_that_are_no_charts_are_refused() {
    let world = World::new()
        .file("empty/values.yaml", "")
        .file("text.tgz", "just text")
        .file("short.tgz", [0x1f, 0x8b])
        .file("yaml.yaml", "a: 1\n")
        .file("broken/Chart.yaml", "name: [")
        .file("nameless/Chart.yaml", "apiVersion: v2\nversion: 1.0.0\n");
    for chart in [
        "./none",
        "empty",
        "text.tgz",
        "short.tgz",
        "yaml.yaml",
        "broken",
        "nameless",
    ] {
        let name = chart.replace(['/', '.'], "_");
        assert_snapshot!(format!("no_chart_{name}"), refused(&world, chart));
    }
}

#[test]
fn archives_that_grow_without_end_are_refused() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    let mut header = tar::Header::new_gnu();
    header.set_path("demo/zeros").expect("a name");
    header.set_size(300 << 20);
    header.set_mode(0o644);
    header.set_cksum();
    bomb.write_all(header.as_bytes()).expect("memory");
    let zeros = vec![0; 1 << 20];
    for _ in 0..300 {
        bomb.write_all(&zeros).expect("memory");
    }
    let bomb = bomb.finish().expect("memory");
    let world = World::new().file("bomb.tgz", bomb);
    assert_snapshot!("bomb", refused(&world, "bomb.tgz"));
    let large = vec![b'a'; 6 << 20];
    let world = World::new().file(
        "large.tgz",
        archive(&[("demo/Chart.yaml", DEFINITION), ("demo/large", &large)]),
    );
    assert_snapshot!("large_file", refused(&world, "large.tgz"));
}

#[test]
fn archives_that_reach_out_of_their_folder_are_refused() {
    let evil = [
        ("parent", "demo/../../evil.txt"),
        ("absolute", "demo//evil.txt"),
        ("drive", "demo/C:/evil.txt"),
        ("outside", "evil.txt"),
    ];
    for (name, path) in evil {
        let world = World::new().file(
            "evil.tgz",
            archive(&[("demo/Chart.yaml", DEFINITION), (path, b"x")]),
        );
        assert_snapshot!(format!("reaching_{name}"), refused(&world, "evil.tgz"));
    }
}

#[test]
fn a_name_that_leads_out_of_the_output_directory_is_refused() {
    let world = World::new()
        .file("dots/Chart.yaml", "apiVersion: v2\nname: ..\nversion: 1.0.0\n")
        .file("dots/templates/a.yaml", "kind: A\n")
        .file(
            "slash/Chart.yaml",
            "apiVersion: v2\nname: ../../evil\nversion: 1.0.0\n",
        )
        .file("slash/templates/a.yaml", "kind: A\n");
    assert_snapshot!("name_of_dots", refused(&world, "dots"));
    assert_snapshot!("name_of_a_path", refused(&world, "slash"));
    assert_snapshot!("packed_dots", world.see(&["package", "dots", "-d", "out"]));
}

#[test]
fn charts_inside_charts_without_end_are_refused() {
    let mut inner = archive(&[("demo/Chart.yaml", DEFINITION)]);
    for _ in 0..40 {
        inner = archive(&[("demo/Chart.yaml", DEFINITION), ("demo/charts/demo.tgz", &inner)]);
    }
    let world = World::new().file("deep.tgz", inner);
    let text = refused(&world, "deep.tgz");
    assert!(
        text.trim_end().ends_with("charts are nested more than 32 deep"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn links_that_lead_in_circles_are_refused() {
    let world = World::with_chart(&[("templates/a.yaml", "kind: A\n")]);
    std::os::unix::fs::symlink("..", world.path("demo/files")).expect("a link");
    let text = refused(&world, "demo");
    assert!(text.contains("Error: "), "{text}");
}

#[test]
fn text_that_is_not_utf_8_is_refused_or_passed_through() {
    let world = World::with_chart(&[])
        .file("demo/values.yaml", b"a: \xff\xfe\n")
        .file("demo/templates/a.yaml", "kind: A\n");
    assert_snapshot!("values_not_utf8", refused(&world, "demo"));
    let world = World::with_chart(&[]).file(
        "demo/templates/a.yaml",
        b"kind: A\nb: \"{{ .Values.none.x }}\xff\"\n",
    );
    assert_snapshot!("template_not_utf8", refused(&world, "demo"));
    let world = World::with_chart(&[]).file("demo/templates/a.yaml", b"kind: A\n# \xff\n");
    assert_snapshot!("comment_not_utf8", world.see(&["template", "demo"]));
}

#[test]
fn templates_that_never_end_are_stopped() {
    let endless = [
        (
            "include",
            "{{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ include \"x\" . }}",
        ),
        (
            "template",
            "{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" . }}",
        ),
        (
            "tpl",
            "{{ $_ := set .Values \"t\" \"{{ tpl .Values.t . }}\" }}{{ tpl .Values.t . }}",
        ),
        (
            "range",
            "{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}",
        ),
        (
            "output",
            "{{ $s := repeat 1000000 \"a\" }}{{ range until 100000 }}{{ $s }}{{ end }}",
        ),
        ("text", "{{ repeat 1000000000 \"abc\" | len }}"),
    ];
    for (name, template) in endless {
        let world = World::with_chart(&[("templates/a.yaml", template)]);
        let text = refused(&world, "demo");
        // The whole chain of calls is Go's text; its end says what happened.
        let error = text
            .lines()
            .find(|line| line.starts_with("Error: "))
            .expect("an error");
        let end: String = error
            .chars()
            .rev()
            .take(160)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        assert_snapshot!(format!("endless_{name}"), end);
    }
}

#[test]
fn values_that_are_too_deep_or_too_large_are_refused() {
    let deep = format!("a: {}1{}\n", "[".repeat(20_000), "]".repeat(20_000));
    let aliases = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n";
    for (name, values) in [("deep", deep.as_str()), ("aliases", aliases)] {
        let world = World::with_chart(&[("templates/a.yaml", "kind: A\n"), ("values.yaml", values)]);
        assert_snapshot!(format!("values_{name}"), refused(&world, "demo"));
    }
}
