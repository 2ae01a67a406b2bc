//! `baton show`, `lint` and `package`, and the program's own texts, as a user sees them.

mod world;

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;
use world::World;

fn example() -> World {
    World::with_chart(&[
        ("values.yaml", "# How many.\nreplicas: 1\nold: 2\n"),
        ("README.md", "# Demo\n"),
        ("crds/a.yaml", "kind: CustomResourceDefinition\n"),
        (
            "templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fixed\ndata:\n  a: \"{{ .Values.replicas }}{{ .Values.unknown }}\"\n",
        ),
        (
            "templates/s.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  a: {{ randAlphaNum 5 | b64enc }}\n",
        ),
    ])
}

#[test]
fn parts_of_a_chart_are_shown() {
    let world = example();
    for part in ["all", "chart", "values", "readme", "crds"] {
        assert_snapshot!(format!("show_{part}"), world.see(&["show", part, "demo"]));
    }
    assert_snapshot!("show_nothing", world.see(&["show", "all", "./none"]));
    assert_snapshot!("show_no_chart", world.see(&["show", "values"]));
    assert_snapshot!(
        "show_jsonpath",
        world.see(&["show", "values", "demo", "--jsonpath", "{.replicas}"])
    );
}

#[test]
fn charts_are_checked_by_helms_rules_and_then_by_batons() {
    let world = example().file(
        "broken/Chart.yaml",
        "apiVersion: v2\nname: broken\nversion: not a version\n",
    );
    assert_snapshot!("lint", world.see(&["lint", "demo"]));
    assert_snapshot!("lint_helm_only", world.see(&["lint", "demo", "--helm-only"]));
    assert_snapshot!("lint_quiet", world.see(&["lint", "demo", "--quiet"]));
    assert_snapshot!("lint_strict", world.see(&["lint", "demo", "--strict"]));
    assert_snapshot!(
        "lint_several",
        world.see(&["lint", "demo", "broken", "none", "none.tgz", "--helm-only"])
    );
}

#[test]
fn a_chart_is_packed_into_the_same_bytes_each_time() {
    let world = example();
    assert_snapshot!(
        "package",
        world.see(&[
            "package",
            "demo",
            "-d",
            "out",
            "--version",
            "2.0.0",
            "--app-version",
            "7"
        ])
    );
    let first = fs::read(world.path("out/demo-2.0.0.tgz")).expect("an archive");
    world.run(&[
        "package",
        "demo",
        "-d",
        "again",
        "--version",
        "2.0.0",
        "--app-version",
        "7",
    ]);
    assert_eq!(
        fs::read(world.path("again/demo-2.0.0.tgz")).expect("an archive"),
        first
    );
    assert_snapshot!(
        "package_shown",
        world.see(&["show", "chart", "out/demo-2.0.0.tgz"])
    );
    assert_eq!(
        world
            .run(&["template", "out/demo-2.0.0.tgz", "-s", "templates/a.yaml"])
            .stdout,
        world.run(&["template", "demo", "-s", "templates/a.yaml"]).stdout
    );
    assert_snapshot!(
        "package_lint",
        world.see(&["lint", "out/demo-2.0.0.tgz", "--helm-only"])
    );
}

#[test]
fn a_chart_that_cannot_be_packed_leaves_no_archive() {
    let world = example()
        .file("needy/Chart.yaml", "apiVersion: v2\nname: needy\nversion: 1.0.0\ndependencies:\n- name: x\n  version: 1.0.0\n  repository: https://example.com\n")
        .file("schema/Chart.yaml", "apiVersion: v2\nname: schema\nversion: 1.0.0\n")
        .file("schema/values.schema.json", "{");
    let before = world.files();
    assert_snapshot!("package_nothing", world.see(&["package"]));
    assert_snapshot!("package_missing", world.see(&["package", "none"]));
    assert_snapshot!(
        "package_version",
        world.see(&["package", "demo", "--version", "x"])
    );
    assert_snapshot!("package_dependencies", world.see(&["package", "needy"]));
    assert_snapshot!("package_update", world.see(&["package", "needy", "-u"]));
    assert_snapshot!("package_schema", world.see(&["package", "schema", "-d", "out"]));
    assert_eq!(world.files(), before);
}

#[test]
fn the_example_chart_has_nothing_to_complain_about() {
    let world = World::new();
    let chart = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../examples/inference-stack/chart"
    );
    let linted = world.run(&["lint", chart, "--strict"]);
    let text = String::from_utf8_lossy(&linted.stdout).into_owned();
    assert!(
        linted.status.success() && text.ends_with("1 chart(s) linted, 0 chart(s) failed\n"),
        "{text}"
    );
    let values = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../examples/inference-stack/demo-values.yaml"
    );
    let rendered = world.run(&["template", "demo", chart, "--namespace", "models", "-f", values]);
    let shown = [
        "template",
        "demo",
        "CHART",
        "--namespace",
        "models",
        "-f",
        "VALUES",
    ];
    assert_snapshot!("example", world.describe(&shown, &rendered));
}

