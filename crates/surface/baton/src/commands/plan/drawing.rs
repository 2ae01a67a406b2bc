//! A plan as text for people: a line for each thing that changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use apply::diff::{Change, FieldChange, What};
use apply::object::ObjectId;
use extension_controller::planning::{Planned, PlannedRevision, RoleChange, Tally};
use serde_json::Value;

/// The most characters of a value that are shown: a schema or an example has thousands.
const LONGEST_VALUE: usize = 120;

/// The most annotations that a line names.
const MOST_NAMED: usize = 4;

/// Draws a plan; without `all`, what stays as it is is only counted.
pub(super) fn told(planned: &Planned, all: bool) -> String {
    let name = &planned.extension;
    let mut text = String::new();
    for revision in &planned.revisions {
        text.push_str(&revision_told(name, "", revision, all));
    }
    if planned.revisions.is_empty() {
        let next = if planned.progress.starts_with("Succeeded") || planned.then.is_some() {
            String::new()
        } else {
            format!("; `baton explain {name}` says what could")
        };
        let now = if planned.then.is_some() { " now" } else { "" };
        let _ = writeln!(text, "{name}: nothing happens{now} ({}){next}", planned.progress);
    } else if let Some(waits_for) = &planned.waits_for {
        let _ = writeln!(text, "{name}: version {waits_for} waits ({})", planned.progress);
    }
    let Some(then) = &planned.then else {
        return text;
    };
    let once = format!("once {}: ", then.once.join(" and "));
    for revision in &then.revisions {
        text.push_str(&revision_told(name, &once, revision, all));
    }
    if then.revisions.is_empty() {
        let _ = writeln!(text, "{name}: {once}nothing happens ({})", then.progress);
    }
    text
}

fn revision_told(extension: &str, once: &str, revision: &PlannedRevision, all: bool) -> String {
    let mut text = format!(
        "{extension}: {once}{} revision {}\n",
        revision.action.verb(),
        revision.name
    );
    let mut changes = Vec::with_capacity(revision.objects.len());
    let mut renamed = 0;
    for change in &revision.objects {
        let change = change.clone().without_mark();
        if revision.is_succeeded(&change.id) {
            continue;
        }
        let Some(succession) = revision.predecessor(&change.id) else {
            changes.push((change, None));
            continue;
        };
        renamed += usize::from(succession.change.what == What::Same);
        changes.push((succession.change.clone(), Some(&succession.before)));
    }
    for (change, before) in &changes {
        if all || change.what != What::Same {
            text.push_str(&change_told(
                change,
                *before,
                revision.permissions.get(&change.id),
            ));
        }
    }
    if !changes.is_empty() {
        let changes: Vec<Change> = changes.into_iter().map(|(change, _)| change).collect();
        let tally = Tally::of(&changes);
        let renamed = match renamed {
            0 => String::new(),
            renamed => format!(" ({renamed} under another name)"),
        };
        let _ = writeln!(
            text,
            "  {} to make, {} to change, {} to delete, {} as they are{renamed}, {} refused",
            tally.made, tally.changed, tally.deleted, tally.same, tally.refused,
        );
    }
    text
}

/// The lines of an object: what becomes of it, and of its fields.
fn change_told(change: &Change, before: Option<&ObjectId>, rights: Option<&RoleChange>) -> String {
    let object = Change {
        fields: Vec::new(),
        ..change.clone()
    };
    // As in conditions, what is in no namespace has a slash before its name, which says nothing here.
    let object = object
        .to_string()
        .replacen(" /", " ", usize::from(change.id.namespace.is_empty()));
    let mut lines: Vec<String> = object.lines().map(str::to_owned).collect();
    if let (Some(first), Some(before)) = (lines.first_mut(), before) {
        let _ = write!(first, ", in place of {}", before.name);
    }
    for right in rights.iter().flat_map(|rights| &rights.allows) {
        lines.push(format!("    + {right}"));
    }
    for right in rights.iter().flat_map(|rights| &rights.forbids) {
        lines.push(format!("    - {right}"));
    }
    let fields = change
        .fields
        .iter()
        .filter(|field| rights.is_none() || !field.path.starts_with("rules"));
    lines.extend(fields_told(fields));
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "  {line}");
        text
    })
}

