//! `baton opm` as scripts that were written for opm use it: output to the byte, errors to the word.

#[expect(dead_code, reason = "other tests need charts too")]
mod world;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bundle::files::BundleFiles;
use bundle::generation::operator_image::bundle_image;
use image::content::ContentStore;
use image::policy::PolicySource;
use image::reference::Reference;
use image::registry::Registry;
use image::remote::{Remote, RemoteOptions};
use image::surroundings::Surroundings;
use insta::assert_snapshot;
use serde_json::Value;
use world::World;

/// The label that tells a bundle's image from a catalog's.
const PACKAGE_LABEL: &str = "operators.operatorframework.io.bundle.package.v1";

/// Runs a command of opm in a folder, with nothing of the machine's own settings.
fn opm(world: &World, arguments: &[&str]) -> Output {
    configured(world, arguments).output().expect("the program runs")
}

fn configured(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command(&[&["opm"], arguments].concat());
    command
        .env("HOME", world.path("home"))
        .env("XDG_CONFIG_HOME", world.path("home/.config"))
        .env("BATON_IMAGE_CACHE", world.path("cache"));
    let mirrors = world.path("registries.conf");
    if mirrors.exists() {
        command.env("CONTAINERS_REGISTRIES_CONF", mirrors);
    }
    for variable in [
        "HELP_ALPHA",
        "OLM_CACHE_DIR",
        "REGISTRY_AUTH_FILE",
        "DOCKER_CONFIG",
    ] {
        command.env_remove(variable);
    }
    command
}

/// Writes down what a command showed, without the time.
fn see(world: &World, arguments: &[&str]) -> String {
    without_time(&world.describe(&[&["opm"], arguments].concat(), &opm(world, arguments)))
}

