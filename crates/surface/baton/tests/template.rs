//! `baton template`, as a user sees it.

mod world;

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use insta::assert_snapshot;
use world::World;

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}\n";

/// A chart with everything that flags can choose from.
fn full() -> World {
    World::with_chart(&[
        ("values.yaml", "greeting: hello\nimage:\n  tag: v1\n"),
        (
            "templates/a.yaml",
            &format!(
                "{CONFIG_MAP}data:\n  a: {{{{ .Values.greeting }}}}\n  t: {{{{ .Values.image.tag }}}}\n"
            ),
        ),
        (
            "templates/b.yaml",
            "kind: Service\nmetadata: {name: b}\nkube: {{ .Capabilities.KubeVersion }}\nextra: {{ .Capabilities.APIVersions.Has \"x/v1\" }}\nupgrade: {{ .Release.IsUpgrade }}\n",
        ),
        (
            "templates/hook.yaml",
            "kind: Job\nmetadata:\n  name: h\n  annotations: {helm.sh/hook: pre-install}\n",
        ),
        (
            "templates/tests/t.yaml",
            "kind: Pod\nmetadata:\n  name: t\n  annotations: {helm.sh/hook: test}\n",
        ),
        ("templates/NOTES.txt", "Thank you.\n"),
        (
            "crds/c.yaml",
            "kind: CustomResourceDefinition\nmetadata: {name: c}\n",
        ),
        (
            "charts/sub/Chart.yaml",
            "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
        ),
        (
            "charts/sub/templates/s.yaml",
            "kind: ConfigMap\nmetadata: {name: s}\n",
        ),
    ])
}

#[test]
fn manifests_come_in_helms_order_and_hooks_last() {
    assert_snapshot!(full().see(&["template", "demo"]));
}

#[test]
fn flags_choose_what_is_shown() {
    let world = full();
    assert_snapshot!(
        "name_namespace_versions",
        world.see(&[
            "template",
            "rel",
            "demo",
            "-n",
            "prod",
            "--kube-version",
            "1.29",
            "-a",
            "x/v1,y/v1",
            "--is-upgrade",
            "-s",
            "templates/b.yaml",
            "-s",
            "templates/a.yaml",
        ])
    );
    assert_snapshot!(
        "crds_and_no_hooks",
        world.see(&["template", "demo", "--include-crds", "--no-hooks"])
    );
    assert_snapshot!(
        "no_tests",
        world.see(&["template", "demo", "--skip-tests", "-s", "templates/hook.yaml"])
    );
    assert_snapshot!(
        "a_subcharts_template",
        world.see(&["template", "demo", "-s", "charts/sub/templates/*"])
    );
    assert_snapshot!(
        "no_such_template",
        world.see(&["template", "demo", "-s", "templates/none.yaml"])
    );
    assert_snapshot!(
        "switched_off",
        world.see(&["template", "demo", "--include-crds=false", "-s", "crds/c.yaml"])
    );
}

#[test]
fn names_come_from_arguments_or_templates() {
    let world = full();
    let only = ["-s", "templates/a.yaml"];
    let see = |arguments: &[&str]| world.see(&[arguments, &only].concat());
    assert_snapshot!(
        "a_name_template",
        see(&["template", "demo", "--name-template", "x-{{ add 1 2 }}"])
    );
    assert_snapshot!(
        "a_bad_name_template",
        see(&["template", "demo", "--name-template", "{{ include \"x\" . }}"])
    );
    assert_snapshot!(
        "a_name_and_a_template",
        see(&["template", "n", "demo", "--name-template", "x"])
    );
    assert_snapshot!(
        "a_name_and_generated",
        see(&["template", "n", "demo", "--generate-name"])
    );
    assert_snapshot!("a_bad_name", see(&["template", "Bad_Name", "demo"]));
    assert_snapshot!("too_many_names", see(&["template", "a", "b", "c", "d"]));
    assert_snapshot!("no_chart_at_all", see(&["template"]));
}