/// A line for each field; annotations of one object share one, since tools write many at once.
fn fields_told<'a>(fields: impl Iterator<Item = &'a FieldChange>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut annotations: BTreeMap<&str, Vec<&FieldChange>> = BTreeMap::new();
    for field in fields {
        match annotated(&field.path) {
            Some((place, _)) => annotations.entry(place).or_default().push(field),
            None => lines.push(field_told(field)),
        }
    }
    for (place, fields) in annotations {
        lines.push(match fields.as_slice() {
            [one] => field_told(one),
            several => {
                let names: Vec<&str> = several
                    .iter()
                    .filter_map(|field| Some(annotated(&field.path)?.1))
                    .collect();
                let more = names.len().saturating_sub(MOST_NAMED);
                let shown = names[..names.len() - more].join(", ");
                let more = match more {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("    {place}: {shown}{more} change")
            }
        });
    }
    lines
}

/// The place and the name of an annotation; none for other fields.
fn annotated(path: &str) -> Option<(&str, &str)> {
    const ANNOTATIONS: &str = "metadata.annotations";
    let (before, after) = path.split_once(ANNOTATIONS)?;
    let place = &path[..before.len() + ANNOTATIONS.len()];
    let name = after
        .trim_start_matches(['.', '[', '"'])
        .trim_end_matches(['"', ']']);
    (!name.is_empty()).then_some((place, name))
}

fn field_told(field: &FieldChange) -> String {
    let change = match (&field.before, &field.after) {
        (Some(before), Some(after)) => format!("{} -> {}", shown(before), shown(after)),
        (None, Some(after)) => format!("+ {}", shown(after)),
        (Some(before), None) => format!("- {}", shown(before)),
        (None, None) => String::new(),
    };
    format!("    {}: {change}", field.path)
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let length = text.chars().count();
    if length <= LONGEST_VALUE {
        return text;
    }
    let begin: String = text.chars().take(LONGEST_VALUE).collect();
    format!("{begin}… ({length} characters)")
}

#[cfg(test)]
mod tests {
    use extension_controller::planning::{Action, Succession, Then};
    use serde_json::json;

    use super::*;

