//! Commands that opm had while catalogs were databases, and that it dropped: each says what to use instead.

use crate::terminal::Terminal;

use super::command::{Command, Invocation};
use super::ending::Ending;

/// What adds bundles now.
const ADD: &str = "add the bundle to a template and render it: opm alpha render-template semver TEMPLATE > CATALOG/catalog.json";
/// What removes packages now.
const PRUNE: &str = "keep some packages of a catalog with: baton catalog prune CATALOG PACKAGE...";
/// What deprecates bundles now.
const DEPRECATE: &str = "say what is deprecated in an olm.deprecations object of the catalog";
/// What serves now.
const SERVE: &str = "serve a catalog's directory with: opm serve DIRECTORY";
/// What exports now.
const EXPORT: &str = "write a bundle's files with: opm alpha bundle unpack IMAGE";
/// What mirrors now.
const MIRROR: &str = "list a catalog's images with: opm render CATALOG, and copy them with a registry tool";

const COMMANDS: [(&str, &[(&str, &str)]); 2] = [
    (
        "index",
        &[
            ("add", ADD),
            ("rm", PRUNE),
            ("prune", PRUNE),
            ("prune-stranded", PRUNE),
            ("export", EXPORT),
            ("deprecatetruncate", DEPRECATE),
        ],
    ),
    (
        "registry",
        &[
            ("add", ADD),
            ("rm", PRUNE),
            ("prune", PRUNE),
            ("prune-stranded", PRUNE),
            ("serve", SERVE),
            ("mirror", MIRROR),
            ("deprecatetruncate", DEPRECATE),
        ],
    ),
];

/// The commands, which no help lists.
pub(super) fn commands() -> Vec<Command> {
    let retired = |line, commands| Command {
        line,
        is_hidden: true,
        commands,
        run: Some(run),
        ..Command::default()
    };
    COMMANDS
        .iter()
        .map(|(group, names)| {
            let commands = names.iter().map(|(name, _)| retired(name, Vec::new())).collect();
            retired(group, commands)
        })
        .collect()
}

fn run(invocation: &Invocation<'_>, _: &mut Terminal) -> Result<(), Ending> {
    let path = invocation.path();
    let mut words = path.split(' ').skip(1);
    let (group, name) = (words.next(), words.next());
    let instead = COMMANDS
        .iter()
        .filter(|(known, _)| Some(*known) == group)
        .flat_map(|(_, names)| names.iter())
        .find(|(known, _)| Some(*known) == name)
        .map_or(
            "catalogs are files now: see opm render, opm alpha render-template and opm serve",
            |(_, instead)| instead,
        );
    Err(Ending::Refusal(format!(
        "{path} works on sqlite databases, which opm dropped after v1.73.0 and baton doesn't have: {instead}"
    )))
}
