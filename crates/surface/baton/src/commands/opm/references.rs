//! What opm's commands are pointed at: directories and images, of which each command allows some.

use std::fs;
use std::path::{Path, PathBuf};

use catalog::objects::Catalog;
use catalog::rendering::RenderedBundle;
use gotemplate::format::quoted;

use crate::commands::catalog::rendering::{self, ImageOf};
use crate::failure::{Failure, system_reason};
use crate::images::{Held, Images, is_bundle};
use crate::named_source::NamedSource;
use crate::runtime;
use crate::terminal::Terminal;

use super::registries::Registries;

/// How the texts of what isn't allowed end.
const NOT_ALLOWED: &str = "not allowed";

/// Which kinds a command can do something with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Bundles and catalogs.
    Everything,
    /// Catalogs alone.
    Catalogs,
}

/// Renders references into one catalog.
pub(super) fn render(
    registries: &Registries,
    references: &[String],
    allowed: Allowed,
    image_of: &ImageOf<'_>,
    terminal: &Terminal,
) -> Result<Catalog, Failure> {
    let fetches = references.iter().any(|reference| is_image(reference));
    let images = registries.open(fetches, terminal).map_err(Failure::text);
    runtime::block_on(rendering::combine(references, |reference| {
        render_one(&images, reference, allowed, image_of)
    }))
}

/// Reads a catalog; anything else is refused with `refusal`.
pub(super) fn read_catalog(
    registries: &Registries,
    reference: &str,
    refusal: &str,
    terminal: &Terminal,
) -> Result<Catalog, Failure> {
    let references = [reference.to_owned()];
    let catalog = render(
        registries,
        &references,
        Allowed::Catalogs,
        &without_image,
        terminal,
    );
    catalog.map_err(|failure| match failure {
        Failure::Message { text, .. } if text.ends_with(NOT_ALLOWED) => Failure::new(refusal),
        other => other,
    })
}

/// Bundles from directories have no image.
pub(super) fn without_image(_: &RenderedBundle) -> Result<String, Failure> {
    Ok(String::new())
}

async fn render_one(
    images: &Result<Images, String>,
    reference: &str,
    allowed: Allowed,
    image_of: &ImageOf<'_>,
) -> Result<Catalog, Failure> {
    let source = source(reference)?;
    let images = images.as_ref().map_err(|error| {
        let failure = Failure::new(error.clone());
        match source {
            NamedSource::Image(_) => failure.within(format!("failed to pull image {}", quoted(reference))),
            _ => failure,
        }
    })?;
    if allowed == Allowed::Catalogs
        && let NamedSource::Directory(path) = &source
        && is_bundle(path)
    {
        return Err(Failure::new(format!(
            "cannot render bundle directory {}: {NOT_ALLOWED}",
            quoted(reference)
        )));
    }
    let held = images.read(&source).await?;
    if allowed == Allowed::Catalogs && matches!(held, Held::Bundle(..)) {
        return Err(Failure::new(format!("cannot render bundle image: {NOT_ALLOWED}")));
    }
    rendering::render_held(held, reference, image_of)
}

/// A path that exists is a directory; everything else is an image.
fn source(reference: &str) -> Result<NamedSource, Failure> {
    match fs::metadata(reference) {
        Err(_) => Ok(NamedSource::Image(reference.to_owned())),
        Ok(found) if found.is_dir() => Ok(NamedSource::Directory(PathBuf::from(reference))),
        Ok(_) => Err(Failure::new(format!(
            "ref {} is not a directory: {NOT_ALLOWED}",
            quoted(reference)
        ))),
    }
}

fn is_image(reference: &str) -> bool {
    fs::metadata(reference).is_err()
}

/// Why a file or directory can't be opened, in Go's words.
pub(super) fn cannot(doing: &str, path: &Path, error: &std::io::Error) -> String {
    format!("{doing} {}: {}", path.display(), system_reason(error))
}
