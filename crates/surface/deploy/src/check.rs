//! What a cluster lacks for an installation, decided from what was seen there.

use serde::Serialize;
use serde_json::Value;

use crate::installation::{self, Need, Step, called};
use crate::part::Part;
use crate::settings::{ServingCertificates, Settings};

/// The oldest minor release of Kubernetes 1 that has everything: admission policies are there since then.
pub const OLDEST_MINOR: u32 = 30;

/// What was seen of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Sight {
    /// The server doesn't have its kind.
    NoKind,
    /// It isn't there.
    Missing,
    /// It is there.
    There {
        /// As it is.
        live: Value,
        /// The fields that writing it again would change.
        differing: Vec<String>,
    },
    /// The user may not look at it.
    Hidden(String),
}

/// What was seen of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The minor release of the server; none if it doesn't say.
    pub minor: Option<u32>,
    /// The objects of the installation, each with what was seen of it.
    pub objects: Vec<(Value, Sight)>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// It doesn't work without.
    Lacks,
    /// It works, but not as it could.
    Warns,
}

/// Something that a cluster lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub weight: Weight,
    /// What it is about.
    pub about: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub next: String,
}

impl Finding {
    fn new(
        weight: Weight,
        about: impl Into<String>,
        problem: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            weight,
            about: about.into(),
            problem: problem.into(),
            next: next.into(),
        }
    }
}

/// Everything that is to be looked at.
pub fn wanted(steps: &[Step]) -> impl Iterator<Item = &Value> {
    steps.iter().flat_map(|step| &step.objects)
}

/// Decides what a cluster lacks.
pub fn decide(settings: &Settings, seen: &Observation) -> Vec<Finding> {
    let mut findings = Vec::new();
    match seen.minor {
        Some(minor) if minor < OLDEST_MINOR => findings.push(Finding::new(
            Weight::Lacks,
            "Kubernetes",
            format!("the server is of release 1.{minor}, and admission policies came with 1.{OLDEST_MINOR}"),
            "upgrade the cluster, or use --without policies",
        )),
        Some(_) => {}
        None => findings.push(Finding::new(
            Weight::Warns,
            "Kubernetes",
            "the server doesn't say of which release it is",
            format!("make sure that it is 1.{OLDEST_MINOR} or newer"),
        )),
    }
    let defined = installation::definitions(settings);
    let mut unknown_kinds = Vec::new();
    for (wanted, sight) in &seen.objects {
        let kind = wanted["kind"].as_str().unwrap_or_default();
        let group = wanted["apiVersion"].as_str().unwrap_or_default();
        // The installation brings it.
        let is_defined_here = defined.iter().any(|definition| {
            group.starts_with(definition.name.split_once('.').map_or("", |(_, group)| group))
        });
        match sight {
            Sight::NoKind if is_defined_here => findings.push(missing(wanted)),
            Sight::NoKind if unknown_kinds.contains(&kind) => {}
            Sight::NoKind => {
                unknown_kinds.push(kind);
                findings.push(no_kind(settings, wanted));
            }
            Sight::Missing => findings.push(missing(wanted)),
            Sight::Hidden(cause) => findings.push(Finding::new(
                Weight::Warns,
                called(wanted),
                cause.clone(),
                "ask for the right to read it, or use another --context",
            )),
            Sight::There { live, differing } => findings.extend(there(wanted, live, differing)),
        }
    }
    findings.sort_by_key(|finding| finding.weight);
    findings
}

fn missing(wanted: &Value) -> Finding {
    Finding::new(
        Weight::Lacks,
        called(wanted),
        "it isn't there",
        "baton deploy makes it",
    )
}

fn no_kind(settings: &Settings, wanted: &Value) -> Finding {
    let kind = wanted["kind"].as_str().unwrap_or_default();
    let api_version = wanted["apiVersion"].as_str().unwrap_or_default();
    let next = match api_version.split('/').next().unwrap_or_default() {
        "monitoring.coreos.com" => format!(
            "install the Prometheus operator, or leave out --with {}",
            Part::Monitoring
        ),
        "cert-manager.io" if settings.certificates == ServingCertificates::CertManager => {
            "install cert-manager, or let baton make certificates: --serving-certificates baton".to_owned()
        }
        _ => match installation::need(wanted) {
            Need::Welcome => "nothing: what it does is done a moment later by the controllers".to_owned(),
            Need::Needed => "upgrade the cluster".to_owned(),
        },
    };
    let weight = match installation::need(wanted) {
        Need::Needed => Weight::Lacks,
        Need::Welcome => Weight::Warns,
    };
    Finding::new(
        weight,
        format!("kind {kind}"),
        format!("the server doesn't have it in {api_version}"),
        next,
    )
}

