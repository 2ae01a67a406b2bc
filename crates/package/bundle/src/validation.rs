//! Checks of a bundle, with the texts of operator-sdk and opm.
//!
//! ```text
//! BundleFiles ─┬─ format ───────────────────────────► what opm says against directories, annotations, dependencies
//!              ├─ content ──────────────────────────► what `opm alpha bundle validate` says against the objects
//!              └─ loaded ─► Loaded ─┬─ default ─────► bundle_rules, csv_rules, custom_resource_definition
//!                                   ├─ suites ──────► operator_hub, removed_apis, community, good_practices, multiarch
//!                                   └─ advice ──────► baton's own
//!                                                     all of it ─► Report ─► text, json-alpha1, exit code
//! ```
//!
//! `finding` and `field_error` hold how findings read; `printed`, `unstructured`, `json_syntax` and `mail_address` what
//! Go's libraries do that messages show.

mod advice;
mod bundle_rules;
mod community;
mod constraint_expression;
mod content;
mod context;
mod csv_rules;
mod custom_resource_definition;
mod dependencies;
mod deployment;
mod field_error;
mod finding;
mod format;
mod good_practices;
mod gzip_size;
mod json_syntax;
mod loaded;
pub mod mail_address;
mod manifest;
mod multiarch;
mod names;
mod object_metadata;
mod objects;
mod operator_hub;
mod printed;
mod removed_apis;
mod report;
mod selector;
mod suites;
pub(crate) mod unstructured;

use std::fmt;

use serde_json::Value;

pub use constraint_expression::expression_fault;
pub use content::OpmChecks;
pub use context::{
    CATEGORIES_VARIABLE, CONTAINER_TOOLS, INDEX_PATH, ImagePlatforms, KUBERNETES_VERSION, NotAPair,
    OptionalValues, Platform,
};
pub use finding::{FieldFault, Finding, Kind, Level, Outcome};
pub use format::MediaType;
pub use report::{Output, OutputLevel, Report, log_line, log_value};
pub use selector::{InvalidSelector, Selector};
pub use suites::{Validator, list_optional, optional_validators};

use self::context::Context;
use self::csv_rules::Written;
use self::custom_resource_definition::Definition;
use self::field_error::aggregate;
use self::loaded::{Directory, Loaded};
use self::manifest::GroupVersionKind;
use self::object_metadata::ObjectMetadata;
use self::printed::Printed;
use crate::cluster_service_version;
use crate::files::BundleFiles;
use crate::supported_kinds::is_supported;

/// Which checks are made besides the default ones, and how messages call the bundle.
#[derive(Clone, Default)]
pub struct Selection<'s> {
    /// The bundle's directory as messages show it: relative to where the user is, as operator-sdk does.
    pub location: String,
    /// Which optional validators run; none when it is empty.
    pub optional: Selector,
    /// Whether baton's own advice is given too.
    pub own_advice: bool,
    /// Who knows which platforms an image is there for; without it, `multiarch` says that it could not look.
    pub platforms: Option<&'s dyn ImagePlatforms>,
}

impl fmt::Debug for Selection<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Selection")
            .field("location", &self.location)
            .field("optional", &self.optional)
            .field("own_advice", &self.own_advice)
            .finish_non_exhaustive()
    }
}

/// A selector that means no validator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("selector {} does not match any validator labels", gotemplate::format::quoted(.0))]
pub struct SelectsNothing(pub String);

impl Selection<'_> {
    /// Whether the selector means any validator at all.
    ///
    /// # Errors
    ///
    /// When it means none, which is likely a slip.
    pub fn check(&self) -> Result<(), SelectsNothing> {
        if optional_validators()
            .iter()
            .any(|validator| validator.is_selected_by(&self.optional))
        {
            return Ok(());
        }
        Err(SelectsNothing(self.optional.to_string()))
    }
}

/// Validates a bundle as `operator-sdk bundle validate` does.
#[must_use]
pub fn validate(files: &BundleFiles, selection: &Selection<'_>, values: &OptionalValues) -> Report {
    let location = selection.location.as_str();
    let (bundle, media_type) = match prepare(files, location) {
        Ok(prepared) => prepared,
        Err(error) => return Report::stopped(error),
    };
    let mut report = Report::default();
    let faults = format::faults(files, location);
    if !faults.is_empty() {
        report.push(
            OutputLevel::Error,
            format!("error validating format in {location}: {}", opm_error(&faults)),
        );
    }
    report.extend(content_outcomes(&bundle, media_type));
    if !selection.optional.is_empty() {
        let context = Context {
            values,
            platforms: selection.platforms,
        };
        for validator in optional_validators() {
            if validator.is_selected_by(&selection.optional) {
                report.extend(validator.run(&bundle, &context));
            }
        }
    }
    if selection.own_advice {
        for advice in advice::advice(&bundle) {
            report.push(OutputLevel::Info, advice);
        }
    }
    report
}

/// Reads the annotations to find the manifests, and loads these.
fn prepare(files: &BundleFiles, location: &str) -> Result<(Loaded, MediaType), String> {
    let annotations = format::annotations(files, location)?;
    let path = annotations
        .get(format::MANIFESTS_ANNOTATION)
        .map_or(format::MANIFESTS, String::as_str);
    let directory = Directory::new(files, location, &clean(path));
    let media_type = format::media_type(&directory)?;
    Ok((loaded::load(&directory)?, media_type))
}

