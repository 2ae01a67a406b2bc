//! A registry+v1 bundle as OLM v1 loads it.

use serde_json::{Map, Value, json};

use crate::files::BundleFiles;

const ANNOTATIONS_FILE: &str = "metadata/annotations.yaml";
const PROPERTIES_FILE: &str = "metadata/properties.yaml";
const MANIFESTS: &str = "manifests";
const PACKAGE_ANNOTATION: &str = "operators.operatorframework.io.bundle.package.v1";

/// The annotation of a ClusterServiceVersion that holds the bundle's properties, as a JSON list.
pub const PROPERTIES_ANNOTATION: &str = "olm.properties";

/// The most objects that are read of one bundle. The largest of OperatorHub's has 105.
pub const MAXIMUM_BUNDLE_OBJECTS: usize = 10_000;

/// A bundle's objects, sorted into the three sorts that are installed differently.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RegistryBundle {
    /// The package, from the bundle's annotations; may be empty.
    pub package_name: String,
    /// The ClusterServiceVersion, with the bundle's properties among its annotations.
    pub cluster_service_version: Value,
    /// The CustomResourceDefinitions.
    pub custom_resource_definitions: Vec<Value>,
    /// Everything else.
    pub others: Vec<Value>,
}

/// Why a bundle can't be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// A file or directory that every bundle has is missing.
    #[error("open {0}: file does not exist")]
    Missing(&'static str),
    /// The metadata isn't YAML.
    #[error("{file}: {cause}")]
    Metadata {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        cause: String,
    },
    /// A directory inside the manifests.
    #[error(
        "subdirectories are not allowed within the {MANIFESTS:?} directory of the bundle image filesystem: found {0:?}"
    )]
    Subdirectory(String),
    /// A manifest can't be read.
    #[error("error parsing objects in {path:?}: {cause}")]
    Manifest {
        /// The manifest.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// There is no ClusterServiceVersion.
    #[error("no ClusterServiceVersion found in {MANIFESTS:?}")]
    NoClusterServiceVersion,
    /// The properties in the ClusterServiceVersion's annotation can't be read.
    #[error("failed to unmarshal csv.metadata.annotations['olm.properties']: {0}")]
    AnnotatedProperties(String),
    /// The properties file can't be read.
    #[error("failed to unmarshal metadata/properties.yaml: {0}")]
    Properties(String),
    /// The bundle holds more objects than [`MAXIMUM_BUNDLE_OBJECTS`].
    #[error("the bundle holds more than {MAXIMUM_BUNDLE_OBJECTS} objects; split it into several bundles")]
    TooManyObjects,
}

impl RegistryBundle {
    /// Reads a bundle's files.
    ///
    /// # Errors
    ///
    /// When a part that every bundle has is missing, or something can't be read.
    pub fn load(files: &BundleFiles) -> Result<Self, LoadError> {
        let annotations = files
            .get(ANNOTATIONS_FILE)
            .ok_or(LoadError::Missing(ANNOTATIONS_FILE))?;
        let annotations = goyaml::to_value(annotations).map_err(|cause| LoadError::Metadata {
            file: ANNOTATIONS_FILE,
            cause: cause.to_string(),
        })?;
        let package = &annotations["annotations"][PACKAGE_ANNOTATION];
        let package = match package {
            Value::String(name) => name.clone(),
            Value::Null => String::new(),
            other => {
                let cause = format!(
                    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go struct field Annotations.annotations.{PACKAGE_ANNOTATION} of type string",
                    goyaml::json::kind_word(other)
                );
                return Err(LoadError::Metadata {
                    file: ANNOTATIONS_FILE,
                    cause,
                });
            }
        };
        let mut bundle = Self {
            package_name: package,
            cluster_service_version: Value::Null,
            ..Self::default()
        };
        if !files.has_directory(MANIFESTS) {
            return Err(LoadError::Missing(MANIFESTS));
        }
        if let Some(directory) = files
            .directories()
            .iter()
            .find(|path| path.starts_with("manifests/"))
        {
            return Err(LoadError::Subdirectory(directory.clone()));
        }
        for (name, bytes) in files.below(MANIFESTS) {
            let path = format!("{MANIFESTS}/{name}");
            for object in objects(bytes).map_err(|cause| LoadError::Manifest { path, cause })? {
                bundle.take(object)?;
            }
        }
        if bundle.cluster_service_version.is_null() {
            return Err(LoadError::NoClusterServiceVersion);
        }
        bundle.add_properties(files.get(PROPERTIES_FILE).unwrap_or_default())?;
        Ok(bundle)
    }

