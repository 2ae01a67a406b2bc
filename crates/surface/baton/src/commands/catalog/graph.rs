//! `baton catalog graph`: upgrade graphs drawn.

use catalog::graph::mermaid::{self, DrawError};
use catalog::graph::svg;
use catalog::nearest::did_you_mean;
use clap::{Args, ValueEnum};
use image::policy::PolicySource;

use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::runtime;
use crate::terminal::Terminal;

/// Draws the upgrade graphs of a catalog, as mermaid text or as SVG.
#[derive(Args)]
pub(crate) struct Graph {
    /// The catalog: a directory, oci:LAYOUT, a tar, or an image
    #[arg(value_name = "CATALOG")]
    source: String,
    /// Draw only this package
    #[arg(short, long, value_name = "PACKAGE", default_value = "")]
    package: String,
    /// Leave out what is below this bundle (mermaid)
    #[arg(long, value_name = "BUNDLE", default_value = "")]
    minimum_edge: String,
    /// Draw what OLM v0 would not install, too (mermaid)
    #[arg(long)]
    draw_v0_semantics: bool,
    /// The form of the drawing
    #[arg(short, long, value_enum, default_value = "mermaid")]
    output: Output,
    #[command(flatten)]
    images: ImageFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Mermaid,
    Svg,
}

impl Graph {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        let catalog = runtime::block_on(images.read_catalog(&self.source))?;
        let package = Some(self.package.as_str()).filter(|package| !package.is_empty());
        if let Some(name) = package
            && !catalog.packages.iter().any(|package| package.name == name)
        {
            let known = catalog.packages.iter().map(|package| package.name.as_str());
            let next = did_you_mean(name, known)
                .unwrap_or_else(|| format!("list them with baton catalog list packages {}", self.source));
            return Err(Failure::new(format!(
                "catalog {} has no package {name:?}; {next}",
                self.source
            )));
        }
        let text = match self.output {
            Output::Svg => svg::draw(&catalog, package),
            Output::Mermaid => {
                let options = mermaid::Options {
                    minimum_edge: &self.minimum_edge,
                    package: &self.package,
                    draw_v0_semantics: self.draw_v0_semantics,
                };
                let drawing = mermaid::draw(&catalog, options).map_err(|error| {
                    let known = catalog.bundles.iter().map(|bundle| bundle.name.as_str());
                    match (&error, did_you_mean(&self.minimum_edge, known)) {
                        (DrawError::UnknownMinimumEdge(_), Some(meant)) => {
                            Failure::new(format!("{error}; {meant}"))
                        }
                        _ => error.into(),
                    }
                })?;
                for warning in drawing.warnings {
                    terminal.remark(warning);
                }
                drawing.text
            }
        };
        terminal.print(text.as_bytes())
    }
}
