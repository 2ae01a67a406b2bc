//! Replacing: what fails again and again in the same way takes the place of its earlier tries, so that the history keeps
//! what once worked.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use chart::release::{Release, Status};
use serde_json::value::RawValue;

use super::Releases;
use super::rollback::ROLLBACK_TO;
use crate::history::Revision;
use crate::records::RecordError;

/// The most revisions that are read to compare them; a history has ten by default, and may be unlimited.
const MOST_COMPARED: usize = 20;

/// What became of a revision, as far as it matters for its place in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It failed, whatever was done about that later.
    Failed,
    /// It was the way back from one that failed, and another one took its place since.
    WentBack,
    /// It is what the cluster has.
    Deployed,
    /// Anything else; it stays.
    Other,
}

/// A revision and what it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tried {
    version: i64,
    fate: Fate,
    /// Tells what it was made from – the chart and the values – from other contents.
    content: u64,
}

impl Tried {
    fn of(release: &Release) -> Self {
        let info = &release.info;
        let failed = ["Release", "Upgrade", "Rollback"]
            .map(|action| format!("{action} {:?} failed: ", release.name))
            .iter()
            .any(|words| info.description.starts_with(words));
        let fate = match &info.status {
            Status::Failed => Fate::Failed,
            // Helm calls a revision superseded whose way back failed as well.
            Status::Superseded if failed => Fate::Failed,
            Status::Superseded if info.description.starts_with(ROLLBACK_TO) => Fate::WentBack,
            Status::Deployed => Fate::Deployed,
            _ => Fate::Other,
        };
        Self {
            version: release.version,
            fate,
            content: content(release),
        }
    }
}

/// Tells the chart and the values of a revision from others. Not the manifest: the number of the revision may be in it.
fn content(release: &Release) -> u64 {
    let mut hasher = DefaultHasher::new();
    release.chart.metadata().map(RawValue::get).hash(&mut hasher);
    for part in ["templates", "values", "files"] {
        release.chart.part(part).map(RawValue::get).hash(&mut hasher);
    }
    release.config.as_deref().map(RawValue::get).hash(&mut hasher);
    hasher.finish()
}

/// Returns the revisions in whose place newer ones stand: those that failed like a later one, and the ways back from them
/// where a later one went back to the same. What is deployed stays, and so does what once worked.
fn replaced(tried: &[Tried]) -> Vec<i64> {
    let mut replaced: Vec<i64> = Vec::new();
    for (index, one) in tried.iter().enumerate() {
        let later = tried.get(index + 1..).unwrap_or_default();
        let is_replaced = match one.fate {
            Fate::Failed => later
                .iter()
                .any(|other| other.fate == Fate::Failed && other.content == one.content),
            Fate::WentBack => {
                replaced.contains(&(one.version - 1))
                    && later.iter().any(|other| {
                        matches!(other.fate, Fate::WentBack | Fate::Deployed) && other.content == one.content
                    })
            }
            Fate::Deployed | Fate::Other => false,
        };
        if is_replaced {
            replaced.push(one.version);
        }
    }
    replaced
}

impl Releases {
    /// Deletes the revisions in whose place those of the last try stand, which are in the cluster by then: whoever is cut
    /// off in between leaves a longer history, and the next try makes up for it. Returns their numbers.
    pub async fn replace_failed(&self) -> Result<Vec<i64>, RecordError> {
        let history = self.records.history().await?;
        let mut tried = Vec::new();
        let newest = history.revisions().iter().rev();
        for revision in newest.take(MOST_COMPARED) {
            // One record at a time is in memory.
            if let Some(record) = self.records.read(revision.version).await? {
                tried.push(Tried::of(&record.release));
            }
        }
        tried.reverse();
        let replaced = replaced(&tried);
        let is_replaced = |revision: &&Revision| replaced.contains(&revision.version);
        for revision in history.revisions().iter().filter(is_replaced) {
            self.records.delete(revision).await?;
        }
        Ok(replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_again_takes_the_place_of_its_earlier_tries() {
        // Each revision is a letter for what became of it and one for what it was made from.
        let versions = |history: &[&str]| {
            let tried: Vec<Tried> = (1..)
                .zip(history)
                .map(|(version, words)| {
                    let (fate, content) = words.split_at(1);
                    let fate = match fate {
                        "F" => Fate::Failed,
                        "B" => Fate::WentBack,
                        "D" => Fate::Deployed,
                        _ => Fate::Other,
                    };
                    let content = content.bytes().map(u64::from).sum();
                    Tried {
                        version,
                        fate,
                        content,
                    }
                })
                .collect();
            replaced(&tried)
        };
        let nothing: [i64; 0] = [];
        let rows: &[(&[&str], &[i64])] = &[
            (&["-a", "Fx", "Da"], &nothing),
            (&["-a", "Fx", "Ba", "Fx", "Da"], &[2, 3]),
            (&["-a", "Fx", "Ba", "Fy", "Da"], &nothing),
            // What failed otherwise in between stays, with its way back.
            (&["-a", "Fx", "Ba", "Fy", "Ba", "Fx", "Da"], &[2, 3]),
            // A storm that an older version left.
            (
                &["Fx", "Ba", "Fx", "Ba", "Fx", "Ba", "Fx", "Da"],
                &[1, 2, 3, 4, 5, 6],
            ),
            // The way back fails as well.
            (&["Da", "Fx", "Fa", "Fx", "Fa"], &[2, 3]),
            // Somebody went back by hand, from what had worked.
            (&["-a", "-b", "Ba", "Fx", "Da"], &nothing),
            // What is new in between is what was deployed, and the way back leads elsewhere.
            (&["-a", "Fx", "Ba", "-b", "Fx", "Db"], &[2]),
            (&["-a", "Fx"], &nothing),
            (&[], &nothing),
        ];
        for (history, expected) in rows {
            assert_eq!(versions(history), *expected, "{history:?}");
        }
    }

    #[test]
    fn a_record_says_what_became_of_it_and_what_it_was_made_from() {
        let read = |status: &str, description: &str, version: i64, values: &str| {
            let record = format!(
                r#"{{"name":"a","info":{{"status":{status:?},"description":{description:?}}},"chart":{{"metadata":
                {{"name":"c","version":"1"}}}},"config":{values},"manifest":"m{version}","version":{version}}}"#
            );
            Tried::of(&Release::from_json(&record).expect("a release"))
        };
        let failed = read("failed", "Upgrade \"a\" failed: no", 2, r#"{"a":1}"#);
        assert_eq!(failed.fate, Fate::Failed);
        let again = read("superseded", "Upgrade \"a\" failed: no", 4, r#"{"a":1}"#);
        assert_eq!((again.fate, again.content), (failed.fate, failed.content));
        let other = read("superseded", "Upgrade complete", 5, r#"{"a":2}"#);
        assert_eq!(other.fate, Fate::Other);
        assert_ne!(other.content, failed.content);
        assert_eq!(read("superseded", "Rollback to 1", 3, "{}").fate, Fate::WentBack);
        assert_eq!(read("deployed", "Rollback to 1", 3, "{}").fate, Fate::Deployed);
        assert_eq!(
            read("pending-upgrade", "Preparing upgrade", 3, "{}").fate,
            Fate::Other
        );
    }
}
