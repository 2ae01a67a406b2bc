//! `watches.yaml`: which custom resources an operator looks after, and with which chart.

use std::sync::LazyLock;

use chart::cosmetic::{self, Cosmetic, UnknownCosmetic};
use regex::Regex;
use serde_json::{Map, Value};
use version::Version;

use super::error::GenerationError;

/// The file's name in the author's tree and in the operator's image.
pub const WATCHES_FILE: &str = "watches.yaml";

/// The label by which a custom resource picks the version of its operator.
pub const OPERATOR_VERSION_LABEL: &str = "operatorVersion";

/// The setting by which pods start anew when configuration that they use changes.
pub const RESTART_SETTING: &str = "restartOnConfiguration";

/// One entry of `watches.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Watch {
    /// The API group of the custom resource.
    pub group: String,
    /// The API version of the custom resource.
    pub version: String,
    /// The kind of the custom resource.
    pub kind: String,
    /// The chart, as a path below the tree and below `/opt/helm` in the image.
    pub chart: String,
    /// The labels that a custom resource must have.
    pub match_labels: Map<String, Value>,
    /// Values that no custom resource can set otherwise.
    pub override_values: Map<String, Value>,
    /// Whether pods start anew when configuration that they use changes; none where the author hasn't said.
    pub restart_on_configuration: Option<bool>,
    /// What becomes of labels of pods that name nothing but a version; none where the author hasn't said.
    pub cosmetic: Option<Cosmetic>,
}

/// Reads the entries; keys may be written in any case, and those that aren't known are left aside.
pub fn read(bytes: &[u8]) -> Result<Vec<Watch>, GenerationError> {
    let faulty = |cause: String| GenerationError::Watches { cause };
    let list = match goyaml::to_value(bytes).map_err(|error| faulty(error.to_string()))? {
        Value::Array(list) if !list.is_empty() => list,
        _ => return Err(faulty("it must be a list with at least one entry".to_owned())),
    };
    let mut watches: Vec<Watch> = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let text = |name: &str| {
            field(entry, name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let table = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
        let match_labels =
            table(field(entry, "selector").and_then(|selector| field(selector, "matchLabels")));
        if let Some(cause) = unquoted_label(&match_labels, bytes) {
            return Err(faulty(format!("entry {}: {cause}", index + 1)));
        }
        let watch = Watch {
            group: text("group"),
            version: text("version"),
            kind: text("kind"),
            chart: text("chart"),
            match_labels,
            override_values: table(field(entry, "overrideValues")),
            restart_on_configuration: field(entry, RESTART_SETTING).and_then(Value::as_bool),
            cosmetic: field(entry, cosmetic::SETTING)
                .and_then(cosmetic)
                .transpose()
                .map_err(|error| faulty(format!("entry {}: {}: {error}", index + 1, cosmetic::SETTING)))?,
        };
        for (name, value) in [
            ("group", &watch.group),
            ("version", &watch.version),
            ("kind", &watch.kind),
            ("chart", &watch.chart),
        ] {
            if value.is_empty() {
                return Err(faulty(format!("entry {} has no {name}", index + 1)));
            }
        }
        if !is_kind(&watch.kind) {
            return Err(faulty(format!(
                "entry {}: kind {:?} must start with an upper-case letter and have only letters and digits",
                index + 1,
                watch.kind
            )));
        }
        if watches
            .iter()
            .any(|known| (&known.group, &known.kind) == (&watch.group, &watch.kind))
        {
            return Err(faulty(format!("{}/{} is there twice", watch.group, watch.kind)));
        }
        watches.push(watch);
    }
    Ok(watches)
}

/// Says which label has a value that YAML takes for something else than text, and what to write: such a label picks nothing, and its
/// version would never be set.
fn unquoted_label(labels: &Map<String, Value>, file: &[u8]) -> Option<String> {
    let (name, value) = labels.iter().find(|(_, value)| !value.is_string())?;
    let read_as = match value {
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        Value::Null => "nothing",
        _ => return Some(format!("selector.matchLabels.{name} must be text")),
    };
    let file = String::from_utf8_lossy(file);
    let text = as_written(&file, name, value).unwrap_or_default();
    Some(format!(
        "selector.matchLabels.{name} is {read_as} as it is written, and labels are text; quote it: {name}: \"{text}\""
    ))
}

/// The word that stands for a value behind a name: 0.20 is the number 0.2, but another label.
fn as_written<'f>(file: &'f str, name: &str, value: &Value) -> Option<&'f str> {
    let after_name = format!("{name}:");
    let mut words = file.lines().filter_map(|line| {
        let (_, rest) = line.split_once(&after_name)?;
        rest.trim_start().split([' ', '\t', ',', '}', '#']).next()
    });
    words.find(|word| goyaml::to_value(word.as_bytes()).is_ok_and(|read| read == *value))
}

/// Reads what becomes of labels; nothing where nothing is said.
fn cosmetic(value: &Value) -> Option<Result<Cosmetic, UnknownCosmetic>> {
    match value {
        Value::Null => None,
        Value::String(word) => Some(word.parse()),
        other => Some(Err(UnknownCosmetic(other.to_string()))),
    }
}

/// Finds a key as Go's decoder does: exactly, or else in any case.
fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let map = value.as_object()?;
    map.get(name).or_else(|| {
        let mut others = map.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        others.next().map(|(_, value)| value)
    })
}

