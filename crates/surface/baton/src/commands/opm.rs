//! `baton opm`, and the program itself when it is called `opm`: opm's commands, with its flags, output and errors, so
//! that scripts go on working.
//!
//! ```text
//! words ─ flags, command ─► a command of the tree ─┬─ references, registries ─► what it is pointed at
//!                                                  └─ ending, usage ─► one of opm's three ways to fail
//! ```

mod alpha;
mod command;
mod ending;
mod flags;
mod generate;
mod init;
mod migrate;
mod notation;
mod paths;
mod references;
mod registries;
mod render;
mod retired;
mod serve;
mod usage;
mod validate;
mod version;

use std::ffi::OsString;

use clap::Args;

use crate::failure::Failure;
use crate::terminal::Terminal;
use command::{Arguments, Command, Invocation, execute};
use ending::Ending;
use flags::Flag;

/// Shows what is still subject to change when it is `true`.
const HELP_ALPHA: &str = "HELP_ALPHA";

/// Does what opm does, with its commands, flags and output: put `baton` before it, or call a link to baton `opm`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Opm {
    /// A command of opm and its arguments; help lists them
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        num_args = 0..
    )]
    words: Vec<OsString>,
}

impl Opm {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        run(self.words, terminal)
    }
}

/// Runs the command of opm that words name.
pub(crate) fn run(words: Vec<OsString>, terminal: &mut Terminal) -> Result<(), Failure> {
    let words: Vec<String> = words
        .into_iter()
        .map(|word| {
            word.into_string()
                .map_err(|word| Failure::new(format!("argument {} is not UTF-8", word.display())))
        })
        .collect::<Result<_, _>>()?;
    let shows_alpha = std::env::var_os(HELP_ALPHA).is_some_and(|value| value == "true");
    execute(&root(shows_alpha), &words, terminal)
}

const LONG: &str = "CLI to interact with operator-registry and build indexes of operator content.

To view help related to alpha features, set HELP_ALPHA=true in the environment.";

fn root(shows_alpha: bool) -> Command {
    let mut commands = vec![
        alpha::command(shows_alpha),
        generate::command(),
        init::command(),
        migrate::command(),
        render::command(shows_alpha),
        serve::command(),
        validate::command(),
        version::command(),
    ];
    commands.extend(retired::commands());
    Command {
        line: "opm",
        short: "operator package manager",
        long: LONG.to_owned(),
        arguments: Arguments::None,
        flags: vec![Flag::switch("debug", "enable debug logging").hidden()],
        shared_flags: registries::shared_flags(),
        commands,
        run: Some(show_help),
        ..Command::default()
    }
}

/// Shows what a group has. opm prints nothing there, which helps nobody.
fn show_help(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    Ok(terminal.print(invocation.help().as_bytes())?)
}

/// A flag that is still subject to change.
fn alpha_flag(name: &'static str, usage: &str, shows_alpha: bool) -> Flag {
    let warning =
        "(ALPHA: This flag will be removed or renamed in a future release, potentially without notice)";
    let flag = Flag::text(name, "", format!("{warning} {usage}"));
    if shows_alpha { flag } else { flag.hidden() }
}
