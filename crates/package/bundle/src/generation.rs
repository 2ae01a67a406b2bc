//! Makes a bundle, and an operator's image, from a chart and what its author says about it.
//!
//! ```text
//! author's tree ─ project ─► Project ─┬─ watches, options ─► which kinds, versions and names
//! (watches.yaml, charts, config/)     ├─ chart_check ─► what keeps the charts from working, and what lets it pass
//!                                     ├─ permissions (variants, scan, kinds) ─► Derivation, printed and pinned
//!                                     ├─ definition (structural) ─► CustomResourceDefinitions
//!                                     ├─ service_version (deployment, examples) ─► ClusterServiceVersion
//!                                     ├─ metadata ─► annotations, Dockerfile
//!                                     └─ operator_image ─► what the operator's image holds
//! chart ─ scaffold ─► a new author's tree
//! ```
//!
//! The same tree and options give the same bytes, whatever was made of it before.

pub mod chart_check;
mod definition;
mod deployment;
mod error;
mod examples;
pub mod kinds;
pub mod metadata;
pub mod operator_image;
mod options;
pub mod permissions;
mod project;
pub mod scaffold;
pub mod scan;
mod service_version;
pub mod structural;
mod trial_render;
pub mod variants;
pub mod watches;

use std::collections::BTreeMap;

use serde_json::Value;

pub use error::GenerationError;
pub use operator_image::OperatorImage;
pub use options::{Definitions, NameSuffix, Names, Options};
pub use project::{ChartSources, Project, Watched};
pub use scaffold::{NewProject, new_project};
pub use service_version::in_words;

use definition::Definition;
use kinds::{Kinds, group_of, version_of};
use permissions::{Derivation, Reason};
use service_version::{Kept, Parts};
use watches::Watch;

/// A bundle, and what was found out on the way.
#[derive(Debug, Clone)]
pub struct GeneratedBundle {
    /// The package.
    pub package: String,
    /// The name of the `ClusterServiceVersion`.
    pub name: String,
    /// The bundle's files by their path below its root.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The definitions that go beside the bundle, by file name; none when they are in it.
    pub definitions: BTreeMap<String, Vec<u8>>,
    /// The labels of the bundle's image.
    pub labels: BTreeMap<String, String>,
    /// `bundle.Dockerfile`, for those who build with a container tool.
    pub dockerfile: String,
    /// What the operator may do, and why.
    pub derivation: Derivation,
    /// The file that pins the permissions.
    pub permissions_file: String,
    /// `watches.yaml` for this version of the operator.
    pub watches_text: String,
}

