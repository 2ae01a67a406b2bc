//! What may break resources whatever their properties.

use gotemplate::format::quoted;

use super::Finding;
use super::checks::Check;
use super::definition::Definition;

/// Compares scope, versions and the mere presence of fields.
pub(crate) fn compare(old: &Definition, new: &Definition) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |check, message| {
        findings.push(Finding {
            place: None,
            check,
            message,
        });
    };
    for version in &new.versions {
        let Some(before) = old.version(&version.name) else {
            continue;
        };
        let now = version.properties();
        for path in before.properties().keys().filter(|path| !now.contains_key(*path)) {
            found(
                Check::ExistingFieldRemoval,
                format!("removed field : {}.{path}", version.name),
            );
        }
    }
    if old.scope != new.scope {
        let change = format!("scope changed : {} -> {}", quoted(&old.scope), quoted(&new.scope));
        found(Check::Scope, change);
    }
    let stored = old.stored.iter().map(String::as_str);
    let removed: Vec<&str> = stored.filter(|version| new.version(version).is_none()).collect();
    if !removed.is_empty() {
        let removed = removed.join(" ");
        found(
            Check::StoredVersionRemoval,
            format!("stored versions removed : [{removed}]"),
        );
    }
    findings
}
