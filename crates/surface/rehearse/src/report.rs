//! What a rehearsal comes to: what would break, restart, change, and what was left out.

use std::fmt;

use apply::diff::{Change, What};
use apply::object::{ObjectId, text};
use extension_controller::tree::Called;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// The kinds whose pods start anew when their template changes.
const WORKLOADS: [&str; 3] = ["DaemonSet", "Deployment", "StatefulSet"];

/// Where a workload says what its pods look like.
const TEMPLATE: &str = "spec.template";

/// How many changed fields of one object are told to people.
const MOST_FIELDS: usize = 20;

/// How much of a value is told to people.
const LONGEST_VALUE: usize = 160;

/// What an upgrade would do.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The extension.
    pub extension: String,
    /// The version that is installed.
    pub from: String,
    /// The version that was rehearsed.
    pub to: String,
    /// What would break.
    pub would_break: Vec<Break>,
    /// The workloads whose pods would start anew.
    pub would_restart: Vec<Restart>,
    /// The objects that would be made, changed or deleted.
    pub would_change: Vec<Changed>,
    /// What would stay as it is.
    pub unchanged: Unchanged,
    /// What was copied for the rehearsal.
    pub copied: Copied,
    /// What the rehearsal could not see or try, and what that means.
    pub not_rehearsed: Vec<String>,
}

/// Something that would break.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Break {
    /// The object.
    #[serde(serialize_with = "as_json")]
    pub object: ObjectId,
    /// The field, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Why.
    pub cause: String,
    /// What to do about it.
    pub next_step: String,
}

/// A workload whose pods would start anew.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restart {
    /// The workload.
    #[serde(serialize_with = "as_json")]
    pub object: ObjectId,
    /// What it belongs to: a custom resource, or the extension.
    pub part_of: String,
    /// How many pods it asks for; none for as many as there are nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<u64>,
    /// The fields of its pods that would change.
    pub fields: Vec<String>,
}

/// An object that would be made, changed or deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// What it belongs to: a custom resource, or the extension.
    pub part_of: String,
    /// What would become of it.
    pub change: Change,
}

impl Serialize for Changed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = self.change.to_json();
        value["partOf"] = json!(self.part_of);
        value.serialize(serializer)
    }
}

/// What would stay as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unchanged {
    /// Objects of the bundle and of releases.
    pub objects: usize,
    /// Custom resources whose release would stay as it is.
    pub resources: usize,
}

/// What was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    /// All objects.
    pub objects: usize,
    /// Custom resources of the extension, by their definitions.
    pub resources: Vec<CopiedKind>,
}

/// Custom resources that were copied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CopiedKind {
    /// The name of their definition.
    pub definition: String,
    /// How many were copied.
    pub copied: usize,
    /// How many were left out, at least.
    pub left_out: usize,
}

fn as_json<S: Serializer>(id: &ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
    let mut value = json!({"apiVersion": id.api_version, "kind": id.kind, "name": id.name});
    if !id.namespace.is_empty() {
        value["namespace"] = json!(id.namespace);
    }
    value.serialize(serializer)
}

impl Report {
    /// Returns whether the upgrade would do no harm.
    pub fn is_fine(&self) -> bool {
        self.would_break.is_empty()
    }

    /// Takes down what would become of an object; `after` is what it would be.
    pub fn take(&mut self, part_of: &str, change: Change, after: Option<&Value>) {
        let change = change.without_mark();
        match &change.what {
            What::Same => self.unchanged.objects += 1,
            What::Refused(cause) => self.would_break.push(Break {
                object: change.id.clone(),
                field: None,
                cause: cause.clone(),
                next_step:
                    "delete the object or have its owner let it go, or ask the author for another name"
                        .to_owned(),
            }),
            What::Create | What::Update | What::Delete => {
                self.would_restart.extend(restart(part_of, &change, after));
                self.would_change.push(Changed {
                    part_of: part_of.to_owned(),
                    change,
                });
            }
        }
    }

    /// Puts everything into an order that depends on nothing but what is told.
    pub fn sort(&mut self) {
        self.would_break.sort();
        self.would_break.dedup();
        self.would_restart
            .sort_by(|one, other| one.object.cmp(&other.object));
        self.would_change
            .sort_by(|one, other| (&one.part_of, &one.change.id).cmp(&(&other.part_of, &other.change.id)));
        self.not_rehearsed.sort();
        self.not_rehearsed.dedup();
    }
}

