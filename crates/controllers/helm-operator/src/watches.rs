//! `watches.yaml`: which custom resources an operator looks after, with which chart, and how.
//!
//! The file may be written for either of the two Helm operators of the Operator Framework; every field of both counts.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chart::cosmetic::{self, Cosmetic};
use chart::environment::Variables;
use chart::go_duration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Selector;
use serde::Deserialize;
use serde_json::Value;

use crate::overrides::{self, Overrides};

/// More than any operator watches; a longer file is a mistake.
const MOST_WATCHES: usize = 1_000;

/// The kind of a custom resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// The API group; empty for the core.
    pub group: String,
    /// The version in the group.
    pub version: String,
    /// The name of the kind.
    pub kind: String,
}

impl Kind {
    /// Returns the group and version as objects write them.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for Kind {
    /// Writes the kind as Go's libraries do.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

/// Against what a chart is rendered to see whether a release must change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DryRun {
    /// The templates' `lookup` sees the cluster.
    #[default]
    Server,
    /// It sees nothing.
    Client,
}

/// One entry of `watches.yaml`.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The kind of the custom resources.
    pub kind: Kind,
    /// The chart: a folder or an archive.
    pub chart: PathBuf,
    /// Whether changes of what a resource made are watched and undone.
    pub watch_dependent_resources: bool,
    /// Values that no resource can set otherwise.
    pub overrides: Overrides,
    /// Which resources are looked after.
    pub selector: LabelSelector,
    /// How often a resource is looked at although nothing changed.
    pub reconcile_period: Option<Duration>,
    /// How many resources are looked at at the same time.
    pub max_concurrent_reconciles: Option<usize>,
    /// What `lookup` sees when it is asked whether a release must change.
    pub dry_run: DryRun,
    /// Whether pods start anew when configuration that they use changes; baton's own field.
    pub restart_on_configuration: bool,
    /// What becomes of labels of pods that name nothing but a version; baton's own field.
    pub cosmetic: Cosmetic,
}

impl Watch {
    /// Returns the selector in a form that can be asked; an empty one picks every resource.
    pub fn selection(&self) -> Result<Selector, WatchesError> {
        Selector::try_from(self.selector.clone()).map_err(|fault| WatchesError::Selector {
            kind: self.kind.clone(),
            cause: fault.to_string(),
        })
    }
}

/// What is wrong with `watches.yaml`.
#[derive(Debug, thiserror::Error)]
pub enum WatchesError {
    /// The file can't be opened.
    #[error("could not open watches file: open {path}: {cause}; give another one with --watches-file")]
    Open {
        /// The file.
        path: String,
        /// Why.
        cause: String,
    },
    /// It is no YAML, or a field has the wrong type.
    #[error("watches file: {0}")]
    Syntax(String),
    /// A kind is incomplete.
    #[error("invalid GVK: {kind}: {cause}")]
    Kind {
        /// What is known of it.
        kind: Kind,
        /// What is missing.
        cause: &'static str,
    },
    /// A kind is there twice.
    #[error("duplicate GVK: {0}")]
    Duplicate(Kind),
    /// A chart can't be loaded.
    #[error("invalid chart {path}: {cause}")]
    Chart {
        /// The path as the file has it.
        path: String,
        /// Why.
        cause: String,
    },
    /// A value to override can't be worked out.
    #[error("failed to expand override values: {kind}: {cause}")]
    Override {
        /// Of which kind.
        kind: Kind,
        /// Which value, and why.
        cause: String,
    },
    /// The selector can't be read.
    #[error("invalid selector of {kind}: {cause}")]
    Selector {
        /// Of which kind.
        kind: Kind,
        /// Why.
        cause: String,
    },
    /// A field has a value that it can't have.
    #[error("invalid {field} of {kind}: {cause}")]
    Field {
        /// Of which kind.
        kind: Kind,
        /// The field.
        field: &'static str,
        /// Why.
        cause: String,
    },
}

/// What an entry looks like in the file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    chart: Option<String>,
    #[serde(default)]
    watch_dependent_resources: Option<bool>,
    #[serde(default)]
    override_values: Option<BTreeMap<String, String>>,
    #[serde(default)]
    selector: Option<LabelSelector>,
    #[serde(default)]
    reconcile_period: Option<String>,
    #[serde(default)]
    max_concurrent_reconciles: Option<i64>,
    #[serde(default)]
    dry_run_option: Option<String>,
    #[serde(default)]
    restart_on_configuration: Option<bool>,
    #[serde(default)]
    cosmetic: Option<String>,
}

