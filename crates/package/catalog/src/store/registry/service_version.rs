//! A `ClusterServiceVersion` made from the `olm.csv.metadata` of a bundle, byte for byte as opm makes it.
//!
//! opm decodes the metadata into Go structs and encodes them again: unknown fields disappear, the others get the
//! structs' order, and HTML's characters are escaped. Canonical JSON has its texts in Go's form already, so here they
//! are copied, not decoded.

use super::raw::{self, Fields, Raw};

/// What a Go type looks like in JSON.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Text,
    Flag,
    Integer,
    /// Any JSON, kept as it is.
    Any,
    TextMap,
    List(&'static Shape),
    Struct(&'static [Field]),
}

/// A field of a Go struct.
#[derive(Debug, Clone, Copy)]
struct Field {
    name: &'static str,
    shape: Shape,
    omit_empty: bool,
}

const fn always(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        omit_empty: false,
    }
}

const fn optional(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        omit_empty: true,
    }
}

const TEXTS: Shape = Shape::List(&Shape::Text);

const LINK: Shape = Shape::Struct(&[optional("name", Shape::Text), optional("url", Shape::Text)]);

const MAINTAINER: Shape = Shape::Struct(&[optional("name", Shape::Text), optional("email", Shape::Text)]);

const INSTALL_MODE: Shape = Shape::Struct(&[always("type", Shape::Text), always("supported", Shape::Flag)]);

const GROUP_VERSION_KIND: Shape = Shape::Struct(&[
    always("group", Shape::Text),
    always("version", Shape::Text),
    always("kind", Shape::Text),
]);

const RESOURCES: Shape = Shape::List(&Shape::Struct(&[
    always("name", Shape::Text),
    always("kind", Shape::Text),
    always("version", Shape::Text),
]));

const DESCRIPTORS: Shape = Shape::List(&Shape::Struct(&[
    always("path", Shape::Text),
    optional("displayName", Shape::Text),
    optional("description", Shape::Text),
    optional("x-descriptors", TEXTS),
    optional("value", Shape::Any),
]));

const CUSTOM_RESOURCE: Shape = Shape::Struct(&[
    always("name", Shape::Text),
    always("version", Shape::Text),
    always("kind", Shape::Text),
    optional("displayName", Shape::Text),
    optional("description", Shape::Text),
    optional("resources", RESOURCES),
    optional("statusDescriptors", DESCRIPTORS),
    optional("specDescriptors", DESCRIPTORS),
    optional("actionDescriptors", DESCRIPTORS),
]);

const API_SERVICE: Shape = Shape::Struct(&[
    always("name", Shape::Text),
    always("group", Shape::Text),
    always("version", Shape::Text),
    always("kind", Shape::Text),
    optional("deploymentName", Shape::Text),
    optional("containerPort", Shape::Integer),
    optional("displayName", Shape::Text),
    optional("description", Shape::Text),
    optional("resources", RESOURCES),
    optional("statusDescriptors", DESCRIPTORS),
    optional("specDescriptors", DESCRIPTORS),
    optional("actionDescriptors", DESCRIPTORS),
]);

const CUSTOM_RESOURCES: Shape = Shape::Struct(&[
    optional("owned", Shape::List(&CUSTOM_RESOURCE)),
    optional("required", Shape::List(&CUSTOM_RESOURCE)),
]);

const API_SERVICES: Shape = Shape::Struct(&[
    optional("owned", Shape::List(&API_SERVICE)),
    optional("required", Shape::List(&API_SERVICE)),
]);

/// What a `ClusterServiceVersion` says beyond the metadata.
#[derive(Debug, Default)]
pub(super) struct Surroundings<'a> {
    /// The bundle's name.
    pub(super) name: &'a str,
    /// The bundle's version.
    pub(super) version: &'a str,
    /// The images of the bundle: name and image.
    pub(super) related_images: &'a [(String, String)],
    /// The package's picture: base64 and media type.
    pub(super) icon: Option<(String, String)>,
    /// What the package is for, which is said where the bundle says nothing.
    pub(super) description: &'a str,
}

