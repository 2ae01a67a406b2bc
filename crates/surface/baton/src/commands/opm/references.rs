//! What opm's commands are pointed at: directories and images, of which each command allows some.

use std::fs;
use std::path::{Path, PathBuf};

use catalog::objects::Catalog;
use catalog::rendering::RenderedBundle;
use gotemplate::format::quoted;

use crate::commands::catalog::rendering::{self, ImageOf};
use crate::failure::{Failure, system_reason};
use crate::images::{Held, Images, is_bundle, read_directory};
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
    // Where nothing is fetched, it doesn't matter how registries are configured.
    let images = references
        .iter()
        .any(|reference| is_image(reference))
        .then(|| registries.open(true, terminal).map_err(Failure::text));
    runtime::block_on(rendering::combine(references, |reference| {
        render_one(images.as_ref(), reference, allowed, image_of)
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
    images: Option<&Result<Images, String>>,
    reference: &str,
    allowed: Allowed,
    image_of: &ImageOf<'_>,
) -> Result<Catalog, Failure> {
    let held = match (source(reference)?, images) {
        (Source::Directory(path), _) => {
            if allowed == Allowed::Catalogs && is_bundle(&path) {
                return Err(Failure::new(format!(
                    "cannot render bundle directory {}: {NOT_ALLOWED}",
                    quoted(reference)
                )));
            }
            read_directory(&path)?
        }
        (Source::Image, Some(Ok(images))) => images.read(&NamedSource::Image(reference.to_owned())).await?,
        (Source::Image, refused) => {
            // A directory that was there when it was looked for, and isn't any more, is no image either.
            let cause = refused
                .and_then(|images| images.as_ref().err())
                .map_or("not found", String::as_str);
            return Err(Failure::new(format!(
                "failed to pull image {}: {cause}",
                quoted(reference)
            )));
        }
    };
    if allowed == Allowed::Catalogs && matches!(held, Held::Bundle(..)) {
        return Err(Failure::new(format!("cannot render bundle image: {NOT_ALLOWED}")));
    }
    rendering::render_held(held, reference, image_of)
}

enum Source {
    Directory(PathBuf),
    Image,
}

/// A path that exists is a directory; everything else is an image.
fn source(reference: &str) -> Result<Source, Failure> {
    match fs::metadata(reference) {
        Err(_) => Ok(Source::Image),
        Ok(found) if found.is_dir() => Ok(Source::Directory(PathBuf::from(reference))),
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