/// A path without dots and doubled slashes; what leads out of the bundle stays in it.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// What every bundle is checked for.
fn content_outcomes(bundle: &Loaded, media_type: MediaType) -> Vec<Outcome> {
    let mut own = Outcome::about(&bundle.name);
    if media_type == MediaType::Helm {
        return vec![own];
    }
    for object in &bundle.objects {
        let gvk = GroupVersionKind::of(object);
        if matches!(
            gvk.kind.as_str(),
            cluster_service_version::KIND | "CustomResourceDefinition"
        ) {
            continue;
        }
        if media_type == MediaType::RegistryV1 && !is_supported(&gvk.kind) {
            own.extend([Finding::about(
                Level::Error,
                Kind::Bundle,
                gvk.to_string(),
                format!("unsupported media type {} for bundle object", media_type.name()),
            )]);
        } else if let Some(fault) = metadata_fault(object) {
            own.extend([Finding::about(
                Level::Error,
                Kind::Validation,
                manifest::name(object),
                fault,
            )]);
        }
    }
    let mut outcomes = vec![bundle_rules::check(bundle), csv_outcome(bundle)];
    outcomes.extend(bundle.old_definitions.iter().map(Definition::outcome));
    outcomes.extend(bundle.definitions.iter().map(Definition::outcome));
    // What is about an object goes with what else is about the same name.
    match outcomes.iter_mut().find(|outcome| outcome.name == own.name) {
        Some(outcome) => {
            outcome.errors.append(&mut own.errors);
            outcome.warnings.append(&mut own.warnings);
        }
        None => outcomes.push(own),
    }
    outcomes
}

fn csv_outcome(bundle: &Loaded) -> Outcome {
    csv_rules::check(Written {
        csv: &bundle.csv,
        object: &bundle.csv_object,
    })
}

fn metadata_fault(object: &Value) -> Option<String> {
    let faults: Vec<String> = ObjectMetadata::of_untyped(object)
        .faults(|_| Vec::new())
        .iter()
        .map(ToString::to_string)
        .collect();
    (!faults.is_empty()).then(|| {
        format!(
            "error validating object: {}. &{{{}}}",
            aggregate(&faults),
            object.to_plain()
        )
    })
}

/// How opm understands the files of a directory of manifests, which messages call `location`.
///
/// # Errors
///
/// When the directory has no files.
pub fn opm_media_type(manifests: &BundleFiles, location: &str) -> Result<MediaType, String> {
    format::media_type(&loaded::Directory::new(manifests, location, ""))
}

/// What `opm alpha bundle validate` says against the form of a bundle; nothing when it is in order.
#[must_use]
pub fn opm_format(files: &BundleFiles, location: &str) -> Vec<String> {
    format::faults(files, location)
}

/// The annotations of a bundle, which messages call `location`: those of its file, or else of its image's labels. The labels
/// of a bundle's image are the same.
///
/// # Errors
///
/// When the file can't be read, or there is neither.
pub fn annotations(
    files: &BundleFiles,
    location: &str,
) -> Result<std::collections::BTreeMap<String, String>, String> {
    format::annotations(files, location)
}

/// What `opm alpha bundle validate` says against the content of a bundle; nothing when it is in order.
#[must_use]
pub fn opm_content(
    files: &BundleFiles,
    location: &str,
    checks: OpmChecks,
    values: &OptionalValues,
) -> Vec<String> {
    content::faults(files, location, checks, values)
}

/// The one error that opm makes of several.
#[must_use]
pub fn opm_error(faults: &[String]) -> String {
    format!("Bundle validation errors: {}", faults.join(","))
}

/// A loaded bundle that single validators can be run on, as operator-framework/api does.
#[derive(Debug, Clone)]
pub struct Subject(Loaded);

impl Subject {
    /// Loads the bundle in a directory below `files`: usually `manifests`; from the root (an empty text), the package and
    /// its channels are known too.
    ///
    /// # Errors
    ///
    /// What upstream's loader says.
    pub fn load(files: &BundleFiles, location: &str, directory: &str) -> Result<Self, String> {
        loaded::load(&Directory::new(files, location, directory)).map(Self)
    }

    /// Runs one validator by its name: `csv`, `crd`, `bundle`, `bundle-objects`, or an optional one.
    #[must_use]
    pub fn run(&self, validator: &str, values: &OptionalValues) -> Vec<Outcome> {
        let bundle = &self.0;
        let context = Context {
            values,
            platforms: None,
        };
        match validator {
            "csv" => vec![csv_outcome(bundle)],
            "crd" => bundle
                .definitions
                .iter()
                .chain(&bundle.old_definitions)
                .map(Definition::outcome)
                .collect(),
            "bundle" => vec![bundle_rules::check(bundle)],
            "bundle-objects" => objects::check(&bundle.objects),
            name => optional_validators()
                .iter()
                .filter(|validator| validator.name == name)
                .flat_map(|validator| validator.run(bundle, &context))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
