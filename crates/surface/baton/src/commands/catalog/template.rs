//! `baton catalog template`: a template turned into a catalog.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;

use catalog::objects::Catalog;
use catalog::pinning;
use catalog::rendering::RenderedBundle;
use catalog::template::{Compatibility, Template as Parsed, TemplateType};
use chart::diagnosis::Diagnosis;
use clap::Args;
use image::policy::PolicySource;
use image::reference::Reference;

use super::rendering::{FormFlags, IMAGES_AT_A_TIME, LocalBundles};
use super::template_file::TemplateFile;
use crate::failure::{Failure, system_reason};
use crate::images::{ImageFlags, Images, digest_of};
use crate::runtime;
use crate::terminal::Terminal;
use crate::written_files;

/// The most bytes a template may have; one with a thousand versions has a tenth of a megabyte.
const MAX_TEMPLATE_BYTES: u64 = 64 << 20;

/// Turns a template (olm.semver, basic or substitutes) into a catalog.
#[derive(Args)]
pub(crate) struct Template {
    /// The template; - or nothing reads standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: String,
    /// The kind of template, in place of what its schema says: basic, semver or substitutes
    #[arg(long = "type", value_name = "TYPE", value_parser = kind)]
    kind: Option<TemplateType>,
    /// json, yaml or mermaid to print it so; or a file to write, whose extension says which
    #[arg(short, long, value_name = "NOTATION|FILE", default_value = "yaml", value_parser = output)]
    output: (Output, Option<std::path::PathBuf>),
    /// Render as this version of opm did: 1.51 or latest
    #[arg(long, value_name = "VERSION", default_value = "latest", value_parser = compatibility)]
    compatibility: Compatibility,
    /// Name every image by the digest that its tag has now
    #[arg(long)]
    pin: bool,
    #[command(flatten)]
    local: LocalBundles,
    #[command(flatten)]
    form: FormFlags,
    #[command(flatten)]
    images: ImageFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Json,
    Yaml,
    Mermaid,
}

fn output(text: &str) -> Result<(Output, Option<std::path::PathBuf>), String> {
    let (word, path) = match std::path::Path::new(text)
        .extension()
        .and_then(|extension| extension.to_str())
    {
        Some(extension) => (extension, Some(text.into())),
        None => (text, None),
    };
    match word {
        "json" => Ok((Output::Json, path)),
        "yaml" | "yml" => Ok((Output::Yaml, path)),
        "mermaid" | "mmd" => Ok((Output::Mermaid, path)),
        _ => Err("expected json, yaml, mermaid, or a file that ends in .json, .yaml or .mmd".to_owned()),
    }
}

fn kind(text: &str) -> Result<TemplateType, String> {
    text.parse::<TemplateType>().map_err(|error| error.to_string())
}

pub(crate) fn compatibility(text: &str) -> Result<Compatibility, String> {
    text.parse::<Compatibility>().map_err(|error| error.to_string())
}

impl Template {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let template = TemplateFile::read(&self.file, self.kind, terminal)?;
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let catalog = runtime::block_on(async {
            let mut catalog = template
                .render(&images, &self.local, &self.form, self.compatibility)
                .await
                .map_err(|failure| {
                    if self.file == "-" {
                        failure
                    } else {
                        failure.within(&self.file)
                    }
                })?;
            if self.pin {
                pin(&images, &mut catalog).await?;
            }
            Ok(catalog)
        })?;
        let mut text = Vec::new();
        match self.output.0 {
            Output::Json => catalog::writing::write_json(&catalog, &mut text)?,
            Output::Yaml => catalog::writing::write_yaml(&catalog, &mut text)?,
            Output::Mermaid => {
                let drawing =
                    catalog::graph::mermaid::draw(&catalog, catalog::graph::mermaid::Options::default())?;
                text = drawing.text.into_bytes();
            }
        }
        match &self.output.1 {
            None => terminal.print(&text),
            Some(path) => {
                written_files::write(path, |file| file.write_all(&text)).map_err(|error: std::io::Error| {
                    Failure::new(format!("cannot write {}: {error}", path.display()))
                })
            }
        }
    }
}

/// Reads a file, or standard input for `-`.
pub(crate) fn read(file: &str) -> Result<Vec<u8>, Failure> {
    let told = |error: &dyn std::fmt::Display| Failure::new(format!("unable to open {file:?}: {error}"));
    let unreadable = |error: std::io::Error| told(&format!("open {file}: {}", system_reason(&error)));
    let input: Box<dyn std::io::Read> = if file == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(fs::File::open(file).map_err(unreadable)?)
    };
    let mut bytes = Vec::new();
    input
        .take(MAX_TEMPLATE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_TEMPLATE_BYTES {
        return Err(told(&format!("it has more than {MAX_TEMPLATE_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Renders a template with bundles that were fetched for it.
pub(crate) fn render_found(
    template: &Parsed,
    found: &BTreeMap<String, Result<RenderedBundle, String>>,
    form: &FormFlags,
    compatibility: Compatibility,
) -> Result<Catalog, Failure> {
    let lookup = |reference: &str| {
        found
            .get(reference)
            .cloned()
            .unwrap_or_else(|| Err(format!("bundle {reference:?} was not fetched")))
    };
    let mut catalog = template.render(&lookup, compatibility).map_err(|error| {
        let text = error.to_string();
        let mut notes = shared_names(found);
        if notes.is_empty() && text.contains("duplicate bundle name") {
            notes.push("the bundle's line is there twice below the same heading: take one out".to_owned());
        }
        Failure::with_diagnosis(
            text,
            Diagnosis {
                notes,
                ..Diagnosis::default()
            },
        )
    })?;
    if form.minify {
        form.apply(&mut catalog)?;
    }
    Ok(catalog)
}

/// Names the bundles that several images claim to be, of which a catalog can have only one.
fn shared_names(found: &BTreeMap<String, Result<RenderedBundle, String>>) -> Vec<String> {
    let mut images = BTreeMap::<&str, Vec<&str>>::new();
    for (image, rendered) in found {
        if let Ok(rendered) = rendered {
            images.entry(&rendered.bundle.name).or_default().push(image);
        }
    }
    images.retain(|_, images| images.len() > 1);
    images
        .into_iter()
        .map(|(name, images)| {
            format!(
                "{} all hold {name}: keep the one that is published, and publish the other content as a higher version",
                images.join(", ")
            )
        })
        .collect()
}

/// Names every image of a catalog by digest.
pub(crate) async fn pin(images: &Images, catalog: &mut Catalog) -> Result<(), Failure> {
    use futures_util::{StreamExt as _, TryStreamExt as _, stream};
    let names: Vec<String> = pinning::unpinned(catalog)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let digests = stream::iter(names)
        .map(|name| async move {
            let descriptor = images.remote()?.resolve(&Reference::parse(&name)?).await?;
            Ok::<_, Failure>((name, digest_of(&descriptor)?))
        })
        .buffered(IMAGES_AT_A_TIME)
        .try_collect()
        .await?;
    pinning::pin(catalog, &digests);
    Ok(())
}
