//! What `api.Registry` tells of a bundle, taken from its `olm.bundle` object.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use goyaml::json::Escape;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::message;
use super::raw::{self, Fields, Raw, Text};
use super::service_version::{self, Surroundings};

/// Go's base64: trailing bits need not be zero.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// A Kubernetes API that a bundle provides or needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Api<'a> {
    pub(super) group: Cow<'a, str>,
    pub(super) version: Cow<'a, str>,
    pub(super) kind: Cow<'a, str>,
}

/// A property: its type, its place in the list, and its value.
#[derive(Debug)]
struct Property<'a> {
    kind: Cow<'a, str>,
    position: usize,
    value: Raw<'a>,
}

/// A bundle, taken apart.
#[derive(Debug)]
pub(super) struct Bundle<'a> {
    pub(super) name: Cow<'a, str>,
    package: Cow<'a, str>,
    image: Cow<'a, str>,
    properties: Vec<Property<'a>>,
    related_images: Vec<Raw<'a>>,
}

/// What a bundle takes from its `olm.package` object.
#[derive(Debug, Default)]
pub(super) struct PackageDetails<'a> {
    icon: Option<(String, String)>,
    description: Cow<'a, str>,
}

impl<'a> PackageDetails<'a> {
    /// Reads an `olm.package` object.
    pub(super) fn of(fields: &Fields<'a>) -> Result<Self, String> {
        let icon = match fields.get("icon") {
            None => None,
            Some(icon) => {
                let icon = Fields::of(icon)?;
                let data = decode(&icon.text("base64data")?)?;
                Some((BASE64.encode(data), icon.text("mediatype")?.into_owned()))
            }
        };
        Ok(Self {
            icon,
            description: fields.text("description")?,
        })
    }
}

impl<'a> Bundle<'a> {
    /// Takes an `olm.bundle` object apart.
    pub(super) fn of(blob: &'a [u8]) -> Result<Self, String> {
        let written: WrittenBundle<'a> = raw::parse(blob)?;
        let mut properties = Vec::with_capacity(written.properties.len());
        for (position, property) in written.properties.into_iter().enumerate() {
            let WrittenProperty { kind, value } = property.unwrap_or_default();
            let value = value.ok_or_else(|| format!("properties[{position}]: the value is missing"))?;
            properties.push(Property {
                kind,
                position,
                value,
            });
        }
        Ok(Self {
            name: written.name,
            package: written.package,
            image: written.image,
            properties,
            related_images: written.related_images,
        })
    }

    /// Whether the bundle is an image, so that a list of bundles doesn't carry its manifests.
    pub(super) fn has_image(&self) -> bool {
        !self.image.is_empty()
    }

    /// Whether the catalog carries manifests of the bundle.
    pub(super) fn has_objects(&self) -> bool {
        self.of_kind("olm.bundle.object").next().is_some()
    }