/// Returns whether a change makes pods start anew.
fn restart(part_of: &str, change: &Change, after: Option<&Value>) -> Option<Restart> {
    if change.what != What::Update || !WORKLOADS.contains(&change.id.kind.as_str()) {
        return None;
    }
    let after = after?;
    let fields: Vec<String> = change
        .fields
        .iter()
        .filter(|field| field.path.starts_with(TEMPLATE))
        .map(|field| field.path.clone())
        .collect();
    let waits_for_deletion = text(after, "/spec/updateStrategy/type") == "OnDelete";
    let pods = match change.id.kind.as_str() {
        "DaemonSet" => None,
        _ => Some(
            after
                .pointer("/spec/replicas")
                .and_then(Value::as_u64)
                .unwrap_or(1),
        ),
    };
    if fields.is_empty() || waits_for_deletion || pods == Some(0) {
        return None;
    }
    Some(Restart {
        object: change.id.clone(),
        part_of: part_of.to_owned(),
        pods,
        fields,
    })
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            extension, from, to, ..
        } = self;
        let verdict = match self.would_break.len() {
            0 => "would break nothing".to_owned(),
            1 => "would break 1 thing".to_owned(),
            several => format!("would break {several} things"),
        };
        writeln!(formatter, "{extension}: {from} -> {to} {verdict}")?;
        section(formatter, "would break", &self.would_break)?;
        section(formatter, "would restart", &self.would_restart)?;
        section(formatter, "would change", &self.would_change)?;
        let Unchanged { objects, resources } = self.unchanged;
        writeln!(
            formatter,
            "\nunchanged: {}, {} with their releases",
            counted(objects, "object"),
            counted(resources, "custom resource"),
        )?;
        for kind in &self.copied.resources {
            write!(
                formatter,
                "copied: {} of {}",
                counted(kind.copied, "resource"),
                kind.definition
            )?;
            match kind.left_out {
                0 => writeln!(formatter)?,
                left_out => writeln!(
                    formatter,
                    ", at least {left_out} more were left out; --sample takes more"
                )?,
            }
        }
        section(formatter, "not rehearsed", &self.not_rehearsed)
    }
}

fn section<T: fmt::Display>(formatter: &mut fmt::Formatter<'_>, title: &str, entries: &[T]) -> fmt::Result {
    if entries.is_empty() {
        return Ok(());
    }
    writeln!(formatter, "\n{title} ({})", entries.len())?;
    for entry in entries {
        for line in entry.to_string().lines() {
            writeln!(formatter, "  {line}")?;
        }
    }
    Ok(())
}

fn counted(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        several => format!("{several} {word}s"),
    }
}

impl fmt::Display for Break {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", Called(&self.object))?;
        if let Some(field) = &self.field {
            write!(formatter, ", {field}")?;
        }
        write!(
            formatter,
            ": {}\n    next: {}",
            self.cause.trim_end(),
            self.next_step
        )
    }
}

impl fmt::Display for Restart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pods = match self.pods {
            None => "a pod on each node".to_owned(),
            Some(1) => "1 pod".to_owned(),
            Some(several) => format!("{several} pods"),
        };
        write!(
            formatter,
            "{} of {} ({pods}): {}",
            Called(&self.object),
            self.part_of,
            self.fields[..self.fields.len().min(MOST_FIELDS)].join(", ")
        )?;
        more(formatter, self.fields.len(), ", and ")
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part_of, change } = self;
        let sign = match change.what {
            What::Create => '+',
            What::Delete => '-',
            _ => '~',
        };
        write!(formatter, "{sign} {} of {part_of}", Called(&change.id))?;
        for field in change.fields.iter().take(MOST_FIELDS) {
            write!(formatter, "\n    {}: ", field.path)?;
            match (&field.before, &field.after) {
                (Some(before), Some(after)) => write!(formatter, "{} -> {}", shown(before), shown(after))?,
                (None, Some(after)) => write!(formatter, "+ {}", shown(after))?,
                (Some(before), None) => write!(formatter, "- {}", shown(before))?,
                (None, None) => {}
            }
        }
        more(formatter, change.fields.len(), "\n    and ")
    }
}

fn more(formatter: &mut fmt::Formatter<'_>, fields: usize, lead: &str) -> fmt::Result {
    match fields.saturating_sub(MOST_FIELDS) {
        0 => Ok(()),
        left_out => write!(formatter, "{lead}{left_out} more"),
    }
}

