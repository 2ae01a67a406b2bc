//! `baton bundle unpack`: a bundle's files on disk.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use image::policy::PolicySource;

use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;
use crate::written_files;

/// Writes the files of a bundle's image to a directory.
#[derive(Args)]
pub(crate) struct Unpack {
    /// The bundle: oci:LAYOUT, a tar, or an image
    #[arg(value_name = "BUNDLE")]
    source: String,
    /// Where to write; must be empty
    #[arg(short, long, value_name = "FOLDER", default_value = "bundle")]
    output: PathBuf,
    #[command(flatten)]
    images: ImageFlags,
}

impl Unpack {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let (files, _) = runtime::block_on(images.read_bundle(&self.source))?;
        let told = |error| {
            Failure::new(format!(
                "cannot write to {}: {error}; see that the folder may be written and has room, or choose another with --output",
                self.output.display()
            ))
        };
        if self.output.exists() && fs::read_dir(&self.output).map_err(told)?.next().is_some() {
            return Err(Failure::new(format!(
                "{} is not empty: choose another folder with --output, or empty it",
                self.output.display()
            )));
        }
        let written: Vec<(PathBuf, Vec<u8>)> = files
            .iter()
            .map(|(path, bytes)| (self.output.join(path), bytes.to_vec()))
            .collect();
        written_files::write_all(&written).map_err(told)?;
        terminal.print(format!("{} files in {}\n", written.len(), self.output.display()).as_bytes())
    }
}