    fn of_kind<'s>(&'s self, kind: &'s str) -> impl Iterator<Item = &'s Property<'a>> {
        self.properties
            .iter()
            .filter(move |property| property.kind == kind)
    }

    /// The APIs that properties of a kind name.
    fn apis(&self, kind: &str) -> Result<Vec<Api<'a>>, String> {
        self.of_kind(kind)
            .map(|property| {
                let fields = Fields::of(property.value)?;
                Ok(Api {
                    group: fields.text("group")?,
                    version: fields.text("version")?,
                    kind: fields.text("kind")?,
                })
            })
            .collect()
    }

    /// The APIs that the bundle provides.
    pub(super) fn provided_apis(&self) -> Result<Vec<Api<'a>>, String> {
        self.apis("olm.gvk")
    }

    fn version(&self) -> Result<Cow<'a, str>, String> {
        let mut packages = self.of_kind("olm.package");
        match (packages.next(), packages.count()) {
            (Some(package), 0) => Fields::of(package.value)?.text("version"),
            (first, more) => Err(format!(
                "parse properties: expected exactly 1 property of type \"olm.package\", found {}",
                usize::from(first.is_some()) + more
            )),
        }
    }

    /// The property that a `ClusterServiceVersion` can be made from.
    fn metadata(&self) -> Result<Option<&Property<'a>>, String> {
        let mut metadata = self.of_kind("olm.csv.metadata");
        match (metadata.next(), metadata.count()) {
            (first, 0) => Ok(first),
            (_, more) => Err(format!(
                "parse properties: expected at most 1 property of type \"olm.csv.metadata\", found {}",
                more + 1
            )),
        }
    }

    /// Appends the fields that are the same in every channel.
    pub(super) fn append_fields(&self, out: &mut Vec<u8>) -> Result<(), String> {
        self.metadata()?;
        message::text(out, 6, &self.image);
        for (field, kind) in [(7, "olm.gvk"), (8, "olm.gvk.required")] {
            for api in self.apis(kind)? {
                message::texts(out, field, &[&api.group, &api.version, &api.kind]);
            }
        }
        message::text(out, 9, &self.version()?);
        for property in &self.properties {
            match &*property.kind {
                "olm.gvk.required" => message::texts(out, 11, &["olm.gvk", property.value.get()]),
                "olm.package.required" => {
                    let fields = Fields::of(property.value)?;
                    let value = format!(
                        r#"{{"packageName":{},"version":{}}}"#,
                        json_text(&fields.text("packageName")?)?,
                        json_text(&fields.text("versionRange")?)?
                    );
                    message::texts(out, 11, &["olm.package", &value]);
                }
                _ => {}
            }
        }
        for property in &self.properties {
            if !matches!(&*property.kind, "olm.bundle.object" | "olm.csv.metadata") {
                message::texts(out, 12, &[&property.kind, property.value.get()]);
            }
        }
        Ok(())
    }

    /// Appends the bundle's manifests and its `ClusterServiceVersion`, which may have to be made.
    pub(super) fn append_manifests(
        &self,
        package: &PackageDetails<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let mut objects = self.objects()?;
        let mut service_version = objects.iter().position(|object| is_service_version(object));
        let mut made = None;
        if let (None, Some(property)) = (service_version, self.metadata()?) {
            let text = self
                .make_service_version(property.value, package)
                .map_err(|error| format!("properties[{}]: {error}", property.position))?;
            if objects.is_empty() {
                objects.push(text);
                service_version = Some(0);
            } else {
                made = Some(text);
            }
        }
        let service_version = made.as_ref().or_else(|| objects.get(service_version?));
        message::text(out, 4, service_version.map_or("", String::as_str));
        for object in &objects {
            message::element(out, 5, object.as_bytes());
        }
        Ok(())
    }

    fn make_service_version(
        &self,
        metadata: Raw<'_>,
        package: &PackageDetails<'_>,
    ) -> Result<String, String> {
        let mut related_images = Vec::with_capacity(self.related_images.len());
        for image in &self.related_images {
            let fields = Fields::of(image)?;
            related_images.push((
                fields.text("name")?.into_owned(),
                fields.text("image")?.into_owned(),
            ));
        }
        service_version::write(
            metadata,
            &Surroundings {
                name: &self.name,
                version: &self.version()?,
                related_images: &related_images,
                icon: package.icon.clone(),
                description: &package.description,
            },
        )
    }

    /// The manifests that the catalog carries, as JSON.
    fn objects(&self) -> Result<Vec<String>, String> {
        let mut objects = Vec::new();
        // A property without data repeats the data before it, because upstream decodes all of them into one variable.
        let mut data = Vec::new();
        for property in self.of_kind("olm.bundle.object") {
            let place = |action: &str, error: String| {
                format!(
                    "read bundle objects: package {}, bundle {}: {action}: {error}",
                    gotemplate::format::quoted(&*self.package),
                    gotemplate::format::quoted(&*self.name)
                )
            };
            let parse = format!("parse property at index {} as bundle object", property.position);
            let fields = Fields::of(property.value).map_err(|error| place(&parse, error))?;
            if let Some(encoded) = fields.get("data") {
                data = raw::text(encoded)
                    .and_then(|encoded| decode(&encoded))
                    .map_err(|error| place(&parse, error))?;
            }
            let convert = format!(
                "convert bundle object property at index {} to JSON",
                property.position
            );
            objects.push(to_json(&data).map_err(|error| place(&convert, error))?);
        }
        Ok(objects)
    }
}

