//! Which namespaces the operators of a namespace watch: its OperatorGroup, and the one that is made where there is none.

use apply::object::text;
use classic::Kind;
use serde_json::{Value, json};

/// Which namespaces are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Targets {
    /// Every namespace, those to come included.
    All,
    /// These, sorted.
    Some(Vec<String>),
    /// Those with certain labels.
    Selected,
}

impl Targets {
    /// Watches some namespaces.
    pub(super) fn some(mut namespaces: Vec<String>) -> Self {
        namespaces.sort();
        namespaces.dedup();
        Self::Some(namespaces)
    }

    /// Reads an install mode, with its namespaces after a `=` where it has some.
    pub(super) fn of_mode(mode: &str, own: &str) -> Result<Self, String> {
        let (mode, namespaces) = mode.split_once('=').unwrap_or((mode, ""));
        let namespaces: Vec<String> = namespaces
            .split(',')
            .filter(|namespace| !namespace.is_empty())
            .map(str::to_owned)
            .collect();
        match (mode, namespaces.len()) {
            ("AllNamespaces", 0) => Ok(Self::All),
            ("OwnNamespace", 0) => Ok(Self::some(vec![own.to_owned()])),
            ("SingleNamespace", 1) | ("MultiNamespace", 1..) => Ok(Self::some(namespaces)),
            ("AllNamespaces" | "OwnNamespace", _) => Err(format!("--install-mode {mode} names no namespace")),
            ("SingleNamespace", _) => Err(
                "--install-mode SingleNamespace names one namespace: SingleNamespace=NAMESPACE".to_owned(),
            ),
            ("MultiNamespace", _) => {
                Err("--install-mode MultiNamespace names namespaces: MultiNamespace=A,B".to_owned())
            }
            (other, _) => Err(format!(
                "there is no install mode {other:?}; there are AllNamespaces, OwnNamespace, SingleNamespace=NAMESPACE and \
                 MultiNamespace=A,B"
            )),
        }
    }

    /// Reads what an OperatorGroup says.
    pub(super) fn of_group(group: &Value) -> Self {
        let named = group.pointer("/spec/targetNamespaces").and_then(Value::as_array);
        let named: Vec<String> = named
            .into_iter()
            .flatten()
            .filter_map(|namespace| namespace.as_str().map(str::to_owned))
            .collect();
        let selector = group.pointer("/spec/selector").and_then(Value::as_object);
        match (named.is_empty(), selector) {
            (false, _) => Self::some(named),
            (true, Some(selector)) if !selector.is_empty() => Self::Selected,
            (true, _) => Self::All,
        }
    }

    /// The install mode that an operator must support; none where it depends on labels.
    fn mode(&self, own: &str) -> Option<&'static str> {
        match self {
            Self::All => Some("AllNamespaces"),
            Self::Some(namespaces) => Some(match namespaces.as_slice() {
                [one] if one == own => "OwnNamespace",
                [_] => "SingleNamespace",
                _ => "MultiNamespace",
            }),
            Self::Selected => None,
        }
    }

    /// The targets for people.
    pub(super) fn told(&self) -> String {
        match self {
            Self::All => "all namespaces".to_owned(),
            Self::Some(namespaces) => format!("namespaces {}", namespaces.join(", ")),
            Self::Selected => "namespaces with certain labels".to_owned(),
        }
    }
}

/// Returns the OperatorGroup that has to be made; none if the one that is there will do.
pub(super) fn decide(
    namespace: &str,
    package: &str,
    groups: &[Value],
    wanted: Option<&Targets>,
    modes: Option<&[String]>,
) -> Result<Option<Value>, String> {
    let is_supported = |targets: &Targets| match (modes, targets.mode(namespace)) {
        (Some(modes), Some(mode)) => modes.iter().any(|supported| supported == mode),
        // The controller says so in the version's status where it isn't.
        _ => true,
    };
    let supported = || modes.unwrap_or_default().join(", ");
    match groups {
        [] => {
            let targets = match wanted {
                Some(targets) => targets.clone(),
                None => usual(namespace, package, modes)?,
            };
            if !is_supported(&targets) {
                return Err(format!(
                    "package {package:?} can't watch {}: it supports {}; choose with --install-mode",
                    targets.told(),
                    supported()
                ));
            }
            Ok(Some(group(namespace, &targets)))
        }
        [group] => {
            let name = text(group, "/metadata/name");
            let targets = Targets::of_group(group);
            if let Some(wanted) = wanted.filter(|wanted| **wanted != targets) {
                return Err(format!(
                    "OperatorGroup {namespace}/{name} is for {}, not for {}; change it, which all operators of the namespace \
                     follow, or use another namespace with -n",
                    targets.told(),
                    wanted.told()
                ));
            }
            if !is_supported(&targets) {
                return Err(format!(
                    "OperatorGroup {namespace}/{name} is for {}, which package {package:?} can't watch: it supports {}; use \
                     another namespace with -n NAMESPACE --create-namespace",
                    targets.told(),
                    supported()
                ));
            }
            Ok(None)
        }
        several => {
            let names: Vec<&str> = several
                .iter()
                .map(|group| text(group, "/metadata/name"))
                .collect();
            Err(format!(
                "namespace {namespace:?} has several OperatorGroups: {}; OLM v0 works with one, so delete the others with \
                 `kubectl delete operatorgroup NAME -n {namespace}`",
                names.join(", ")
            ))
        }
    }
}

