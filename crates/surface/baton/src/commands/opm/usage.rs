//! The texts that say how a command is used.

use std::fmt::Write as _;

use gotemplate::format::quoted;

use super::command::{Command, Found};
use super::flags::{Flag, FlagKind};

/// Names of commands are padded to at least this, so that short lists line up alike.
const NAME_PADDING: usize = 11;

/// The command that only the root has, and that is no command of the tree.
const HELP_COMMAND: (&str, &str) = ("help", "Help about any command");

/// What `--help` shows.
pub(super) fn help(found: &Found<'_>) -> String {
    let command = found.command;
    let about = if command.long.is_empty() {
        command.short
    } else {
        &command.long
    };
    let about = about.trim_end();
    if about.is_empty() {
        return usage(found);
    }
    format!("{about}\n\n{}", usage(found))
}

/// How a command is used: its line, commands and flags.
pub(super) fn usage(found: &Found<'_>) -> String {
    let command = found.command;
    let path = found.path();
    let mut local = found.own_flags();
    local.push(&found.help);
    let inherited = found.inherited_flags();
    let is_listed = |flag: &&Flag| !flag.is_hidden;
    let has_commands = command.commands.iter().any(Command::is_available);

    // Writing to a String can't fail, here and below.
    let mut text = String::from("Usage:");
    if command.run.is_some() {
        let above = path.strip_suffix(command.name()).unwrap_or_default();
        let _ = write!(text, "\n  {above}{}", command.line);
        if !command.line.contains("[flags]") {
            text.push_str(" [flags]");
        }
    }
    if has_commands {
        let _ = write!(text, "\n  {path} [command]");
    }
    if !command.example.is_empty() {
        let _ = write!(text, "\n\nExamples:\n{}", command.example);
    }
    if has_commands {
        text.push_str("\n\nAvailable Commands:");
        let longest = command.commands.iter().map(|command| command.name().len()).max();
        let width = longest.unwrap_or_default().max(NAME_PADDING);
        let mut listed: Vec<(&str, &str)> = command
            .commands
            .iter()
            .filter(|command| command.is_available())
            .map(|command| (command.name(), command.short))
            .collect();
        if found.is_root() {
            listed.push(HELP_COMMAND);
        }
        listed.sort_unstable();
        for (name, short) in listed {
            let _ = write!(text, "\n  {name:width$} {short}");
        }
    }
    for (title, flags) in [("Flags", local), ("Global Flags", inherited)] {
        if flags.iter().any(is_listed) {
            let _ = write!(text, "\n\n{title}:\n{}", listing(flags));
        }
    }
    if has_commands {
        let _ = write!(
            text,
            "\n\nUse \"{path} [command] --help\" for more information about a command."
        );
    }
    text.push('\n');
    text
}

/// Flags by name, their texts in one column.
fn listing(mut flags: Vec<&Flag>) -> String {
    flags.retain(|flag| !flag.is_hidden);
    flags.sort_unstable_by_key(|flag| flag.name);
    let lines: Vec<(String, String)> = flags
        .into_iter()
        .map(|flag| {
            let (value, usage) = value_name(flag);
            let mut start = match flag.letter {
                Some(letter) => format!("  -{letter}, --{}", flag.name),
                None => format!("      --{}", flag.name),
            };
            if !value.is_empty() {
                start.push(' ');
                start.push_str(&value);
            }
            (start, usage + &default(flag))
        })
        .collect();
    let width = lines
        .iter()
        .map(|(start, _)| start.len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for (start, usage) in lines {
        let usage = usage.replace('\n', &format!("\n{:1$}", "", width + 3));
        let _ = writeln!(text, "{start:width$}   {usage}");
    }
    text.truncate(text.trim_end().len());
    text
}

/// What a flag's value is called: a word of its text between backquotes, or the value's type.
fn value_name(flag: &Flag) -> (String, String) {
    let mut parts = flag.usage.splitn(3, '`');
    if let (Some(before), Some(name), Some(after)) = (parts.next(), parts.next(), parts.next()) {
        return (name.to_owned(), format!("{before}{name}{after}"));
    }
    let name = match flag.kind {
        FlagKind::Switch => "",
        FlagKind::Text(_) => "string",
        FlagKind::List => "strings",
        FlagKind::Number(_) => "uint",
    };
    (name.to_owned(), flag.usage.clone())
}

fn default(flag: &Flag) -> String {
    match flag.kind {
        FlagKind::Text(default) if !default.is_empty() => format!(" (default {})", quoted(default)),
        FlagKind::Number(default) if default != 0 => format!(" (default {default})"),
        _ => String::new(),
    }
}