    fn id(kind: &str, namespace: &str, name: &str) -> ObjectId {
        ObjectId {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn field(path: &str, before: Option<Value>, after: Option<Value>) -> FieldChange {
        FieldChange {
            path: path.to_owned(),
            before,
            after,
        }
    }

    fn revision(objects: Vec<Change>) -> PlannedRevision {
        PlannedRevision {
            name: "web-2".to_owned(),
            action: Action::Make,
            objects,
            successions: Vec::new(),
            permissions: BTreeMap::new(),
        }
    }

    fn planned(progress: &str, revisions: Vec<PlannedRevision>) -> Planned {
        Planned {
            extension: "web".to_owned(),
            progress: progress.to_owned(),
            waits_for: None,
            revisions,
            then: None,
        }
    }

    #[test]
    fn a_plan_has_a_line_for_each_change() {
        let mark = || {
            field(
                "metadata.annotations[\"olm.operatorframework.io/bundle-version\"]",
                Some(json!("1.0.0")),
                Some(json!("1.1.0")),
            )
        };
        let change = |id: ObjectId, what, fields| Change { id, what, fields };
        let (old, new) = (
            id("ClusterRole", "", "web.v1.0.0-sa"),
            id("ClusterRole", "", "web.v1.1.0-sa"),
        );
        let (old_binding, new_binding) = (
            id("ClusterRoleBinding", "", "web.v1.0.0-sa"),
            id("ClusterRoleBinding", "", "web.v1.1.0-sa"),
        );
        let template = |name: &str, value: Value| {
            field(
                &format!("spec.template.metadata.annotations{name}"),
                Some(json!("before")),
                Some(value),
            )
        };
        let mut next = revision(vec![
            change(id("ServiceAccount", "web", "sa"), What::Update, vec![mark()]),
            change(new.clone(), What::Create, Vec::new()),
            change(new_binding.clone(), What::Create, Vec::new()),
            change(
                id("Deployment", "web", "web"),
                What::Update,
                vec![
                    mark(),
                    field("spec.replicas", Some(json!(1)), Some(json!(2))),
                    template(".alm-examples", json!("x".repeat(200))),
                    template(".capabilities", json!("Full Lifecycle")),
                    template("[\"operators.example.com/built\"]", json!("now")),
                ],
            ),
            change(
                id("ConfigMap", "web", "long"),
                What::Update,
                vec![field("data.text", None, Some(json!("y".repeat(200))))],
            ),
            change(old.clone(), What::Delete, Vec::new()),
            change(old_binding.clone(), What::Delete, Vec::new()),
        ]);
        next.successions = vec![
            Succession {
                before: old,
                change: change(
                    new.clone(),
                    What::Update,
                    vec![field("rules[0].verbs[1]", None, Some(json!("create")))],
                ),
            },
            Succession {
                before: old_binding,
                change: change(new_binding, What::Same, Vec::new()),
            },
        ];
        next.permissions.insert(
            new,
            RoleChange {
                allows: vec!["secrets: create".to_owned()],
                forbids: vec!["pods: delete".to_owned()],
            },
        );
        insta::assert_snapshot!(told(&planned("RollingOut: on its way", vec![next]), false), @r#"
        web: make revision web-2
          ~ ClusterRole.v1 web.v1.1.0-sa, in place of web.v1.0.0-sa
              + secrets: create
              - pods: delete
          ~ Deployment.v1 web/web
              spec.replicas: 1 -> 2
              spec.template.metadata.annotations: alm-examples, capabilities, operators.example.com/built change
          ~ ConfigMap.v1 web/long
              data.text: + "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy… (202 characters)
          0 to make, 3 to change, 0 to delete, 2 as they are (1 under another name), 0 refused
        "#);
    }

    #[test]
    fn what_waits_is_told_with_what_would_follow() {
        let mut waiting = planned("Blocked: version 1.1.0 waits for approval", Vec::new());
        waiting.waits_for = Some("1.1.0".to_owned());
        let made = Change::between(
            &id("ConfigMap", "web", "a"),
            None,
            Some(&json!({"kind": "ConfigMap"})),
        );
        waiting.then = Some(Then {
            once: vec![
                "version 1.1.0 is approved".to_owned(),
                "the maintenance window opens at 2026-11-21T02:00:00Z".to_owned(),
            ],
            progress: "RollingOut: on its way".to_owned(),
            revisions: vec![revision(vec![made])],
        });
        insta::assert_snapshot!(told(&waiting, false), @r"
        web: nothing happens now (Blocked: version 1.1.0 waits for approval)
        web: once version 1.1.0 is approved and the maintenance window opens at 2026-11-21T02:00:00Z: make revision web-2
          + ConfigMap.v1 web/a
          1 to make, 0 to change, 0 to delete, 0 as they are, 0 refused
        ");
        let then = waiting.then.as_mut().expect("what follows");
        then.revisions.clear();
        then.progress = "Retrying: no such image".to_owned();
        insta::assert_snapshot!(told(&waiting, false), @r"
        web: nothing happens now (Blocked: version 1.1.0 waits for approval)
        web: once version 1.1.0 is approved and the maintenance window opens at 2026-11-21T02:00:00Z: nothing happens (Retrying: no such image)
        ");
        insta::assert_snapshot!(told(&planned("Succeeded: Desired state reached", Vec::new()), false), @r"web: nothing happens (Succeeded: Desired state reached)");
    }
}