#[test]
fn the_program_explains_itself() {
    let world = World::new();
    assert_snapshot!("version", world.see(&["--version"]));
    assert_snapshot!("help", world.see(&["--help"]));
    assert_snapshot!("help_without_arguments", world.see(&[]));
    assert_snapshot!("help_template", world.see(&["template", "--help"]));
    assert_snapshot!("help_lint", world.see(&["lint", "-h"]));
    assert_snapshot!("flag_without_value", world.see(&["template", "demo", "--set"]));
    assert_snapshot!("unknown_letter", world.see(&["lint", "-x"]));
    assert_snapshot!("no_switch", world.see(&["lint", "--strict=perhaps"]));
    assert_snapshot!("unknown_command", world.see(&["instal"]));
}

#[test]
fn shells_complete_every_command() {
    let world = World::new();
    let help = String::from_utf8(world.run(&["--help"]).stdout).expect("text");
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split([' ', ',']).next())
        .filter(|name| !name.is_empty())
        .collect();
    assert!(
        commands.contains(&"install") && commands.contains(&"completions"),
        "{commands:?}"
    );
    for shell in ["bash", "zsh", "fish"] {
        let output = world.run(&["completions", shell]);
        assert!(output.status.success() && output.stderr.is_empty(), "{shell}");
        let script = String::from_utf8(output.stdout).expect("text");
        for text in commands.iter().copied().chain(["with-dependencies", "baton"]) {
            assert!(script.contains(text), "{text} isn't completed in {shell}");
        }
        let file = world.path(shell);
        fs::write(&file, script).expect("a script");
        // Only a shell can tell whether it reads its script.
        match Command::new(shell).arg("-n").arg(&file).output() {
            Ok(checked) => assert!(
                checked.status.success() && checked.stderr.is_empty(),
                "{shell}: {}",
                String::from_utf8_lossy(&checked.stderr)
            ),
            Err(error) => {
                assert_ne!(shell, "bash", "bash is on every machine: {error}");
                corpus::skipped(&format!("{shell} isn't there to read its completions"));
            }
        }
    }
    // What bash does with the words of a line.
    let asked = "source ./bash; COMP_WORDS=(baton insta); COMP_CWORD=1; _baton baton insta baton; echo ${COMPREPLY[@]}";
    let answer = Command::new("bash")
        .args(["-c", asked])
        .current_dir(world.path(""))
        .output()
        .expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&answer.stdout), "install\n");
    assert_snapshot!("completions_of_no_shell", world.see(&["completions", "cmd"]));
}

#[test]
fn the_program_says_which_release_it_is_and_what_it_is_made_of() {
    let world = World::new();
    let said = |arguments: &[&str]| {
        let output = world.run(arguments);
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{arguments:?}"
        );
        String::from_utf8(output.stdout).expect("text")
    };
    let release = format!("baton {}", env!("CARGO_PKG_VERSION"));
    assert!(said(&["version"]).starts_with(&format!("{release} ")));
    let for_programs: Value = serde_json::from_str(&said(&["version", "-o", "json"])).expect("JSON");
    assert_eq!(for_programs["version"], env!("CARGO_PKG_VERSION"));
    let list: Value = serde_json::from_str(&said(&["version", "--sbom"])).expect("JSON");
    assert_eq!(list["bomFormat"], "CycloneDX");
    let components = list["components"].as_array().expect("a list");
    assert!(
        components
            .iter()
            .any(|component| component["name"] == "kube-client")
    );
}

#[test]
fn a_command_on_a_directory_needs_neither_a_cache_nor_registries() {
    let catalog = r#"{"schema":"olm.package","name":"stack","defaultChannel":"stable"}
{"schema":"olm.channel","package":"stack","name":"stable","entries":[{"name":"stack.v1.0.0"}]}
{"schema":"olm.bundle","package":"stack","name":"stack.v1.0.0","image":"registry.example/stack:1","properties":[{"type":"olm.package","value":{"packageName":"stack","version":"1.0.0"}}]}
"#;
    let world = World::new()
        .file("configs/catalog.json", catalog)
        .file("registries.conf", "this is no TOML");
    let output = world
        .command(&["catalog", "list", "packages", "configs"])
        .env("HOME", world.path(""))
        .env_remove("XDG_CACHE_HOME")
        .env_remove("BATON_IMAGE_CACHE")
        .env("CONTAINERS_REGISTRIES_CONF", world.path("registries.conf"))
        .output()
        .expect("the program runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(world.files(), ["configs/catalog.json", "registries.conf"]);
}
