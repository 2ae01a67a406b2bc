//! The records of Helm's releases, brought from the live cluster: no more of them than an upgrade reads.

use apply::object::{ObjectId, text};
use apply::refusal::words;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chart::release::Status;
use chart::release::chunks::{FURTHER_KEY, INDEX_TYPE, further_names};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ApiResource, ListParams};
use kube::core::GroupVersionKind;
use release::history::{History, Revision};
use release::identity::ReleaseId;
use serde_json::Value;

use crate::copying::Copier;
use crate::impossible::Impossible;

/// More records than a release keeps, with the chunks of each.
const MOST_RECORDS: usize = 500;

/// Brings the records of a release; returns whether they may be seen.
pub(crate) async fn bring(
    copier: &mut Copier,
    live: &kube::Client,
    id: &ReleaseId,
) -> Result<bool, Impossible> {
    let secrets: Api<Secret> = Api::namespaced(live.clone(), &id.namespace);
    let release = format!("owner=helm,name={}", id.name);
    let listed = match secrets
        .list_metadata(&ListParams::default().labels(&release))
        .await
    {
        Ok(listed) => listed,
        Err(error) if matches!(&error, kube::Error::Api(status) if status.code == 403) => {
            copier.note(format!(
                "cannot list the records of releases in namespace {}: {}; what would change in its objects isn't known",
                id.namespace,
                words(&error)
            ));
            return Ok(false);
        }
        Err(error) => return Err(Impossible::live("list the records of releases", &error)),
    };
    let revisions = listed
        .items
        .iter()
        .filter_map(|secret| Revision::of(&secret.metadata));
    let needed = needed(&History::new(revisions.collect()));
    if needed.is_empty() {
        return Ok(true);
    }
    let numbers: Vec<String> = needed.iter().map(ToString::to_string).collect();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"));
    let selector = format!("{release},version in ({})", numbers.join(","));
    let records = copier
        .list(&resource, Some(&id.namespace), &selector, MOST_RECORDS)
        .await?;
    for record in records.objects {
        let chunks = further_chunks(&record);
        copier.put(record).await?;
        let chunks = chunks.into_iter().map(|name| ObjectId {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            namespace: id.namespace.clone(),
            name,
        });
        copier.bring(chunks).await?;
    }
    Ok(true)
}

/// The revisions that an upgrade reads: the last one, and if that isn't deployed, all back to the one that is.
fn needed(history: &History) -> Vec<i64> {
    let Some(last) = history.last() else {
        return Vec::new();
    };
    let first = match last.status {
        Status::Deployed => last.version,
        _ => history
            .base_before(last.version)
            .map_or(last.version, |base| base.version),
    };
    let revisions = history.revisions().iter().map(|revision| revision.version);
    revisions.filter(|version| *version >= first).collect()
}

/// The names of the Secrets that keep the rest of a record.
fn further_chunks(record: &Value) -> Vec<String> {
    if text(record, "/type") != INDEX_TYPE {
        return Vec::new();
    }
    let names = STANDARD.decode(text(record, &format!("/data/{FURTHER_KEY}")));
    names
        .ok()
        .and_then(|names| further_names(&names).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn history(revisions: &[(i64, &str)]) -> History {
        let read = |(version, status): &(i64, &str)| {
            let metadata = json!({"name": format!("v{version}"), "labels": {
                "owner": "helm", "name": "a", "version": version.to_string(), "status": status,
            }});
            Revision::of(&serde_json::from_value(metadata).expect("metadata")).expect("a record")
        };
        History::new(revisions.iter().map(read).collect())
    }

    #[test]
    fn only_what_an_upgrade_reads_is_brought() {
        let (old, new, failed) = ("superseded", "deployed", "failed");
        let rows = [
            (vec![], vec![]),
            (vec![(1, old), (2, old), (3, new)], vec![3]),
            (vec![(1, old), (2, new), (3, failed), (4, failed)], vec![2, 3, 4]),
            (vec![(1, failed)], vec![1]),
        ];
        for (revisions, expected) in rows {
            assert_eq!(needed(&history(&revisions)), expected, "{revisions:?}");
        }
    }

    #[test]
    fn a_record_in_several_secrets_names_the_others() {
        let record = json!({"type": INDEX_TYPE, "data": {FURTHER_KEY: STANDARD.encode(br#"["a","b"]"#)}});
        assert_eq!(further_chunks(&record), ["a", "b"]);
        assert!(further_chunks(&json!({"type": "helm.sh/release.v1"})).is_empty());
    }
}
