//! What the community catalog of `OpenShift` asks of bundles that use APIs which Kubernetes 1.22 removed.

use goyaml::go_struct;
use version::Version;

use super::context::{Context, INDEX_PATH, system_text};
use super::finding::{Finding, Level, Outcome};
use super::loaded::Loaded;
use super::removed_apis;

/// The label that says which `OpenShift` versions a bundle is for.
const OPENSHIFT_LABEL: &str = "com.redhat.openshift.versions";
/// The property that says the newest `OpenShift` version that a bundle is for.
const MAXIMUM_PROPERTY: &str = "olm.maxOpenShiftVersion";
/// The annotation with properties.
const PROPERTIES: &str = "olm.properties";
/// The `OpenShift` version that no longer has the APIs.
const REMOVED: &str = "4.9";
/// Where the removal is described.
const GUIDE: &str = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-22";

/// What was found, before it has the `ClusterServiceVersion`'s name.
#[derive(Default)]
struct Remarks {
    errors: Vec<String>,
    warnings: Vec<String>,
}

/// Checks a bundle.
pub(super) fn check(bundle: &Loaded, context: &Context<'_>) -> Vec<Outcome> {
    let mut outcome = Outcome::about(&bundle.name);
    let removed = removed_apis::removed_in_22(bundle);
    if !removed.is_empty() {
        let apis = removed_apis::listed(&removed);
        let mut remarks = Remarks::default();
        maximum_version(bundle, &apis, &mut remarks);
        let path = context.values.get(INDEX_PATH);
        if path.is_empty() {
            // Upstream puts the errors among the warnings too.
            remarks.warnings.clone_from(&remarks.errors);
            remarks.warnings.push(format!(
                "please, inform the path of its index image file via the the optional key values and the key {INDEX_PATH} \
                 to allow this validator check the labels configuration or migrate the API(s) for {apis}. (e.g. \
                 {INDEX_PATH}=./mypath/bundle.Dockerfile). This bundle is using APIs which were deprecated and removed in \
                 v1.22. More info: {GUIDE} "
            ));
        } else if let Err(error) = labels(path, &apis) {
            remarks.errors.push(error);
        }
        let name = &bundle.csv.metadata.name;
        outcome.extend(
            remarks
                .errors
                .into_iter()
                .map(|detail| Finding::csv(Level::Error, name, detail)),
        );
        outcome.extend(
            remarks
                .warnings
                .into_iter()
                .map(|detail| Finding::csv(Level::Warning, name, detail)),
        );
    }
    vec![outcome]
}

/// A property as the annotation has it.
#[derive(Debug, Clone, Default)]
struct Property {
    kind: String,
    value: String,
}
go_struct!(Property, "internal.propertiesAnnotation", { "Type" => kind, "Value" => value });

fn maximum_version(bundle: &Loaded, apis: &str, remarks: &mut Remarks) {
    let properties = bundle.csv.annotation(PROPERTIES);
    if properties.is_empty() {
        remarks.errors.push(format!(
            "csv.Annotations not specified {MAXIMUM_PROPERTY} for an OCP version < {REMOVED}. This annotation is required to \
             prevent the user from upgrading their OCP cluster before they have installed a version of their operator \
             which is compatible with {REMOVED}. This bundle is using APIs which were deprecated and removed in v1.22. \
             More info: {GUIDE} which are no longer supported on {REMOVED}. Migrate the API(s) for {apis} or use the \
             annotation"
        ));
        return;
    }
    let read = goyaml::json::to_value(properties.as_bytes(), goyaml::ReadOptions::default())
        .and_then(|value| goyaml::typed::decode::<Vec<Property>>(&value));
    let Ok(list) = read else {
        remarks.errors.push(format!(
            "csv.Annotations has an invalid value specified for {PROPERTIES}. Please, check the value  ({properties}) and \
             ensure that it is an array such as: \"olm.properties\": '[{{\"type\": \"key name\", \"value\": \"key \
             value\"}}]'"
        ));
        return;
    };
    let Some(maximum) = list.iter().find(|property| property.kind == MAXIMUM_PROPERTY) else {
        remarks.errors.push(format!(
            "csv.Annotations.{PROPERTIES} with the key `{MAXIMUM_PROPERTY}` and a value with an OCP version which is < \
             {REMOVED} is required for any operator bundle that is using APIs which were deprecated and removed in v1.22. \
             More info: {GUIDE}. Migrate the API(s) for {apis} or use the annotation"
        ));
        return;
    };
    let version = match Version::parse_tolerant(&maximum.value) {
        Ok(version) => version,
        Err(error) => {
            remarks.errors.push(format!(
                "csv.Annotations.{PROPERTIES} has an invalid value. Unable to parse ({}) using semver : {error}",
                maximum.value
            ));
            return;
        }
    };
    let truncated = Version::new(version.major(), version.minor(), 0);
    if version.precedence(&truncated).is_ne() {
        remarks.warnings.push(format!(
            "csv.Annotations.{PROPERTIES} has an invalid value. {MAXIMUM_PROPERTY} must specify only major.minor versions, \
             {version} will be truncated to {truncated}"
        ));
    } else if is_unsupported(&version) {
        remarks.errors.push(format!(
            "csv.Annotations.{PROPERTIES} with the key and value for {MAXIMUM_PROPERTY} has the OCP version value {} which is \
             >= of {REMOVED}. This bundle is using APIs which were deprecated and removed in v1.22. More info: {GUIDE}. \
             Migrate the API(s) for {apis} or inform in this property an OCP version which is < {REMOVED}",
            maximum.value
        ));
    }
}

