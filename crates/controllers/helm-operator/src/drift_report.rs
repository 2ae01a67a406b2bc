//! What others changed, field by field, in words.

use std::collections::BTreeSet;

use apply::diff::{Change, What};
use apply::object::ObjectId;
use release::scaling::REPLICAS;

/// How many fields a report names; the rest is counted.
const NAMED: usize = 20;

/// Names what was found changed.
pub fn fields(changes: &[Change]) -> Vec<String> {
    let mut all = Vec::new();
    for change in changes {
        let object = format!("{} {}", change.id.kind, change.id.name);
        match &change.what {
            What::Create => all.push(format!("{object} was deleted")),
            What::Update => {
                let names: Vec<&str> = change.fields.iter().map(|field| field.path.as_str()).collect();
                all.push(format!("{object}: {}", names.join(", ")));
            }
            What::Delete | What::Same | What::Refused(_) => {}
        }
    }
    shortened(all)
}

/// Names what is left to others, and to whom.
pub fn left(scaled: &[(ObjectId, String)]) -> Vec<String> {
    let line = |(id, by): &(ObjectId, String)| {
        format!(
            "{} {}: {REPLICAS} is left to {by}, which scales it",
            id.kind, id.name
        )
    };
    shortened(scaled.iter().map(line).collect())
}

/// Names what is left to others by now: of the objects that were looked at – all, if none are named – what was found, of the
/// rest what was known before.
pub fn left_by_now(
    before: &[String],
    looked_at: Option<&BTreeSet<ObjectId>>,
    scaled: &[(ObjectId, String)],
) -> Vec<String> {
    let begins = |line: &str, id: &ObjectId| line.starts_with(&format!("{} {}: ", id.kind, id.name));
    let is_known = |line: &&String| {
        looked_at.is_some_and(|looked_at| !looked_at.iter().any(|id| begins(line, id)))
            // How many there are beyond those that are named is counted anew.
            && line.contains(": ")
    };
    let mut all: Vec<String> = before.iter().filter(is_known).cloned().collect();
    all.extend(left(scaled));
    all.sort();
    shortened(all)
}

fn shortened(mut all: Vec<String>) -> Vec<String> {
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    if more > 0 {
        all.push(format!("{more} more objects"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_known_until_its_object_is_looked_at() {
        let deployment = |name: &str| ObjectId {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: "models".to_owned(),
            name: name.to_owned(),
        };
        let line = |name: &str| format!("Deployment {name}: spec.replicas is left to hpa, which scales it");
        let found = |name: &str| (deployment(name), "hpa".to_owned());
        let before = [line("a"), line("ab")];
        let looked_at =
            |names: &[&str]| Some(names.iter().map(|name| deployment(name)).collect::<BTreeSet<_>>());
        let rows = [
            (looked_at(&["c"]), vec![], vec![line("a"), line("ab")]),
            (looked_at(&["a"]), vec![], vec![line("ab")]),
            (looked_at(&["a"]), vec![found("a")], vec![line("a"), line("ab")]),
            (
                looked_at(&["c"]),
                vec![found("c")],
                vec![line("a"), line("ab"), line("c")],
            ),
            (None, vec![], vec![]),
            (None, vec![found("b")], vec![line("b")]),
        ];
        for (looked_at, scaled, expected) in rows {
            assert_eq!(
                left_by_now(&before, looked_at.as_ref(), &scaled),
                expected,
                "{looked_at:?}"
            );
        }
    }
}