/// The keys that Go's decoder finds in whatever case they are written.
const KEYS: &[&str] = &[
    "group",
    "version",
    "kind",
    "chart",
    "watchDependentResources",
    "overrideValues",
    "selector",
    "reconcilePeriod",
    "maxConcurrentReconciles",
    "dryRunOption",
    "restartOnConfiguration",
    cosmetic::SETTING,
];

/// Reads a file.
pub fn load(path: &Path, variables: &Variables) -> Result<Vec<Watch>, WatchesError> {
    let bytes = std::fs::read(path).map_err(|fault| WatchesError::Open {
        path: path.display().to_string(),
        cause: fault.to_string(),
    })?;
    read(&bytes, variables)
}

/// Reads the entries; `variables` is the environment.
pub fn read(bytes: &[u8], variables: &Variables) -> Result<Vec<Watch>, WatchesError> {
    let value = goyaml::to_value(bytes).map_err(|fault| WatchesError::Syntax(fault.to_string()))?;
    let entries = match value {
        Value::Null => Vec::new(),
        Value::Array(entries) => entries,
        _ => return Err(WatchesError::Syntax("it must be a list of watches".to_owned())),
    };
    if entries.len() > MOST_WATCHES {
        return Err(WatchesError::Syntax(format!(
            "it has {} watches; at most {MOST_WATCHES} are possible",
            entries.len()
        )));
    }
    let mut known = HashSet::new();
    let mut watches = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let entry: Entry = serde_json::from_value(with_known_keys(entry))
            .map_err(|fault| WatchesError::Syntax(format!("watch {}: {fault}", index + 1)))?;
        let watch = watch(entry, variables)?;
        if !known.insert(watch.kind.clone()) {
            return Err(WatchesError::Duplicate(watch.kind));
        }
        watches.push(watch);
    }
    Ok(watches)
}

/// Writes known keys as they are known; one that is written exactly so wins over its variants.
fn with_known_keys(entry: Value) -> Value {
    let Value::Object(mut entry) = entry else {
        return entry;
    };
    for key in KEYS {
        if !entry.contains_key(*key) {
            let variant = entry
                .keys()
                .find(|other| other.eq_ignore_ascii_case(key))
                .cloned();
            if let Some(value) = variant.and_then(|variant| entry.remove(&variant)) {
                entry.insert((*key).to_owned(), value);
            }
        }
    }
    Value::Object(entry)
}

fn watch(entry: Entry, variables: &Variables) -> Result<Watch, WatchesError> {
    let kind = Kind {
        group: entry.group.unwrap_or_default(),
        version: entry.version.unwrap_or_default(),
        kind: entry.kind.unwrap_or_default(),
    };
    let missing = match (kind.version.is_empty(), kind.kind.is_empty()) {
        (true, _) => Some("version must not be empty"),
        (_, true) => Some("kind must not be empty"),
        _ => None,
    };
    if let Some(cause) = missing {
        return Err(WatchesError::Kind { kind, cause });
    }
    let field = |field, cause| WatchesError::Field {
        kind: kind.clone(),
        field,
        cause,
    };
    let reconcile_period = entry
        .reconcile_period
        .map(|text| go_duration::parse(&text).map_err(|fault| field("reconcilePeriod", fault)))
        .transpose()?;
    let max_concurrent_reconciles = entry
        .max_concurrent_reconciles
        .map(|number| match usize::try_from(number) {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(field(
                "maxConcurrentReconciles",
                format!("{number} is not a positive number"),
            )),
        })
        .transpose()?;
    let dry_run = match entry.dry_run_option.as_deref() {
        None | Some("server") => DryRun::Server,
        Some("" | "client" | "none") => DryRun::Client,
        Some(other) => {
            let cause = format!("{other:?} is none of \"client\" and \"server\"");
            return Err(field("dryRunOption", cause));
        }
    };
    let cosmetic = entry.cosmetic.map(|word| word.parse::<Cosmetic>()).transpose();
    let cosmetic = cosmetic.map_err(|fault| field(cosmetic::SETTING, fault.to_string()))?;
    let overrides = overrides::expand(&entry.override_values.unwrap_or_default(), variables);
    let overrides = overrides.map_err(|fault| WatchesError::Override {
        kind: kind.clone(),
        cause: fault.to_string(),
    })?;
    let watch = Watch {
        chart: PathBuf::from(entry.chart.unwrap_or_default()),
        watch_dependent_resources: entry.watch_dependent_resources.unwrap_or(true),
        overrides,
        selector: entry.selector.unwrap_or_default(),
        reconcile_period,
        max_concurrent_reconciles,
        dry_run,
        restart_on_configuration: entry.restart_on_configuration.unwrap_or(false),
        cosmetic: cosmetic.unwrap_or_default(),
        kind,
    };
    // A selector that can't be read must be said at the start, not at the first resource.
    watch.selection()?;
    Ok(watch)
}

