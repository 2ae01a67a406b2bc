//! `baton catalog render`: catalogs and bundles as one stream of objects.

use std::sync::Arc;

use catalog::rendering::RenderedBundle;
use clap::Args;
use gotemplate::{Executor, Functions, Map, Options, Parsed, Templates, Value};
use image::policy::PolicySource;

use super::Notation;
use super::rendering::{FormFlags, render_all};
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Prints catalogs and bundles, from directories, layouts, tars and registries, as one catalog.
#[derive(Args)]
pub(crate) struct Render {
    /// Catalogs and bundles: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,
    /// The notation
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Notation,
    /// The image that a bundle from a directory will have: a Go template with .Package, .Name and .Version
    #[arg(long, value_name = "TEMPLATE")]
    image_template: Option<String>,
    #[command(flatten)]
    form: FormFlags,
    #[command(flatten)]
    images: ImageFlags,
}

impl Render {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let template = self
            .image_template
            .as_deref()
            .map(ImageTemplate::parse)
            .transpose()?;
        let image_of = |bundle: &RenderedBundle| {
            template
                .as_ref()
                .map_or(Ok(String::new()), |template| template.of(bundle))
        };
        let mut catalog = runtime::block_on(render_all(&images, &self.sources, &image_of))?;
        self.form.apply(&mut catalog)?;
        self.output.print(&catalog, terminal)
    }
}

/// A Go template for the names of images that don't exist yet.
pub(crate) struct ImageTemplate(Arc<Templates>);

impl ImageTemplate {
    const NAME: &'static str = "image-ref-template";

    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let parsed = Parsed::new(Self::NAME, text.as_bytes().to_vec().into(), &Functions::default())
            .map_err(|error| Failure::new(format!("invalid image reference template: {error}")))?;
        let mut templates = Templates::default();
        templates.add(&parsed);
        Ok(Self(Arc::new(templates)))
    }

    /// The image of one bundle.
    pub(crate) fn of(&self, bundle: &RenderedBundle) -> Result<String, Failure> {
        let version = catalog::edges::bundle_version(&bundle.bundle);
        let data = Map::new();
        data.insert("Package", bundle.bundle.package.as_str().into());
        data.insert("Name", bundle.bundle.name.as_str().into());
        data.insert(
            "Version",
            version
                .map(|version| version.version.to_string())
                .unwrap_or_default()
                .into(),
        );
        let text = Executor::new(Arc::clone(&self.0), Options::default(), &())
            .execute(Self::NAME.as_bytes(), Self::NAME, Value::Map(data))
            .map_err(|error| {
                Failure::new(format!(
                    "render image reference for bundle {:?}: {error}",
                    bundle.bundle.name
                ))
            })?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
