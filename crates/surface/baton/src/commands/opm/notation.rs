//! `--output` and `--migrate-level`: the form in which opm writes catalogs.

use catalog::metadata::MigrationLevel;
use gotemplate::format::quoted;

use crate::commands::catalog::Notation;
use crate::commands::catalog::rendering::FormFlags;
use crate::failure::Failure;

use super::command::Invocation;
use super::flags::Flag;

const OUTPUT: &str = "output";
const MIGRATE_LEVEL: &str = "migrate-level";

const MIGRATE_LEVEL_USAGE: &str = "Name of the last migration to run (default: none)

The migrator will run all migrations up to and including the selected level.

Available migrators:
  - none                          : do nothing
  - bundle-object-to-csv-metadata : migrates bundles' \"olm.bundle.object\" to \"olm.csv.metadata\"
";

/// `--output`, JSON if it isn't given.
pub(super) fn flag(usage: &'static str) -> Flag {
    Flag::text(OUTPUT, "json", usage).letter('o')
}

/// `--migrate-level`.
pub(super) fn level_flag() -> Flag {
    Flag::text(MIGRATE_LEVEL, "", MIGRATE_LEVEL_USAGE)
}

/// Reads `--output`.
pub(super) fn of(invocation: &Invocation<'_>) -> Result<Notation, Failure> {
    match invocation.text(OUTPUT) {
        "json" => Ok(Notation::Json),
        "yaml" => Ok(Notation::Yaml),
        other => Err(unknown(other, "json|yaml")),
    }
}

/// The text for a value of `--output` that there is not.
pub(super) fn unknown(value: &str, expected: &str) -> Failure {
    Failure::new(format!(
        "invalid --output value {}, expected ({expected})",
        quoted(value)
    ))
}

/// Reads `--migrate-level`.
pub(super) fn form(invocation: &Invocation<'_>) -> Result<FormFlags, Failure> {
    let migrate_level = match invocation.text(MIGRATE_LEVEL) {
        "" => MigrationLevel::None,
        level => level.parse()?,
    };
    Ok(form_at(migrate_level))
}

/// The form of bundles at a level.
pub(super) fn form_at(migrate_level: MigrationLevel) -> FormFlags {
    FormFlags {
        migrate_level,
        minify: false,
    }
}
