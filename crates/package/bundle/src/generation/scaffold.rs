//! A new author's tree, complete from the first day, made from any chart.

use std::collections::BTreeMap;

use chart::Chart;
use chart::cosmetic::SETTING as COSMETIC_SETTING;
use serde_json::{Value, json};

use super::error::GenerationError;
use super::options::{check_definition_version, is_label};
use super::service_version::in_words;
use super::watches::{RESTART_SETTING, is_kind};

/// The image for who has given none; `example.com` is nobody's, so that nothing is published by accident.
const EXAMPLE_REGISTRY: &str = "registry.example.com";

/// What a new tree is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProject {
    /// The package, such as `inference-stack-operator`.
    pub package: String,
    /// The custom resource's group.
    pub group: String,
    /// The custom resource's kind.
    pub kind: String,
    /// The custom resource's version.
    pub version: String,
    /// The operator's image without a tag; the others are named after it.
    pub image: String,
}

impl NewProject {
    /// What a chart's name suggests.
    pub fn of(chart: &Chart) -> Self {
        let name: String = chart
            .name()
            .to_lowercase()
            .chars()
            .map(|character| {
                if character.is_ascii_alphanumeric() {
                    character
                } else {
                    '-'
                }
            })
            .collect();
        let name = name.trim_matches('-');
        let base = name.strip_suffix("-operator").unwrap_or(name);
        let kind: String = in_words(base, true).split_whitespace().collect();
        let kind = kind
            .trim_start_matches(|first: char| first.is_ascii_digit())
            .to_owned();
        Self {
            package: format!("{base}-operator"),
            group: "charts.example.com".to_owned(),
            kind: if is_kind(&kind) {
                kind
            } else {
                "Release".to_owned()
            },
            version: "v1alpha1".to_owned(),
            image: format!("{EXAMPLE_REGISTRY}/{base}-operator"),
        }
    }

    fn check(&self) -> Result<(), GenerationError> {
        let faulty = |what, name: &str, rule: &str, advice| {
            Err(GenerationError::Name {
                what,
                name: name.to_owned(),
                rule: rule.to_owned(),
                advice,
            })
        };
        check_definition_version(&self.version)?;
        if !is_label(&self.package) {
            return faulty(
                "package",
                &self.package,
                "must be lower-case letters, digits and hyphens",
                "give another with --package",
            );
        }
        if !is_kind(&self.kind) {
            return faulty(
                "kind",
                &self.kind,
                "must start with an upper-case letter and have only letters and digits",
                "give another with --kind",
            );
        }
        let is_domain = self.group.contains('.') && self.group.split('.').all(is_label);
        if !is_domain {
            return faulty(
                "group",
                &self.group,
                "must be a domain name, such as models.example.com",
                "give another with --group",
            );
        }
        Ok(())
    }
}

/// The files of a new tree by their path below its root.
pub fn new_project(chart: &Chart, new: &NewProject) -> Result<BTreeMap<String, Vec<u8>>, GenerationError> {
    new.check()?;
    let chart_path = format!("helm-charts/{}", chart.name());
    let fill = |template: &str| {
        template
            .replace("@TITLE@", &in_words(&new.package, true))
            .replace("@PACKAGE@", &new.package)
            .replace("@GROUP@", &new.group)
            .replace("@KIND@", &new.kind)
            .replace("@CRD_VERSION@", &new.version)
            .replace("@BUNDLE_IMAGE@", &format!("{}-bundle", new.image))
            .replace("@IMAGE@", &new.image)
            .replace("@CHART_PATH@", &chart_path)
    };
    let mut files = BTreeMap::new();
    let mut put = |path: &str, text: String| files.insert(path.to_owned(), text.into_bytes());
    put("Makefile", fill(include_str!("scaffold/Makefile.template")));
    put("README.md", fill(include_str!("scaffold/README.template")));
    put(
        "catalog/operator_catalog.yaml",
        fill(include_str!("scaffold/catalog.template")),
    );
    let dev_image = format!("{}-dev-bundle", new.image);
    put(
        "catalog/operator_catalog_dev.yaml",
        include_str!("scaffold/catalog.template")
            .replace("@BUNDLE_IMAGE@", &dev_image)
            .replace("`make catalog-build-push`", "`make catalog-build-push DEV=1`"),
    );
    put(
        ".gitignore",
        "/bundle/\n/bundle.Dockerfile\n/catalog/configs/\n/crds/\n/dist/\n".to_owned(),
    );
    put(
        "watches.yaml",
        format!(
            "# Which custom resources the operator looks after, and with which chart.\n- group: {}\n  version: {}\n  kind: {}\n  chart: {chart_path}\n  # Pods start anew when a ConfigMap or Secret of the chart that they use changes; false leaves that to the chart.\n  {RESTART_SETTING}: true\n  # Labels of pods that name only the chart and its version stay as they are until something else of the pods changes:\n  # a new version restarts nothing for their sake; apply writes them at once.\n  {COSMETIC_SETTING}: defer\n  # Only those with this label; it follows the major number of VERSION.\n  selector:\n    matchLabels:\n      operatorVersion: v0\n",
            new.group, new.version, new.kind
        ),
    );
    put(
        "config/rbac/role.yaml",
        "# Permissions in addition to those that baton derives from the chart; `make permissions` shows them.\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: manager-role\nrules: []\n".to_owned(),
    );
    put(
        &format!("config/samples/{}.yaml", new.kind.to_lowercase()),
        sample(chart, new),
    );
    let base_path = format!(
        "config/manifests/bases/{}.clusterserviceversion.yaml",
        new.package
    );
    let base = goyaml::to_string(&base(chart, new)).map_err(|error| GenerationError::Write {
        file: base_path.clone(),
        cause: error.to_string(),
    })?;
    put(&base_path, base);
    for file in chart.raw.iter() {
        files.insert(format!("{chart_path}/{}", file.name), file.data.to_vec());
    }
    Ok(files)
}

