//! Renders bundle directories for a catalog, as `opm render` does, and says what that costs.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use bundle::files::BundleFiles;
use catalog::metadata::Metadata;
use catalog::objects::Catalog;
use catalog::{rendering, writing};

use crate::catalog_load::{Cost, peak_mebibytes};

/// Renders the bundles that `index` lists, a directory and an image on every line, and writes what they make as JSON.
///
/// Directories are relative to the parent of the one that holds the index.
pub(crate) fn measure(index: &Path, migrate: bool) -> Result<Cost, Box<dyn Error>> {
    let root = index.ancestors().nth(2).ok_or("the index lies in no directory")?;
    let mut output = std::io::sink();
    for line in fs::read_to_string(index)?.lines() {
        let mut columns = line.split('\t');
        let (Some(directory), Some(image)) = (columns.next(), columns.next()) else {
            return Err(format!("the line {line:?} does not name a directory and an image").into());
        };
        let files = BundleFiles::read_directory(&root.join(directory))?;
        let mut rendered = rendering::render(&files, image)?;
        if migrate {
            rendered.migrate(Metadata::Full)?;
        }
        let catalog = Catalog {
            bundles: vec![rendered.bundle],
            ..Catalog::default()
        };
        writing::write_json(&catalog, &mut output)?;
    }
    output.flush()?;
    Ok(Cost {
        cpu_seconds: crate::cpu_milliseconds() / 1e3,
        peak_mebibytes: peak_mebibytes()?,
    })
}
