//! Bundles and images made from the example's tree, from new trees, and from the charts of the world.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bundle::files::BundleFiles;
use bundle::generation::chart_check::{self, ChartReport};
use bundle::generation::kinds::{Kinds, group_of};
use bundle::generation::operator_image::{OperatorImage, OperatorImageError, bundle_image};
use bundle::generation::permissions::Derivation;
use bundle::generation::structural::{structural, violations};
use bundle::generation::{
    ChartSources, Definitions, GeneratedBundle, GenerationError, NewProject, Options, Project, generate,
    new_project,
};
use bundle::validation::{OptionalValues, Selection, Selector, validate};
use chart::cosmetic::Cosmetic;
use serde_json::Value;

const IMAGE: &str = "registry.example.com/models/inference-stack-operator:2.0.0";

/// 2026-01-01, as `SOURCE_DATE_EPOCH` would give it.
const NEW_YEAR: i64 = 1_767_225_600;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/inference-stack")
}

fn project() -> Project {
    Project::read(&example(), &ChartSources::default()).expect("the example")
}

fn options(version: &str) -> Options {
    Options {
        definition_version: Some("v1alpha1".to_owned()),
        created_at: NEW_YEAR,
        ..Options::new(version, IMAGE)
    }
}

fn as_files(generated: &GeneratedBundle) -> BundleFiles {
    BundleFiles::from_image(generated.files.clone(), BTreeMap::new())
}

fn service_version(generated: &GeneratedBundle) -> Value {
    let path = format!("manifests/{}.clusterserviceversion.yaml", generated.package);
    goyaml::to_value(&generated.files[&path]).expect("YAML")
}

/// Everything that the validators say, errors and warnings alike.
fn complaints(generated: &GeneratedBundle) -> Vec<String> {
    let mut said = Vec::new();
    for selector in [
        "",
        "name=operatorhubv2",
        "name=good-practices",
        "suite=operatorframework",
    ] {
        let selection = Selection {
            location: "bundle".to_owned(),
            optional: if selector.is_empty() {
                Selector::default()
            } else {
                Selector::parse(selector).expect("a selector")
            },
            ..Selection::default()
        };
        let report = validate(&as_files(generated), &selection, &OptionalValues::default());
        said.extend(report.fatal().map(str::to_owned));
        said.extend(report.outputs().iter().map(|output| output.message.clone()));
    }
    said.sort();
    said.dedup();
    said
}

#[test]
fn the_examples_bundle_is_this_one() {
    let generated = generate(&project(), &options("2.0.0")).expect("a bundle");
    let mut text = String::new();
    for (path, bytes) in &generated.files {
        write!(text, "=== {path}\n{}", String::from_utf8_lossy(bytes)).expect("memory");
    }
    insta::assert_snapshot!("bundle", text);
    insta::assert_snapshot!("dockerfile", generated.dockerfile);
    insta::assert_snapshot!("watches", generated.watches_text);
    insta::assert_snapshot!("permissions", generated.derivation.to_string());
    insta::assert_snapshot!("pinned_permissions", generated.permissions_file);
}

#[test]
fn every_version_of_the_example_passes_every_validator() {
    for (version, chart) in [
        ("1.0.0", "versions/1.0.0/chart"),
        ("1.1.0", "versions/1.1.0/chart"),
        ("2.0.0", "chart"),
    ] {
        let sources = ChartSources {
            only: Some(example().join(chart)),
            ..ChartSources::default()
        };
        let project = Project::read(&example(), &sources).expect("the example");
        let generated = generate(&project, &options(version)).expect("a bundle");
        assert_eq!(generated.name, format!("inference-stack-operator.v{version}"));
        assert_eq!(complaints(&generated), Vec::<String>::new(), "{version}");
        let label = format!("operatorVersion: v{}", &version[..1]);
        assert!(
            generated.watches_text.contains(&label),
            "{}",
            generated.watches_text
        );
        assert_eq!(generated.derivation.failed, Vec::new());
    }
}