fn is_unsupported(version: &Version) -> bool {
    version.precedence(&Version::new(4, 9, 0)).is_ge()
}

/// Checks the label in a Dockerfile.
fn labels(path: &str, apis: &str) -> Result<(), String> {
    let hint = format!(
        "via the the optional key values and the key {INDEX_PATH}. (e.g. {INDEX_PATH}=./mypath/bundle.Dockerfile)."
    );
    let information = std::fs::metadata(path).map_err(|error| {
        format!(
            "the index image in the path ({path}) was not found. Please, inform the path of the bundle operator index image \
             {hint} Error : stat {path}: {}",
            system_text(&error)
        )
    })?;
    if information.is_dir() {
        return Err(format!(
            "the index image in the path ({path}) is not file. Please, inform the path of its index image {hint} The value \
             informed is a diretory and not a file"
        ));
    }
    let bytes = std::fs::read(path).map_err(|error| {
        format!(
            "unable to read the index image in the path ({path}). Error : open {path}: {}",
            system_text(&error)
        )
    })?;
    let content = String::from_utf8_lossy(&bytes);
    let Some(line) = content.split('\n').find(|line| line.contains(OPENSHIFT_LABEL)) else {
        return Err(format!(
            "this bundle is using APIs which were deprecated and removed in v1.22. More info: {GUIDE}. Migrate the APIs for \
             {apis} or provide compatible version(s) via the labels. (e.g. LABEL {OPENSHIFT_LABEL}='4.6-4.8')"
        ));
    };
    label(line, apis)
}

fn label(line: &str, apis: &str) -> Result<(), String> {
    let advice = |spelled: &str| {
        format!(
            "annotation in `metadata/annotations.yaml` to ensure that the index image will be {spelled} with its label. (e.g. \
             LABEL {OPENSHIFT_LABEL}='4.6-4.8')"
        )
    };
    let parts: Vec<&str> = line.split('=').collect();
    let bare = |text: &str| text.replace(['\'', '"', 'v'], "");
    let parse = |text: &str| {
        Version::parse_tolerant(text)
            .map_err(|_| format!("unable to parse the value ({text}) on ({OPENSHIFT_LABEL})"))
    };
    let range = match parts[..] {
        [_] | [] => return Err(format!("invalid syntax ({line}) for ({OPENSHIFT_LABEL})")),
        // A second equals sign means exactly this version.
        [_, _, exact, ..] if !exact.is_empty() => {
            if is_unsupported(&parse(&bare(exact))?) {
                return Err(format!(
                    "this bundle is using APIs which were deprecated and removed in v1.22. More info: {GUIDE}. Migrate the \
                     API(s) for {apis} or provide compatible version(s) by using the {OPENSHIFT_LABEL} {}",
                    advice("geneared")
                ));
            }
            return Ok(());
        }
        [_, range, ..] => bare(range),
    };
    if range.len() <= 1 {
        return Err(format!("unable to get the range informed on {OPENSHIFT_LABEL}"));
    }
    let Some(last) = range.split('-').nth(1) else {
        return Err(format!(
            "this bundle is using APIs which were deprecated and removed in v1.22. More info: {GUIDE} The {range} allows to \
             distribute it on >= {REMOVED}. Migrate the API(s) for {apis} or provide compatible version(s) by using the \
             {OPENSHIFT_LABEL} {}",
            advice("generated")
        ));
    };
    if is_unsupported(&parse(last)?) {
        return Err(format!(
            "this bundle is using APIs which were deprecated and removed in v1.22. More info: {GUIDE}. Upgrade the APIs from \
             for {apis} or provide compatible distribution version(s) by using the {OPENSHIFT_LABEL} {}",
            advice("generated")
        ));
    }
    Ok(())
}
