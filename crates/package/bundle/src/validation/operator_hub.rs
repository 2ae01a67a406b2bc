//! What `OperatorHub.io` asks of a bundle's metadata.

use chart::go_url::Url;
use gotemplate::format::quoted;
use serde_json::Value;

use super::context::Context;
use super::csv_rules::NO_MINIMUM_VERSION;
use super::finding::{Finding, Kind, Level, Outcome};
use super::loaded::Loaded;
use super::{mail_address, removed_apis};
use crate::cluster_service_version::Spec;

const MEDIA_TYPES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/svg+xml"];

const CAPABILITIES: [&str; 5] = [
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
];

const CATEGORIES: [&str; 16] = [
    "AI/Machine Learning",
    "Application Runtime",
    "Big Data",
    "Cloud Provider",
    "Developer Tools",
    "Database",
    "Integration & Delivery",
    "Logging & Tracing",
    "Monitoring",
    "Modernization & Migration",
    "Networking",
    "OpenShift Optional",
    "Security",
    "Storage",
    "Streaming & Messaging",
    "Observability",
];

/// What was found about a `ClusterServiceVersion`, before it has the version's name.
#[derive(Default)]
struct Remarks {
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Remarks {
    fn into_findings(self, name: &str) -> impl Iterator<Item = Finding> + '_ {
        let errors = self
            .errors
            .into_iter()
            .map(move |detail| Finding::csv(Level::Error, name, detail));
        let warnings = self
            .warnings
            .into_iter()
            .map(move |detail| Finding::csv(Level::Warning, name, detail));
        errors.chain(warnings)
    }
}

/// Checks the metadata, but not capabilities and categories.
pub(super) fn check(bundle: &Loaded, context: &Context<'_>) -> Vec<Outcome> {
    let mut remarks = Remarks::default();
    metadata(&bundle.csv.spec, bundle, &mut remarks, |_| {});
    vec![outcome(bundle, remarks, context)]
}

/// Checks everything, as the deprecated validator did, and says that it is deprecated.
pub(super) fn check_deprecated(bundle: &Loaded, context: &Context<'_>) -> Vec<Outcome> {
    let mut remarks = Remarks::default();
    metadata(&bundle.csv.spec, bundle, &mut remarks, |remarks| {
        capabilities(bundle, remarks);
        categories(bundle, context, remarks);
    });
    let mut deprecation = Outcome::default();
    deprecation.extend([Finding::about(
        Level::Warning,
        Kind::DeprecatedValidator,
        "",
        "The \"operatorhub\" validator is deprecated; for equivalent validation use \"operatorhub/v2\", \
         \"standardcapabilities\" and \"standardcategories\" validators",
    )]);
    vec![outcome(bundle, remarks, context), deprecation]
}

/// Checks the level of capabilities.
pub(super) fn check_capabilities(bundle: &Loaded, _: &Context<'_>) -> Vec<Outcome> {
    let mut remarks = Remarks::default();
    capabilities(bundle, &mut remarks);
    vec![named(bundle, remarks)]
}

/// Checks the categories.
pub(super) fn check_categories(bundle: &Loaded, context: &Context<'_>) -> Vec<Outcome> {
    let mut remarks = Remarks::default();
    categories(bundle, context, &mut remarks);
    vec![named(bundle, remarks)]
}

fn named(bundle: &Loaded, remarks: Remarks) -> Outcome {
    let mut outcome = Outcome::about(&bundle.name);
    outcome.extend(remarks.into_findings(&bundle.csv.metadata.name));
    outcome
}

fn outcome(bundle: &Loaded, remarks: Remarks, context: &Context<'_>) -> Outcome {
    let mut outcome = named(bundle, remarks);
    outcome.extend(removed_apis::findings(bundle, context));
    outcome
}

