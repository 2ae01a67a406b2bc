//! The history of a release: which revisions it has, as far as their Secrets' labels tell.

use std::collections::BTreeMap;

use chart::release::Status;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A revision, as its Secret's labels tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its number.
    pub version: i64,
    /// What state it is in.
    pub status: Status,
    /// The name of the Secret.
    pub secret: String,
    /// The state of the Secret.
    pub resource_version: String,
    /// When it was written last; none if nobody knows.
    pub written: Option<Timestamp>,
    /// All labels of the Secret.
    pub labels: BTreeMap<String, String>,
}

impl Revision {
    /// Reads the labels of a Secret; none if it keeps no record of Helm's.
    pub fn of(metadata: &ObjectMeta) -> Option<Self> {
        let labels = metadata.labels.clone().unwrap_or_default();
        let label = |key: &str| labels.get(key).map(String::as_str);
        if label("owner") != Some("helm") || label("type") == Some("chunk") {
            return None;
        }
        let seconds = |key: &str| label(key)?.parse().ok();
        let written = seconds("modifiedAt").max(seconds("createdAt"));
        Some(Self {
            version: label("version")?.parse().ok()?,
            status: Status::from_name(label("status")?),
            secret: metadata.name.clone()?,
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            written: written.and_then(|seconds| Timestamp::from_second(seconds).ok()),
            labels,
        })
    }
}

/// The revisions of a release, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    revisions: Vec<Revision>,
}

impl History {
    /// Puts revisions in their order.
    pub fn new(mut revisions: Vec<Revision>) -> Self {
        revisions.sort_by_key(|revision| revision.version);
        Self { revisions }
    }

    /// The revisions, the first one first.
    pub fn revisions(&self) -> &[Revision] {
        &self.revisions
    }

    /// The last revision.
    pub fn last(&self) -> Option<&Revision> {
        self.revisions.last()
    }

    /// The last revision that is deployed; there may be several after a mishap.
    pub fn deployed(&self) -> Option<&Revision> {
        self.all_deployed().last()
    }

    /// Every revision that is deployed.
    pub fn all_deployed(&self) -> impl DoubleEndedIterator<Item = &Revision> {
        self.revisions
            .iter()
            .filter(|revision| revision.status == Status::Deployed)
    }

    /// Finds a revision by its number.
    pub fn get(&self, version: i64) -> Option<&Revision> {
        self.revisions.iter().find(|revision| revision.version == version)
    }

    /// Returns the revision whose objects are in the cluster, as far as one before `version` is: the deployed one; where
    /// an action was cut short between two records, the last one that was deployed; else the last one.
    pub fn base_before(&self, version: i64) -> Option<&Revision> {
        let before = || {
            self.revisions
                .iter()
                .rev()
                .filter(move |revision| revision.version < version)
        };
        let with = |status: Status| before().find(|revision| revision.status == status);
        with(Status::Deployed)
            .or_else(|| with(Status::Superseded))
            .or_else(|| before().next())
    }

    /// Returns the revisions that must go so that one more fits: the oldest ones, but never the deployed one or, where an
    /// action was cut short and none is, the last one that was. A limit of 0 is none.
    pub fn outdated(&self, limit: usize) -> Vec<&Revision> {
        if limit == 0 {
            return Vec::new();
        }
        let surplus = (self.revisions.len() + 1).saturating_sub(limit);
        let superseded = || {
            let mut revisions = self.revisions.iter().rev();
            revisions.find(|revision| revision.status == Status::Superseded)
        };
        let good = self.deployed().or_else(superseded);
        let good = good.map(|revision| revision.version);
        self.revisions
            .iter()
            .filter(|revision| Some(revision.version) != good)
            .take(surplus)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(statuses: &[&str]) -> History {
        let revision = |(index, status): (usize, &&str)| Revision {
            version: index as i64 + 1,
            status: Status::from_name(status),
            secret: String::new(),
            resource_version: String::new(),
            written: None,
            labels: BTreeMap::new(),
        };
        History::new(statuses.iter().enumerate().rev().map(revision).collect())
    }

    #[test]
    fn the_oldest_go_but_never_the_deployed_one() {
        let versions = |statuses: &[&str], limit| -> Vec<i64> {
            let history = history(statuses);
            let outdated = history.outdated(limit);
            outdated.iter().map(|revision| revision.version).collect()
        };
        assert_eq!(versions(&["superseded", "deployed"], 10), Vec::<i64>::new());
        assert_eq!(versions(&["superseded", "superseded", "deployed"], 3), [1]);
        assert_eq!(versions(&["deployed", "failed", "failed"], 2), [2, 3]);
        assert_eq!(versions(&["deployed", "failed", "failed"], 3), [2]);
        assert_eq!(versions(&["superseded"; 40], 0), Vec::<i64>::new());
        assert_eq!(versions(&["deployed"], 1), Vec::<i64>::new());
        // Between two records of an action that was cut short none is deployed.
        assert_eq!(versions(&["superseded", "failed", "failed"], 2), [2, 3]);
        assert_eq!(versions(&["superseded", "superseded", "failed"], 3), [1]);
        assert_eq!(versions(&["failed", "failed"], 2), [1]);
    }

    #[test]
    fn the_base_is_what_the_cluster_has() {
        let base = |statuses: &[&str], version| {
            let history = history(statuses);
            history.base_before(version).map(|revision| revision.version)
        };
        assert_eq!(
            base(&["superseded", "deployed", "failed", "pending-upgrade"], 4),
            Some(2)
        );
        assert_eq!(base(&["superseded", "superseded", "pending-upgrade"], 3), Some(2));
        assert_eq!(base(&["failed", "pending-upgrade"], 2), Some(1));
        assert_eq!(base(&["pending-install"], 1), None);
    }

    #[test]
    fn only_records_of_helm_are_revisions() {
        let revision = |labels: &[(&str, &str)]| {
            let labels = labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            Revision::of(&ObjectMeta {
                name: Some("s".to_owned()),
                labels: Some(labels.collect()),
                ..ObjectMeta::default()
            })
        };
        let helm = [
            ("owner", "helm"),
            ("version", "3"),
            ("status", "deployed"),
            ("modifiedAt", "7"),
        ];
        let found = revision(&helm).expect("a revision");
        assert_eq!((found.version, found.status), (3, Status::Deployed));
        assert_eq!(found.written, Timestamp::from_second(7).ok());
        assert_eq!(
            revision(&[("owner", "helm"), ("version", "x"), ("status", "a")]),
            None
        );
        assert_eq!(
            revision(&[("owner", "b"), ("version", "3"), ("status", "a")]),
            None
        );
        assert_eq!(
            revision(&[
                ("owner", "helm"),
                ("type", "chunk"),
                ("version", "3"),
                ("status", "a")
            ]),
            None
        );
    }
}