/// An example custom resource: the chart's values as they are written, comments and all.
fn sample(chart: &Chart, new: &NewProject) -> String {
    let head = format!(
        "apiVersion: {}/{}\nkind: {}\nmetadata:\n  name: {}-sample\n  labels:\n    operatorVersion: v0\n",
        new.group,
        new.version,
        new.kind,
        new.kind.to_lowercase()
    );
    let values = chart
        .raw_values()
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .unwrap_or_default();
    let indented: String = values
        .lines()
        .filter(|line| !line.starts_with("---"))
        .map(|line| {
            if line.trim().is_empty() {
                "\n".to_owned()
            } else {
                format!("  {line}\n")
            }
        })
        .collect();
    let written = format!("{head}spec:\n{indented}");
    // Indenting keeps the meaning of nearly every file; where it doesn't, the data is written without its comments.
    let meant = chart.raw_values().and_then(|bytes| goyaml::to_value(bytes).ok());
    let is_table = meant
        .as_ref()
        .is_some_and(|meant| meant.as_object().is_some_and(|table| !table.is_empty()));
    match goyaml::to_value(written.as_bytes()) {
        Ok(read) if is_table && read.get("spec") == meant.as_ref() => written,
        _ => {
            let spec = meant.filter(Value::is_object).unwrap_or_else(|| json!({}));
            let spec = goyaml::to_string(&json!({"spec": spec})).unwrap_or_else(|_| "spec: {}\n".to_owned());
            head + &spec
        }
    }
}

/// What catalogs show, as far as the chart tells it.
fn base(chart: &Chart, new: &NewProject) -> Value {
    let metadata = &chart.metadata;
    let title = in_words(&new.package, true);
    let or = |text: &str, other: String| if text.is_empty() { other } else { text.to_owned() };
    let maintainers: Vec<Value> = metadata
        .maintainers
        .iter()
        .filter(|person| !person.name.is_empty() && !person.email.is_empty())
        .map(|person| json!({"email": person.email, "name": person.name}))
        .collect();
    let provider = metadata
        .maintainers
        .first()
        .map_or_else(|| title.clone(), |person| person.name.clone());
    let mut links = Vec::new();
    if !metadata.home.is_empty() {
        links.push(json!({"name": title, "url": metadata.home}));
    }
    links.extend(
        metadata
            .sources
            .iter()
            .map(|source| json!({"name": "Sources", "url": source})),
    );
    let keywords = if metadata.keywords.is_empty() {
        vec![chart.name().to_owned()]
    } else {
        metadata.keywords.clone()
    };
    let modes = [
        "OwnNamespace",
        "SingleNamespace",
        "MultiNamespace",
        "AllNamespaces",
    ]
    .map(|mode| json!({"supported": mode == "AllNamespaces", "type": mode}));
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "annotations": {"capabilities": "Seamless Upgrades"},
            "name": format!("{}.v0.0.0", new.package),
            "namespace": "placeholder",
        },
        "spec": {
            "description": or(&metadata.description, format!("Keeps what custom resources of kind {} ask for.", new.kind)),
            "displayName": title,
            "installModes": modes,
            "keywords": keywords,
            "links": links,
            "maintainers": maintainers,
            "maturity": "alpha",
            "provider": {"name": provider},
            "version": "0.0.0",
        },
    })
}