/// Writes the `ClusterServiceVersion`.
pub(super) fn write(metadata: Raw<'_>, surroundings: &Surroundings<'_>) -> Result<String, String> {
    let fields = Fields::of(metadata)?;
    let mut out = String::with_capacity(metadata.get().len() + 512);
    out.push_str(
        r#"{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1","metadata":"#,
    );
    let mut object = ObjectWriter::begin(&mut out);
    object.text_if_any("name", surroundings.name);
    for name in ["labels", "annotations"] {
        object.field(optional(name, Shape::TextMap), name, &fields)?;
    }
    object.end();
    out.push_str(r#","spec":"#);
    write_specification(&mut out, &fields, surroundings)?;
    out.push_str(r#","status":{"cleanup":{}}}"#);
    Ok(out)
}

fn write_specification(
    out: &mut String,
    fields: &Fields<'_>,
    surroundings: &Surroundings<'_>,
) -> Result<(), String> {
    let mut object = ObjectWriter::begin(out);
    // Without this strategy OLM's package server stumbles over what is missing.
    object
        .key("install")
        .push_str(r#"{"strategy":"deployment","spec":{"deployments":null}}"#);
    text_of(surroundings.version, object.key("version"));
    object.field(optional("maturity", Shape::Text), "maturity", fields)?;
    object.field(
        always("customresourcedefinitions", CUSTOM_RESOURCES),
        "crdDescriptions",
        fields,
    )?;
    object.field(
        always("apiservicedefinitions", API_SERVICES),
        "apiServiceDefinitions",
        fields,
    )?;
    object.field(
        optional("nativeAPIs", Shape::List(&GROUP_VERSION_KIND)),
        "nativeAPIs",
        fields,
    )?;
    object.field(optional("minKubeVersion", Shape::Text), "minKubeVersion", fields)?;
    object.field(always("displayName", Shape::Text), "displayName", fields)?;
    if fields.text("description")?.is_empty() {
        object.text_if_any("description", surroundings.description);
    } else {
        object.field(optional("description", Shape::Text), "description", fields)?;
    }
    object.field(optional("keywords", TEXTS), "keywords", fields)?;
    object.field(
        optional("maintainers", Shape::List(&MAINTAINER)),
        "maintainers",
        fields,
    )?;
    object.field(always("provider", LINK), "provider", fields)?;
    object.field(optional("links", Shape::List(&LINK)), "links", fields)?;
    if let Some((data, media_type)) = &surroundings.icon {
        write_pairs(
            object.key("icon"),
            ["base64data", "mediatype"],
            [(data, media_type)],
        );
    }
    object.field(
        optional("installModes", Shape::List(&INSTALL_MODE)),
        "installModes",
        fields,
    )?;
    object.key("cleanup").push_str(r#"{"enabled":false}"#);
    if !surroundings.related_images.is_empty() {
        let images = surroundings
            .related_images
            .iter()
            .map(|(name, image)| (name, image));
        write_pairs(object.key("relatedImages"), ["name", "image"], images);
    }
    object.end();
    Ok(())
}

/// Writes a list of objects with two text fields each.
fn write_pairs<'a>(
    out: &mut String,
    names: [&str; 2],
    pairs: impl IntoIterator<Item = (&'a String, &'a String)>,
) {
    out.push('[');
    for (position, (first, second)) in pairs.into_iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        let mut object = ObjectWriter::begin(out);
        text_of(first, object.key(names[0]));
        text_of(second, object.key(names[1]));
        object.end();
    }
    out.push(']');
}

/// Writes an object field by field.
struct ObjectWriter<'o> {
    out: &'o mut String,
    is_first: bool,
}

impl<'o> ObjectWriter<'o> {
    fn begin(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, is_first: true }
    }

    /// Begins a field; its value is to be written to what is returned.
    fn key(&mut self, name: &str) -> &mut String {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    fn text_if_any(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            text_of(text, self.key(name));
        }
    }

    /// Writes a field whose value is the field `source` of `fields`.
    fn field(&mut self, field: Field, source: &str, fields: &Fields<'_>) -> Result<(), String> {
        let value = match field.shape {
            Shape::Any => fields.get_raw(source),
            _ => fields.get(source),
        };
        let named = |error: String| format!("{source}: {error}");
        if field.omit_empty && is_empty(field.shape, value).map_err(named)? {
            return Ok(());
        }
        write_value(self.key(field.name), field.shape, value).map_err(named)
    }

    fn end(self) {
        self.out.push('}');
    }
}

/// Whether Go leaves the value out of a field that may be left out.
fn is_empty(shape: Shape, value: Option<Raw<'_>>) -> Result<bool, String> {
    let Some(value) = value else { return Ok(true) };
    Ok(match shape {
        Shape::Any | Shape::Struct(_) => false,
        Shape::Text => value.get() == r#""""#,
        Shape::Flag => value.get() == "false",
        Shape::Integer => value.get() == "0",
        Shape::List(_) => raw::list(value)?.is_empty(),
        Shape::TextMap => Fields::of(value)?.iter().next().is_none(),
    })
}