#[test]
fn what_the_example_can_create_is_allowed() {
    let generated = generate(&project(), &options("2.0.0")).expect("a bundle");
    let text = generated.derivation.to_string();
    for subject in [
        "ingresses.networking.k8s.io",
        "scaledobjects.keda.sh",
        "servicemonitors.monitoring.coreos.com",
    ] {
        assert!(
            text.contains(&format!(
                "  {subject}: create delete get list patch update watch\n"
            )),
            "{text}"
        );
    }
    assert!(
        text.contains(
            "  pods: get list\n    the operator itself: to say why workloads aren't ready\n  secrets: "
        ),
        "the chart's test is none of the operator's business: {text}"
    );
}

#[test]
fn the_time_of_creation_is_what_the_options_say() {
    let later = Options {
        created_at: NEW_YEAR + 1_000,
        ..options("2.0.0")
    };
    for (options, expected) in [
        (options("2.0.0"), "2026-01-01T00:00:00Z"),
        (later, "2026-01-01T00:16:40Z"),
    ] {
        let generated = generate(&project(), &options).expect("a bundle");
        let created_at = service_version(&generated)["metadata"]["annotations"]["createdAt"].clone();
        assert_eq!(created_at, expected);
    }
}

#[test]
fn definitions_can_go_beside_the_bundle() {
    let separate = Options {
        definitions: Definitions::Separate,
        ..options("2.0.0")
    };
    let generated = generate(&project(), &separate).expect("a bundle");
    assert_eq!(
        generated.definitions.keys().collect::<Vec<_>>(),
        ["models.example.com_inferencestacks.yaml"]
    );
    let service_version = service_version(&generated);
    assert_eq!(service_version["spec"].get("customresourcedefinitions"), None);
    assert_eq!(service_version["metadata"]["annotations"]["alm-examples"], "[]");
    assert_eq!(complaints(&generated), Vec::<String>::new());
}

#[test]
fn a_slip_is_refused_with_the_next_step() {
    let refused = |options: &Options| generate(&project(), options).expect_err("a slip").to_string();
    let mut said = Vec::new();
    for version in ["v2.0", "2.0", "2.0.0+7", ""] {
        said.push(refused(&options(version)));
    }
    for version in ["v1beta1", "1alpha1"] {
        said.push(refused(&Options {
            definition_version: Some(version.to_owned()),
            ..options("2.0.0")
        }));
    }
    said.push(refused(&Options {
        image: String::new(),
        ..options("2.0.0")
    }));
    said.push(refused(&Options {
        default_channel: Some("fast".to_owned()),
        ..options("2.0.0")
    }));
    said.push(refused(&Options {
        package: Some("inference-stack-operator-with-a-name-that-is-too-long".to_owned()),
        ..options("2.0.0")
    }));
    let mut pinned = project();
    pinned.pinned_permissions =
        Some(b"rules:\n- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [get]\n".to_vec());
    let error = generate(&pinned, &options("2.0.0")).expect_err("other permissions");
    assert!(matches!(error, GenerationError::Permissions(_)));
    said.push(error.to_string());
    insta::assert_snapshot!("slips", said.join("\n\n"));
    let accepted = Options {
        update_permissions: true,
        ..options("2.0.0")
    };
    let accepted = generate(&pinned, &accepted).expect("a bundle");
    pinned.pinned_permissions = Some(accepted.permissions_file.into_bytes());
    let all = generate(&pinned, &options("2.0.0")).expect("the pinned permissions");

    // A file from before operators read pods stops nobody, and nothing is granted that nobody has reviewed.
    let pods = "- apiGroups:\n  - \"\"\n  resources:\n  - pods\n  verbs:\n  - get\n  - list\n";
    assert!(all.permissions_file.contains(pods), "{}", all.permissions_file);
    let older = all.permissions_file.replace(pods, "");
    pinned.pinned_permissions = Some(older.clone().into_bytes());
    let without = generate(&pinned, &options("2.0.0")).expect("the pinned permissions");
    assert_eq!(without.permissions_file, older);
}

