//! The properties of a rendered bundle: what its files say, what they mean, and the objects themselves, sorted.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use goyaml::json::Escape;
use goyaml::typed::decode;
use goyaml::{ReadOptions, go_struct};
use serde::Serialize;
use serde_json::value::RawValue;

use super::interfaces::{self, Interface};
use super::manifests::Object;
use super::metadata_files::MetadataFiles;
use super::raw_version::RawVersion;
use super::{TextProperty, json};
use crate::objects::Property;

const PACKAGE: &str = "olm.package";
const PACKAGE_REQUIRED: &str = "olm.package.required";
const INTERFACE: &str = "olm.gvk";
const INTERFACE_REQUIRED: &str = "olm.gvk.required";

/// The type of the property that holds one of the bundle's objects.
pub(crate) const BUNDLE_OBJECT: &str = "olm.bundle.object";

/// The type of the property that holds what users are shown of a `ClusterServiceVersion`.
pub(crate) const CSV_METADATA: &str = "olm.csv.metadata";

/// The annotation of a `ClusterServiceVersion` that holds further properties.
const PROPERTIES_ANNOTATION: &str = "olm.properties";

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct PackageVersion {
    package_name: String,
    version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    release: String,
}
go_struct!(PackageVersion, "property.Package", {
    "packageName" => package_name, "version" => version, "release" => release,
});

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequiredPackage {
    package_name: String,
    version_range: String,
}

#[derive(Default, Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKindVersion {
    group: String,
    kind: String,
    version: String,
}
go_struct!(GroupKindVersion, "property.GVK", { "group" => group, "kind" => kind, "version" => version });

impl From<&Interface> for GroupKindVersion {
    fn from(interface: &Interface) -> Self {
        Self {
            group: interface.group.clone(),
            kind: interface.kind.clone(),
            version: interface.version.clone(),
        }
    }
}

/// The properties that follow from the `ClusterServiceVersion` and the annotations.
pub(super) fn derive(
    version: &RawVersion<'_>,
    metadata: &MetadataFiles,
    provided: &BTreeSet<Interface>,
) -> Result<Vec<TextProperty>, String> {
    let mut derived = Vec::new();
    let package = &metadata.annotations.package;
    if !package.is_empty() {
        let package = PackageVersion {
            package_name: package.clone(),
            version: version.text("version")?,
            release: version.release()?,
        };
        derived.push(TextProperty {
            kind: PACKAGE.to_owned(),
            value: json(&package, Escape::Html),
        });
    }
    if let Some(text) = version.metadata.annotations.get(PROPERTIES_ANNOTATION) {
        // A list that is broken in parts counts as far as it can be read; opm only warns.
        derived.extend(property_list(text, None).0);
    }
    derived.extend(provided.iter().map(|interface| TextProperty {
        kind: INTERFACE.to_owned(),
        value: json(&GroupKindVersion::from(interface), Escape::Html),
    }));
    Ok(derived)
}

/// Reads `[{type, value}]` as Go does, keeping the values' text, and says whether all of it fitted.
///
/// With `field`, the list is the value of that field of the object in `text`.
pub(super) fn property_list(text: &str, field: Option<&str>) -> (Vec<TextProperty>, bool) {
    /// Go's field lookup needs no more than the keys, so the values stay text.
    type Fields<'t> = BTreeMap<String, &'t RawValue>;
    fn find<'t>(fields: &Fields<'t>, name: &str) -> Option<&'t str> {
        // Keys are sorted: of several spellings the exact one, in lower case, comes last and counts.
        fields
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.get())
            .next_back()
    }
    let list = match field {
        None => Some(text),
        Some(field) => serde_json::from_str::<Fields<'_>>(text)
            .ok()
            .and_then(|fields| find(&fields, field)),
    };
    let Some(items) = list.and_then(|list| serde_json::from_str::<Vec<&RawValue>>(list).ok()) else {
        return (Vec::new(), false);
    };
    let mut complete = true;
    let properties = items
        .into_iter()
        .map(|item| {
            let mut property = TextProperty::default();
            match serde_json::from_str::<Option<Fields<'_>>>(item.get()) {
                Ok(None) => {}
                Ok(Some(fields)) => {
                    match find(&fields, "type").map(serde_json::from_str::<Option<String>>) {
                        Some(Ok(kind)) => property.kind = kind.unwrap_or_default(),
                        Some(Err(_)) => complete = false,
                        None => {}
                    }
                    find(&fields, "value")
                        .unwrap_or_default()
                        .clone_into(&mut property.value);
                }
                Err(_) => complete = false,
            }
            property
        })
        .collect();
    (properties, complete)
}