/// Decodes base64 as Go does, which skips line ends.
fn decode(text: &str) -> Result<Vec<u8>, String> {
    let text: Cow<'_, str> = if text.contains(['\r', '\n']) {
        Cow::Owned(text.replace(['\r', '\n'], ""))
    } else {
        Cow::Borrowed(text)
    };
    BASE64.decode(&*text).map_err(|error| error.to_string())
}

/// A manifest as JSON: as it is if it looks like JSON already, otherwise converted from YAML.
fn to_json(data: &[u8]) -> Result<String, String> {
    let is_json = String::from_utf8_lossy(data).trim_start().starts_with('{');
    if is_json {
        return String::from_utf8(data.to_vec())
            .map_err(|_| "string field contains invalid UTF-8".to_owned());
    }
    let value = goyaml::to_value(data).map_err(|error| error.to_string())?;
    goyaml::json::to_string(&value, Escape::Html).map_err(|error| error.to_string())
}

fn is_service_version(object: &str) -> bool {
    let kind = match serde_json::from_str::<Raw<'_>>(object) {
        Ok(value) => Fields::of(value).ok().and_then(|fields| {
            let (_, kind) = fields.iter().filter(|(key, _)| key == "kind").last()?;
            raw::text(kind).ok().map(Cow::into_owned)
        }),
        // What isn't quite JSON is read as YAML.
        Err(_) => goyaml::to_value(object.as_bytes())
            .ok()
            .and_then(|value| Some(value.get("kind")?.as_str()?.to_owned())),
    };
    kind.as_deref() == Some("ClusterServiceVersion")
}

/// A text as Go writes it into a property.
fn json_text(text: &str) -> Result<String, String> {
    goyaml::json::to_string(text, Escape::None).map_err(|error| error.to_string())
}

/// The fields of an `olm.bundle` object, read in one pass: these objects are nearly all there is in a catalog.
#[derive(Default)]
struct WrittenBundle<'a> {
    name: Cow<'a, str>,
    package: Cow<'a, str>,
    image: Cow<'a, str>,
    properties: Vec<Option<WrittenProperty<'a>>>,
    related_images: Vec<Raw<'a>>,
}

#[derive(Default)]
struct WrittenProperty<'a> {
    kind: Cow<'a, str>,
    value: Option<Raw<'a>>,
}

/// Reads the next value into `target`, which null leaves as it is.
fn read_text<'de, A: MapAccess<'de>>(map: &mut A, target: &mut Cow<'de, str>) -> Result<(), A::Error> {
    if let Some(Text(text)) = map.next_value()? {
        *target = text;
    }
    Ok(())
}

impl<'de> Deserialize<'de> for WrittenBundle<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;

        impl<'de> Visitor<'de> for Reading {
            type Value = WrittenBundle<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a bundle")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut bundle = WrittenBundle::default();
                while let Some(Text(key)) = map.next_key()? {
                    let is = |name| raw::matches_name(&key, name);
                    if is("name") {
                        read_text(&mut map, &mut bundle.name)?;
                    } else if is("package") {
                        read_text(&mut map, &mut bundle.package)?;
                    } else if is("image") {
                        read_text(&mut map, &mut bundle.image)?;
                    } else if is("properties") {
                        bundle.properties = map.next_value::<Option<_>>()?.unwrap_or(bundle.properties);
                    } else if is("relatedImages") {
                        bundle.related_images =
                            map.next_value::<Option<_>>()?.unwrap_or(bundle.related_images);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(bundle)
            }
        }

        deserializer.deserialize_map(Reading)
    }
}

impl<'de> Deserialize<'de> for WrittenProperty<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;

        impl<'de> Visitor<'de> for Reading {
            type Value = WrittenProperty<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a property")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut property = WrittenProperty::default();
                while let Some(Text(key)) = map.next_key()? {
                    if raw::matches_name(&key, "type") {
                        read_text(&mut map, &mut property.kind)?;
                    } else if raw::matches_name(&key, "value") {
                        property.value = Some(map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(property)
            }
        }

        deserializer.deserialize_map(Reading)
    }
}