/// Whether a name can be that of a kind.
pub fn is_kind(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|character| character.is_ascii_alphanumeric())
        && name.len() <= 63
}

static LABEL_LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)^(\s*(?:-\s+)?operatorVersion:[ \t]*)(["']?)([^\s"'#]*)(["']?)"#)
        .expect("a constant expression")
});

/// The entries and text of `watches.yaml` for a version of the operator: its `operatorVersion` label picks this version,
/// in the form that it has already – `v2`, `v2.1` or `2.1.0`. A label of another form stays what it is.
pub fn for_version(
    text: &str,
    watches: &[Watch],
    version: &Version,
) -> Result<(String, Vec<Watch>), GenerationError> {
    let mut watches = watches.to_vec();
    let mut changed = false;
    for watch in &mut watches {
        if let Some(label) = watch.match_labels.get_mut(OPERATOR_VERSION_LABEL)
            && let Some(current) = label.as_str()
            && let Some(wanted) = same_form(current, version)
            && wanted != current
        {
            *label = Value::from(wanted);
            changed = true;
        }
    }
    if !changed {
        return Ok((text.to_owned(), watches));
    }
    // The lines are changed, not the data, so that the author's comments stay.
    let rewritten = LABEL_LINE
        .replace_all(text, |captures: &regex::Captures<'_>| {
            let current = &captures[3];
            let wanted = same_form(current, version).unwrap_or_else(|| current.to_owned());
            format!("{}{}{wanted}{}", &captures[1], &captures[2], &captures[4])
        })
        .into_owned();
    if read(rewritten.as_bytes())? != watches {
        return Err(GenerationError::Watches {
            cause: format!(
                "the label {OPERATOR_VERSION_LABEL} can't be set to version {version}; write it on a line of its own, as in `{OPERATOR_VERSION_LABEL}: v{}`",
                version.major()
            ),
        });
    }
    Ok((rewritten, watches))
}

/// The version in the form that a label has: as many numbers, with or without a `v`.
fn same_form(label: &str, version: &Version) -> Option<String> {
    let (prefix, numbers) = label
        .strip_prefix('v')
        .map_or(("", label), |numbers| ("v", numbers));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = match numbers.split('.').collect::<Vec<_>>().as_slice() {
        [major] if is_number(major) => version.major().to_string(),
        [major, minor] if is_number(major) && is_number(minor) => {
            format!("{}.{}", version.major(), version.minor())
        }
        [_, _, _, ..] if Version::parse(numbers).is_ok() => version.to_string(),
        _ => return None,
    };
    Some(format!("{prefix}{plain}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\n- group: example.com\n  version: v1alpha1\n  kind: Stack\n  chart: chart\n  selector:\n    matchLabels:\n      operatorVersion: v1 # the major one\n";

    #[test]
    fn the_label_follows_the_version_in_its_form() {
        let version = Version::parse("2.3.4").expect("a version");
        for (label, expected) in [
            ("v1", "v2"),
            ("1", "2"),
            ("v1.0", "v2.3"),
            ("0.2.13", "2.3.4"),
            ("canary", "canary"),
        ] {
            let text = TEXT.replace("v1 #", &format!("\"{label}\" #"));
            let watches = read(text.as_bytes()).expect("watches");
            let (text, watches) = for_version(&text, &watches, &version).expect("a label");
            assert_eq!(watches[0].match_labels[OPERATOR_VERSION_LABEL], expected);
            assert!(
                text.starts_with("# mine\n") && text.contains("# the major one"),
                "{text}"
            );
            assert_eq!(read(text.as_bytes()).expect("watches"), watches);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, expected) in [
            ("{}", "it must be a list with at least one entry"),
            ("- group: a\n  version: v1\n  kind: K\n", "entry 1 has no chart"),
            (
                "- {group: a, version: v1, kind: k, chart: c}\n",
                "upper-case letter",
            ),
            (
                "- {group: a, version: v1, kind: K, chart: c, cosmetic: later}\n",
                "entry 1: cosmetic: \"later\" is none of \"apply\" and \"defer\"",
            ),
            (
                "- {group: a, version: v1, kind: K, chart: c, Cosmetic: true}\n",
                "entry 1: cosmetic: \"true\" is none of",
            ),
            (
                "- {group: a, version: v1, kind: K, chart: c}\n- {group: a, version: v2, kind: K, chart: c}\n",
                "a/K is there twice",
            ),
            (
                "- {group: a, version: v1, kind: K, chart: c, selector: {matchLabels: {operatorVersion: 0.20}}}\n",
                "watches.yaml: entry 1: selector.matchLabels.operatorVersion is a number as it is written, and labels are text; \
                 quote it: operatorVersion: \"0.20\"",
            ),
            (
                "- {group: a, version: v1, kind: K, chart: c, selector: {matchLabels: {old: yes}}}\n",
                "selector.matchLabels.old is true or false as it is written, and labels are text; quote it: old: \"yes\"",
            ),
            (
                "- {group: a, version: v1, kind: K, chart: c, selector: {matchLabels: {old: [a]}}}\n",
                "selector.matchLabels.old must be text",
            ),
        ] {
            let error = read(text.as_bytes()).expect_err("faulty").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