#[test]
fn an_authors_definition_wins_and_must_serve_the_version() {
    let mut project = project();
    let definition: Value = serde_json::from_str(
        r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "stacks.models.example.com", "creationTimestamp": null},
            "spec": {"group": "models.example.com", "scope": "Namespaced",
                     "names": {"kind": "InferenceStack", "plural": "stacks", "singular": "stack", "listKind": "InferenceStackList"},
                     "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                                   "schema": {"openAPIV3Schema": {"type": "object"}}}]},
            "status": {}}"#,
    )
    .expect("JSON");
    project.definitions = vec![("config/crd/bases/stacks.yaml".to_owned(), definition.clone())];
    let generated = generate(&project, &options("2.0.0")).expect("a bundle");
    assert!(
        generated
            .files
            .contains_key("manifests/models.example.com_stacks.yaml")
    );
    assert!(
        generated
            .derivation
            .to_string()
            .contains("  stacks/status.models.example.com: ")
    );
    project.definitions[0].1["spec"]["versions"][0]["name"] = "v1".into();
    let error = generate(&project, &options("2.0.0"))
        .expect_err("another version")
        .to_string();
    assert!(
        error.contains("config/crd/bases/stacks.yaml") && error.contains("v1alpha1"),
        "{error}"
    );
}

#[test]
fn an_authors_deployment_keeps_what_it_says() {
    let mut project = project();
    let deployment = goyaml::to_value(
        b"kind: Deployment\nspec:\n  replicas: 2\n  template:\n    spec:\n      containers:\n      - name: manager\n        image: controller:latest\n        args: [--leader-elect, --leader-election-id=mine]\n",
    )
    .expect("YAML");
    project.deployment = Some(("config/manager/manager.yaml".to_owned(), deployment));
    let generated = generate(&project, &options("2.0.0")).expect("a bundle");
    let spec = service_version(&generated)["spec"]["install"]["spec"]["deployments"][0]["spec"].clone();
    assert_eq!(spec["replicas"], 2);
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], IMAGE);
    let arguments: Vec<&str> = container["args"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(arguments[..2], ["--leader-elect", "--leader-election-id=mine"]);
    assert!(arguments.contains(&"--health-probe-bind-address=:8081"));
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
}

#[test]
fn a_new_tree_is_complete() {
    let chart = chart::loader::load(&example().join("chart"), &mut |_| ()).expect("the chart");
    let mut new = NewProject::of(&chart);
    assert_eq!(
        (new.package.as_str(), new.kind.as_str()),
        ("inference-stack-operator", "InferenceStack")
    );
    new.group = "models.example.com".to_owned();
    let files = new_project(&chart, &new).expect("a tree");
    let folder = tempfile::tempdir().expect("a directory");
    for (path, bytes) in &files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, bytes).expect("a file");
    }
    let own: Vec<&String> = files
        .keys()
        .filter(|path| !path.starts_with("helm-charts/"))
        .collect();
    insta::assert_debug_snapshot!("new_tree", own);
    // What is made of the tree is no part of it.
    let ignored = String::from_utf8_lossy(&files[".gitignore"]);
    for made in ["/bundle/", "/catalog/configs/", "/crds/", "/dist/"] {
        assert!(ignored.lines().any(|line| line == made), "{made}");
    }
    insta::assert_snapshot!("new_makefile", String::from_utf8_lossy(&files["Makefile"]));
    let project = Project::read(folder.path(), &ChartSources::default()).expect("the new tree");
    let generated = generate(&project, &options("0.1.0")).expect("a bundle");
    // The picture is the one thing that no chart brings along.
    let said: Vec<String> = complaints(&generated)
        .into_iter()
        .filter(|said| !said.contains("Icon"))
        .collect();
    assert_eq!(said, Vec::<String>::new());
    assert!(generated.watches_text.contains("operatorVersion: v0"));
    // What is safe is switched on, each with a line that says why.
    let watch = &project.watched[0].watch;
    assert_eq!(watch.restart_on_configuration, Some(true));
    assert_eq!(watch.cosmetic, Some(Cosmetic::Defer));
    let lines: Vec<&str> = generated.watches_text.lines().collect();
    for setting in ["  restartOnConfiguration: true", "  cosmetic: defer"] {
        let place = lines
            .iter()
            .position(|line| *line == setting)
            .expect("the setting");
        assert!(lines[place - 1].starts_with("  # "), "{setting}");
    }
}

/// A file that looks like a static program for the architecture.
fn program(folder: &Path, machine: u8) -> PathBuf {
    let mut header = vec![0_u8; 64];
    header[..6].copy_from_slice(b"\x7fELF\x02\x01");
    header[18] = machine;
    header.extend_from_slice(b"program");
    let path = folder.join(format!("baton-{machine}"));
    fs::write(&path, header).expect("a file");
    path
}