/// A value as people read it; what is long ends early.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST_VALUE) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::keys;

    fn deployment(name: &str, replicas: u64, image: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "n"},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"name": "c", "image": image}]}}},
        })
    }

    fn between(before: &Value, after: &Value) -> Change {
        Change::between(&ObjectId::of(before), Some(before), Some(after))
    }

    #[test]
    fn pods_start_anew_when_their_template_changes() {
        let with = |object: &Value, pointer: &str, value: Value| {
            let mut object = object.clone();
            *object.pointer_mut(pointer).expect("a field") = value;
            object
        };
        let plain = deployment("a", 2, "i:1");
        let daemons = with(&plain, "/kind", json!("DaemonSet"));
        let mut patient = with(&plain, "/kind", json!("StatefulSet"));
        patient["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
        let image = "/spec/template/spec/containers/0/image";
        let rows = [
            (plain.clone(), image, json!("i:2"), Some(Some(2))),
            (plain.clone(), "/spec/replicas", json!(3), None),
            (deployment("a", 0, "i:1"), image, json!("i:2"), None),
            (daemons, image, json!("i:2"), Some(None)),
            (patient, image, json!("i:2"), None),
            (with(&plain, "/kind", json!("CronJob")), image, json!("i:2"), None),
        ];
        for (before, pointer, value, expected) in rows {
            let after = with(&before, pointer, value);
            let found = restart("it", &between(&before, &after), Some(&after));
            assert_eq!(found.map(|found| found.pods), expected, "{before} {pointer}");
        }
    }

    #[test]
    fn the_mark_of_a_version_is_no_change() {
        let marked = |version: &str, size: u32| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"size": size},
                "metadata": {"name": "m", "annotations": {keys::BUNDLE_VERSION: version}}})
        };
        let mut report = Report::default();
        report.take("it", between(&marked("1.0.0", 1), &marked("1.1.0", 1)), None);
        assert_eq!((report.unchanged.objects, report.would_change.len()), (1, 0));
        report.take("it", between(&marked("1.0.0", 1), &marked("1.1.0", 2)), None);
        let fields: Vec<&str> = report.would_change[0]
            .change
            .fields
            .iter()
            .map(|field| field.path.as_str())
            .collect();
        assert_eq!(fields, ["data.size"]);
    }

    fn report() -> Report {
        let mut report = Report {
            extension: "stack".to_owned(),
            from: "2.0.0".to_owned(),
            to: "2.1.0".to_owned(),
            ..Report::default()
        };
        let (old, new) = (deployment("web", 2, "i:1"), deployment("web", 2, "i:2"));
        report.take("Stack n/a", between(&old, &new), Some(&new));
        report.take("Stack n/a", between(&old, &old), Some(&old));
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}});
        let id = ObjectId::of(&map);
        report.take("Stack n/a", Change::between(&id, None, Some(&map)), Some(&map));
        report.take(
            "ClusterExtension stack",
            Change::between(&id, Some(&map), None),
            None,
        );
        report.take(
            "ClusterExtension stack",
            Change::refused(&id, "it belongs to another"),
            None,
        );
        report.would_break.push(Break {
            object: ObjectId {
                api_version: "example.com/v1".to_owned(),
                kind: "Stack".to_owned(),
                namespace: "n".to_owned(),
                name: "a".to_owned(),
            },
            field: Some("spec.size".to_owned()),
            cause: "too large".to_owned(),
            next_step: "make it smaller".to_owned(),
        });
        report.unchanged.resources = 1;
        report.copied = Copied {
            objects: 9,
            resources: vec![CopiedKind {
                definition: "stacks.example.com".to_owned(),
                copied: 1,
                left_out: 4,
            }],
        };
        report.not_rehearsed.push("hooks".to_owned());
        report.not_rehearsed.push("hooks".to_owned());
        report.sort();
        report
    }

    #[test]
    fn people_read_a_section_for_each_kind_of_news() {
        let expected = r#"stack: 2.0.0 -> 2.1.0 would break 2 things

would break (2)
  Stack n/a, spec.size: too large
      next: make it smaller
  ConfigMap n/m: it belongs to another
      next: delete the object or have its owner let it go, or ask the author for another name

would restart (1)
  Deployment n/web of Stack n/a (2 pods): spec.template.spec.containers[name=c].image

would change (3)
  - ConfigMap n/m of ClusterExtension stack
  ~ Deployment n/web of Stack n/a
      spec.template.spec.containers[name=c].image: "i:1" -> "i:2"
  + ConfigMap n/m of Stack n/a

unchanged: 1 object, 1 custom resource with their releases
copied: 1 resource of stacks.example.com, at least 4 more were left out; --sample takes more

not rehearsed (1)
  hooks
"#;
        assert_eq!(report().to_string(), expected);
        assert!(!report().is_fine());
    }

    #[test]
    fn programs_read_the_same() {
        let read = serde_json::to_value(report()).expect("a report");
        assert_eq!(
            read["wouldBreak"][0],
            json!({
                "object": {"apiVersion": "example.com/v1", "kind": "Stack", "namespace": "n", "name": "a"},
                "field": "spec.size", "cause": "too large", "nextStep": "make it smaller",
            })
        );
        assert_eq!(
            read["wouldChange"][0],
            json!({
                "action": "delete", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "n", "name": "m",
                "partOf": "ClusterExtension stack",
            })
        );
        assert_eq!(read["wouldRestart"][0]["pods"], 2);
        assert_eq!(read["unchanged"], json!({"objects": 1, "resources": 1}));
    }

    #[test]
    fn what_changes_nothing_is_told_in_few_words() {
        let report = Report {
            extension: "stack".to_owned(),
            from: "2.0.0".to_owned(),
            to: "2.0.1".to_owned(),
            ..Report::default()
        };
        assert!(report.is_fine());
        assert_eq!(
            report.to_string(),
            "stack: 2.0.0 -> 2.0.1 would break nothing\n\nunchanged: 0 objects, 0 custom resources with their releases\n"
        );
    }
}