fn without_time(text: &str) -> String {
    let is_time = |line: &str| {
        line.len() > 20
            && line
                .chars()
                .zip("0000/00/00 00:00:00 ".chars())
                .all(|(one, form)| one == form || (form == '0' && one.is_ascii_digit()))
    };
    let line = |line: &str| {
        if is_time(line) {
            return format!("[TIME] {}", &line[20..]);
        }
        match line.strip_prefix("time=\"").and_then(|rest| rest.split_once('"')) {
            Some((_, rest)) => format!("time=\"[TIME]\"{rest}"),
            None => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn catalog_corpus() -> Option<PathBuf> {
    Some(corpus::open("catalog")?.join("catalog-corpus"))
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What follows the time in the one line of a fatal error.
fn logged(output: &Output) -> String {
    let errors = without_time(&text(&output.stderr));
    errors
        .strip_prefix("[TIME] ")
        .map_or(errors.clone(), str::to_owned)
        .trim_end()
        .to_owned()
}

/// What follows `Error: `, up to how the command is used.
fn refused(output: &Output) -> String {
    let errors = text(&output.stderr);
    let (before, usage) = errors.split_once("\nUsage:\n").expect("an error and the usage");
    assert!(usage.contains("Flags:"), "{errors}");
    let (_, error) = before.split_once("Error: ").expect("an error");
    error.to_owned()
}

#[test]
fn every_group_lists_its_commands() {
    let world = World::new();
    assert_snapshot!("opm_help", see(&world, &["--help"]));
    assert_snapshot!("opm_render_help", see(&world, &["render", "-h"]));
    assert_snapshot!(
        "opm_dockerfile_help",
        see(&world, &["help", "generate", "dockerfile"])
    );
    assert_snapshot!(
        "opm_unpack_help",
        see(&world, &["alpha", "bundle", "unpack", "--help"])
    );
    let alpha = configured(&world, &["alpha"])
        .env("HELP_ALPHA", "true")
        .output()
        .expect("the program runs");
    assert_snapshot!("opm_alpha_help", text(&alpha.stdout));
    assert_snapshot!(
        "opm_version",
        see(&world, &["version"]).replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
    );
}

#[test]
fn mistakes_on_the_command_line_are_told_with_the_usage() {
    let world = World::new();
    for (arguments, error) in [
        (&["render"][..], "requires at least 1 arg(s), only received 0"),
        (&["validate", "a", "b"], "accepts 1 arg(s), received 2"),
        (&["nope"], "unknown command \"nope\" for \"opm\""),
        (&["render", "--nope"], "unknown flag: --nope"),
        (&["render", "-x", "a"], "unknown shorthand flag: 'x' in -x"),
        (&["render", "a", "-o"], "flag needs an argument: 'o' in -o"),
        (
            &["render", "--migrate", "--migrate-level=all", "x"],
            "if any flags in the group [migrate migrate-level] are set none of the others can be; [migrate migrate-level] were all set",
        ),
        (
            &["alpha", "bundle", "build"],
            "required flag(s) \"directory\", \"tag\" not set",
        ),
        (
            &["alpha", "render-template", "nope", "x"],
            "invalid template type \"nope\", must be one of: [basic semver substitutes]",
        ),
        (
            &["alpha", "render-template", "none.yaml"],
            "unable to open \"none.yaml\": open none.yaml: no such file or directory",
        ),
        (&["validate", "none"], "stat none: no such file or directory"),
    ] {
        let output = opm(&world, arguments);
        assert_eq!(refused(&output), error, "{arguments:?}");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let world = World::new();
    for (flags, error) in [
        (
            ["--use-http", "--skip-tls"],
            "cannot use --use-http with --skip-tls",
        ),
        (
            ["--skip-tls-verify=false", "--skip-tls"],
            "cannot use --skip-tls-verify with --skip-tls",
        ),
        (
            ["--use-http", "--skip-tls-verify"],
            "--use-http and --skip-tls-verify cannot both be true",
        ),
    ] {
        let output = opm(&world, &["render", flags[0], flags[1], "x"]);
        let errors = without_time(&text(&output.stderr));
        assert!(
            errors.ends_with(&format!("[TIME] invalid flag combination: {error}\n")),
            "{errors}"
        );
    }
    let deprecated = opm(&world, &["render", "--skip-tls=false", "."]);
    assert_eq!(
        text(&deprecated.stderr),
        "Flag --skip-tls has been deprecated, use --use-http and --skip-tls-verify instead\n"
    );
}

#[test]
fn commands_for_databases_say_what_to_use_instead() {
    let world = World::new();
    assert_snapshot!(
        "opm_index_add",
        see(
            &world,
            &["index", "add", "--bundles", "a", "--tag", "b", "--mode=semver"]
        )
    );
    assert_snapshot!(
        "opm_registry_serve",
        see(&world, &["registry", "serve", "-d", "x.db"])
    );
    assert_snapshot!(
        "opm_extract",
        see(&world, &["alpha", "bundle", "extract", "-m", "/x", "-c", "y"])
    );
}

#[test]
fn a_package_is_started() {
    let world = World::new()
        .file("README.md", "What it does.\n")
        .file("icon.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>")
        .file("icon.txt", "none");
    assert_snapshot!(
        "opm_init",
        see(
            &world,
            &[
                "init",
                "demo",
                "-c",
                "stable",
                "-d",
                "README.md",
                "-i",
                "icon.svg"
            ]
        )
    );
    assert_snapshot!("opm_init_yaml", see(&world, &["init", "-oyaml", "demo"]));
    assert_snapshot!("opm_init_output", see(&world, &["init", "-oxml", "demo"]));
    assert_snapshot!("opm_init_icon", see(&world, &["init", "demo", "--icon=icon.txt"]));
    assert_snapshot!("opm_init_none", see(&world, &["init", "demo", "--icon=none.svg"]));
}

#[test]
fn a_dockerfile_is_written_beside_the_catalog_and_never_replaced() {
    let world = World::new().file("configs/a.yaml", "").file("file", "");
    let written = |arguments: &[&str]| {
        let output = opm(&world, &[&["generate", "dockerfile"], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let path = world.path("configs.Dockerfile");
        let content = fs::read_to_string(&path).expect("a Dockerfile");
        fs::remove_file(path).expect("removed");
        content
    };
    assert_snapshot!("opm_dockerfile", written(&["configs"]));
    assert_snapshot!(
        "opm_dockerfile_scratch",
        written(&[
            "./configs/",
            "-i",
            "scratch",
            "-b",
            "my/opm:1",
            "-l",
            "b=2,a=1",
            "-l",
            "b=x=y"
        ])
    );
    assert_eq!(
        written(&["configs", "--binary-image=x"]).matches(" x").count(),
        2,
        "the old flag is for both stages"
    );
    for (line, error) in [
        (["configs", "-b", "scratch"], "invalid builder image: \"scratch\""),
        (["none", "-l", "a=b"], "stat none: no such file or directory"),
        (
            ["file", "-l", "a=b"],
            "provided root path \"file\" is not a directory",
        ),
        (["configs", "-l", "a"], "invalid label \"a\""),
    ] {
        let output = opm(&world, &[&["generate", "dockerfile"], &line[..]].concat());
        assert_eq!(refused(&output), error);
    }
    let world = world.file("configs.Dockerfile", "mine");
    assert_snapshot!(
        "opm_dockerfile_exists",
        see(&world, &["generate", "dockerfile", "configs"])
    );
    assert_eq!(
        fs::read(world.path("configs.Dockerfile")).expect("a file"),
        b"mine"
    );
}

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

#[test]
fn bundles_are_rendered_as_opm_does() {
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let world = World::new();
    let listed = fs::read_to_string(corpus.join("bundles/index.tsv")).expect("an index");
    let rendered = |directory: &str, image: &str, more: &[&str]| {
        let directory = corpus.join(directory);
        let template = format!("--alpha-image-ref-template={image}");
        let arguments = [&["render", directory.to_str().expect("UTF-8"), &template], more].concat();
        opm(&world, &arguments)
    };
    for line in listed.lines().step_by(16) {
        let mut fields = line.split('\t');
        let (directory, image) = (
            fields.next().expect("a directory"),
            fields.next().expect("an image"),
        );
        let expected = corpus.join(directory.replacen("bundles", "bundles-expected", 1));
        for (ending, more) in [
            ("json", &[][..]),
            ("migrated.json", &["--migrate"]),
            (
                "migrated.json",
                &["--migrate-level=bundle-object-to-csv-metadata"],
            ),
        ] {
            let output = rendered(directory, image, more);
            let expected = fs::read(format!("{}.{ending}", expected.display())).expect("an expectation");
            assert!(output.stdout == expected, "{directory} {more:?}");
        }
    }
    let errors = fs::read_dir(corpus.join("bundles-made-expected")).expect("a directory");
    for entry in errors.map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_stem().expect("a name").to_string_lossy().into_owned();
        let only_migrated = entry.with_extension("json").exists();
        if entry.extension().is_none_or(|ending| ending != "err")
            || only_migrated
            || name.ends_with("-dir-missing")
        {
            continue;
        }
        let output = rendered(&format!("bundles-made/{name}"), "quay.io/made/bundle:x", &[]);
        let expected = fs::read_to_string(&entry).expect("an expectation");
        let told = logged(&output).replace(&format!("{}/", corpus.display()), "");
        assert_eq!(told, expected.trim_end(), "{name}");
        assert_eq!(output.status.code(), Some(1), "{name}");
    }
}

#[test]
fn a_template_names_the_images_of_bundles_that_are_not_built_yet() {
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let world = World::new();
    let bundle = corpus.join("templates/bundles/titanml/2.0.0");
    let bundle = bundle.to_str().expect("UTF-8");
    let image = |template: &str| {
        let output = opm(
            &world,
            &["render", bundle, "--alpha-image-ref-template", template],
        );
        let rendered: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| logged(&output))
            .ok()?;
        Some(rendered["image"].as_str()?.to_owned())
    };
    assert_eq!(
        image("r/{{.Package}}:v{{.Version}}{{ if eq .Name \"x\" }}!{{ end }}").as_deref(),
        Some("r/inference-stack-operator:v2.0.0")
    );
    let output = opm(
        &world,
        &["render", bundle, "--alpha-image-ref-template", "{{.Nope}}"],
    );
    assert!(
        logged(&output).contains("can't evaluate field Nope in type action.imageReferenceTemplateData"),
        "{}",
        logged(&output)
    );
    let output = opm(&world, &["render", bundle, "--alpha-image-ref-template", "{{"]);
    assert!(
        logged(&output).starts_with("invalid image reference template: template: image-ref-template:1:"),
        "{}",
        logged(&output)
    );
}

#[test]
fn catalogs_are_validated_rendered_and_drawn_as_opm_does() {
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let world = World::new();
    let mut cases: Vec<PathBuf> = fs::read_dir(corpus.join("fbc"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    cases.sort();
    for case in cases.iter().step_by(7) {
        let catalog = case.join("in");
        let catalog = catalog.to_str().expect("UTF-8");
        let expected = json(&case.join("expect.json"));
        for (key, arguments) in [
            ("write_json", &["render", catalog][..]),
            ("write_yaml", &["render", "-o=yaml", catalog]),
            (
                "mermaid",
                &["alpha", "render-graph", "--draw-v0-semantics", catalog],
            ),
            ("mermaid_no_v0", &["alpha", "render-graph", catalog]),
        ] {
            let Some(file) = expected[key]["file"].as_str() else {
                continue;
            };
            let output = opm(&world, arguments);
            let wanted = fs::read(case.join(file)).expect("an expectation");
            assert!(output.stdout == wanted, "{} {arguments:?}", case.display());
        }
    }
    let all = json(&corpus.join("fbc-edge/validate-summary.json"));
    let all = all.as_object().expect("cases");
    for (name, expected) in all.iter().step_by(9) {
        let catalog = corpus.join("fbc-edge").join(name).join("in");
        let catalog = catalog.to_str().expect("UTF-8");
        let error = expected["error"].as_str();
        let output = opm(&world, &["validate", catalog]);
        assert_eq!(output.status.success(), error.is_none(), "{name}");
        let line = error.map(|error| {
            format!(
                "time=\"[TIME]\" level=fatal msg={}",
                bundle::validation::log_value(error)
            )
        });
        assert_eq!(logged(&output), line.unwrap_or_default(), "{name}");

        let output = opm(&world, &["validate", catalog, "-ojson"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(report["passed"], error.is_none(), "{name}");
        assert_eq!(report["error"]["message"].as_str(), error, "{name}");
        assert!(output.stderr.is_empty(), "{name}");
    }
}

/// A small catalog.
fn catalog() -> World {
    let bundle = |name: &str, version: &str| {
        format!(
            "---\nschema: olm.bundle\nname: {name}\npackage: demo\nimage: quay.io/demo/bundle:{version}\nproperties:\n- type: olm.package\n  value: {{packageName: demo, version: {version}}}\nrelatedImages:\n- {{name: b, image: quay.io/z:1}}\n- {{name: a, image: quay.io/a:1}}\n"
        )
    };
    World::new()
        .file("catalog/demo.yaml", format!("---\nschema: olm.package\nname: demo\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: demo\nname: stable\nentries:\n- name: demo.v1.0.0\n- name: demo.v1.1.0\n  replaces: demo.v1.0.0\n{}{}", bundle("demo.v1.0.0", "1.0.0"), bundle("demo.v1.1.0", "1.1.0")))
        .file("broken/a.yaml", "---\nschema: olm.package\nname: demo\ndefaultChannel: stable\n")
}

#[test]
fn a_catalog_is_listed() {
    let world = catalog();
    for (name, arguments) in [
        ("packages", &["packages", "catalog"][..]),
        ("channels", &["channels", "catalog", "demo"]),
        ("bundles", &["bundles", "catalog"]),
        ("unknown", &["bundles", "catalog", "nope"]),
        ("invalid", &["packages", "broken"]),
        ("file", &["packages", "catalog/demo.yaml"]),
    ] {
        let arguments = [&["alpha", "list"], arguments].concat();
        assert_snapshot!(format!("opm_list_{name}"), see(&world, &arguments));
    }
}

#[test]
fn a_validation_is_reported_for_programs() {
    let world = catalog();
    assert_snapshot!(
        "opm_validate",
        see(&world, &["validate", "catalog", "-o", "json"])
    );
    assert_snapshot!(
        "opm_validate_yaml",
        see(&world, &["validate", "broken", "-o", "yaml"])
    );
    assert_snapshot!("opm_validate_fatal", see(&world, &["validate", "broken"]));
    assert_eq!(
        refused(&opm(&world, &["validate", "catalog", "-o", "xml"])),
        "invalid --output value \"xml\", expected (json|yaml)"
    );
}

#[test]
fn a_catalog_is_migrated_into_an_empty_directory() {
    let world = catalog();
    assert_snapshot!(
        "opm_migrate",
        see(&world, &["migrate", "catalog", "out", "-o", "yaml"])
    );
    let written = fs::read_to_string(world.path("out/demo/catalog.yaml")).expect("a catalog");
    let rendered = opm(&world, &["render", "catalog", "-o", "yaml"]);
    assert_eq!(written, text(&rendered.stdout));
    let images: Vec<&str> = written
        .lines()
        .filter(|line| line.starts_with("- image:"))
        .take(2)
        .collect();
    assert_eq!(images, ["- image: quay.io/a:1", "- image: quay.io/z:1"]);
    assert_snapshot!("opm_migrate_again", see(&world, &["migrate", "catalog", "out"]));
    assert_snapshot!(
        "opm_migrate_level",
        see(&world, &["migrate", "catalog", "o", "--migrate-level", "x"])
    );
}

#[test]
fn a_catalog_becomes_a_template_again() {
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let world = World::new();
    let input = corpus.join("templates/convert/input.yaml");
    for kind in ["basic", "substitutes"] {
        for notation in ["json", "yaml"] {
            let line = [
                "alpha",
                "convert-template",
                kind,
                "-o",
                notation,
                input.to_str().expect("UTF-8"),
            ];
            let expected =
                fs::read(corpus.join(format!("templates/convert/{kind}.{notation}"))).expect("a file");
            assert_eq!(
                text(&opm(&world, &line).stdout),
                text(&expected),
                "{kind} {notation}"
            );
        }
    }
    let from_stdin = configured(&world, &["alpha", "convert-template", "basic"])
        .stdin(Stdio::from(fs::File::open(&input).expect("a file")))
        .output()
        .expect("the program runs");
    let expected = fs::read(corpus.join("templates/convert/basic.json")).expect("a file");
    assert_eq!(text(&from_stdin.stdout), text(&expected));
}

/// Publishes bundles in a registry, each below the name of the host that its name has.
async fn publish(host: &str, bundles: &BTreeMap<String, PathBuf>, folder: &Path) {
    let store = ContentStore::temporary().expect("a store");
    let options = RemoteOptions::from_surroundings(&Surroundings::under(folder), &PolicySource::Optional)
        .expect("options");
    let remote = Remote::new(options);
    for (name, directory) in bundles {
        let files = BundleFiles::read_directory(directory).expect("a bundle");
        let annotations = files
            .get("metadata/annotations.yaml")
            .and_then(|bytes| goyaml::to_value(bytes).ok())
            .unwrap_or_default();
        let mut labels: BTreeMap<String, String> = annotations["annotations"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        labels.entry(PACKAGE_LABEL.to_owned()).or_default();
        let files = files
            .iter()
            .map(|(path, bytes)| (path.to_owned(), bytes.to_vec()))
            .collect();
        let built = bundle_image(&files, &labels, &store).expect("an image");
        let reference = Reference::parse(&format!("{host}/{name}")).expect("a reference");
        remote
            .push(&store, &built.descriptor, &reference)
            .await
            .expect("published");
    }
}

/// A world whose settings lead from the hosts of the corpus to a registry on this machine.
fn mirrored(host: &str) -> World {
    let entry = |prefix: &str| {
        format!("[[registry]]\nprefix = \"{prefix}\"\nlocation = \"{host}/{prefix}\"\ninsecure = true\n\n")
    };
    World::new()
        .file("registries.conf", entry("docker.io") + &entry("quay.io"))
        .file(
            "home/.config/containers/policy.json",
            r#"{"default": [{"type": "insecureAcceptAnything"}]}"#,
        )
}

#[test]
fn templates_are_rendered_from_bundles_in_a_registry() {
    /// Templates of every kind, with and without migration, and mistakes in each stage.
    const CASES: [&str; 12] = [
        "semver-titanml",
        "semver-titanml-auto",
        "semver-titanml-migrate",
        "semver-example-a-both",
        "semver-release-versions",
        "semver-err-duplicate-name",
        "semver-err-schema",
        "basic-ok",
        "basic-ok-migrate",
        "basic-err-schema-auto",
        "basic-no-entries",
        "substitutes-chain",
    ];
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let templates = corpus.join("templates");
    let read = |case: &str| {
        fs::read_to_string(templates.join("cases").join(case).join("template.yaml")).expect("a template")
    };
    let needed: String = CASES.iter().map(|case| read(case)).collect();
    let bundles: BTreeMap<String, PathBuf> = fs::read_to_string(templates.join("images.tsv"))
        .expect("a list")
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter(|(image, _)| needed.contains(image))
        .map(|(image, directory)| (image.to_owned(), templates.join(directory)))
        .collect();

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = World::new();
    let registry = runtime
        .block_on(Registry::serve_on_loopback(folder.path("registry")))
        .expect("a registry");
    let host = registry
        .url()
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    runtime.block_on(publish(&host, &bundles, &folder.path("none")));
    let world = mirrored(&host);

    for case in CASES {
        let folder = templates.join("cases").join(case);
        let information = json(&folder.join("expect-info.json"));
        let file = folder.join("template.yaml");
        let mut line = vec!["alpha", "render-template"];
        line.extend(information["type"].as_str().filter(|kind| *kind != "auto"));
        line.push(file.to_str().expect("UTF-8"));
        let migrates = information["args"]
            .as_array()
            .is_some_and(|arguments| !arguments.is_empty());
        line.extend(migrates.then_some("--migrate-level=all"));
        if let Some(error) = information["error"].as_str() {
            assert_eq!(refused(&opm(&world, &line)), error, "{case}");
            continue;
        }
        for notation in ["json", "yaml", "mermaid"] {
            let Some(expected) = information[notation].as_str() else {
                continue;
            };
            let output = opm(&world, &[&line[..], &["-o", notation]].concat());
            let expected = fs::read(folder.join(expected)).expect("an expectation");
            assert_eq!(
                text(&output.stdout),
                text(&expected),
                "{case} {notation}: {}",
                text(&output.stderr)
            );
        }
    }

    let image = "docker.io/tytn/operator-bundle:2.0.0";
    let rendered = opm(&world, &["render", image]);
    let directory = templates.join("bundles/titanml/2.0.0");
    let from_directory = opm(
        &world,
        &[
            "render",
            directory.to_str().expect("UTF-8"),
            "--alpha-image-ref-template",
            image,
        ],
    );
    assert!(!rendered.stdout.is_empty() && rendered.stdout == from_directory.stdout);
    assert_eq!(
        logged(&opm(&world, &["alpha", "render-graph", image])),
        format!("render reference {image:?}: cannot render bundle image: not allowed")
    );
    let output = opm(&world, &["alpha", "list", "packages", image]);
    assert!(
        logged(&output).contains("cannot list non-index"),
        "{}",
        text(&output.stderr)
    );

    let output = opm(
        &world,
        &["alpha", "bundle", "unpack", image, "-o", "unpacked", "-v"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let unpacked = BundleFiles::read_directory(&world.path("unpacked")).expect("a bundle");
    let published = BundleFiles::read_directory(&directory).expect("a bundle");
    assert_eq!(unpacked, published);
    let output = opm(
        &world,
        &["alpha", "bundle", "validate", "-t", image, "-b", "none"],
    );
    assert!(
        text(&output.stderr).starts_with("Command \"validate\" is deprecated, This subcommand is deprecated"),
        "{}",
        text(&output.stderr)
    );

    let output = opm(&world, &["render", "tytn/operator-bundle:2.0.0"]);
    assert!(
        logged(&output).starts_with(
            "render reference \"tytn/operator-bundle:2.0.0\": failed to pull image \"tytn/operator-bundle:2.0.0\": "
        ) && logged(&output).contains("canonical"),
        "{}",
        logged(&output)
    );
    fs::remove_file(world.path("home/.config/containers/policy.json")).expect("removed");
    let output = opm(&world, &["render", image]);
    if !Path::new("/etc/containers/policy.json").exists() {
        assert!(logged(&output).contains("policy.json"), "{}", logged(&output));
        assert!(!output.status.success(), "without a policy, no image is trusted");
    }
    runtime.block_on(registry.stop());
}

#[test]
fn a_link_called_opm_is_opm() {
    let world = World::new();
    let link = world.path("opm");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_baton"), &link).expect("a link");
    let output = Command::new(link)
        .args(["init", "demo", "-o=yaml"])
        .output()
        .expect("the program runs");
    assert_eq!(
        text(&output.stdout),
        "---\ndefaultChannel: \"\"\nname: demo\nschema: olm.package\n"
    );
}

#[test]
fn a_cache_is_built_and_must_fit_the_catalog_that_is_served() {
    let world = catalog();
    let prepare = |more: &[&str]| {
        let common = [
            "serve",
            "catalog",
            "--cache-dir=store",
            "--pprof-addr=",
            "-t",
            "log",
        ];
        opm(&world, &[&common, more].concat())
    };
    let output = prepare(&[]);
    let error = logged(&output);
    assert!(
        error.starts_with("time=\"[TIME]\" level=fatal msg=\"integrity check failed: "),
        "{error}"
    );
    assert_eq!(
        without_time(&fs::read_to_string(world.path("log")).expect("a log")).trim_end(),
        error,
        "Kubernetes is told too"
    );
    assert!(prepare(&["--cache-only"]).status.success());
    let world = world.file("catalog/more.yaml", "---\nschema: custom\nname: x\n");
    let output = opm(
        &world,
        &[
            "serve",
            "catalog",
            "--cache-dir=store",
            "--pprof-addr=",
            "-t",
            "log",
        ],
    );
    assert!(
        logged(&output).contains("cache requires rebuild"),
        "{}",
        logged(&output)
    );
    let output = opm(
        &world,
        &["serve", "broken", "--pprof-addr=", "--cache-only", "-t", "log"],
    );
    assert!(
        logged(&output).contains("failed to load or rebuild cache"),
        "{}",
        logged(&output)
    );
    let output = opm(
        &world,
        &[
            "serve",
            "catalog",
            "--cache-enforce-integrity",
            "--pprof-addr=",
            "-t",
            "log",
        ],
    );
    assert!(
        logged(&output).contains("--cache-dir must be specified with --cache-enforce-integrity"),
        "{}",
        logged(&output)
    );
}

/// Runs a server until it says that it serves, and then tells it to stop.
fn serve(mut command: Command, port_of: impl Fn(&str) -> Option<u16>) -> String {
    let mut server = command.stderr(Stdio::piped()).spawn().expect("the program runs");
    let mut said = String::new();
    let mut lines = BufReader::new(server.stderr.take().expect("standard error")).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        said.push_str(&line);
        said.push('\n');
        port_of(&line)
    });
    TcpStream::connect(("127.0.0.1", port.expect("it serves"))).expect("it listens");
    let stopped = Command::new("kill")
        .args(["-TERM", &server.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(stopped.success() && server.wait().expect("it ends").success());
    for line in lines.map_while(Result::ok) {
        said.push_str(&line);
        said.push('\n');
    }
    said
}

#[test]
fn a_catalog_is_served_until_it_is_told_to_stop() {
    let world = catalog();
    let free = TcpListener::bind("[::]:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let number = port.to_string();
    let command = configured(
        &world,
        &[
            "serve",
            "catalog",
            "-p",
            &number,
            "--pprof-addr",
            "127.0.0.1:0",
            "-t",
            "log",
        ],
    );
    let said = serve(command, |line| line.contains("serving registry").then_some(port));
    assert_eq!(
        without_time(&said).replace(&number, "[PORT]"),
        "time=\"[TIME]\" level=info msg=\"starting pprof endpoint\" address=\"127.0.0.1:0\"\n\
         time=\"[TIME]\" level=info msg=\"serving registry\" configs=catalog port=[PORT]\n\
         time=\"[TIME]\" level=info msg=\"shutting down server\" configs=catalog port=[PORT]\n"
    );
    let taken = TcpListener::bind("[::]:0").expect("a port");
    let number = taken.local_addr().expect("an address").port().to_string();
    let output = opm(
        &world,
        &["serve", "catalog", "-p", &number, "--pprof-addr=", "-t", "log"],
    );
    assert_eq!(
        logged(&output).replace(&number, "[PORT]"),
        "time=\"[TIME]\" level=fatal msg=\"failed to listen: listen tcp :[PORT]: bind: address already in use\""
    );

    let command = world.command(&[
        "catalog",
        "serve",
        "catalog",
        "--address",
        "127.0.0.1:0",
        "--cache-dir",
        "store",
    ]);
    let said = serve(command, |line| line.rsplit_once(':')?.1.parse().ok());
    assert!(said.ends_with("stopped\n"), "{said}");
}
