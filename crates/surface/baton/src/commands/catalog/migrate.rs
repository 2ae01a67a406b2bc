//! `baton catalog migrate`: a catalog brought up to date, a file for each package.

use std::fs;
use std::path::{Path, PathBuf};

use catalog::objects::Catalog;
use catalog::writing;
use clap::Args;
use image::policy::PolicySource;

use super::Notation;
use super::rendering::FormFlags;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Writes a catalog to a directory, one file for each package, with its bundles brought up to date.
#[derive(Args)]
pub(crate) struct Migrate {
    /// The catalog: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "CATALOG")]
    source: String,
    /// Where to write; must be empty
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// The notation
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Notation,
    #[command(flatten)]
    form: FormFlags,
    #[command(flatten)]
    images: ImageFlags,
}

impl Migrate {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let mut catalog = runtime::block_on(images.read_catalog(&self.source))?;
        self.form.apply(&mut catalog)?;
        write(&catalog, &self.directory, self.output)
    }
}

/// Writes a catalog into a directory that must be empty or absent.
pub(crate) fn write(catalog: &Catalog, directory: &Path, notation: Notation) -> Result<(), Failure> {
    let told = |error| Failure::new(format!("cannot write to {}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(told)?;
    if fs::read_dir(directory).map_err(told)?.next().is_some() {
        return Err(Failure::new(format!(
            "output dir {:?} must be empty",
            directory.display().to_string()
        )));
    }
    Ok(writing::write_directory(catalog, directory, notation.format())?)
}