#[test]
fn the_namespace_of_the_environment_is_used() {
    let world = full().file(
        "config",
        "current-context: c\ncontexts: [{name: c, context: {namespace: from-config}}]\n",
    );
    let arguments = ["template", "demo", "-s", "templates/a.yaml"];
    let namespace = |name: &str, value: &str| {
        let output = world
            .command(&arguments)
            .env(name, value)
            .output()
            .expect("the program runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines()
            .find_map(|line| line.trim().strip_prefix("namespace: ").map(str::to_owned))
            .expect("a namespace")
    };
    assert_eq!(namespace("HELM_NAMESPACE", "from-env"), "from-env");
    assert_eq!(namespace("HELM_NAMESPACE", ""), "default");
    assert_eq!(
        namespace("KUBECONFIG", &world.path("config").to_string_lossy()),
        "from-config"
    );
}

#[test]
fn values_come_from_files_and_flags() {
    let world = full()
        .file("one.yaml", "greeting: one\n")
        .file("two.yaml", "greeting: two\nimage: {tag: v2}\n")
        .file("text.txt", "from a file");
    let only = ["-s", "templates/a.yaml"];
    let see = |arguments: &[&str]| world.see(&[&["template", "demo"], arguments, &only].concat());
    assert_snapshot!("files", see(&["-f", "two.yaml,one.yaml"]));
    assert_snapshot!(
        "flags_win",
        see(&[
            "-f",
            "one.yaml",
            "--set-string",
            "image.tag=3",
            "--set-file",
            "greeting=text.txt"
        ])
    );
    assert_snapshot!(
        "json_and_literal",
        see(&[
            "--set-json",
            "image={\"tag\":[1]}",
            "--set-literal",
            "greeting=a,b"
        ])
    );
    assert_snapshot!("no_such_file", see(&["-f", "none.yaml"]));
    assert_snapshot!("a_bad_flag", see(&["--set", "a"]));
    assert_snapshot!(
        "a_file_on_the_network",
        see(&["-f", "https://example.com/values.yaml"])
    );
}

#[test]
fn an_error_shows_its_place_and_who_set_the_value() {
    let world = World::with_chart(&[
        ("values.yaml", "image:\n  repo: x\n"),
        (
            "templates/a.yaml",
            "kind: A\nname: a\nimage: {{ .Values.image.repo }}\n",
        ),
    ])
    .file("prod.yaml", "image: null\n")
    .file("text.yaml", "image: some text\n");
    assert_snapshot!("null", world.see(&["template", "demo", "-f", "prod.yaml"]));
    assert_snapshot!("no_table", world.see(&["template", "demo", "-f", "text.yaml"]));
    assert_snapshot!(
        "debug",
        world.see(&["template", "demo", "-f", "prod.yaml", "--debug"])
    );
}

#[test]
fn an_error_in_a_helper_is_shown_in_the_helper() {
    let world = World::with_chart(&[
        (
            "templates/_h.tpl",
            "{{ define \"h\" -}}\n  {{ required \"a name is needed\" .Values.name }}\n{{- end }}\n",
        ),
        ("templates/a.yaml", "name: {{ include \"h\" . }}\n"),
        ("templates/b.yaml", "text: {{ tpl \"{{ .Values.x.y }}\" . }}\n"),
    ]);
    assert_snapshot!("in_a_text", world.see(&["template", "demo"]));
    assert_snapshot!("in_a_helper", world.see(&["template", "demo", "--set", "x.y=1"]));
}

#[test]
fn faulty_templates_and_manifests_are_shown() {
    let world = World::with_chart(&[("templates/a.yaml", "a: 1\n{{ if }}\n")]);
    assert_snapshot!("no_template", world.see(&["template", "demo"]));
    let world = World::with_chart(&[
        ("templates/a.yaml", "kind: A\n---\nkind: B\na: b: c\nd: e\n"),
        ("templates/b.yaml", "kind: C\n"),
    ]);
    assert_snapshot!("no_yaml", world.see(&["template", "demo"]));
    assert_snapshot!("no_yaml_debug", world.see(&["template", "demo", "--debug"]));
    let world = World::with_chart(&[(
        "templates/a.yaml",
        "kind: Secret\nstringData:\n  a: b: {{ .Values.pass }}\n",
    )]);
    let text = world.see(&["template", "demo", "--set", "pass=hunter2"]);
    assert!(!text.replace("pass=hunter2", "").contains("hunter2"), "{text}");
    assert_snapshot!("secret_no_yaml", text);
}

#[test]
fn a_schema_is_kept_and_the_offender_is_named() {
    let schema = r#"{"properties": {"replicas": {"type": "integer"}, "name": {"type": "string"}}, "required": ["name"]}"#;
    let world = World::with_chart(&[
        ("values.schema.json", schema),
        ("values.yaml", "replicas: 1\n"),
        ("templates/a.yaml", "kind: A\n"),
    ])
    .file("prod.yaml", "replicas: many\n");
    assert_snapshot!("refused", world.see(&["template", "demo", "-f", "prod.yaml"]));
    assert_snapshot!(
        "skipped",
        world.see(&["template", "demo", "-f", "prod.yaml", "--skip-schema-validation"])
    );
}

#[test]
fn explanations_are_comments_above_the_same_documents() {
    let world = full().file("prod.yaml", "greeting: guten Tag\n");
    let arguments = ["template", "demo", "-f", "prod.yaml", "--set", "image.tag=v3"];
    let explained = world.run(&[&arguments[..], &["--explain"]].concat());
    assert_snapshot!(world.describe(&["…", "--explain"], &explained));
    let text = String::from_utf8(explained.stdout).expect("text");
    let without: String = text
        .split_inclusive('\n')
        .filter(|line| {
            !["# Template:", "# Values:", "#         "]
                .iter()
                .any(|start| line.starts_with(start))
        })
        .collect();
    assert_eq!(without.as_bytes(), world.run(&arguments).stdout);
}

#[test]
fn output_goes_to_files_that_appear_whole() {
    let world = full();
    assert_snapshot!(
        "files_written",
        world.see(&[
            "template",
            "rel",
            "demo",
            "--output-dir",
            "out",
            "--release-name",
            "--include-crds"
        ])
    );
    let written: Vec<String> = world
        .files()
        .into_iter()
        .filter(|file| file.starts_with("out/"))
        .collect();
    assert_eq!(
        written,
        [
            "out/demo/crds/c.yaml",
            "out/rel/demo/charts/sub/templates/s.yaml",
            "out/rel/demo/templates/a.yaml",
            "out/rel/demo/templates/b.yaml",
            "out/rel/demo/templates/hook.yaml",
            "out/rel/demo/templates/tests/t.yaml",
        ]
    );
    let content = fs::read_to_string(world.path("out/rel/demo/templates/hook.yaml")).expect("a file");
    assert!(
        content.starts_with("---\n# Source: demo/templates/hook.yaml\nkind: Job\n"),
        "{content}"
    );
    // A second run leaves the same files.
    world.run(&["template", "rel", "demo", "--output-dir", "out", "--release-name"]);
    assert_eq!(
        fs::read_to_string(world.path("out/rel/demo/templates/hook.yaml")).expect("a file"),
        content
    );
}

#[test]
fn nothing_is_written_when_rendering_fails() {
    let world = full().file("demo/templates/z.yaml", "{{ fail \"no\" }}");
    let before = world.files();
    assert_snapshot!(
        "nothing_written",
        world.see(&["template", "demo", "--output-dir", "out"])
    );
    assert_eq!(world.files(), before);
}

#[cfg(unix)]
#[test]
fn manifests_go_through_a_post_renderer_and_hooks_do_not() {
    let world = full();
    assert_snapshot!(
        "changed",
        world.see(&[
            "template",
            "demo",
            "--post-renderer",
            "sed",
            "--post-renderer-args",
            "s/hello/goodbye/"
        ])
    );
    assert_snapshot!(
        "no_such_program",
        world.see(&["template", "demo", "--post-renderer", "no-such-program"])
    );
    assert_snapshot!(
        "a_failing_program",
        world
            .see(&[
                "template",
                "demo",
                "--post-renderer",
                "sed",
                "--post-renderer-args",
                "--no-such-flag-of-sed"
            ])
            .lines()
            .take(5)
            .collect::<Vec<_>>()
            .join("\n")
    );
}

#[test]
fn what_needs_a_cluster_or_a_network_is_refused_with_a_reason() {
    let world = full();
    assert_snapshot!("validate", world.see(&["template", "demo", "--validate"]));
    assert_snapshot!(
        "repository",
        world.see(&["template", "demo", "--repo", "https://example.com"])
    );
    assert_snapshot!("an_address", world.see(&["template", "oci://example.com/demo"]));
    assert_snapshot!("a_repositorys_chart", world.see(&["template", "stable/demo"]));
    assert_snapshot!("a_bare_name", world.see(&["template", "nothing"]));
    assert_snapshot!(
        "an_unknown_flag",
        world.see(&["template", "demo", "--includ-crds"])
    );
}

#[test]
fn dependencies_in_directories_are_packed_when_asked_for() {
    let chart = |repository: &str| {
        format!(
            "apiVersion: v2\nname: demo\nversion: 1.0.0\ndependencies:\n- name: lib\n  version: '>=1.0.0'\n  repository: {repository}\n"
        )
    };
    let world = World::new()
        .file("demo/Chart.yaml", chart("file://../lib"))
        .file("lib/Chart.yaml", "apiVersion: v2\nname: lib\nversion: 1.2.0\n")
        .file("lib/templates/a.yaml", "kind: A\n")
        .file("remote/Chart.yaml", chart("https://example.com/charts"));
    assert_snapshot!("missing", world.see(&["template", "demo"]));
    assert_snapshot!("updated", world.see(&["template", "demo", "--dependency-update"]));
    let lock = fs::read_to_string(world.path("demo/Chart.lock")).expect("a lock file");
    let without_time: String = lock
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("generated:"))
        .collect();
    assert_snapshot!("lock", without_time);
    assert_snapshot!("there_by_now", world.see(&["template", "demo"]));
    assert_snapshot!(
        "on_the_network",
        world.see(&["template", "remote", "--dependency-update"])
    );
}

#[test]
fn a_deprecated_chart_and_a_library_are_told_apart() {
    let world = World::with_chart(&[("templates/a.yaml", "kind: A\n")])
        .file(
            "demo/Chart.yaml",
            "apiVersion: v2\nname: demo\nversion: 1.0.0\ndeprecated: true\n",
        )
        .file(
            "lib/Chart.yaml",
            "apiVersion: v2\nname: lib\nversion: 1.0.0\ntype: library\n",
        );
    assert_snapshot!("deprecated", world.see(&["template", "demo"]));
    assert_snapshot!("library", world.see(&["template", "lib"]));
}

#[test]
fn a_reader_that_goes_away_is_no_crash() {
    let world = World::with_chart(&[(
        "templates/a.yaml",
        "{{ range until 20000 }}# some text to fill a pipe\n{{ end }}kind: A\n",
    )]);
    let mut child = world
        .command(&["template", "demo"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut output = child.stdout.take().expect("a pipe");
    let mut first = [0; 4];
    output.read_exact(&mut first).expect("some output");
    drop(output);
    let result = child.wait_with_output().expect("an end");
    assert_eq!(result.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&result.stderr), "");
}
