//! Whether pods start anew when configuration of theirs changes: a pod doesn't see a new `ConfigMap` that it mounts as one file
//! or reads into its environment.

use std::collections::BTreeSet;
use std::fmt;

use chart::installation::Installation;
use chart::pods::{self, Configuration};
use serde_json::Value;

use super::super::project::Project;
use super::super::watches::{RESTART_SETTING, WATCHES_FILE};
use super::samples;
use super::trial::Trial;

/// Pods that go on with old configuration when it changes, and nobody has said that they shall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfollowed {
    /// The kinds of custom resources whose pods do so.
    pub kinds: Vec<String>,
    /// The template of the workload that is named.
    pub place: String,
    /// A workload with such pods, such as `Deployment sample-gateway`.
    pub workload: String,
    /// What it uses, such as `ConfigMap sample-gateway`.
    pub configuration: String,
}

impl fmt::Display for Unfollowed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kinds,
            place,
            workload,
            configuration,
        } = self;
        write!(
            formatter,
            "{WATCHES_FILE}: pods of {} don't follow their configuration, as those of {workload} ({place}), which uses {configuration}: \
             they start anew when it changes with this line in the entry, beside its chart:\n  {RESTART_SETTING}: true\n\
             (with false they go on as they are, and nothing more is said)",
            kinds.join(", ")
        )
    }
}

/// Finds pods that don't follow their configuration, of watches in which their author hasn't said whether they shall.
pub fn unfollowed(project: &Project) -> Option<Unfollowed> {
    let mut found: Option<Unfollowed> = None;
    for watched in &project.watched {
        if watched.watch.restart_on_configuration.is_some() {
            continue;
        }
        let trial = Trial::new(watched);
        let (samples, _) = samples(project, watched, &[]);
        let first = trial.installations(&samples).iter().find_map(first_unfollowed);
        let Some((file, workload, configuration)) = first else {
            continue;
        };
        let kind = watched.watch.kind.clone();
        match &mut found {
            Some(found) => found.kinds.push(kind),
            None => {
                found = Some(Unfollowed {
                    kinds: vec![kind],
                    place: trial.file(&file),
                    workload,
                    configuration,
                });
            }
        }
    }
    found
}

/// The first workload of a release that uses configuration of the same release without a trace of its content, with its
/// template and what it uses.
fn first_unfollowed(installation: &Installation) -> Option<(String, String, String)> {
    let objects: Vec<(&str, Value)> = installation
        .manifests
        .iter()
        .filter_map(|manifest| {
            let object = goyaml::to_value(&manifest.content).ok()?;
            Some((manifest.name.as_str(), object))
        })
        .collect();
    let of_release: BTreeSet<Configuration> = objects
        .iter()
        .filter_map(|(_, object)| pods::configuration(object))
        .collect();
    objects.iter().find_map(|(file, object)| {
        let kind = object.get("kind")?.as_str()?;
        let template = object.pointer(pods::template_pointer(kind)?)?;
        if pods::follows_configuration(template) {
            return None;
        }
        let used = pods::used_configuration(template);
        let (configuration, name) = used.intersection(&of_release).next()?;
        let workload = object.pointer("/metadata/name")?.as_str()?;
        Some((
            (*file).to_owned(),
            format!("{kind} {workload}"),
            format!("{configuration} {name}"),
        ))
    })
}