/// Makes the bundle of an author's tree.
pub fn generate(project: &Project, options: &Options) -> Result<GeneratedBundle, GenerationError> {
    options.check()?;
    let version = options.parsed_version()?;
    let package = options.package.clone().unwrap_or_else(|| project.package.clone());
    let names = Names::new(&package, options)?;
    let listed: Vec<Watch> = project
        .watched
        .iter()
        .map(|watched| watched.watch.clone())
        .collect();
    check_definition_versions(&listed, options)?;
    let (watches_text, watches) = watches::for_version(&project.watches_text, &listed, &version)?;

    let mut kinds = Kinds::default();
    for (_, definition) in &project.definitions {
        kinds.learn(definition);
    }
    let mut kept = Vec::new();
    for (watched, watch) in project.watched.iter().zip(&watches) {
        let definition = Definition::of(project, watched)?;
        kinds.define(
            &watch.group,
            &watch.kind,
            &definition.plural,
            definition.namespaced,
        );
        kept.push(Kept {
            watched,
            watch,
            definition,
            derivation: Derivation::default(),
        });
    }
    let mut derivation = Derivation::default();
    for kept in &mut kept {
        kept.derivation = derive(project, kept, &kinds, options.renders);
        derivation.merge(&kept.derivation);
    }
    derivation.add_rules(
        &project.rules,
        &Reason::Author("config/rbac/role.yaml".to_owned()),
    );
    let pinned = project
        .pinned_permissions
        .as_ref()
        .filter(|_| !options.update_permissions);
    if pinned.is_none_or(|pinned| permissions::grants_wishes(pinned)) {
        derivation.add_wishes();
    }
    if let Some(pinned) = pinned {
        permissions::compare(pinned, &derivation)?;
    }
    let permissions_file = permissions::pinned_text(&derivation).map_err(|error| GenerationError::Write {
        file: permissions::PERMISSIONS_FILE.to_owned(),
        cause: error.to_string(),
    })?;

    let parts = Parts {
        project,
        options,
        names: &names,
        kept: &kept,
        derivation: &derivation,
    };
    let (files, definitions) = files(&parts)?;
    let tested = project.scorecard.is_some();
    let mut labels: BTreeMap<String, String> = metadata::core_annotations(&package, options)
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    if tested {
        labels.extend(metadata::TEST_ANNOTATIONS.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    Ok(GeneratedBundle {
        name: names.service_version(&version),
        files,
        definitions,
        labels,
        dockerfile: metadata::dockerfile(&package, options, "bundle", tested),
        permissions_file,
        watches_text,
        package,
        derivation,
    })
}

fn check_definition_versions(watches: &[Watch], options: &Options) -> Result<(), GenerationError> {
    for watch in watches {
        if let Some(given) = options
            .definition_version
            .as_ref()
            .filter(|given| **given != watch.version)
        {
            return Err(GenerationError::DefinitionVersionMismatch {
                given: given.clone(),
                watched: watch.version.clone(),
                group: watch.group.clone(),
                kind: watch.kind.clone(),
            });
        }
        options::check_definition_version(&watch.version)?;
    }
    Ok(())
}

/// Derives what the operator must be allowed to do for one kind.
fn derive(project: &Project, kept: &Kept<'_>, kinds: &Kinds, renders: usize) -> Derivation {
    let samples: Vec<_> = project
        .samples
        .iter()
        .filter(|(_, sample)| examples::is_of(sample, kept.watch))
        .filter_map(|(file, sample)| Some((file.clone(), sample.get("spec")?.as_object()?.clone())))
        .collect();
    let mut derivation = Derivation::default();
    derivation.add_operator(&kept.watch.group, &kept.definition.plural);
    derivation.add_chart(&kept.watched.chart, &samples, kinds, renders);
    derivation
}

type Files = BTreeMap<String, Vec<u8>>;

/// Writes every file of the bundle, and the definitions that go beside it.
fn files(parts: &Parts<'_>) -> Result<(Files, Files), GenerationError> {
    let (project, options, names) = (parts.project, parts.options, parts.names);
    let mut files = Files::new();
    let mut definitions = Files::new();
    for kept in parts.kept {
        let name = kept.definition.file_name(&kept.watch.group);
        let text = written(&name, &kept.definition.object)?;
        match options.definitions {
            Definitions::InBundle => files.insert(format!("manifests/{name}"), text),
            Definitions::Separate => definitions.insert(name, text),
        };
    }
    let people: Vec<(&Watch, &str)> = parts
        .kept
        .iter()
        .map(|kept| (kept.watch, kept.definition.plural.as_str()))
        .collect();
    let mut objects = deployment::roles_for_people(names, &people);
    objects.push(deployment::metrics_service(names));
    for object in &objects {
        let name = object_file_name(object);
        files.insert(format!("manifests/{name}"), written(&name, object)?);
    }
    for (name, bytes) in &project.extra {
        files.insert(format!("manifests/{name}"), bytes.clone());
    }
    for (name, bytes) in &project.metadata {
        files.insert(format!("metadata/{name}"), bytes.clone());
    }
    if let Some(scorecard) = &project.scorecard {
        files.insert("tests/scorecard/config.yaml".to_owned(), scorecard.clone());
    }
    let annotations = metadata::annotations_text(&names.package, options, project.scorecard.is_some());
    files.insert("metadata/annotations.yaml".to_owned(), annotations.into_bytes());

    let path = format!("manifests/{}.clusterserviceversion.yaml", names.package);
    // A time beyond the calendar is a slip of the caller's clock; the calendar's start is as good as any.
    let created_at = jiff::Timestamp::from_second(options.created_at).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    files.insert(
        path.clone(),
        written(&path, &parts.service_version(&created_at.to_string())?)?,
    );
    Ok((files, definitions))
}

fn written(file: &str, object: &Value) -> Result<Vec<u8>, GenerationError> {
    goyaml::to_string(object)
        .map(String::into_bytes)
        .map_err(|error| GenerationError::Write {
            file: file.to_owned(),
            cause: error.to_string(),
        })
}

/// The name that an object's file has: its name, group, version and kind.
fn object_file_name(object: &Value) -> String {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let api_version = text("/apiVersion");
    let group = match group_of(api_version) {
        "" => String::new(),
        group => format!("_{group}"),
    };
    format!(
        "{}{group}_{}_{}.yaml",
        text("/metadata/name"),
        version_of(api_version),
        text("/kind").to_lowercase()
    )
}