fn metadata(spec: &Spec, bundle: &Loaded, remarks: &mut Remarks, annotations: impl Fn(&mut Remarks)) {
    if spec.provider.name.trim().is_empty() {
        remarks
            .errors
            .push("csv.Spec.Provider.Name not specified".to_owned());
    }
    for maintainer in &spec.maintainers {
        if maintainer.name.is_empty() || maintainer.email.is_empty() {
            remarks
                .errors
                .push("csv.Spec.Maintainers elements should contain both name and email".to_owned());
        }
        if !maintainer.email.is_empty()
            && let Some(fault) = mail_address::fault(&maintainer.email)
        {
            remarks.errors.push(format!(
                "csv.Spec.Maintainers email {} is invalid: {fault}",
                maintainer.email
            ));
        }
    }
    for link in &spec.links {
        if link.name.is_empty() || link.url.is_empty() {
            remarks
                .errors
                .push("csv.Spec.Links elements should contain both name and url".to_owned());
        }
        if !link.url.is_empty()
            && let Err(fault) = Url::parse_request(&link.url)
        {
            remarks
                .errors
                .push(format!("csv.Spec.Links url {} is invalid: {fault}", link.url));
        }
    }
    annotations(remarks);
    if spec.version.0.precedence(&version::Version::new(0, 0, 0)).is_eq() {
        remarks.errors.push("csv.Spec.Version must be set".to_owned());
    }
    icon(spec, bundle.csv_has(&["spec", "icon"]), remarks);
    let minimum = &spec.minimum_kubernetes_version;
    if minimum.trim().is_empty() {
        remarks.warnings.push(NO_MINIMUM_VERSION.to_owned());
    } else if version::Version::parse(minimum).is_err() {
        remarks
            .errors
            .push(format!("csv.Spec.MinKubeVersion has an invalid value: {minimum}"));
    }
}

fn icon(spec: &Spec, is_given: bool, remarks: &mut Remarks) {
    if !is_given {
        remarks.warnings.push("csv.Spec.Icon not specified".to_owned());
        return;
    }
    if spec.icon.len() != 1 {
        remarks
            .errors
            .push("csv.Spec.Icon should only have one element".to_owned());
    }
    // Upstream falls over an empty list; there is nothing more to say about it.
    let Some(icon) = spec.icon.first() else {
        return;
    };
    if icon.media_type.is_empty() || icon.data.is_empty() {
        remarks
            .errors
            .push("csv.Spec.Icon elements should contain both data and mediatype".to_owned());
    }
    if !icon.media_type.is_empty() && !MEDIA_TYPES.contains(&icon.media_type.as_str()) {
        remarks.errors.push(format!(
            "csv.Spec.Icon {} does not have a valid mediatype",
            icon.media_type
        ));
    }
}

fn capabilities(bundle: &Loaded, remarks: &mut Remarks) {
    if let Some(level) = bundle.csv.metadata.annotations.get("capabilities")
        && !CAPABILITIES.contains(&level.as_str())
    {
        remarks.errors.push(format!(
            "csv.Metadata.Annotations.Capabilities {} is not a valid capabilities level",
            quoted(level)
        ));
    }
}

fn categories(bundle: &Loaded, context: &Context<'_>, remarks: &mut Remarks) {
    let Some(given) = bundle.csv.metadata.annotations.get("categories") else {
        return;
    };
    let own = match context.values.categories_file() {
        None => None,
        Some(path) => match custom_categories(path) {
            Ok(own) => Some(own),
            Err(problem) => {
                remarks.errors.push(format!(
                    "could not extract custom categories from categories map[string]struct {{}}(nil): {problem}"
                ));
                return;
            }
        },
    };
    for category in given.split(',') {
        let wanted = category.trim();
        let (is_known, set) = match &own {
            Some(own) => (own.iter().any(|known| known == wanted), "custom"),
            None => (CATEGORIES.contains(&wanted), "standard"),
        };
        if !is_known {
            remarks.errors.push(format!(
                "csv.Metadata.Annotations[\"categories\"] value {} is not in the set of {set} categories",
                quoted(category)
            ));
        }
    }
}

/// What is read of a file of categories.
#[derive(Debug, Clone, Default)]
struct CategoriesFile {
    categories: Vec<String>,
}
goyaml::go_struct!(CategoriesFile, "internal.categories", { "categories" => categories });

fn custom_categories(path: &std::path::Path) -> Result<Vec<String>, String> {
    let bytes = std::fs::read(path).map_err(|error| {
        format!(
            "reading category file: open {}: {}",
            path.display(),
            super::context::system_text(&error)
        )
    })?;
    let value: Value = goyaml::json::to_value(&bytes, goyaml::ReadOptions::default())
        .map_err(|error| format!("unmarshaling category file: {error}"))?;
    goyaml::typed::decode::<CategoriesFile>(&value)
        .map(|file| file.categories)
        .map_err(|error| format!("unmarshaling category file: {error}"))
}