/// What is wrong with an object that is there.
fn there(wanted: &Value, live: &Value, differing: &[String]) -> Option<Finding> {
    if !differing.is_empty() {
        return Some(Finding::new(
            Weight::Lacks,
            called(wanted),
            format!("it says something else in {}", differing.join(", ")),
            "baton deploy changes it; use the same flags as then if it was as wanted",
        ));
    }
    let condition = |kind: &str| {
        let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
        let found = conditions
            .into_iter()
            .flatten()
            .find(|found| found["type"] == kind);
        found.map(|found| {
            let message = found["message"].as_str().unwrap_or_default().to_owned();
            (found["status"] == "True", message)
        })
    };
    let (condition, problem, next) = match wanted["kind"].as_str() {
        Some("Deployment") => (
            condition("Available"),
            "it isn't available",
            "kubectl describe says why; is the image in the registry? baton deploy --push puts it there",
        ),
        Some("CustomResourceDefinition") => (
            condition("Established"),
            "the server doesn't serve it",
            "kubectl get crd -o yaml shows its conditions",
        ),
        _ => return None,
    };
    match condition {
        Some((true, _)) => None,
        Some((false, message)) if !message.is_empty() => Some(Finding::new(
            Weight::Lacks,
            called(wanted),
            format!("{problem}: {message}"),
            next,
        )),
        _ => Some(Finding::new(Weight::Lacks, called(wanted), problem, next)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::component::Component;
    use crate::workloads;

    fn findings(
        settings: &Settings,
        objects: Vec<(Value, Sight)>,
        minor: Option<u32>,
    ) -> Vec<(Weight, String, String)> {
        let seen = Observation { minor, objects };
        decide(settings, &seen)
            .into_iter()
            .map(|finding| (finding.weight, finding.about, finding.problem))
            .collect()
    }

    fn there(settings: &Settings, available: &str, differing: &[&str]) -> Sight {
        let mut live = workloads::deployment(settings, Component::Catalogs);
        live["status"] = json!({"conditions": [
            {"type": "Available", "status": available, "message": "Deployment does not have minimum availability."},
        ]});
        Sight::There {
            live,
            differing: differing.iter().map(|&field| field.to_owned()).collect(),
        }
    }

    #[test]
    fn what_is_there_and_well_is_not_told() {
        let settings = Settings::default();
        let wanted = workloads::deployment(&settings, Component::Catalogs);
        let seen = vec![(wanted, there(&settings, "True", &[]))];
        assert_eq!(findings(&settings, seen, Some(36)), []);
    }

    #[test]
    fn what_is_missing_other_or_ill_is_told() {
        let settings = Settings::default();
        let wanted = workloads::deployment(&settings, Component::Catalogs);
        let about = "Deployment olmv1-system/catalogd-controller-manager";
        for (sight, problem) in [
            (Sight::Missing, "it isn't there"),
            (
                there(&settings, "True", &["spec.replicas"]),
                "it says something else in spec.replicas",
            ),
            (
                there(&settings, "False", &[]),
                "it isn't available: Deployment does not have minimum availability.",
            ),
        ] {
            let found = findings(&settings, vec![(wanted.clone(), sight)], Some(36));
            assert_eq!(found, [(Weight::Lacks, about.to_owned(), problem.to_owned())]);
        }
    }

    #[test]
    fn a_kind_that_the_server_lacks_is_told_once_and_by_how_much_it_is_needed() {
        let settings = Settings::default();
        let monitor = json!({"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
            "metadata": {"name": "a", "namespace": "n"}});
        let label = crate::admission::catalog_label()[0].clone();
        let config = crate::classic::configuration();
        let seen = vec![
            (label, Sight::NoKind),
            (monitor.clone(), Sight::NoKind),
            (monitor, Sight::NoKind),
            (config, Sight::NoKind),
        ];
        let told: Vec<(Weight, String)> = findings(&settings, seen, Some(36))
            .into_iter()
            .map(|(weight, about, _)| (weight, about))
            .collect();
        assert_eq!(
            told,
            [
                (Weight::Lacks, "kind ServiceMonitor".to_owned()),
                // The installation brings its definition.
                (Weight::Lacks, "OLMConfig cluster".to_owned()),
                (Weight::Warns, "kind MutatingAdmissionPolicy".to_owned()),
            ]
        );
    }

    #[test]
    fn an_old_server_is_told() {
        let settings = Settings::default();
        assert_eq!(findings(&settings, Vec::new(), Some(29))[0].0, Weight::Lacks);
        assert_eq!(findings(&settings, Vec::new(), None)[0].0, Weight::Warns);
        assert_eq!(findings(&settings, Vec::new(), Some(30)), []);
    }
}
