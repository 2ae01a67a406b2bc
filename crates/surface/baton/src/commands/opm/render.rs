//! `opm render`: catalogs and bundles as one stream of objects.

use catalog::metadata::MigrationLevel;
use catalog::rendering::RenderedBundle;

use crate::commands::catalog::render::ImageTemplate;
use crate::terminal::Terminal;

use super::command::{Arguments, Command, Invocation};
use super::ending::Ending;
use super::flags::Flag;
use super::references::{self, Allowed};
use super::registries::Registries;
use super::{alpha_flag, notation};

const IMAGE_TEMPLATE: &str = "alpha-image-ref-template";

const LONG: &str = "Generate a stream of file-based catalog objects to stdout from the provided
catalog images, file-based catalog directories, bundle images, and bundle directories.
";

const ALPHA_LONG: &str = "
If rendering sources that do not carry bundle image reference information
(e.g. bundle directories), the --alpha-image-ref-template flag can be used to
generate image references for the rendered file-based catalog objects.
This is useful when generating a catalog with image references prior to
those images actually existing. Available template variables are:
  - {{.Package}} : the package name the bundle belongs to
  - {{.Name}}    : the name of the bundle (for registry+v1 bundles, this is the CSV name)
  - {{.Version}} : the version of the bundle
";

pub(super) fn command(shows_alpha: bool) -> Command {
    let mut long = LONG.to_owned();
    if shows_alpha {
        long.push_str(ALPHA_LONG);
    }
    Command {
        line: "render [catalog-image | catalog-directory | bundle-image | bundle-directory]...",
        short: "Generate a stream of file-based catalog objects from catalogs and bundles",
        long,
        arguments: Arguments::AtLeast(1),
        flags: vec![
            notation::flag("Output format of the streamed file-based catalog objects (json|yaml)"),
            notation::level_flag(),
            Flag::switch(
                "migrate",
                "Perform all available schema migrations on the rendered FBC",
            ),
            alpha_flag(
                IMAGE_TEMPLATE,
                "When bundle image reference information is unavailable, populate it with this template",
                shows_alpha,
            ),
        ],
        exclusive: Some(["migrate", "migrate-level"]),
        run: Some(run),
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    let notation = notation::of(invocation).map_err(Ending::log)?;
    let registries = Registries::of(invocation).map_err(Ending::log)?;
    let template = match invocation.text(IMAGE_TEMPLATE) {
        "" => None,
        text => Some(ImageTemplate::parse(text).map_err(Ending::log)?),
    };
    let form = if invocation.is_on("migrate") {
        notation::form_at(MigrationLevel::All)
    } else {
        notation::form(invocation).map_err(Ending::log)?
    };
    let image_of = |bundle: &RenderedBundle| match &template {
        Some(template) => template.of(bundle),
        None => references::without_image(bundle),
    };
    let mut catalog = references::render(
        &registries,
        invocation.arguments(),
        Allowed::Everything,
        &image_of,
        terminal,
    )
    .map_err(Ending::log)?;
    form.apply(&mut catalog).map_err(Ending::log)?;
    notation.print(&catalog, terminal).map_err(Ending::log)
}
