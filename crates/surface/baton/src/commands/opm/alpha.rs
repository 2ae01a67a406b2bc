//! `opm alpha`: commands that may still change.

mod build;
mod bundle;
mod bundle_dockerfile;
mod convert_template;
mod generate;
mod list;
mod package_manifest;
mod render_graph;
mod render_template;
mod unpack;
mod validate;

use super::command::{Arguments, Command};

pub(super) fn command(shows_alpha: bool) -> Command {
    Command {
        line: "alpha",
        short: "Run an alpha subcommand",
        arguments: Arguments::None,
        is_hidden: !shows_alpha,
        commands: vec![
            bundle::command(),
            convert_template::command(),
            list::command(),
            render_graph::command(),
            render_template::command(),
        ],
        run: Some(super::show_help),
        ..Command::default()
    }
}
