//! `baton catalog prune`: a catalog cut down.

use std::collections::{BTreeMap, BTreeSet};

use catalog::prune::{self, PackageSelection, Selection};
use catalog::validation;
use clap::Args;
use image::policy::PolicySource;
use version::Range;

use super::Notation;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Prints a catalog cut down to some packages, channels and versions; upgrades across what is left out still work.
#[derive(Args)]
pub(crate) struct Prune {
    /// The catalog: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "CATALOG")]
    source: String,
    /// Keep this package, or only some of its channels: PACKAGE[=CHANNEL,...]
    #[arg(short, long = "package", value_name = "PACKAGE", required = true)]
    packages: Vec<String>,
    /// Keep only versions in this range, such as '>=1.2.0 <3.0.0'
    #[arg(long, value_name = "RANGE", value_parser = range)]
    versions: Option<Range>,
    /// Keep only the head of each channel
    #[arg(long)]
    heads_only: bool,
    /// The notation
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Notation,
    #[command(flatten)]
    images: ImageFlags,
}

fn range(text: &str) -> Result<Range, String> {
    Range::parse(text).map_err(|error| error.to_string())
}

impl Prune {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let catalog = runtime::block_on(images.read_catalog(&self.source))?;
        let mut packages = BTreeMap::new();
        for word in &self.packages {
            let (name, channels) = word.split_once('=').unwrap_or((word, ""));
            let channels: BTreeSet<_> = channels
                .split(',')
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect();
            let versions = self.versions.clone();
            packages.insert(
                name.to_owned(),
                PackageSelection {
                    channels,
                    versions,
                    heads_only: self.heads_only,
                },
            );
        }
        let pruned = prune::prune(&catalog, &Selection { packages })?;
        validation::validate(&pruned).map_err(|error| {
            Failure::new(format!(
                "what is left of {} is not a valid catalog: {error}",
                self.source
            ))
        })?;
        self.output.print(&pruned, terminal)
    }
}
