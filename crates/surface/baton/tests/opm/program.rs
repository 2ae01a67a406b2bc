//! opm as scripts run it, and what it says.

use std::process::{Command, Output};

use crate::world::World;

/// Runs a command of opm in a folder, with nothing of the machine's own settings.
pub(crate) fn opm(world: &World, arguments: &[&str]) -> Output {
    configured(world, arguments).output().expect("the program runs")
}

pub(crate) fn configured(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command(&[&["opm"], arguments].concat());
    command
        .env("HOME", world.path("home"))
        .env("XDG_CONFIG_HOME", world.path("home/.config"))
        .env("BATON_IMAGE_CACHE", world.path("cache"));
    let mirrors = world.path("registries.conf");
    if mirrors.exists() {
        command.env("CONTAINERS_REGISTRIES_CONF", mirrors);
    }
    for variable in [
        "HELP_ALPHA",
        "OLM_CACHE_DIR",
        "REGISTRY_AUTH_FILE",
        "DOCKER_CONFIG",
    ] {
        command.env_remove(variable);
    }
    command
}

/// Writes down what a command showed, without the time.
pub(crate) fn see(world: &World, arguments: &[&str]) -> String {
    without_time(&world.describe(&[&["opm"], arguments].concat(), &opm(world, arguments)))
}

pub(crate) fn without_time(text: &str) -> String {
    let is_time = |line: &str| {
        line.len() > 20
            && line
                .chars()
                .zip("0000/00/00 00:00:00 ".chars())
                .all(|(one, form)| one == form || (form == '0' && one.is_ascii_digit()))
    };
    let line = |line: &str| {
        if is_time(line) {
            return format!("[TIME] {}", &line[20..]);
        }
        match line.strip_prefix("time=\"").and_then(|rest| rest.split_once('"')) {
            Some((_, rest)) => format!("time=\"[TIME]\"{rest}"),
            None => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What follows the time in the one line of a fatal error.
pub(crate) fn logged(output: &Output) -> String {
    let errors = without_time(&text(&output.stderr));
    errors
        .strip_prefix("[TIME] ")
        .map_or(errors.clone(), str::to_owned)
        .trim_end()
        .to_owned()
}

/// What follows `Error: `, up to how the command is used.
pub(crate) fn refused(output: &Output) -> String {
    let errors = text(&output.stderr);
    let (before, usage) = errors.split_once("\nUsage:\n").expect("an error and the usage");
    assert!(usage.contains("Flags:"), "{errors}");
    let (_, error) = before.split_once("Error: ").expect("an error");
    error.to_owned()
}