/// Every property of the bundle in the order of opm's output.
pub(super) fn all(
    version: &RawVersion<'_>,
    metadata: MetadataFiles,
    derived: Vec<TextProperty>,
    provided: &BTreeSet<Interface>,
    objects: &[Object],
) -> Result<Vec<Property>, String> {
    let package_name = metadata.annotations.package;
    let mut seen = BTreeSet::new();
    let mut others = Vec::new();
    let mut package = None;
    let mut provided_kinds: BTreeSet<GroupKindVersion> = BTreeSet::new();
    let mut required_kinds: BTreeSet<GroupKindVersion> = BTreeSet::new();
    let said = metadata.properties.into_iter().chain(derived);
    for (index, property) in said.filter(|property| seen.insert(property.clone())).enumerate() {
        match property.kind.as_str() {
            INTERFACE => {
                provided_kinds.insert(parse(index, &property)?);
            }
            PACKAGE => package = Some(parse::<PackageVersion>(index, &property)?),
            _ => others.push(property),
        }
    }
    for (index, dependency) in metadata.dependencies.into_iter().enumerate() {
        match dependency.kind.as_str() {
            INTERFACE => {
                required_kinds.insert(parse(index, &dependency)?);
            }
            PACKAGE => {
                let package: PackageVersion = parse(index, &dependency)?;
                let required = RequiredPackage {
                    package_name: package.package_name,
                    version_range: package.version,
                };
                others.push(TextProperty::of(PACKAGE_REQUIRED, &required));
            }
            _ => others.push(dependency),
        }
    }
    let own_version = version
        .text("version")
        .map_err(|cause| format!("get version: {cause}"))?;
    let own_release = version
        .release()
        .map_err(|cause| format!("get release: {cause}"))?;
    provided_kinds.extend(provided.iter().map(GroupKindVersion::from));
    let required = interfaces::required(version).map_err(|cause| format!("get required apis: {cause}"))?;
    required_kinds.extend(required.iter().map(GroupKindVersion::from));

    let package = package.unwrap_or(PackageVersion {
        package_name,
        version: own_version,
        release: own_release,
    });
    let mut properties = others;
    properties.push(TextProperty::of(PACKAGE, &package));
    properties.extend(
        provided_kinds
            .iter()
            .map(|kind| TextProperty::of(INTERFACE, kind)),
    );
    properties.extend(
        required_kinds
            .iter()
            .map(|kind| TextProperty::of(INTERFACE_REQUIRED, kind)),
    );
    properties.extend(objects.iter().map(|object| bundle_object(&object.text)));
    // What is large stands at the end, whatever its type's place in the alphabet.
    let is_large = |property: &TextProperty| matches!(property.kind.as_str(), BUNDLE_OBJECT | CSV_METADATA);
    properties
        .sort_unstable_by(|one, other| is_large(one).cmp(&is_large(other)).then_with(|| one.cmp(other)));
    Ok(properties.into_iter().map(TextProperty::into_property).collect())
}

fn parse<T: goyaml::typed::GoType>(index: usize, property: &TextProperty) -> Result<T, String> {
    let value = goyaml::json::to_value(property.value.as_bytes(), ReadOptions::default());
    value.and_then(|value| decode(&value)).map_err(|error| {
        format!(
            "parse property[{index}] of type {}: {error}",
            gotemplate::format::quoted(&property.kind)
        )
    })
}

/// An object of the bundle: `{"data": "…"}` with its JSON in base64.
fn bundle_object(text: &str) -> TextProperty {
    let mut value = String::with_capacity(text.len().div_ceil(3) * 4 + 16);
    value.push_str("{\"data\":\"");
    STANDARD.encode_string(text, &mut value);
    value.push_str("\"}");
    TextProperty {
        kind: BUNDLE_OBJECT.to_owned(),
        value,
    }
}
