//! `baton catalog render`: catalogs and bundles as one stream of objects.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use catalog::rendering::RenderedBundle;
use clap::Args;
use gotemplate::{Executor, Functions, Object, Options, Parsed, Templates, Value};
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
        let bundle = NamedBundle::of(&bundle.bundle);
        let name = bundle.name.clone();
        let text = Executor::new(Arc::clone(&self.0), Options::default(), &())
            .execute(Self::NAME.as_bytes(), Self::NAME, Value::Object(Rc::new(bundle)))
            .map_err(|error| Failure::new(format!("render image reference for bundle {name:?}: {error}")))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// What such a template sees of a bundle.
#[derive(PartialEq, Eq)]
struct NamedBundle {
    package: String,
    name: String,
    version: String,
}

impl NamedBundle {
    fn of(bundle: &catalog::objects::Bundle) -> Self {
        let version = bundle
            .properties
            .iter()
            .find(|property| property.kind == "olm.package")
            .and_then(|property| serde_json::from_str::<serde_json::Value>(property.value.get()).ok())
            .and_then(|value| Some(value.get("version")?.as_str()?.to_owned()));
        Self {
            package: bundle.package.clone(),
            name: bundle.name.clone(),
            version: version.unwrap_or_default(),
        }
    }
}

impl Object for NamedBundle {
    fn type_name(&self) -> &'static str {
        "action.imageReferenceTemplateData"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Package", self.package.as_str().into()),
            ("Name", self.name.as_str().into()),
            ("Version", self.version.as_str().into()),
        ]
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
