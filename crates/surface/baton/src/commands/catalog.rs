//! `baton catalog`: file-based catalogs, from templates and bundles to an image that clusters poll.

pub(crate) mod add;
mod build;
pub(crate) mod catalog_image;
mod convert;
mod diff;
mod graph;
pub(crate) mod init;
mod list;
mod migrate;
mod prune;
pub(crate) mod published;
mod push;
mod remove;
pub(crate) mod render;
pub(crate) mod rendering;
mod search;
mod serve;
pub(crate) mod template;
pub(crate) mod template_file;
pub(crate) mod validate;

use catalog::objects::Catalog;
use catalog::writing::{self, Format};
use clap::{Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Makes, checks, compares, publishes and serves catalogs of operators.
#[derive(Subcommand)]
pub(crate) enum CatalogCommand {
    Init(init::Init),
    Render(render::Render),
    Template(template::Template),
    Convert(convert::Convert),
    Validate(validate::Validate),
    List(list::List),
    Graph(graph::Graph),
    Diff(diff::Diff),
    Prune(prune::Prune),
    Migrate(migrate::Migrate),
    Build(build::Build),
    Push(push::Push),
    Serve(serve::Serve),
    Add(add::Add),
    Search(Box<search::Search>),
    Remove(remove::Remove),
}

impl CatalogCommand {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Init(init) => init.run(terminal),
            Self::Render(render) => render.run(terminal),
            Self::Template(template) => template.run(terminal),
            Self::Convert(convert) => convert.run(terminal),
            Self::Validate(validate) => validate.run(terminal),
            Self::List(list) => list.run(terminal),
            Self::Graph(graph) => graph.run(terminal),
            Self::Diff(diff) => diff.run(terminal),
            Self::Prune(prune) => prune.run(terminal),
            Self::Migrate(migrate) => migrate.run(terminal),
            Self::Build(build) => build.run(terminal),
            Self::Push(push) => push.run(terminal),
            Self::Serve(serve) => serve.run(terminal),
            Self::Add(add) => add.run(terminal),
            Self::Search(search) => search.run(terminal),
            Self::Remove(remove) => remove.run(terminal),
        }
    }
}

/// The notation of a catalog that is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Notation {
    Json,
    Yaml,
}

impl Notation {
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Json => Format::Json,
            Self::Yaml => Format::Yaml,
        }
    }

    /// Prints a catalog; what was written before something that can't be is printed too, as opm does.
    pub(crate) fn print(self, catalog: &Catalog, terminal: &mut Terminal) -> Result<(), Failure> {
        let mut text = Vec::new();
        let written = writing::write(catalog, self.format(), &mut text);
        terminal.print(&text)?;
        Ok(written?)
    }
}
