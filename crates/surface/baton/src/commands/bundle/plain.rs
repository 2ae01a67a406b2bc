//! The image of a bundle that is there already, as a directory with `manifests/` and `metadata/`.
//!
//! Nothing but the directory counts: no tree around it, and no `bundle.Dockerfile`, which may be that of another bundle.

use std::collections::BTreeMap;
use std::path::Path;

use bundle::files::BundleFiles;
use bundle::generation::operator_image::bundle_image;
use bundle::registry::RegistryBundle;
use bundle::validation::{self, OptionalValues, OutputLevel, Selection};
use catalog::rendering;
use image::build::BuiltImage;
use image::reference::Reference;

use crate::failure::Failure;
use crate::images::{Images, is_bundle};
use crate::terminal::Terminal;

/// What of the directory gets into the image; other tools keep more beside it.
const PARTS: [&str; 3] = ["manifests/", "metadata/", "tests/"];

/// Builds the image, if clusters and catalogs can use it. What `baton bundle validate` says against it is remarked.
pub(super) fn build(
    directory: &Path,
    name: &Reference,
    images: &Images,
    terminal: &mut Terminal,
) -> Result<BuiltImage, Failure> {
    let location = directory.display().to_string();
    if !is_bundle(directory) {
        return Err(Failure::new(format!(
            "{location} is no bundle's directory: a bundle has the directories manifests/ and metadata/; without a directory, \
             baton bundle build makes the bundle of the tree"
        )));
    }
    let files = BundleFiles::read_directory(directory)?;
    let told = |error: &dyn std::fmt::Display| {
        Failure::new(format!(
            "bundle {location}: {error}; baton bundle validate {location} says what else may be wrong"
        ))
    };
    if let Some(fault) = validation::opm_format(&files, &location).first() {
        return Err(told(fault));
    }
    RegistryBundle::load(&files).map_err(|error| told(&error))?;
    rendering::render(&files, &name.to_string()).map_err(|error| told(&error))?;
    let selection = Selection {
        location: location.clone(),
        ..Selection::default()
    };
    let report = validation::validate(&files, &selection, &OptionalValues::default());
    let faults = report.outputs().iter();
    for fault in faults.filter(|output| output.level == OutputLevel::Error) {
        terminal.remark(format!("bundle: {}", fault.message));
    }
    let labels = validation::annotations(&files, &location).map_err(|error| told(&error))?;
    let parts: BTreeMap<String, Vec<u8>> = files
        .iter()
        .filter(|(path, _)| PARTS.iter().any(|part| path.starts_with(part)))
        .map(|(path, bytes)| (path.to_owned(), bytes.to_vec()))
        .collect();
    Ok(bundle_image(&parts, &labels, images.store()?)?)
}