/// What is watched when nothing is said: everything, or else the operator's own namespace.
fn usual(namespace: &str, package: &str, modes: Option<&[String]>) -> Result<Targets, String> {
    let has = |mode: &str| modes.is_none_or(|modes| modes.iter().any(|supported| supported == mode));
    if has("AllNamespaces") {
        Ok(Targets::All)
    } else if has("OwnNamespace") {
        Ok(Targets::some(vec![namespace.to_owned()]))
    } else {
        Err(format!(
            "package {package:?} supports {}; say which namespaces its operator shall watch with --watch-namespaces",
            modes.unwrap_or_default().join(", ")
        ))
    }
}

fn group(namespace: &str, targets: &Targets) -> Value {
    let naming = Kind::OperatorGroup.naming();
    let spec = match targets {
        Targets::Some(namespaces) => json!({"targetNamespaces": namespaces}),
        Targets::All | Targets::Selected => json!({}),
    };
    json!({
        "apiVersion": naming.api_version,
        "kind": naming.kind,
        "metadata": {"name": namespace, "namespace": namespace},
        "spec": spec,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_made_where_there_is_none_and_checked_where_there_is_one() {
        let there = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
        let global = [there("global", json!({}))];
        let own = [there("own", json!({"targetNamespaces": ["ns"]}))];
        let both = [global[0].clone(), own[0].clone()];
        let labelled = [there(
            "labelled",
            json!({"selector": {"matchLabels": {"a": "b"}}}),
        )];
        let of =
            |namespaces: &[&str]| Targets::some(namespaces.iter().map(|name| (*name).to_owned()).collect());
        let any: &[&str] = &[
            "AllNamespaces",
            "OwnNamespace",
            "SingleNamespace",
            "MultiNamespace",
        ];
        for (groups, wanted, modes, expected) in [
            (&[][..], None, None, Ok(Some(json!({})))),
            (&[], None, Some(any), Ok(Some(json!({})))),
            (
                &[],
                None,
                Some(&["OwnNamespace"][..]),
                Ok(Some(json!({"targetNamespaces": ["ns"]}))),
            ),
            (
                &[],
                None,
                Some(&["SingleNamespace"]),
                Err(
                    "package \"web\" supports SingleNamespace; say which namespaces its operator shall watch with --watch-namespaces",
                ),
            ),
            (
                &[],
                Some(of(&["b", "a"])),
                Some(any),
                Ok(Some(json!({"targetNamespaces": ["a", "b"]}))),
            ),
            (
                &[],
                Some(of(&["b", "a"])),
                Some(&["AllNamespaces", "OwnNamespace"]),
                Err(
                    "package \"web\" can't watch namespaces a, b: it supports AllNamespaces, OwnNamespace; choose with --install-mode",
                ),
            ),
            (&global, None, Some(any), Ok(None)),
            (&global, Some(Targets::All), None, Ok(None)),
            (&labelled, None, Some(&["OwnNamespace"]), Ok(None)),
            (
                &global,
                Some(of(&["ns"])),
                None,
                Err(
                    "OperatorGroup ns/global is for all namespaces, not for namespaces ns; change it, which all operators of the namespace follow, or use another namespace with -n",
                ),
            ),
            (
                &own,
                None,
                Some(&["AllNamespaces"]),
                Err(
                    "OperatorGroup ns/own is for namespaces ns, which package \"web\" can't watch: it supports AllNamespaces; use another namespace with -n NAMESPACE --create-namespace",
                ),
            ),
            (
                &both,
                None,
                None,
                Err(
                    "namespace \"ns\" has several OperatorGroups: global, own; OLM v0 works with one, so delete the others with `kubectl delete operatorgroup NAME -n ns`",
                ),
            ),
        ] {
            let modes: Option<Vec<String>> =
                modes.map(|modes| modes.iter().map(|mode| (*mode).to_owned()).collect());
            let found = decide("ns", "web", groups, wanted.as_ref(), modes.as_deref());
            let found = found.map(|group| group.map(|group| group["spec"].clone()));
            assert_eq!(found, expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn install_modes_are_written_as_other_tools_write_them() {
        for (mode, expected) in [
            ("AllNamespaces", Ok(Targets::All)),
            ("OwnNamespace", Ok(Targets::some(vec!["own".to_owned()]))),
            ("SingleNamespace=a", Ok(Targets::some(vec!["a".to_owned()]))),
            (
                "MultiNamespace=b,a",
                Ok(Targets::some(vec!["a".to_owned(), "b".to_owned()])),
            ),
            (
                "AllNamespaces=a",
                Err("--install-mode AllNamespaces names no namespace"),
            ),
            (
                "SingleNamespace",
                Err("--install-mode SingleNamespace names one namespace: SingleNamespace=NAMESPACE"),
            ),
            (
                "MultiNamespace=",
                Err("--install-mode MultiNamespace names namespaces: MultiNamespace=A,B"),
            ),
        ] {
            assert_eq!(
                Targets::of_mode(mode, "own"),
                expected.map_err(str::to_owned),
                "{mode}"
            );
        }
        assert!(Targets::of_mode("Everywhere", "own").is_err());
    }
}
