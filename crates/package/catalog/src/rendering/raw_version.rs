//! A `ClusterServiceVersion` as opm reads it for a catalog: its metadata, and of its specification one field at a time.

use std::collections::BTreeSet;

use bundle::cluster_service_version::ObjectMetadata;
use goyaml::go_struct;
use goyaml::typed::decode;
use serde_json::{Map, Value};

use super::sort_images;
use crate::objects::{Icon, RelatedImage};

/// The only way of installing an operator that opm knows.
const DEPLOYMENT_STRATEGY: &str = "deployment";

/// The metadata and the specification, the latter as it was written.
pub(super) struct RawVersion<'o> {
    pub(super) metadata: ObjectMetadata,
    specification: Option<&'o Value>,
}

#[derive(Default)]
struct Head {
    metadata: ObjectMetadata,
}
go_struct!(Head, "", { "metadata" => metadata });

/// What a `ClusterServiceVersion` says of an API: enough to tell which one is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DefinitionKey {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) version: String,
}
go_struct!(DefinitionKey, "registry.DefinitionKey", {
    "group" => group, "kind" => kind, "name" => name, "version" => version,
});

/// The APIs of one sort that an operator provides and needs.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) owned: Vec<Option<DefinitionKey>>,
    pub(super) required: Vec<Option<DefinitionKey>>,
}
go_struct!(Definitions, "", { "owned" => owned, "required" => required });

#[derive(Default)]
struct ReadImage {
    name: String,
    image: String,
}
go_struct!(ReadImage, "declcfg.RelatedImage", { "name" => name, "image" => image });

#[derive(Default)]
struct ReadIcon {
    media_type: String,
    data: String,
}
go_struct!(ReadIcon, "registry.Icon", { "mediatype" => media_type, "base64data" => data });

#[derive(Default)]
struct InstalledSpecification {
    install: Strategy,
}
go_struct!(InstalledSpecification, "registry.csvSpec", { "Install" => install });

#[derive(Default)]
struct Strategy {
    name: String,
    specification: StrategySpecification,
}
go_struct!(Strategy, "registry.strategy", { "strategy" => name, "spec" => specification });

#[derive(Default)]
struct StrategySpecification {
    deployments: Vec<Deployment>,
}
go_struct!(StrategySpecification, "registry.strategySpec", { "Deployments" => deployments });

#[derive(Default)]
struct Deployment {
    name: String,
    specification: DeploymentSpecification,
}
go_struct!(Deployment, "registry.dep", { "Name" => name, "Spec" => specification });

#[derive(Default)]
struct DeploymentSpecification {
    template: PodTemplate,
}
go_struct!(DeploymentSpecification, "v1.DeploymentSpec", { "template" => template });

#[derive(Default)]
struct PodTemplate {
    specification: PodSpecification,
}
go_struct!(PodTemplate, "v1.PodTemplateSpec", { "spec" => specification });

#[derive(Default)]
struct PodSpecification {
    containers: Vec<Container>,
    init_containers: Vec<Container>,
}
go_struct!(PodSpecification, "v1.PodSpec", {
    "containers" => containers, "initContainers" => init_containers,
});

#[derive(Default)]
struct Container {
    image: String,
}
go_struct!(Container, "v1.Container", { "image" => image });

impl<'o> RawVersion<'o> {
    pub(super) fn read(object: &'o Value) -> Result<Self, String> {
        let Head { metadata } = decode(object).map_err(|error| error.to_string())?;
        Ok(Self {
            metadata,
            specification: object.get("spec"),
        })
    }

