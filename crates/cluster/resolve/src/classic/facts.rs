//! What the properties of an entry mean, read once when the entry is made.

use std::sync::OnceLock;

use goyaml::typed::{GoType, decode};
use serde_json::{Value, json};
use version::Version;

use super::need::{Need, NeedError};
use super::property::{DEPRECATED, KIND, LABEL, PACKAGE, Property};
use crate::dependencies::GroupVersionKind;

#[derive(Debug, Default)]
struct PackageValue {
    name: String,
    version: String,
}
goyaml::go_struct!(PackageValue, "registry.PackageProperty", { "packageName" => name, "version" => version });

#[derive(Debug, Default)]
struct KindValue {
    group: String,
    version: String,
    kind: String,
}
goyaml::go_struct!(KindValue, "registry.GVKProperty", { "group" => group, "kind" => kind, "version" => version });

#[derive(Debug, Default)]
struct LabelValue {
    label: String,
}
goyaml::go_struct!(LabelValue, "registry.LabelProperty", { "label" => label });

/// What the properties of an entry mean.
#[derive(Debug)]
pub(super) struct Facts {
    /// Packages that it says it is of, each with its version where that is one.
    pub(super) packages: Vec<(String, Option<Version>)>,
    /// Kinds that it provides; one that is named twice stands here once.
    pub(super) kinds: Vec<GroupVersionKind>,
    /// Labels that it carries.
    pub(super) labels: Vec<String>,
    /// What it needs, in the order of its properties; or the first property that can't be read.
    pub(super) needs: Result<Vec<Need>, NeedError>,
    /// Whether it mustn't be installed any more.
    pub(super) is_deprecated: bool,
    /// The properties as expressions see them, made when the first expression asks.
    as_json: OnceLock<Value>,
}

impl Facts {
    /// Reads properties. What can't be read says nothing, except of what is needed: there it is remembered.
    pub(super) fn read(properties: &[Property]) -> Self {
        let mut facts = Self {
            packages: Vec::new(),
            kinds: Vec::new(),
            labels: Vec::new(),
            needs: properties.iter().filter_map(Need::read).collect(),
            is_deprecated: false,
            as_json: OnceLock::new(),
        };
        for property in properties {
            match property.kind.as_str() {
                PACKAGE => facts.packages.extend(value(property).map(|value: PackageValue| {
                    let version = Version::parse(&value.version).ok();
                    (value.name, version)
                })),
                KIND => {
                    let kind = value(property).map(|value: KindValue| GroupVersionKind {
                        group: value.group,
                        version: value.version,
                        kind: value.kind,
                    });
                    facts
                        .kinds
                        .extend(kind.filter(|kind| !facts.kinds.contains(kind)));
                }
                LABEL => facts
                    .labels
                    .extend(value(property).map(|value: LabelValue| value.label)),
                DEPRECATED => facts.is_deprecated = true,
                _ => {}
            }
        }
        facts
    }

    /// Returns the properties as expressions see them: a list of `{type, value}`, and nothing known of one that isn't
    /// JSON.
    pub(super) fn as_json(&self, properties: &[Property]) -> &Value {
        self.as_json.get_or_init(|| {
            let one = |property: &Property| match serde_json::from_str::<Value>(&property.value) {
                Ok(value) => json!({"type": property.kind, "value": value}),
                Err(_) => json!({}),
            };
            properties.iter().map(one).collect()
        })
    }
}

fn value<T: GoType>(property: &Property) -> Option<T> {
    let json: Value = serde_json::from_str(&property.value).ok()?;
    decode(&json).ok()
}