#[test]
fn images_hold_the_program_the_chart_and_the_watches_and_are_the_same_each_time() {
    let folder = tempfile::tempdir().expect("a directory");
    let project = project();
    let generated = generate(&project, &options("2.0.0")).expect("a bundle");
    let binaries = BTreeMap::from([
        ("amd64".to_owned(), program(folder.path(), 62)),
        ("arm64".to_owned(), program(folder.path(), 183)),
    ]);
    let build = |name: &str| {
        let store = image::content::ContentStore::open(&folder.path().join(name), 1 << 30).expect("a store");
        let operator = OperatorImage::new(&project, &generated, binaries.clone()).expect("an image");
        assert_eq!(operator.warnings, Vec::<String>::new());
        assert_eq!(
            operator.settings.entrypoint,
            ["/baton", "operator", "run", "--watches-file=./watches.yaml"]
        );
        let operator = operator.build(&store).expect("an image");
        let bundle = bundle_image(&generated.files, &generated.labels, &store).expect("an image");
        (
            operator.descriptor.digest().to_string(),
            bundle.descriptor.digest().to_string(),
        )
    };
    assert_eq!(build("one"), build("two"));
    let wrong = BTreeMap::from([("arm64".to_owned(), program(folder.path(), 62))]);
    assert!(matches!(
        OperatorImage::new(&project, &generated, wrong),
        Err(OperatorImageError::WrongBinary { .. })
    ));
    assert!(matches!(
        OperatorImage::new(&project, &generated, BTreeMap::new()),
        Err(OperatorImageError::NoBinary)
    ));
}

#[test]
fn every_version_of_the_example_has_a_chart_that_works() {
    // The first versions put their labels into pods, which newer ones don't.
    let with_labels = [
        "applications.yaml: pods of Deployment inference-stack-sample-chat",
        "gateway.yaml: pods of Deployment sample-inference-stack-gateway",
    ];
    for (chart, expected) in [
        ("versions/1.0.0/chart", &with_labels[..]),
        ("versions/1.1.0/chart", &with_labels[..]),
        ("chart", &[]),
    ] {
        let sources = ChartSources {
            only: Some(example().join(chart)),
            ..ChartSources::default()
        };
        let mut project = Project::read(&example(), &sources).expect("the example");
        let report = chart_check::check(&project, &[]);
        assert_eq!(report.faults, Vec::new(), "{chart}");
        assert_eq!(
            report.warnings, [""; 0],
            "{chart}: its watches.yaml lets pods keep them"
        );
        for watched in &mut project.watched {
            watched.watch.cosmetic = None;
        }
        let report = chart_check::check(&project, &[]);
        assert_eq!(report.faults, Vec::new(), "{chart}");
        assert_eq!(restarted(&report), expected, "{chart}");
        assert_eq!(report.warnings.len(), expected.len(), "{chart}: {report:?}");
    }
}

#[test]
fn the_users_tree_has_a_chart_that_works() {
    let Some(folder) = corpus::open("users-tree") else {
        return;
    };
    let folder = folder.join("users-tree");
    let sources = ChartSources {
        only: Some(folder.join("charts/inference-stack")),
        ..ChartSources::default()
    };
    let project = Project::read(&folder.join("operator-lifecycle-manager"), &sources).expect("the tree");
    assert_eq!(project.samples.len(), 1);
    let report = chart_check::check(&project, &[]);
    assert_eq!(report.faults, Vec::new());
    // They have no application in their sample; those have the same labels.
    assert_eq!(
        restarted(&report),
        ["gateway.yaml: pods of Deployment sample-inference-stack-gateway"]
    );
}

/// The templates and pods of which is said that they start anew with every version.
fn restarted(report: &ChartReport) -> Vec<&str> {
    let told = report.warnings.iter();
    told.filter_map(|warning| warning.split_once(" start anew with every version"))
        .filter_map(|(pods, _)| pods.rsplit('/').next())
        .collect()
}

/// What Helm's linter says against charts that Helm renders all the same.
const LINTED: [&str; 3] = [
    "chart metadata is missing these dependencies",
    "apiVersion is required",
    "dependencies are not valid in the Chart file with apiVersion 'v1'",
];

