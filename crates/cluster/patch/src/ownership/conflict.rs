//! Fields that a manager applies and another one owns.

use std::fmt;

use gotemplate::format::quoted;
use schema::field_errors::MOST_TEXT;

use super::element::FieldPath;
use super::managers::{Manager, Operation};
use super::set::Set;

/// One field that a manager wants to change and another one owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns the field.
    pub manager: Manager,
    /// The field.
    pub path: FieldPath,
}

impl Conflict {
    /// Returns the message of the cause in a Status whose reason is `FieldManagerConflict`.
    pub fn message(&self) -> String {
        format!("conflict with {}", described(&self.manager))
    }
}

/// The conflicts of one apply, by manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(Vec<Conflict>);

impl Conflicts {
    pub(super) fn of(fields: Vec<(Manager, Set)>) -> Self {
        let mut fields: Vec<_> = fields
            .into_iter()
            .map(|(manager, set)| (manager.identifier(), manager, set))
            .collect();
        fields.sort_by(|left, right| left.0.cmp(&right.0));
        let conflicts = fields.into_iter().flat_map(|(_, manager, set)| {
            set.paths().into_iter().map(move |path| Conflict {
                manager: manager.clone(),
                path,
            })
        });
        Self(conflicts.collect())
    }

    /// Returns every conflict, those with one manager together.
    pub fn iter(&self) -> impl Iterator<Item = &Conflict> {
        self.0.iter()
    }

    /// Returns the fields, whoever owns them.
    pub(super) fn fields(&self) -> Set {
        Set::of(self.0.iter().map(|conflict| &conflict.path))
    }

    /// Returns the conflicts about other fields than these.
    pub(super) fn without(self, allowed: &Set) -> Self {
        Self(
            self.0
                .into_iter()
                .filter(|conflict| !allowed.has(&conflict.path))
                .collect(),
        )
    }
}

/// Returns a manager as messages name it.
fn described(manager: &Manager) -> String {
    let mut text = quoted(&manager.name);
    if !manager.subresource.is_empty() {
        text.push_str(" with subresource ");
        text.push_str(&quoted(&manager.subresource));
    }
    if manager.operation == Operation::Update {
        text.push_str(" using ");
        text.push_str(manager.api_version.as_deref().unwrap_or_default());
    }
    text
}

impl fmt::Display for Conflicts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [conflict] = self.0.as_slice() {
            return write!(
                formatter,
                "Apply failed with 1 conflict: {}: {}",
                conflict.message(),
                conflict.path
            );
        }
        write!(formatter, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut last: Option<&Manager> = None;
        let mut bytes = 0;
        for (index, conflict) in self.0.iter().enumerate() {
            if bytes > MOST_TEXT {
                return write!(formatter, "\nand {} more conflicts", self.0.len() - index);
            }
            if last != Some(&conflict.manager) {
                let line = if last.is_some() { "\n" } else { "" };
                write!(
                    formatter,
                    "{line}conflicts with {}:",
                    described(&conflict.manager)
                )?;
                last = Some(&conflict.manager);
            }
            let path = conflict.path.to_string();
            bytes += path.len();
            write!(formatter, "\n- {path}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Conflicts {}
