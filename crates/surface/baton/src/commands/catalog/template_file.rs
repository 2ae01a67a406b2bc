//! A template as its author has it: a file, whose lines are shown where something in them isn't right.

use std::collections::BTreeMap;

use catalog::nearest::did_you_mean;
use catalog::objects::Catalog;
use catalog::rendering::RenderedBundle;
use catalog::template::slips;
use catalog::template::{Compatibility, Template, TemplateType};
use chart::diagnosis::Excerpt;
use image::reference::Reference;

use super::rendering::{FormFlags, LocalBundles, bundles};
use super::template::{read, render_found};
use crate::failure::Failure;
use crate::images::Images;
use crate::terminal::Terminal;

/// How many lines of a template are shown that name the same image.
const MAXIMUM_SHOWN_PLACES: usize = 3;

/// The words by which a registry says that it hasn't got an image.
const MISSING: &str = "does not exist at registry";

/// A template that was read.
pub(crate) struct TemplateFile {
    /// How messages call the file.
    name: String,
    bytes: Vec<u8>,
    template: Template,
}

impl TemplateFile {
    /// Reads a file, or standard input for `-`. Slips that opm passes over are remarked.
    pub(crate) fn read(
        file: &str,
        kind: Option<TemplateType>,
        terminal: &mut Terminal,
    ) -> Result<Self, Failure> {
        let bytes = read(file)?;
        let name = if file == "-" { "standard input" } else { file };
        let slips = slips::slips(&bytes, kind);
        match Template::parse(&bytes, kind) {
            Ok(template) => {
                for slip in &slips {
                    terminal.remark(format!("{name}:{}:{}: {slip}", slip.line, slip.column));
                }
                Ok(Self {
                    name: name.to_owned(),
                    bytes,
                    template,
                })
            }
            Err(error) => {
                let syntax = slips::syntax(&bytes);
                let excerpts = slips.iter().chain(&syntax).filter_map(|slip| {
                    let excerpt = Excerpt::at(name, &bytes, slip.line, slip.column)?;
                    Some(excerpt.labelled(Some(slip.to_string())))
                });
                let failure = Failure::new(error.to_string()).showing(excerpts);
                Err(if file == "-" {
                    failure
                } else {
                    failure.within(file)
                })
            }
        }
    }

    /// The bundles that the template names.
    pub(crate) fn references(&self) -> Vec<&str> {
        self.template.references()
    }

    /// Makes the catalog, with the bundles fetched several at a time.
    pub(crate) async fn render(
        &self,
        images: &Images,
        local: &LocalBundles,
        form: &FormFlags,
        compatibility: Compatibility,
    ) -> Result<Catalog, Failure> {
        let references = self.references();
        for (image, _) in &local.bundles {
            if !references.contains(&image.as_str()) {
                let known = references.iter().copied();
                return Err(Failure::new(format!(
                    "--bundle names image {image:?}, which the template doesn't; {}",
                    did_you_mean(image, known)
                        .unwrap_or_else(|| "add it to the template, or correct the name".to_owned())
                )));
            }
        }
        let found = bundles(images, &references, local, form).await;
        match render_found(&self.template, &found, form, compatibility) {
            Ok(catalog) => Ok(catalog),
            Err(failure) => Err(self.with_places(failure, &found, images).await),
        }
    }

    /// Shows where the bundle stands because of which nothing can be rendered, and what was probably meant.
    async fn with_places(
        &self,
        failure: Failure,
        found: &BTreeMap<String, Result<RenderedBundle, String>>,
        images: &Images,
    ) -> Failure {
        let Failure::Message { text, .. } = &failure else {
            return failure;
        };
        let reason = |image: &str| found.get(image)?.as_ref().err();
        let guilty = self
            .references()
            .into_iter()
            .find_map(|image| Some((image, reason(image).filter(|reason| text.contains(*reason))?)));
        let Some((image, reason)) = guilty else {
            return failure;
        };
        let label = if reason.contains(MISSING) {
            nearest_tags(images, image).await
        } else {
            None
        };
        let places = slips::places(&self.bytes, image);
        let excerpts = places
            .into_iter()
            .take(MAXIMUM_SHOWN_PLACES)
            .filter_map(|(line, column)| {
                let excerpt = Excerpt::at(&self.name, &self.bytes, line, column)?;
                Some(excerpt.labelled(label.clone()))
            });
        failure.showing(excerpts)
    }
}

/// What the repository of an image has instead of its tag, as far as the registry tells.
async fn nearest_tags(images: &Images, image: &str) -> Option<String> {
    let reference = Reference::parse(image).ok()?;
    let tags = images.remote().ok()?.tags(&reference).await.ok()?;
    did_you_mean(reference.tag()?, tags.iter().map(String::as_str))
}
