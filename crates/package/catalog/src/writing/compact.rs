//! Objects as compact JSON, their fields in the order in which upstream declares them.

use crate::canonical::text;
use crate::objects::{
    Bundle, Channel, ChannelEntry, Deprecation, Deprecations, Package, Property, RelatedImage,
};

/// Writes the fields of one JSON object.
struct Fields<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl<'o> Fields<'o> {
    fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, first: true }
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        text::append(key, self.out);
        self.out.push(b':');
        self.out
    }

    fn text(&mut self, key: &str, value: &str) {
        text::append(value, self.key(key));
    }

    fn text_if_any(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.text(key, value);
        }
    }

    fn list<T>(&mut self, key: &str, items: &[T], write: impl Fn(&T, &mut Vec<u8>)) {
        let out = self.key(key);
        out.push(b'[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write(item, out);
        }
        out.push(b']');
    }

    fn list_if_any<T>(&mut self, key: &str, items: &[T], write: impl Fn(&T, &mut Vec<u8>)) {
        if !items.is_empty() {
            self.list(key, items, write);
        }
    }

    fn end(self) {
        self.out.push(b'}');
    }
}

pub(super) fn package(package: &Package, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    fields.text("schema", crate::reading::PACKAGE);
    fields.text("name", &package.name);
    fields.text("defaultChannel", &package.default_channel);
    if let Some(icon) = &package.icon {
        let mut inner = Fields::begin(fields.key("icon"));
        if icon.has_data() {
            inner.text("base64data", &icon.data);
        } else {
            inner.key("base64data").extend_from_slice(b"null");
        }
        inner.text("mediatype", &icon.media_type);
        inner.end();
    }
    fields.text_if_any("description", &package.description);
    fields.list_if_any("properties", &package.properties, property);
    fields.end();
}

pub(super) fn channel(channel: &Channel, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    fields.text("schema", crate::reading::CHANNEL);
    fields.text("name", &channel.name);
    fields.text("package", &channel.package);
    match &channel.entries {
        Some(entries) => fields.list("entries", entries, entry),
        None => fields.key("entries").extend_from_slice(b"null"),
    }
    fields.list_if_any("properties", &channel.properties, property);
    fields.end();
}

fn entry(entry: &ChannelEntry, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    fields.text("name", &entry.name);
    fields.text_if_any("replaces", &entry.replaces);
    fields.list_if_any("skips", &entry.skips, |skip, out| text::append(skip, out));
    fields.text_if_any("skipRange", &entry.skip_range);
    fields.end();
}

pub(super) fn bundle(bundle: &Bundle, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    fields.text("schema", crate::reading::BUNDLE);
    fields.text_if_any("name", &bundle.name);
    fields.text_if_any("package", &bundle.package);
    fields.text("image", &bundle.image);
    fields.list_if_any("properties", &bundle.properties, property);
    fields.list_if_any("relatedImages", &bundle.related_images, related_image);
    fields.end();
}

fn property(property: &Property, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    fields.text("type", &property.kind);
    let value = if property.has_value() {
        property.value.get()
    } else {
        "null"
    };
    fields.key("value").extend_from_slice(value.as_bytes());
    fields.end();
}

fn related_image(image: &RelatedImage, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    fields.text("name", &image.name);
    fields.text("image", &image.image);
    fields.end();
}

pub(super) fn deprecations(deprecations: &Deprecations, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    fields.text("schema", crate::reading::DEPRECATIONS);
    fields.text("package", &deprecations.package);
    if deprecations.entries.is_nil() {
        fields.key("entries").extend_from_slice(b"null");
    } else {
        fields.list("entries", &deprecations.entries, deprecation);
    }
    fields.end();
}

fn deprecation(deprecation: &Deprecation, out: &mut Vec<u8>) {
    let mut fields = Fields::begin(out);
    let mut reference = Fields::begin(fields.key("reference"));
    reference.text("schema", &deprecation.reference.schema);
    reference.text_if_any("name", &deprecation.reference.name);
    reference.end();
    fields.text("message", &deprecation.message);
    fields.end();
}
