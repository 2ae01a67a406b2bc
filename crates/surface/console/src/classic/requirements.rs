//! What a version needs before it can be installed, as a tree.

use apply::object::text;
use serde_json::Value;
use service_version::requirements::is_met;

use super::list;
use super::states::of_requirement;
use crate::conditions::shortened;
use crate::marks::Pill;

/// How many requirements, and dependents of each, are shown; the objects have them all.
const MOST: usize = 200;

/// Something that is needed, with what it needs in turn.
pub(super) struct Requirement {
    pub(super) pill: Pill,
    pub(super) object: String,
    pub(super) message: String,
    pub(super) dependents: Vec<Dependent>,
    pub(super) unmet_dependents: usize,
    pub(super) left_out: usize,
}

/// Something that a requirement needs in turn: a rule that a service account lacks or has.
pub(super) struct Dependent {
    pub(super) pill: Pill,
    pub(super) kind: String,
    pub(super) message: String,
}

/// Everything that a version needs.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) met: usize,
    pub(super) total: usize,
    pub(super) requirements: Vec<Requirement>,
    pub(super) left_out: usize,
}

impl Tree {
    /// Reads what a version's status says of its requirements; those that aren't met come first.
    pub(super) fn of(version: &Value) -> Self {
        let entries = list(version, "/status/requirementStatus");
        let mut sorted: Vec<&Value> = entries.iter().collect();
        sorted.sort_by_key(|entry| is_met(entry));
        Self {
            met: entries.iter().filter(|entry| is_met(entry)).count(),
            total: entries.len(),
            requirements: sorted.into_iter().take(MOST).map(requirement).collect(),
            left_out: entries.len().saturating_sub(MOST),
        }
    }
}

fn requirement(entry: &Value) -> Requirement {
    let dependents = list(entry, "/dependents");
    let mut sorted: Vec<&Value> = dependents.iter().collect();
    sorted.sort_by_key(|dependent| is_met(dependent));
    let dependent = |dependent: &Value| Dependent {
        pill: of_requirement(dependent),
        kind: text(dependent, "/kind").to_owned(),
        message: shortened(text(dependent, "/message")),
    };
    Requirement {
        pill: of_requirement(entry),
        object: format!("{} {}", text(entry, "/kind"), text(entry, "/name")),
        message: shortened(text(entry, "/message")),
        dependents: sorted.into_iter().take(MOST).map(dependent).collect(),
        unmet_dependents: dependents.iter().filter(|dependent| !is_met(dependent)).count(),
        left_out: dependents.len().saturating_sub(MOST),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_comes_first_and_is_counted() {
        let rule =
            |status: &str| json!({"kind": "PolicyRule", "status": status, "message": "namespaced rule:{}"});
        let version = json!({"status": {"requirementStatus": [
            {"kind": "CustomResourceDefinition", "name": "a", "status": "Present"},
            {"kind": "ServiceAccount", "name": "b", "status": "PresentNotSatisfied",
                "dependents": [rule("Satisfied"), rule("NotSatisfied")]},
        ]}});
        let tree = Tree::of(&version);
        assert_eq!((tree.met, tree.total, tree.left_out), (1, 2, 0));
        let first = &tree.requirements[0];
        assert_eq!(
            (first.object.as_str(), first.unmet_dependents),
            ("ServiceAccount b", 1)
        );
        assert_eq!(first.dependents[0].pill.text, "NotSatisfied");
    }

    #[test]
    fn a_long_list_is_cut_and_the_rest_counted() {
        let entries: Vec<Value> = (0..MOST + 5).map(|_| json!({"status": "Present"})).collect();
        let tree = Tree::of(&json!({"status": {"requirementStatus": entries}}));
        assert_eq!((tree.requirements.len(), tree.left_out), (MOST, 5));
    }
}
