//! The objects as Go reads them: the names that its errors have for them, and the keys of their fields.

use std::borrow::Cow;

use goyaml::go_struct;
use goyaml::json::Escape;
use goyaml::typed::{Bytes, GoType, Reader, Skimmer};
use serde_json::Value;

use super::{
    Bundle, Channel, ChannelEntry, Deprecation, DeprecationReference, Deprecations, Icon, Package, Property,
    RelatedImage, WITHOUT_DATA, raw,
};

go_struct!(Package, "declcfg.Package", {
    "name" => name,
    "defaultChannel" => default_channel,
    "icon" => icon,
    "description" => description,
    "properties" => properties,
});
go_struct!(Channel, "declcfg.Channel", {
    "name" => name, "package" => package, "entries" => entries, "properties" => properties,
});
go_struct!(ChannelEntry, "declcfg.ChannelEntry", {
    "name" => name, "replaces" => replaces, "skips" => skips, "skipRange" => skip_range,
});
go_struct!(Bundle, "declcfg.Bundle", {
    "name" => name,
    "package" => package,
    "image" => image,
    "properties" => properties,
    "relatedImages" => related_images,
});
go_struct!(RelatedImage, "declcfg.RelatedImage", { "name" => name, "image" => image });
go_struct!(Deprecations, "declcfg.Deprecation", { "package" => package, "entries" => entries });
go_struct!(Deprecation, "declcfg.DeprecationEntry", { "reference" => reference, "message" => message });
go_struct!(DeprecationReference, "declcfg.PackageScopedReference", { "schema" => schema, "name" => name });

impl GoType for Property {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("property.Property")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        const FIELDS: &[&str] = &["type", "value"];
        reader.structure(value, "property.Property", FIELDS, |reader, name, item| {
            if name == "type" {
                return self.kind.read(item, reader);
            }
            // Raw JSON fits whatever it is, and so does null.
            self.value = raw(goyaml::json::to_string(item, Escape::None)?);
            Ok(())
        })
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        skimmer.object(|skimmer, key| match key {
            b"type" => String::skim(skimmer),
            _ if goyaml::typed::resembles("type", key) => None,
            _ => skimmer.skip().map(drop),
        })
    }
}

impl GoType for Icon {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("declcfg.Icon")
    }

    /// The data is decoded and encoded anew, because so it is written.
    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        const FIELDS: &[&str] = &["base64data", "mediatype"];
        if self.data.is_empty() {
            WITHOUT_DATA.clone_into(&mut self.data);
        }
        reader.structure(value, "declcfg.Icon", FIELDS, |reader, name, item| {
            if name != "base64data" {
                return self.media_type.read(item, reader);
            }
            let mut data = Bytes::default();
            data.read(item, reader)?;
            self.data = data.to_base64().unwrap_or_else(|| WITHOUT_DATA.to_owned());
            Ok(())
        })
    }
}
