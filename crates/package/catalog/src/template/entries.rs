//! `olm.template.basic`, and the catalog entries that stand in a template.

use std::borrow::Cow;

use gotemplate::format::quoted;
use goyaml::json::Escape;
use goyaml::typed::{GoType, Reader, decode};
use goyaml::{Error, go_struct};
use serde_json::Value;

use super::{Lookup, TemplateType};
use crate::canonical;
use crate::first_document::{self, TEMPLATE_SNIFFED_BYTES};
use crate::objects::{Bundle, Catalog, Meta};

/// A catalog whose bundles are only named by their images.
#[derive(Debug, Clone)]
pub(super) struct BasicTemplate {
    catalog: Catalog,
}

#[derive(Default)]
struct Document {
    schema: String,
    entries: Vec<Option<Entry>>,
}
go_struct!(Document, "basic.BasicTemplateData", { "schema" => schema, "entries" => entries });

/// A catalog object, which reads itself into its canonical form.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry(Option<Meta>);

impl GoType for Entry {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("declcfg.Meta")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        let text = goyaml::json::to_string(value, Escape::None)?;
        let mut blob = Vec::new();
        let head = canonical::head(text.as_bytes()).map_err(|error| reader.stop(error.to_string()))?;
        canonical::append(text.as_bytes(), &mut blob).map_err(|error| reader.stop(error.to_string()))?;
        self.0 = Some(Meta {
            schema: head.schema.into_owned(),
            package: head.package.into_owned(),
            name: head.name.into_owned(),
            blob: blob.into(),
        });
        Ok(())
    }
}

/// Reads a template's first document as `T` and checks that its schema is that of `kind`.
pub(super) fn read<T: GoType>(
    bytes: &[u8],
    kind: TemplateType,
    schema: impl Fn(&T) -> &str,
) -> Result<T, String> {
    let document = first_document::read(bytes, TEMPLATE_SNIFFED_BYTES, Ok::<Value, String>)
        .map_err(|error| format!("decoding template schema: {error}"))?;
    let template: T = decode(&document).map_err(|error| format!("unmarshalling template: {error}"))?;
    if schema(&template) != kind.schema() {
        return Err(format!(
            "template has unknown schema ({}), should be {}",
            quoted(schema(&template)),
            quoted(kind.schema())
        ));
    }
    Ok(template)
}

/// Makes a catalog of a template's entries.
pub(super) fn catalog(entries: &[Option<Entry>]) -> Result<Catalog, String> {
    // An entry that is null is no object; opm crashes on it.
    let metas = entries.iter().flatten().filter_map(|entry| entry.0.as_ref());
    Catalog::from_metas(metas.map(Meta::borrowed)).map_err(|error| error.to_string())
}

impl BasicTemplate {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let document: Document = read(bytes, TemplateType::Basic, |document: &Document| &document.schema)?;
        Ok(Self {
            catalog: catalog(&document.entries)?,
        })
    }

    pub(super) fn references(&self) -> Vec<&str> {
        let named = self
            .catalog
            .bundles
            .iter()
            .filter(|bundle| only_names_an_image(bundle));
        named.map(|bundle| bundle.image.as_str()).collect()
    }

    pub(super) fn render(&self, lookup: &Lookup<'_>) -> Result<Catalog, String> {
        let mut bundles = Vec::with_capacity(self.catalog.bundles.len());
        for bundle in &self.catalog.bundles {
            if !only_names_an_image(bundle) {
                return Err("unexpected fields present in basic template bundle".to_owned());
            }
            bundles.push(lookup(&bundle.image)?.bundle);
        }
        Ok(Catalog {
            bundles,
            ..self.catalog.clone()
        })
    }
}

/// Whether a bundle says no more than where it is found; a name is allowed, and ignored.
fn only_names_an_image(bundle: &Bundle) -> bool {
    !bundle.image.is_empty()
        && bundle.package.is_empty()
        && bundle.properties.is_empty()
        && bundle.related_images.is_empty()
}
