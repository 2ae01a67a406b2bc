//! The APIs that a bundle provides and requires, by group, version, kind and plural name.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use serde::Deserialize;
use serde_json::Value;

use super::manifests::Object;
use super::raw_version::{DefinitionKey, RawVersion};

/// One API; the order is that in which Go prints a map of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Interface {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
}

impl Display for Interface {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}/{}/{} ({})",
            self.group, self.version, self.kind, self.plural
        )
    }
}

/// The APIs that the bundle's custom resource definitions define.
pub(super) fn defined(objects: &[Object]) -> Result<BTreeSet<Interface>, String> {
    let mut found = BTreeSet::new();
    for object in objects
        .iter()
        .filter(|object| object.kind == "CustomResourceDefinition")
    {
        let version = object.api_version.rsplit('/').next().unwrap_or_default();
        if !matches!(version, "v1" | "v1beta1") {
            continue;
        }
        if let Ok(Definition { spec }) = serde_json::from_str(&object.text) {
            found.extend(spec.interfaces(version == "v1beta1"));
            continue;
        }
        // Something does not fit; what it is has to be said in Go's words.
        let value = serde_json::from_str(&object.text).map_err(|error| error.to_string())?;
        define(&value, version == "v1beta1", &mut found)
            .map_err(|cause| format!("error decoding {version} CRD: {cause}"))?;
    }
    Ok(found)
}

/// What is needed of a custom resource definition, where all of it fits.
#[derive(Deserialize)]
struct Definition {
    spec: DefinitionSpecification,
}

#[derive(Deserialize)]
struct DefinitionSpecification {
    group: String,
    names: DefinitionNames,
    #[serde(default)]
    versions: Vec<DefinitionVersion>,
    #[serde(default)]
    version: String,
}

#[derive(Deserialize)]
struct DefinitionNames {
    kind: String,
    plural: String,
}

#[derive(Deserialize)]
struct DefinitionVersion {
    name: String,
}

impl DefinitionSpecification {
    fn interfaces(self, old: bool) -> impl Iterator<Item = Interface> {
        let Self {
            group,
            names: DefinitionNames { kind, plural },
            versions,
            version,
        } = self;
        let single = Some(version).filter(|version| old && !version.is_empty());
        let versions = versions.into_iter().map(|version| version.name).chain(single);
        versions.map(move |version| Interface {
            group: group.clone(),
            version,
            kind: kind.clone(),
            plural: plural.clone(),
        })
    }
}

fn define(object: &Value, old: bool, found: &mut BTreeSet<Interface>) -> Result<(), String> {
    const SPECIFICATION: &str = "CustomResourceDefinitionSpec";
    const NAMES: &str = "CustomResourceDefinitionNames";
    let Some(specification) = structure(object.get("spec"), "CustomResourceDefinition.spec", SPECIFICATION)?
    else {
        return Ok(());
    };
    let names = structure(
        specification.get("names"),
        &format!("{SPECIFICATION}.spec.names"),
        NAMES,
    )?;
    let name = |key: &str| text(names, key, &format!("{NAMES}.spec.names"));
    let group = text(Some(specification), "group", &format!("{SPECIFICATION}.spec"))?;
    let (kind, plural) = (name("kind")?, name("plural")?);
    let mut versions = Vec::new();
    match specification.get("versions") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) => {
            for version in list {
                const VERSION: &str = "CustomResourceDefinitionVersion";
                let version = structure(Some(version), &format!("{SPECIFICATION}.spec.versions"), VERSION)?;
                versions.push(text(version, "name", &format!("{VERSION}.spec.versions"))?);
            }
        }
        Some(other) => {
            let version = if old { "v1beta1" } else { "v1" };
            return Err(mismatch(
                other,
                &format!("{SPECIFICATION}.spec.versions"),
                &format!("[]{version}.CustomResourceDefinitionVersion"),
            ));
        }
    }
    if old {
        let version = text(Some(specification), "version", &format!("{SPECIFICATION}.spec"))?;
        versions.extend(Some(version).filter(|version| !version.is_empty()));
    }
    for version in versions {
        found.insert(Interface {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        });
    }
    Ok(())
}

type Fields = serde_json::Map<String, Value>;

fn structure<'v>(value: Option<&'v Value>, field: &str, go_type: &str) -> Result<Option<&'v Fields>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(other) => Err(mismatch(other, field, &format!("v1.{go_type}"))),
    }
}

fn text<'v>(fields: Option<&'v Fields>, key: &str, place: &str) -> Result<&'v str, String> {
    match fields.and_then(|fields| fields.get(key)) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(mismatch(other, &format!("{place}.{key}"), "string")),
    }
}

fn mismatch(value: &Value, field: &str, expected: &str) -> String {
    format!(
        "json: cannot unmarshal {} into Go struct field {field} of type {expected}",
        goyaml::json::kind_word(value)
    )
}

/// What the bundle provides: what it defines, and the aggregated APIs that its `ClusterServiceVersion` owns.
///
/// Every custom resource that the `ClusterServiceVersion` owns must be among them.
pub(super) fn provided(
    version: &RawVersion<'_>,
    defined: BTreeSet<Interface>,
) -> Result<BTreeSet<Interface>, String> {
    let mut provided = defined;
    let services = version
        .api_service_definitions()
        .map_err(|cause| format!("error getting apiservice definitions: {cause}"))?;
    provided.extend(services.owned.into_iter().flatten().map(of_service));
    let mut owned = BTreeSet::new();
    for key in version.custom_resource_definitions()?.owned.into_iter().flatten() {
        owned.insert(of_custom_resource(key)?);
    }
    match owned.difference(&provided).next() {
        None => Ok(provided),
        Some(missing) => {
            let found: Vec<String> = provided.iter().map(|known| format!("{known}:{{}}")).collect();
            Err(format!(
                "couldn't find {missing} in bundle. found: map[{}]",
                found.join(" ")
            ))
        }
    }
}

/// What the bundle needs others to provide.
pub(super) fn required(version: &RawVersion<'_>) -> Result<BTreeSet<Interface>, String> {
    let mut required = BTreeSet::new();
    for key in version
        .custom_resource_definitions()?
        .required
        .into_iter()
        .flatten()
    {
        required.insert(of_custom_resource(key)?);
    }
    let services = version.api_service_definitions()?;
    required.extend(services.required.into_iter().flatten().map(of_service));
    Ok(required)
}

fn of_service(key: DefinitionKey) -> Interface {
    Interface {
        group: key.group,
        version: key.version,
        kind: key.kind,
        plural: key.name,
    }
}

fn of_custom_resource(key: DefinitionKey) -> Result<Interface, String> {
    let Some((plural, group)) = key.name.split_once('.') else {
        return Err(format!("couldn't parse plural.group from crd name: {}", key.name));
    };
    Ok(Interface {
        group: group.to_owned(),
        plural: plural.to_owned(),
        version: key.version,
        kind: key.kind,
    })
}
