//! The tree of an extension as text for people.

use std::fmt::Write as _;

use api::cluster_object_set::LifecycleState;
use api::condition::Condition;
use extension_controller::tree::{ExtensionTree, ObjectState, PhaseTree, RevisionTree, State};

/// The most objects that a line names: `baton status` names all.
const MOST_NAMED: usize = 3;

/// Draws a tree; without `all`, objects that are ready are only counted.
pub(crate) fn draw(tree: &ExtensionTree, all: bool) -> String {
    let mut text = String::new();
    let version = tree.installed_version.as_deref().unwrap_or("(nothing installed)");
    let _ = writeln!(
        text,
        "{}: {} {version} in {}",
        tree.name, tree.package, tree.namespace
    );
    let mut lines: Vec<(String, Vec<PhaseLines>)> = Vec::new();
    for kind in ["Installed", "Progressing", "Available", "Deprecated"] {
        let found = tree.conditions.iter().find(|condition| condition.kind == kind);
        // Nobody wants to read in each tree that nothing is deprecated.
        if let Some(condition) =
            found.filter(|condition| kind != "Deprecated" || condition.status.as_str() == "True")
        {
            lines.push((said(condition), Vec::new()));
        }
    }
    for revision in &tree.revisions {
        lines.push((revision_line(revision), phase_lines(revision, all)));
    }
    let last = lines.len().saturating_sub(1);
    for (index, (line, below)) in lines.iter().enumerate() {
        let (branch, indent) = branches(index == last);
        let _ = writeln!(text, "{branch}{}", line.replace('\n', &format!("\n{indent}")));
        let last = below.len().saturating_sub(1);
        for (index, (line, below)) in below.iter().enumerate() {
            let (branch, inner) = branches(index == last);
            let _ = writeln!(text, "{indent}{branch}{line}");
            let last = below.len().saturating_sub(1);
            for (index, line) in below.iter().enumerate() {
                let (branch, _) = branches(index == last);
                let _ = writeln!(text, "{indent}{inner}{branch}{line}");
            }
        }
    }
    text
}

/// The line of a phase, and those of its objects.
type PhaseLines = (String, Vec<String>);

fn branches(is_last: bool) -> (&'static str, &'static str) {
    if is_last {
        ("└─ ", "   ")
    } else {
        ("├─ ", "│  ")
    }
}

fn said(condition: &Condition) -> String {
    let Condition {
        kind,
        reason,
        message,
        ..
    } = condition;
    format!("{kind} {}, {reason}: {message}", condition.status.as_str())
}

fn revision_line(revision: &RevisionTree) -> String {
    let state = match revision.lifecycle_state {
        LifecycleState::Active => revision
            .conditions
            .iter()
            .find(|condition| condition.kind == "Progressing")
            .map_or_else(
                || "not looked at yet".to_owned(),
                |condition| format!("{}: {}", condition.reason, condition.message),
            ),
        LifecycleState::Archived => "archived".to_owned(),
    };
    format!("revision {} ({}) {state}", revision.name, revision.version)
}

fn phase_lines(revision: &RevisionTree, all: bool) -> Vec<PhaseLines> {
    let mut lines = Vec::new();
    if let Some(cause) = &revision.unreadable {
        lines.push((format!("its objects aren't known: {cause}"), Vec::new()));
    }
    // Phases go one after another: the first that isn't ready is what the others wait for.
    let mut waits_for: Option<&str> = None;
    for phase in &revision.phases {
        let ready = phase.ready();
        let mut line = format!("phase {}: {ready} of {} ready", phase.name, phase.objects.len());
        if let Some(earlier) = waits_for.filter(|_| ready < phase.objects.len()) {
            let _ = write!(line, ", after phase {earlier}");
        }
        lines.push((line, object_lines(phase, all, waits_for.is_some())));
        if ready < phase.objects.len() {
            waits_for.get_or_insert(&phase.name);
        }
    }
    lines
}

fn object_lines(phase: &PhaseTree, all: bool, is_waiting: bool) -> Vec<String> {
    // What an earlier phase holds up isn't there yet, and nobody needs it line by line.
    let shown = phase.objects.iter().filter(|object| {
        all || (object.state != State::Ready && !(is_waiting && object.state == State::Absent))
    });
    shown.map(object_line).collect()
}

/// What the newest revision waits for, in one line: the first phase that isn't ready, and its objects that aren't; none where
/// everything is ready.
pub(crate) fn obstacle(tree: &ExtensionTree) -> Option<String> {
    let in_use = |revision: &&RevisionTree| revision.lifecycle_state == LifecycleState::Active;
    let revision = tree.revisions.iter().rev().find(in_use)?;
    let phase = revision
        .phases
        .iter()
        .find(|phase| phase.ready() < phase.objects.len())?;
    let mut line = format!(
        "phase {} of {}: {} of {} ready",
        phase.name,
        revision.name,
        phase.ready(),
        phase.objects.len()
    );
    let waiting = object_lines(phase, false, false);
    for object in waiting.iter().take(MOST_NAMED) {
        let _ = write!(line, "; {object}");
    }
    if waiting.len() > MOST_NAMED {
        let _ = write!(line, "; and {} more", waiting.len() - MOST_NAMED);
    }
    Some(line)
}

