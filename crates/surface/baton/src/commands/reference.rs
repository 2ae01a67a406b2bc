//! `baton reference`: every command with its arguments, as the page of the book that `cargo run -p xtask -- reference`
//! writes. It isn't shown in help: only those who change baton need it.

use std::fmt::Write as _;

use clap::builder::{Str, StyledStr};
use clap::{Arg, Args, Command, CommandFactory};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Prints the reference of all commands as Markdown.
#[derive(Args)]
pub(crate) struct Reference {}

impl Reference {
    #[expect(clippy::unused_self, reason = "a command is run by what was said on its line")]
    pub(crate) fn run<P: CommandFactory>(self, terminal: &mut Terminal) -> Result<(), Failure> {
        terminal.print(page(P::command()).as_bytes())
    }
}

const INTRODUCTION: &str = "# All commands

<!-- Generated: write it anew with `cargo run -p xtask -- reference`. -->

What `baton COMMAND --help` says, for every command. The pages under *Commands* say how they are used together.
";

/// Returns the page for a program.
fn page(mut program: Command) -> String {
    program.build();
    let mut page = INTRODUCTION.to_owned();
    for command in visible(&program) {
        chapter(command, program.get_name(), &mut page);
    }
    page
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

/// Writes a command and those below it.
fn chapter(command: &Command, above: &str, page: &mut String) {
    let name = format!("{above} {}", command.get_name());
    let _ = write!(page, "\n## {name}\n\n");
    let told = command.get_long_about().or(command.get_about());
    let _ = writeln!(page, "{}", told.map_or(String::new(), prose));
    let aliases: Vec<&str> = command.get_visible_aliases().collect();
    if !aliases.is_empty() {
        let _ = writeln!(page, "\nAlso: `{above} {}`.", aliases.join("`, `"));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let _ = write!(page, "\n```text\n{usage}\n```\n");
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && !is_help(argument))
        .collect();
    if !shown.is_empty() {
        page.push_str("\n| argument | meaning |\n|---|---|\n");
        let (flags, words): (Vec<&Arg>, Vec<&Arg>) =
            shown.into_iter().partition(|argument| !argument.is_positional());
        for argument in words.into_iter().chain(flags) {
            let _ = writeln!(page, "| {} | {} |", shape(argument), meaning(argument));
        }
    }
    for below in visible(command) {
        chapter(below, &name, page);
    }
}

fn is_help(argument: &Arg) -> bool {
    matches!(argument.get_id().as_str(), "help" | "version") && !argument.get_action().takes_values()
}

/// How an argument is written on a line.
fn shape(argument: &Arg) -> String {
    let value = || {
        let names = argument.get_value_names().unwrap_or_default();
        let names: Vec<&str> = names.iter().map(Str::as_str).collect();
        names.join(" ")
    };
    if argument.is_positional() {
        return format!("`{}`", value());
    }
    let mut written = Vec::new();
    if let Some(letter) = argument.get_short() {
        written.push(format!("-{letter}"));
    }
    written.extend(argument.get_long().map(|name| format!("--{name}")));
    written.extend(
        argument
            .get_visible_aliases()
            .unwrap_or_default()
            .iter()
            .map(|alias| format!("--{alias}")),
    );
    if argument.get_action().takes_values()
        && let Some(last) = written.last_mut()
    {
        *last = format!("{last} {}", value());
    }
    let written: Vec<String> = written.iter().map(|form| format!("`{form}`")).collect();
    written.join(", ")
}

fn meaning(argument: &Arg) -> String {
    let told = argument.get_long_help().or(argument.get_help());
    let mut parts = vec![told.map_or(String::new(), |text| cell(&prose(text)))];
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if argument.get_action().takes_values() {
        if !values.is_empty() && !argument.is_hide_possible_values_set() {
            parts.push(format!("One of {}", values.join(", ")));
        }
        let usual: Vec<String> = argument
            .get_default_values()
            .iter()
            .map(|value| format!("`{}`", value.to_string_lossy()))
            .collect();
        if !usual.is_empty() && !argument.is_hide_default_value_set() {
            parts.push(format!("Default: {}", usual.join(", ")));
        }
    }
    if let Some(variable) = argument.get_env().filter(|_| !argument.is_hide_env_set()) {
        parts.push(format!("Environment: `{}`", variable.to_string_lossy()));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(". ")
}

/// Text of help as a paragraph of Markdown.
fn prose(text: &StyledStr) -> String {
    text.to_string().replace('<', "&lt;").replace('*', "\\*")
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}
