//! What a revision of a release changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use apply::diff::Change;
use apply::object::ObjectId;
use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chart::release::Release;
use release::documents;
use release::records::Records;
use serde_json::{Value, json};

use crate::conditions::shortened;
use crate::console::Console;
use crate::fault::Fault;
use crate::marks::{Empty, Link, Pill};
use crate::page::{Page, Section, Visit, shown};
use crate::plans::ChangeList;
use crate::releases::status_pill;
use crate::resources::{HISTORY, ResourceName, crumbs, read_resource};

/// Another revision to compare with.
struct Against {
    href: String,
    number: i64,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "revision.html")]
struct RevisionPage {
    page: Page,
    crumbs: Vec<Link>,
    number: i64,
    pill: Pill,
    description: String,
    against: Option<i64>,
    others: Vec<Against>,
    values: ChangeList,
    changes: ChangeList,
    notes: String,
    empty: Empty,
}

/// Shows what a revision changed against another one, which is the one before unless another is asked for.
pub(crate) async fn revision(
    State(console): State<Arc<Console>>,
    Path((group, version, kind, namespace, name, number)): Path<(
        String,
        String,
        String,
        String,
        String,
        String,
    )>,
    visit: Visit,
) -> Result<Response, Fault> {
    let name = ResourceName::read(&group, &version, &kind, &namespace, &name)?;
    let number: i64 = number
        .parse()
        .map_err(|_| Fault::bad_request(format!("{number:?} is no number of a revision")))?;
    let (_, id) = read_resource(&console, &name).await?;
    let records = Records::new(&console.releases, &id);
    let unread = |error| Fault::unanswered(&format!("read the release of {}", name.words()), error);
    let history = records.history().await.map_err(unread)?;
    let numbers: Vec<i64> = history
        .revisions()
        .iter()
        .map(|revision| revision.version)
        .collect();
    let before = numbers.iter().copied().filter(|other| *other < number).max();
    let against = match visit.parameters.filled("against") {
        None => before,
        Some(text) => Some(
            text.parse()
                .ok()
                .filter(|other| numbers.contains(other))
                .ok_or_else(|| {
                    Fault::bad_request(format!(
                        "{text:?} is no revision that is kept of {}",
                        name.words()
                    ))
                })?,
        ),
    };
    let Some(record) = records.read(number).await.map_err(unread)? else {
        return Err(Fault::not_found(format!(
            "revision {number} of {} isn't kept any more; there are {}",
            name.words(),
            numbers
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        )));
    };
    let older = match against {
        Some(against) => records
            .read(against)
            .await
            .map_err(unread)?
            .map(|record| record.release),
        None => None,
    };
    let release = record.release;
    let changes = object_changes(older.as_ref(), &release)
        .map_err(|cause| Fault::unanswered(&format!("compare the revisions of {}", name.words()), cause))?;
    let here = format!("{}/revisions/{number}", name.path());
    let others = numbers
        .iter()
        .rev()
        .filter(|other| **other != number)
        .take(HISTORY);
    shown(&RevisionPage {
        page: visit.page(
            format!("Revision {number} of {}", name.words()),
            Section::Resources,
        ),
        crumbs: crumbs(&name)
            .into_iter()
            .chain([Link::to(name.path(), name.words())])
            .collect(),
        number,
        pill: status_pill(release.info.status.as_str()),
        description: shortened(&release.info.description),
        against: older.as_ref().map(|older| older.version),
        others: others
            .map(|other| Against {
                href: format!("{here}?against={other}"),
                number: *other,
                is_chosen: against == Some(*other),
            })
            .collect(),
        values: ChangeList::of(&value_changes(older.as_ref(), &release)),
        changes: ChangeList::of(&changes),
        notes: shortened(release.info.notes.trim()),
        empty: Empty::new("No object changed", "Both revisions have the same objects."),
    })
}

/// What became of the objects from one revision to another.
fn object_changes(older: Option<&Release>, newer: &Release) -> Result<Vec<Change>, String> {
    let read = |release: &Release| -> Result<BTreeMap<ObjectId, Arc<Value>>, String> {
        let documents = documents::read(&release.manifest)
            .map_err(|error| format!("revision {}: {error}", release.version))?;
        Ok(documents
            .into_iter()
            .map(|document| (document.id, document.object))
            .collect())
    };
    let before = older.map(read).transpose()?.unwrap_or_default();
    let after = read(newer)?;
    let mut ids: Vec<&ObjectId> = before.keys().chain(after.keys()).collect();
    ids.sort_unstable();
    ids.dedup();
    let object = |objects: &'_ BTreeMap<ObjectId, Arc<Value>>, id: &ObjectId| objects.get(id).cloned();
    Ok(ids
        .into_iter()
        .map(|id| Change::between(id, object(&before, id).as_deref(), object(&after, id).as_deref()))
        .collect())
}

/// The values that a release was made with.
pub(crate) fn values_of(release: &Release) -> Value {
    let values = release.config.as_ref();
    let values = values.and_then(|values| serde_json::from_str(values.get()).ok());
    values.unwrap_or(Value::Null)
}

/// What became of the values from one revision to another; none where they are the same.
fn value_changes(older: Option<&Release>, newer: &Release) -> Vec<Change> {
    let values = |release: &Release| json!({"values": values_of(release)});
    let id = ObjectId {
        kind: "Values".to_owned(),
        ..ObjectId::default()
    };
    let Some(older) = older else {
        return Vec::new();
    };
    let change = Change::between(&id, Some(&values(older)), Some(&values(newer)));
    if change.fields.is_empty() {
        return Vec::new();
    }
    vec![change]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(version: i64, manifest: &str, config: &str) -> Release {
        let mut release = Release::default();
        release.version = version;
        release.manifest = manifest.to_owned();
        release.config = serde_json::value::RawValue::from_string(config.to_owned()).ok();
        release
    }

    #[test]
    fn revisions_are_compared_object_by_object_and_value_by_value() {
        let config_map = |name: &str, value: &str| {
            format!(
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  key: {value}\n"
            )
        };
        let older = release(
            1,
            &format!("{}{}", config_map("a", "one"), config_map("gone", "x")),
            r#"{"key":"one","same":1}"#,
        );
        let newer = release(
            2,
            &format!("{}{}", config_map("a", "two"), config_map("new", "x")),
            r#"{"key":"two","same":1}"#,
        );
        let changes: Vec<String> = object_changes(Some(&older), &newer)
            .expect("manifests")
            .iter()
            .map(ToString::to_string)
            .collect();
        insta::assert_snapshot!(changes.join("\n"), @r#"
        ~ ConfigMap.v1 /a
            data.key: "one" -> "two"
        - ConfigMap.v1 /gone
        + ConfigMap.v1 /new
        "#);
        let values = value_changes(Some(&older), &newer);
        assert_eq!(values[0].fields[0].path, "values.key");
        assert!(value_changes(Some(&newer), &newer).is_empty());
    }
}