fn object_line(object: &ObjectState) -> String {
    let state = match object.state {
        State::Ready => "ready".to_owned(),
        State::Absent => "isn't there".to_owned(),
        State::Waiting if object.waits_for.is_empty() => "waits".to_owned(),
        State::Waiting => format!("waits: {}", object.waits_for.join("; ")),
    };
    format!("{}: {state}", object.object)
}

#[cfg(test)]
mod tests {
    use api::condition::{ConditionStatus, Statement, set};
    use jiff::Timestamp;

    use super::*;

    fn conditions(statements: Vec<Statement>) -> Vec<Condition> {
        let mut conditions = Vec::new();
        for statement in statements {
            set(&mut conditions, statement, 1, Timestamp::UNIX_EPOCH);
        }
        conditions
    }

    fn object(name: &str, state: State, waits_for: &[&str]) -> ObjectState {
        ObjectState {
            object: name.to_owned(),
            state,
            waits_for: waits_for.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    #[test]
    fn a_tree_says_what_an_extension_waits_for() {
        use ConditionStatus::{False, True};
        let phase = |name: &str, objects| PhaseTree {
            name: name.to_owned(),
            objects,
            unread: 0,
        };
        let rolling = Statement::new(
            "Progressing",
            True,
            "RollingOut",
            "Revision 1.2.0 is rolling out.",
        );
        let tree = ExtensionTree {
            name: "web".to_owned(),
            package: "web-operator".to_owned(),
            namespace: "web-system".to_owned(),
            installed_version: Some("1.1.0".to_owned()),
            conditions: conditions(vec![
                Statement::new("Installed", True, "Succeeded", "Installed bundle"),
                rolling.clone(),
                Statement::new("Deprecated", False, "NotDeprecated", "not deprecated"),
            ]),
            revisions: vec![RevisionTree {
                name: "web-2".to_owned(),
                version: "1.2.0".to_owned(),
                lifecycle_state: LifecycleState::Active,
                conditions: conditions(vec![rolling]),
                unreadable: None,
                phases: vec![
                    phase(
                        "crds",
                        vec![object("CustomResourceDefinition webs", State::Ready, &[])],
                    ),
                    phase(
                        "deploy",
                        vec![object(
                            "Deployment web-system/web",
                            State::Waiting,
                            &["condition \"Available\" == \"True\": missing"],
                        )],
                    ),
                    phase(
                        "publish",
                        vec![object("Ingress web-system/web", State::Absent, &[])],
                    ),
                ],
            }],
        };
        assert_eq!(
            obstacle(&tree).as_deref(),
            Some(
                "phase deploy of web-2: 0 of 1 ready; Deployment web-system/web: waits: condition \"Available\" == \"True\": missing"
            )
        );
        insta::assert_snapshot!(draw(&tree, false), @r#"
        web: web-operator 1.1.0 in web-system
        ├─ Installed True, Succeeded: Installed bundle
        ├─ Progressing True, RollingOut: Revision 1.2.0 is rolling out.
        └─ revision web-2 (1.2.0) RollingOut: Revision 1.2.0 is rolling out.
           ├─ phase crds: 1 of 1 ready
           ├─ phase deploy: 0 of 1 ready
           │  └─ Deployment web-system/web: waits: condition "Available" == "True": missing
           └─ phase publish: 0 of 1 ready, after phase deploy
        "#);
        assert!(draw(&tree, true).contains("CustomResourceDefinition webs: ready"));
    }

    #[test]
    fn a_line_names_a_few_of_many_objects_and_nothing_where_all_is_ready() {
        let objects = |state| {
            let named = |number| object(&format!("ConfigMap web/{number}"), state, &[]);
            (1..=5).map(named).collect()
        };
        let tree = |state| ExtensionTree {
            name: "web".to_owned(),
            package: "web".to_owned(),
            namespace: "web".to_owned(),
            installed_version: None,
            conditions: Vec::new(),
            revisions: vec![RevisionTree {
                name: "web-1".to_owned(),
                version: "1.0.0".to_owned(),
                lifecycle_state: LifecycleState::Active,
                conditions: Vec::new(),
                unreadable: None,
                phases: vec![PhaseTree {
                    name: "configuration".to_owned(),
                    objects: objects(state),
                    unread: 0,
                }],
            }],
        };
        assert_eq!(obstacle(&tree(State::Ready)), None);
        assert_eq!(
            obstacle(&tree(State::Absent)).as_deref(),
            Some(
                "phase configuration of web-1: 0 of 5 ready; ConfigMap web/1: isn't there; ConfigMap web/2: isn't there; ConfigMap \
                 web/3: isn't there; and 2 more"
            )
        );
    }
}
