//! `baton bundle`: a chart made into an operator's bundle, checked, built into images and published.

pub(crate) mod build;
mod charts;
mod creation_time;
mod generate;
mod plain;
pub(crate) mod project;
pub(crate) mod publication;
mod push;
mod render;
mod unpack;
pub(crate) mod validate;

use clap::Subcommand;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Makes, checks, builds, publishes and unpacks bundles of operators.
#[derive(Subcommand)]
pub(crate) enum BundleCommand {
    Generate(generate::Generate),
    Validate(validate::Validate),
    Build(build::Build),
    Push(push::Push),
    Unpack(unpack::Unpack),
    Render(render::Render),
}

impl BundleCommand {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Generate(generate) => generate.run(terminal),
            Self::Validate(validate) => validate.run(terminal),
            Self::Build(build) => build.run(terminal),
            Self::Push(push) => push.run(terminal),
            Self::Unpack(unpack) => unpack.run(terminal),
            Self::Render(render) => render.run(terminal),
        }
    }
}