#[test]
fn what_helm_renders_of_real_charts_has_no_faults() {
    let Some(folder) = corpus::open("helm-charts") else {
        return;
    };
    let mut names: Vec<String> = fs::read_dir(folder.join("charts"))
        .expect("charts")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| folder.join("golden").join(format!("{name}.yaml")).is_file())
        .collect();
    names.sort();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tree = tempfile::tempdir().expect("a folder");
                    let watches = "- {group: example.com, version: v1, kind: Demo, chart: chart}\n";
                    fs::write(tree.path().join("watches.yaml"), watches).expect("a file");
                    let sources = ChartSources {
                        only: Some(folder.join("charts").join(name)),
                        ..ChartSources::default()
                    };
                    let Ok(project) = Project::read(tree.path(), &sources) else {
                        continue;
                    };
                    let faults = chart_check::check(&project, &[]).faults.into_iter();
                    found.lock().expect("no panic").extend(
                        faults
                            .map(|fault| (name.clone(), format!("{}: {}", fault.check.name(), fault.cause))),
                    );
                }
            });
        }
    });
    assert!(names.len() > 200, "only {} charts", names.len());
    let mut unexpected = found.into_inner().expect("no panic");
    unexpected.retain(|(_, fault)| !LINTED.iter().any(|words| fault.contains(words)));
    unexpected.sort();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

#[test]
fn everything_that_real_charts_create_by_default_is_allowed() {
    let Some(folder) = corpus::open("helm-charts") else {
        return;
    };
    let mut charts: Vec<PathBuf> = fs::read_dir(folder.join("charts"))
        .expect("charts")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    charts.sort();
    let next = AtomicUsize::new(0);
    let checked = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(path) = charts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = path
                        .file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned();
                    let golden = fs::read(folder.join("golden").join(format!("{name}.yaml")));
                    let (Ok(chart), Ok(golden)) = (chart::loader::load(path, &mut |_| ()), golden) else {
                        continue;
                    };
                    checked.fetch_add(1, Ordering::Relaxed);
                    let found = not_allowed(&chart, golden)
                        .into_iter()
                        .chain(not_structural(&chart));
                    wrong
                        .lock()
                        .expect("no panic")
                        .extend(found.map(|found| format!("{name}: {found}")));
                }
            });
        }
    });
    let checked = checked.into_inner();
    assert!(checked > 200, "only {checked} charts");
    assert_eq!(wrong.into_inner().expect("no panic"), Vec::<String>::new());
}

/// The objects of a rendered chart that the derived permissions don't let the operator create.
fn not_allowed(chart: &Arc<chart::Chart>, rendered: Vec<u8>) -> Vec<String> {
    let mut kinds = Kinds::default();
    for file in chart.files.iter().filter(|file| file.name.starts_with("crds/")) {
        for document in chart::manifest::split(&file.data) {
            kinds.learn(&goyaml::to_value(&document).unwrap_or_default());
        }
    }
    let mut derivation = Derivation::default();
    // Only the defaults: which flag leads where is another test's business.
    derivation.add_chart(chart, &[], &Kinds::default(), 1);
    let rules = derivation.rules();
    let mut wrong = Vec::new();
    for document in chart::manifest::split(&rendered.into()) {
        let object = goyaml::to_value(&document).unwrap_or_default();
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let hooks = text("/metadata/annotations/helm.sh~1hook");
        let is_test = !hooks.is_empty() && hooks.split(',').all(|hook| hook.trim().starts_with("test"));
        if kind.is_empty() || kind == "List" || is_test {
            continue;
        }
        let resource = kinds.resource(group_of(api_version), kind);
        let has = |list: &[String], wanted: &str| list.iter().any(|entry| entry == wanted || entry == "*");
        let allowed = rules.iter().any(|rule| {
            has(&rule.api_groups, &resource.group)
                && has(&rule.resources, &resource.plural)
                && has(&rule.verbs, "create")
                && rule.resource_names.is_empty()
        });
        if !allowed {
            wrong.push(format!("{api_version} {kind}"));
        }
    }
    wrong
}

/// The rules for structural schemas that the definition made from a chart's schema breaks.
fn not_structural(chart: &chart::Chart) -> Vec<String> {
    let schema = chart
        .schema
        .as_ref()
        .and_then(|schema| serde_json::from_slice::<Value>(schema).ok());
    let defaults = chart.values.as_deref().cloned().map(Value::Object);
    schema.map_or_else(Vec::new, |schema| {
        violations(&structural(&schema, defaults.as_ref()))
    })
}
