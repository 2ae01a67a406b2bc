//! Collecting garbage: what no manifest refers to any more is removed, beside running pushes.
//!
//! The collector looks without holding anyone up, and takes the store's gate alone only for the moment of each removal.
//! What is referred to after it began is noted by those who refer, so that it never removes on old news. What is younger
//! than a grace age stays in any case: a push stores its blobs first and the manifest that refers to them last.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use super::content_digest::{Algorithm, ContentDigest};
use super::durable::{self, if_present};
use super::names::RepositoryName;
use super::store::{During, Store, StoreError};

/// How old garbage must be by default: longer than the slowest push takes from its first blob to its manifest.
pub const DEFAULT_GRACE: Duration = Duration::from_hours(2);

/// What a collection may remove.
#[derive(Debug, Clone)]
pub struct GarbageOptions {
    /// How old something must be before it counts as garbage.
    pub grace: Duration,
    /// Whether manifests go that no tag leads to, directly, through an index or as a referrer.
    pub remove_untagged: bool,
}

impl Default for GarbageOptions {
    fn default() -> Self {
        Self {
            grace: DEFAULT_GRACE,
            remove_untagged: false,
        }
    }
}

/// What a collection did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GarbageReport {
    /// How many repositories were looked at.
    pub repositories: usize,
    /// How many manifests without a tag were removed.
    pub manifests_removed: usize,
    /// How many blobs were taken away from a repository.
    pub memberships_removed: usize,
    /// How many files with content were removed.
    pub blobs_removed: usize,
    /// How many bytes those had.
    pub bytes_freed: u64,
    /// How many abandoned uploads were thrown away.
    pub uploads_expired: usize,
    /// Repositories that were left alone because a manifest of theirs can't be read, each with the reason.
    pub skipped: Vec<String>,
}

/// What a manifest keeps alive.
struct References {
    parts: Vec<ContentDigest>,
    subject: Option<ContentDigest>,
}

/// While it lives, uses of content are noted.
struct Noting<'a>(&'a Store);

impl<'a> Noting<'a> {
    fn begin(store: &'a Store) -> Self {
        // Whoever is adding something now is waited for; whoever adds later notes it.
        let _removing = store.removing();
        *store.meanwhile.lock().unwrap_or_else(PoisonError::into_inner) = Some(HashSet::new());
        Self(store)
    }

    fn was_used(&self, digest: &ContentDigest) -> bool {
        let meanwhile = self.0.meanwhile.lock().unwrap_or_else(PoisonError::into_inner);
        meanwhile.as_ref().is_none_or(|used| used.contains(digest))
    }
}

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        *self.0.meanwhile.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Removes what nothing refers to. The caller makes sure that only one collection runs.
pub(super) fn collect(store: &Store, options: &GarbageOptions) -> Result<GarbageReport, StoreError> {
    let mut report = GarbageReport::default();
    let noting = Noting::begin(store);
    let mut linked = HashSet::new();
    for repository in store.all_repositories()? {
        report.repositories += 1;
        match collect_repository(store, &noting, &repository, options, &mut report) {
            Ok(()) => {}
            Err(error @ StoreError::Damaged { .. }) => report.skipped.push(format!("{repository}: {error}")),
            Err(error) => return Err(error),
        }
        linked.extend(store.members(&repository)?);
        linked.extend(store.manifests(&repository)?);
    }
    for algorithm in Algorithm::ALL {
        sweep_content(store, &noting, algorithm, &linked, options, &mut report)?;
    }
    Ok(report)
}

fn collect_repository(
    store: &Store,
    noting: &Noting<'_>,
    repository: &RepositoryName,
    options: &GarbageOptions,
    report: &mut GarbageReport,
) -> Result<(), StoreError> {
    let mut known = HashMap::new();
    learn_references(store, repository, &mut known)?;
    if options.remove_untagged {
        remove_untagged(store, repository, &mut known, options, report)?;
    }
    let used: HashSet<&ContentDigest> = known.values().flat_map(|references| &references.parts).collect();
    for digest in store.members(repository)? {
        if used.contains(&digest) {
            continue;
        }
        let action = || format!("remove unused blob {digest} from {repository}");
        let member = store.layout.member(repository, &digest);
        let _removing = store.removing();
        if !noting.was_used(&digest) && is_old(&member, options.grace).during(action)? {
            // Without syncing: should it come back after a power failure, it is removed again.
            fs::remove_file(&member).during(action)?;
            report.memberships_removed += 1;
        }
    }
    Ok(())
}

