//! `baton catalog graph`: upgrade graphs drawn.

use catalog::graph::{mermaid, svg};
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
            return Err(Failure::new(format!(
                "catalog {} has no package {name:?}; list them with baton catalog list packages {}",
                self.source, self.source
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
                let drawing = mermaid::draw(&catalog, options)?;
                for warning in drawing.warnings {
                    terminal.remark(warning);
                }
                drawing.text
            }
        };
        terminal.print(text.as_bytes())
    }
}