    /// The specification's fields by their exact names; fields that are null are as good as absent.
    fn fields(&self) -> Result<Option<&'o Map<String, Value>>, String> {
        match self.specification {
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(Value::Null) => Ok(None),
            Some(value) => Err(format!(
                "json: cannot unmarshal {} into Go value of type map[string]*json.RawMessage",
                goyaml::json::kind_word(value)
            )),
            None => Err("unexpected end of JSON input".to_owned()),
        }
    }

    fn field(&self, name: &str) -> Result<Option<&'o Value>, String> {
        let field = self.fields()?.and_then(|fields| fields.get(name));
        Ok(field.filter(|value| !value.is_null()))
    }

    /// A field that must be text; empty where it is absent.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        match self.field(name)? {
            Some(value) => decode(value).map_err(|error| error.to_string()),
            None => Ok(String::new()),
        }
    }

    /// The release, which may be a number too.
    pub(super) fn release(&self) -> Result<String, String> {
        match self.field("release")? {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number_as_release(number)),
            Some(_) => Err("release field must be a string or number".to_owned()),
        }
    }

    pub(super) fn custom_resource_definitions(&self) -> Result<Definitions, String> {
        self.definitions("customresourcedefinitions")
    }

    pub(super) fn api_service_definitions(&self) -> Result<Definitions, String> {
        self.fields()
            .map_err(|cause| format!("error unmarshaling into object map: {cause}"))?;
        self.definitions("apiservicedefinitions")
    }

    fn definitions(&self, name: &str) -> Result<Definitions, String> {
        const GO_TYPE: &str = r#"struct { Owned []*registry.DefinitionKey "json:\"owned\""; Required []*registry.DefinitionKey "json:\"required\"" }"#;
        match self.field(name)? {
            None => Ok(Definitions::default()),
            Some(value @ Value::Object(_)) => decode(value).map_err(|error| error.to_string()),
            Some(value) => Err(format!(
                "json: cannot unmarshal {} into Go value of type {GO_TYPE}",
                goyaml::json::kind_word(value)
            )),
        }
    }

    /// The images that the operator names, the bundle's own, and those that its deployments run.
    pub(super) fn related_images(&self, bundle_image: &str) -> Result<Vec<RelatedImage>, String> {
        let named: Vec<ReadImage> = match self.field("relatedImages")? {
            Some(value) => decode(value).map_err(|error| error.to_string())?,
            None => Vec::new(),
        };
        let mut images: Vec<RelatedImage> = named
            .into_iter()
            .map(|ReadImage { name, image }| RelatedImage { name, image })
            .collect();
        let known: BTreeSet<String> = images.iter().map(|related| related.image.clone()).collect();
        let unnamed = |image: &str| RelatedImage {
            name: String::new(),
            image: image.to_owned(),
        };
        if !bundle_image.is_empty() && !known.contains(bundle_image) {
            images.push(unnamed(bundle_image));
        }
        for image in self.operator_images()?.difference(&known) {
            images.push(unnamed(image));
        }
        sort_images(&mut images);
        Ok(images)
    }

    /// The images that the operator's deployments run.
    fn operator_images(&self) -> Result<BTreeSet<String>, String> {
        let Some(specification) = self.specification else {
            return Ok(BTreeSet::new());
        };
        let InstalledSpecification { install } = decode(specification).map_err(|error| error.to_string())?;
        if install.name != DEPLOYMENT_STRATEGY {
            return Ok(BTreeSet::new());
        }
        Ok(install
            .specification
            .deployments
            .into_iter()
            .map(|deployment| deployment.specification.template.specification)
            .flat_map(|pod| pod.containers.into_iter().chain(pod.init_containers))
            .map(|container| container.image)
            .collect())
    }

    /// The first icon, whose data is taken out of base64 and put into it again.
    pub(super) fn first_icon(&self) -> Option<Icon> {
        let icons: Vec<ReadIcon> = decode(self.field("icon").ok()??).ok()?;
        let mut decoded = icons.into_iter().map(|icon| {
            Some(Icon {
                data: base64_again(&icon.data)?,
                media_type: icon.media_type,
            })
        });
        let first = decoded.next()??;
        // Icons that can't be read spoil those that can.
        decoded.all(|icon| icon.is_some()).then_some(first)
    }
}

/// Reads base64 as Go does, which passes over line ends, and writes it without them.
fn base64_again(text: &str) -> Option<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let joined: String = text
        .chars()
        .filter(|character| !matches!(character, '\r' | '\n'))
        .collect();
    Some(STANDARD.encode(STANDARD.decode(joined).ok()?))
}

/// A number as a release: whole numbers without a fraction, others as Go's `%g` prints them.
fn number_as_release(number: &serde_json::Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => gotemplate::format::float_text(float, b'g', None),
        (None, None) => String::new(),
    }
}