/// Writes a value as Go writes it after reading it.
fn write_value(out: &mut String, shape: Shape, value: Option<Raw<'_>>) -> Result<(), String> {
    let value = value.filter(|value| matches!(shape, Shape::Any) || !raw::is_null(value));
    let begins_with = |value: Raw<'_>, first: &[char], expected: &str| {
        if value.get().starts_with(first) {
            Ok(())
        } else {
            Err(raw::not(expected, value))
        }
    };
    match (shape, value) {
        (Shape::Text, None) => out.push_str(r#""""#),
        (Shape::Flag, None) => out.push_str("false"),
        (Shape::Integer, None) => out.push('0'),
        (Shape::Any | Shape::TextMap | Shape::List(_), None) => out.push_str("null"),
        (Shape::Struct(fields), value) => {
            let given = value.map_or(Ok(Fields::default()), Fields::of)?;
            let mut object = ObjectWriter::begin(out);
            for field in fields {
                object.field(*field, field.name, &given)?;
            }
            object.end();
        }
        (Shape::Text, Some(value)) => {
            begins_with(value, &['"'], "a string")?;
            escaped(value.get(), out);
        }
        (Shape::Flag, Some(value)) => {
            begins_with(value, &['t', 'f'], "true or false")?;
            out.push_str(value.get());
        }
        (Shape::Integer, Some(value)) => {
            value
                .get()
                .parse::<i32>()
                .map_err(|_| raw::not("a whole number", value))?;
            out.push_str(value.get());
        }
        (Shape::Any, Some(value)) => escaped(value.get(), out),
        (Shape::List(element), Some(value)) => {
            out.push('[');
            for (position, item) in raw::list(value)?.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_value(out, *element, Some(item))?;
            }
            out.push(']');
        }
        (Shape::TextMap, Some(value)) => {
            out.push('{');
            for (position, (key, text)) in Fields::of(value)?.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                text_of(key, out);
                out.push(':');
                write_value(out, Shape::Text, Some(text))?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// Appends canonical JSON with HTML's characters escaped; outside of texts JSON has none of them.
fn escaped(json: &str, out: &mut String) {
    let mut rest = json;
    while let Some(position) = rest.find(['<', '>', '&']) {
        out.push_str(&rest[..position]);
        out.push_str(match rest.as_bytes()[position] {
            b'<' => r"\u003c",
            b'>' => r"\u003e",
            _ => r"\u0026",
        });
        rest = &rest[position + 1..];
    }
    out.push_str(rest);
}

/// Appends a text as Go writes it.
fn text_of(text: &str, out: &mut String) {
    // Writing a text into memory cannot fail.
    out.push_str(&goyaml::json::to_string(text, goyaml::json::Escape::Html).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(metadata: &str, surroundings: &Surroundings<'_>) -> String {
        write(serde_json::from_str(metadata).unwrap(), surroundings).unwrap()
    }

    #[test]
    fn the_least_metadata_gives_the_least_service_version() {
        insta::assert_snapshot!(written("{}", &Surroundings::default()));
    }

    #[test]
    fn fields_get_the_order_and_the_escapes_that_go_gives_them() {
        let metadata = r#"{"annotations":{"a":"<b>","n":null},"apiServiceDefinitions":{"owned":[{"containerPort":0,"kind":"K"},null]},"crdDescriptions":{"owned":[{"kind":"Foo","name":"foos.g","specDescriptors":[{"path":"a","unknown":1,"value":{"x":"&"}},{"path":"b","value":null,"x-descriptors":["urn",null]}],"version":"v1"}],"required":[]},"displayName":"D","installModes":[{"supported":true,"type":"AllNamespaces"}],"labels":{},"links":[{"name":"n"}],"provider":{"Name":"P"},"unknown":true}"#;
        let images = [(String::new(), "quay.io/a/b:1".to_owned())];
        insta::assert_snapshot!(written(
            metadata,
            &Surroundings {
                name: "foo.v1.0.0",
                version: "1.0.0",
                related_images: &images,
                icon: Some(("aGk=".into(), "image/png".into())),
                description: "what & why",
            }
        ));
    }

    #[test]
    fn a_value_of_another_kind_is_an_error_that_names_its_field() {
        let wrong = [
            (r#"{"displayName":1}"#, "displayName: expected a string, got 1"),
            (r#"{"keywords":"a"}"#, "keywords: expected a list, got \"a\""),
            (
                r#"{"installModes":[{"supported":1}]}"#,
                "installModes: supported: expected true or false, got 1",
            ),
        ];
        for (metadata, message) in wrong {
            let error = write(serde_json::from_str(metadata).unwrap(), &Surroundings::default()).unwrap_err();
            assert_eq!(error, message);
        }
    }
}