/// Reads the manifests of a repository that aren't known yet, and forgets those that are gone.
fn learn_references(
    store: &Store,
    repository: &RepositoryName,
    known: &mut HashMap<ContentDigest, References>,
) -> Result<(), StoreError> {
    let present: HashSet<ContentDigest> = store.manifests(repository)?.into_iter().collect();
    known.retain(|digest, _| present.contains(digest));
    for digest in present {
        if known.contains_key(&digest) {
            continue;
        }
        if let Some(manifest) = store.parsed_manifest(repository, &digest)? {
            let references = References {
                parts: manifest.parts().map(|(_, part)| part.digest.clone()).collect(),
                subject: manifest.subject.map(|subject| subject.digest),
            };
            known.insert(digest, references);
        }
    }
    Ok(())
}

/// Removes the manifests that no tag leads to. What leads where is decided while nobody can change it; the manifests
/// have mostly been read before, so that this is short.
fn remove_untagged(
    store: &Store,
    repository: &RepositoryName,
    known: &mut HashMap<ContentDigest, References>,
    options: &GarbageOptions,
    report: &mut GarbageReport,
) -> Result<(), StoreError> {
    let _removing = store.removing();
    learn_references(store, repository, known)?;
    let mut referrers: HashMap<&ContentDigest, Vec<&ContentDigest>> = HashMap::new();
    for (digest, references) in &*known {
        if let Some(subject) = &references.subject {
            referrers.entry(subject).or_default().push(digest);
        }
    }
    let mut kept = HashSet::new();
    let mut open = Vec::new();
    for tag in store.tags(repository)? {
        open.extend(store.tag(repository, &tag)?);
    }
    for digest in known.keys() {
        let action = || format!("look at the age of manifest {digest} of {repository}");
        if !is_old(&store.layout.manifest(repository, digest), options.grace).during(action)? {
            open.push(digest.clone());
        }
    }
    while let Some(digest) = open.pop() {
        if let Some(references) = known.get(&digest) {
            open.extend(
                references
                    .parts
                    .iter()
                    .filter(|part| !kept.contains(*part))
                    .cloned(),
            );
        }
        open.extend(
            referrers
                .get(&digest)
                .into_iter()
                .flatten()
                .filter(|referrer| !kept.contains(**referrer))
                .map(|referrer| (*referrer).clone()),
        );
        kept.insert(digest);
    }
    let garbage: Vec<ContentDigest> = known
        .keys()
        .filter(|digest| !kept.contains(*digest))
        .cloned()
        .collect();
    for digest in garbage {
        store.forget_manifest(repository, &digest)?;
        known.remove(&digest);
        report.manifests_removed += 1;
    }
    Ok(())
}

/// Removes content that no repository has.
fn sweep_content(
    store: &Store,
    noting: &Noting<'_>,
    algorithm: Algorithm,
    linked: &HashSet<ContentDigest>,
    options: &GarbageOptions,
    report: &mut GarbageReport,
) -> Result<(), StoreError> {
    let folder = store.layout.blobs(algorithm);
    let action = || "remove content that no repository has".to_owned();
    for prefix in durable::names_in(&folder).during(action)? {
        for name in durable::names_in(&folder.join(&prefix)).during(action)? {
            let Ok(digest) = format!("{}:{name}", algorithm.name()).parse::<ContentDigest>() else {
                continue;
            };
            if linked.contains(&digest) {
                continue;
            }
            let blob = store.layout.blob(&digest);
            let _removing = store.removing();
            if noting.was_used(&digest) || !is_old(&blob, options.grace).during(action)? {
                continue;
            }
            if let Some(metadata) = if_present(fs::metadata(&blob)).during(action)? {
                fs::remove_file(&blob).during(action)?;
                report.blobs_removed += 1;
                report.bytes_freed += metadata.len();
            }
        }
    }
    Ok(())
}

/// Returns whether a file was last made young at least `age` ago. A file from the future is young.
fn is_old(path: &Path, age: Duration) -> std::io::Result<bool> {
    let Some(metadata) = if_present(fs::metadata(path))? else {
        return Ok(false);
    };
    let resting = SystemTime::now().duration_since(metadata.modified()?);
    Ok(resting.is_ok_and(|resting| resting >= age))
}
