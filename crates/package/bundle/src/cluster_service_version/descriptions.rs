//! The custom resources and aggregated APIs that an operator provides and needs.

use std::borrow::Cow;

use goyaml::go_struct;
use goyaml::typed::{GoType, Reader, Skimmer, resembles};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The custom resources that an operator provides and needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CustomResourceDefinitions {
    /// Those it provides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<CustomResourceDescription>,
    /// Those it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<CustomResourceDescription>,
}

go_struct!(CustomResourceDefinitions, "v1alpha1.CustomResourceDefinitions", {
    "owned" => owned, "required" => required,
});

/// A custom resource, as an operator presents it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomResourceDescription {
    /// The definition's name, `plural.group`.
    pub name: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The name that users see.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What the operator makes of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceReference>,
    /// How to show fields of its status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status_descriptors: Vec<Descriptor>,
    /// How to show fields of its specification.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spec_descriptors: Vec<Descriptor>,
    /// What can be done with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action_descriptors: Vec<Descriptor>,
}

go_struct!(CustomResourceDescription, "v1alpha1.CRDDescription", {
    "name" => name,
    "version" => version,
    "kind" => kind,
    "displayName" => display_name,
    "description" => description,
    "resources" => resources,
    "statusDescriptors" => status_descriptors as "v1alpha1.StatusDescriptor",
    "specDescriptors" => spec_descriptors,
    "actionDescriptors" => action_descriptors as "v1alpha1.ActionDescriptor",
});

/// The aggregated APIs that an operator provides and needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ApiServiceDefinitions {
    /// Those it provides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<ApiServiceDescription>,
    /// Those it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<ApiServiceDescription>,
}

go_struct!(ApiServiceDefinitions, "v1alpha1.APIServiceDefinitions", {
    "owned" => owned, "required" => required,
});

/// An aggregated API, as an operator presents it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiServiceDescription {
    /// The resource's plural name.
    pub name: String,
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The deployment that serves it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deployment_name: String,
    /// The port it is served at.
    #[serde(skip_serializing_if = "is_zero")]
    pub container_port: i32,
    /// The name that users see.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What the operator makes of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceReference>,
    /// How to show fields of its status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status_descriptors: Vec<Descriptor>,
    /// How to show fields of its specification.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spec_descriptors: Vec<Descriptor>,
    /// What can be done with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub action_descriptors: Vec<Descriptor>,
}

go_struct!(ApiServiceDescription, "v1alpha1.APIServiceDescription", {
    "name" => name,
    "group" => group,
    "version" => version,
    "kind" => kind,
    "deploymentName" => deployment_name,
    "containerPort" => container_port,
    "displayName" => display_name,
    "description" => description,
    "resources" => resources,
    "statusDescriptors" => status_descriptors as "v1alpha1.StatusDescriptor",
    "specDescriptors" => spec_descriptors,
    "actionDescriptors" => action_descriptors as "v1alpha1.ActionDescriptor",
});

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// Something that an operator makes of a custom resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ResourceReference {
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: String,
    /// The version.
    pub version: String,
}

go_struct!(ResourceReference, "v1alpha1.APIResourceReference", {
    "name" => name, "kind" => kind, "version" => version,
});

/// How to show a field of a custom resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The field.
    pub path: String,
    /// The name that users see.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How to show it.
    #[serde(rename = "x-descriptors", skip_serializing_if = "Vec::is_empty")]
    pub x_descriptors: Vec<String>,
    /// A value that belongs to it.
    #[serde(skip_serializing_if = "RawMessage::is_absent")]
    pub value: RawMessage,
}

impl Descriptor {
    const FIELDS: &[&str] = &["path", "displayName", "description", "x-descriptors", "value"];
}

/// The three kinds of descriptors differ by nothing but their names in Go's errors.
impl GoType for Descriptor {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("v1alpha1.SpecDescriptor")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        let go_name = reader.alias().unwrap_or("v1alpha1.SpecDescriptor");
        reader.structure(value, go_name, Self::FIELDS, |reader, name, value| {
            reader.field(None, None, |reader| match name {
                "path" => self.path.read(value, reader),
                "displayName" => self.display_name.read(value, reader),
                "description" => self.description.read(value, reader),
                "x-descriptors" => self.x_descriptors.read(value, reader),
                _ => self.value.read(value, reader),
            })
        })
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        skimmer.object(|skimmer, key| match key {
            b"path" | b"displayName" | b"description" => String::skim(skimmer),
            b"x-descriptors" => Vec::<String>::skim(skimmer),
            _ if Self::FIELDS
                .iter()
                .any(|name| *name != "value" && resembles(name, key)) =>
            {
                None
            }
            _ => skimmer.skip().map(drop),
        })
    }
}

/// JSON that is kept as it is; unlike `Option`, it tells null from nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawMessage(pub Option<Value>);

impl RawMessage {
    /// Whether nothing was written.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.0.is_none()
    }
}

impl Serialize for RawMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl GoType for RawMessage {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("json.RawMessage")
    }

    fn read(&mut self, value: &Value, _: &mut Reader) -> Result<(), goyaml::Error> {
        self.0 = Some(value.clone());
        Ok(())
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        skimmer.skip().map(drop)
    }
}