#[cfg(test)]
mod tests {
    use kube::core::SelectorExt as _;

    use super::*;

    fn read_text(text: &str) -> Result<Vec<Watch>, WatchesError> {
        let variables: Variables = std::rc::Rc::new(|name| format!("<{name}>"));
        read(text.as_bytes(), &variables)
    }

    #[test]
    fn every_field_of_both_operators_counts() {
        let text = r#"
- group: doublewordai.co
  version: v1alpha1
  Kind: InferenceStack
  chart: helm-charts/inference-stack
  watchDependentResources: false
  overrideValues: {image.tag: "${TAG}"}
  reconcilePeriod: 1m30s
  maxConcurrentReconciles: 4
  dryRunOption: client
  restartOnConfiguration: true
  cosmetic: defer
  somethingElse: 1
  selector:
    matchLabels: {operatorVersion: v2}
    matchExpressions: [{key: tier, operator: NotIn, values: [test]}]
"#;
        let watches = read_text(text).expect("a good file");
        let watch = &watches[0];
        assert_eq!(
            watch.kind.to_string(),
            "doublewordai.co/v1alpha1, Kind=InferenceStack"
        );
        assert_eq!(watch.chart, Path::new("helm-charts/inference-stack"));
        assert!(!watch.watch_dependent_resources);
        assert_eq!(watch.reconcile_period, Some(Duration::from_secs(90)));
        assert_eq!(watch.max_concurrent_reconciles, Some(4));
        assert_eq!(watch.dry_run, DryRun::Client);
        assert!(watch.restart_on_configuration);
        assert_eq!(watch.cosmetic, Cosmetic::Defer);
        assert_eq!(
            watch.overrides.iter().collect::<Vec<_>>(),
            [("image.tag", "<TAG>")]
        );
        let labels = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let selection = watch.selection().expect("a good selector");
        assert!(selection.matches(&labels(&[("operatorVersion", "v2")])));
        assert!(!selection.matches(&labels(&[("operatorVersion", "v2"), ("tier", "test")])));
        assert!(!selection.matches(&labels(&[])));
    }

    #[test]
    fn what_is_not_said_has_the_usual_meaning() {
        let watches = read_text("- {version: v1, kind: Pod, chart: c}").expect("a good file");
        let watch = &watches[0];
        assert!(watch.watch_dependent_resources);
        assert!(watch.reconcile_period.is_none());
        assert_eq!(watch.dry_run, DryRun::Server);
        assert_eq!(watch.cosmetic, Cosmetic::Apply);
        assert!(
            watch
                .selection()
                .expect("a good selector")
                .matches(&BTreeMap::new())
        );
        assert!(read_text("").expect("nothing to watch").is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        let rows = [
            ("a: b", "watches file: it must be a list of watches"),
            (
                "- {group: g, kind: K, chart: c}",
                "invalid GVK: g/, Kind=K: version must not be empty",
            ),
            (
                "- {group: g, version: v1, chart: c}",
                "invalid GVK: g/v1, Kind=: kind must not be empty",
            ),
            (
                "- {version: v1, kind: K}\n- {version: v1, kind: K}",
                "duplicate GVK: /v1, Kind=K",
            ),
            (
                "- {version: v1, kind: K, reconcilePeriod: soon}",
                "invalid reconcilePeriod of /v1, Kind=K: time: invalid duration \"soon\"",
            ),
            (
                "- {version: v1, kind: K, maxConcurrentReconciles: 0}",
                "invalid maxConcurrentReconciles of /v1, Kind=K: 0 is not a positive number",
            ),
            (
                "- {version: v1, kind: K, dryRunOption: maybe}",
                "invalid dryRunOption of /v1, Kind=K: \"maybe\" is none of \"client\" and \"server\"",
            ),
            (
                "- {version: v1, kind: K, cosmetic: later}",
                "invalid cosmetic of /v1, Kind=K: \"later\" is none of \"apply\" and \"defer\"",
            ),
            (
                "- {version: v1, kind: K, overrideValues: {a: '{{ nope }}'}}",
                "failed to expand override values: /v1, Kind=K: a: template: a:1: function \"nope\" not defined",
            ),
        ];
        for (text, expected) in rows {
            let fault = read_text(text).err().map(|fault| fault.to_string());
            assert_eq!(fault.as_deref(), Some(expected), "{text}");
        }
    }
}