    fn take(&mut self, object: Value) -> Result<(), LoadError> {
        if self.others.len() + self.custom_resource_definitions.len() >= MAXIMUM_BUNDLE_OBJECTS {
            return Err(LoadError::TooManyObjects);
        }
        match object["kind"].as_str() {
            Some("ClusterServiceVersion") => self.cluster_service_version = object,
            Some("CustomResourceDefinition") => self.custom_resource_definitions.push(object),
            _ => self.others.push(object),
        }
        Ok(())
    }

    /// Appends the properties of the bundle's own file to those that the ClusterServiceVersion carries.
    fn add_properties(&mut self, file: &[u8]) -> Result<(), LoadError> {
        let annotated = &self.cluster_service_version["metadata"]["annotations"][PROPERTIES_ANNOTATION];
        let mut properties = match annotated.as_str() {
            Some(text) => properties_of(goyaml::json::to_value(
                text.as_bytes(),
                goyaml::ReadOptions::default(),
            ))
            .map_err(LoadError::AnnotatedProperties)?,
            None => Vec::new(),
        };
        if file.is_empty() {
            return Ok(());
        }
        let listed = goyaml::to_value(file).map(|mut file| file["properties"].take());
        properties.extend(properties_of(listed).map_err(LoadError::Properties)?);
        let text = goyaml::json::to_string(&properties, goyaml::json::Escape::Html)
            .map_err(|cause| LoadError::Properties(cause.to_string()))?;
        let csv = object_of(&mut self.cluster_service_version);
        let metadata = object_of(csv.entry("metadata").or_insert(Value::Null));
        object_of(metadata.entry("annotations").or_insert(Value::Null))
            .insert(PROPERTIES_ANNOTATION.to_owned(), text.into());
        Ok(())
    }
}

/// A property in the order in which it is written: the type before the value.
#[derive(serde::Serialize)]
struct Property {
    r#type: Value,
    value: Value,
}

fn properties_of(listed: Result<Value, goyaml::Error>) -> Result<Vec<Property>, String> {
    let mut listed = listed.map_err(|cause| cause.to_string())?;
    let wrong = |kind: &Value, target: &str| {
        format!(
            "json: cannot unmarshal {} into Go {target}",
            goyaml::json::kind_word(kind)
        )
    };
    let Some(items) = listed.as_array_mut() else {
        return if listed.is_null() {
            Ok(Vec::new())
        } else {
            Err(wrong(&listed, "value of type []property.Property"))
        };
    };
    items
        .iter_mut()
        .map(|item| {
            if !item.is_object() {
                return Err(wrong(item, "value of type property.Property"));
            }
            let property = Property {
                r#type: item["type"].take(),
                value: item["value"].take(),
            };
            if property.r#type.as_str().is_none_or(str::is_empty) {
                return Err("property type not set".to_owned());
            }
            if property.value.is_null() {
                return Err("property value not set".to_owned());
            }
            Ok(property)
        })
        .collect()
}

/// Every object of a manifest: of each YAML or JSON document, and of the lists among them.
fn objects(bytes: &[u8]) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    for document in goyaml::documents(bytes) {
        let document = document.map_err(|cause| cause.to_string())?;
        let value = document
            .to_value(goyaml::ReadOptions::default())
            .map_err(|cause| cause.to_string())?;
        if !value.is_null() {
            flatten(value, &mut found)?;
        }
    }
    Ok(found)
}

fn flatten(mut value: Value, found: &mut Vec<Value>) -> Result<(), String> {
    let Some(kind) = value["kind"].as_str().filter(|kind| !kind.is_empty()) else {
        return Err(format!("Object 'Kind' is missing in '{}'", json!(value)));
    };
    if kind.ends_with("List") && value["items"].is_array() {
        // A list in a list would have to be unpacked again; documents are not deep enough for this to run away.
        if let Value::Array(items) = value["items"].take() {
            return items.into_iter().try_for_each(|item| flatten(item, found));
        }
    }
    found.push(value);
    Ok(())
}

/// The object that `value` is; anything else becomes an empty one.
pub(crate) fn object_of(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(object) => object,
        _ => unreachable!("the value was just made an object"),
    }
}
