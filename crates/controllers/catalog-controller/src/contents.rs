//! What is served: in memory for those who read, on disk for the next start.
//!
//! ```text
//! <folder>/served/<catalog>.json   which image a catalog is served from, and since when
//! <folder>/stores/<digest>.catalog the catalogs themselves; catalogs of the same image share one
//! <folder>/stores/<digest>.<code>  the same, compressed, made when somebody asks for it
//! <folder>/unpacking/              images while they are unpacked
//! ```
//!
//! Readers take what is served at that instant and keep it for the whole of an answer. Replacing it is one exchange of a
//! pointer: nobody waits, and nobody is cut off, because files stay readable until the last reader lets go.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use bytes::Bytes;
use catalog::store::{Store, StoreError};
use image::digest::Digest;
use image::reference::Reference;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::{OnceCell, watch};

use crate::encoding::Encoding;
use crate::graphql::{CatalogShape, Types};
use crate::status::Content;

/// How the name of a store's file ends.
const STORE_SUFFIX: &str = ".catalog";
/// How the name of a record's file ends.
const RECORD_SUFFIX: &str = ".json";

/// Why what is served can't be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {cause}", path.display())]
pub struct ContentsError {
    /// What was being done.
    pub action: &'static str,
    /// With which file.
    pub path: PathBuf,
    /// What the disk said.
    pub cause: io::Error,
}

impl ContentsError {
    fn of(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self {
            action,
            path: path.to_path_buf(),
            cause,
        }
    }
}

/// A catalog that is served.
#[derive(Debug)]
pub struct Served {
    reference: String,
    digest: Digest,
    unpacked: Timestamp,
    store: Arc<Store>,
    types: OnceLock<Result<Types, String>>,
    compressed: [OnceCell<PathBuf>; Encoding::ALL.len()],
    is_verified: AtomicBool,
    folder: PathBuf,
}

impl Served {
    fn new(reference: String, unpacked: Timestamp, store: Store, folder: PathBuf) -> Self {
        Self {
            reference,
            digest: *store.digest(),
            unpacked,
            store: Arc::new(store),
            types: OnceLock::new(),
            compressed: Default::default(),
            is_verified: AtomicBool::new(false),
            folder,
        }
    }

    /// The image, by digest.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// The digest of the image.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// When the image was unpacked.
    pub fn unpacked(&self) -> Timestamp {
        self.unpacked
    }

    /// The catalog.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The whole catalog, straight from the mapped file. The first time, every byte of it is checked.
    pub(crate) async fn whole(&self) -> Result<Bytes, StoreError> {
        if self.is_verified.load(Ordering::Relaxed) {
            return self.store.content();
        }
        let store = Arc::clone(&self.store);
        let content = match tokio::task::spawn_blocking(move || store.content()).await {
            Ok(content) => content?,
            Err(_) => self.store.content()?,
        };
        self.is_verified.store(true, Ordering::Relaxed);
        Ok(content)
    }

    /// The types for queries, made when they are first asked for. Blocks meanwhile.
    pub fn types(&self) -> Result<&Types, &str> {
        let types = self.types.get_or_init(|| {
            let shape = CatalogShape::of(&self.store).map_err(|error| error.to_string())?;
            Types::of(shape).map_err(|error| format!("error building GraphQL schema: {error}"))
        });
        types.as_ref().map_err(String::as_str)
    }

    /// The file that holds the whole catalog compressed, made when it is first asked for.
    pub(crate) async fn compressed(&self, encoding: Encoding) -> Result<&Path, ContentsError> {
        let cell = &self.compressed[encoding as usize];
        let path = cell
            .get_or_try_init(|| async {
                let store = Arc::clone(&self.store);
                let folder = self.folder.clone();
                let path = folder.join(format!("{}.{}", self.digest.hex(), encoding.token()));
                let target = path.clone();
                let work = tokio::task::spawn_blocking(move || compress(&store, encoding, &folder, target));
                work.await
                    .unwrap_or_else(|error| Err(ContentsError::of("write", &path)(io::Error::other(error))))
            })
            .await?;
        Ok(path)
    }
}

/// Writes the whole catalog compressed to `path`, unless that was done before.
fn compress(
    store: &Store,
    encoding: Encoding,
    folder: &Path,
    path: PathBuf,
) -> Result<PathBuf, ContentsError> {
    if path.is_file() {
        return Ok(path);
    }
    let failed = |error| ContentsError::of("write", &path)(error);
    let content = store.content().map_err(|error| failed(io::Error::other(error)))?;
    let mut file = tempfile::Builder::new()
        .prefix(".")
        .tempfile_in(folder)
        .map_err(failed)?;
    encoding
        .compress(&content, io::BufWriter::new(file.as_file_mut()))
        .map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(path)
}

/// What is remembered of a catalog on disk.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    reference: String,
    unpacked: Timestamp,
}

/// How far a withdrawal came before it failed.
#[derive(Debug, thiserror::Error)]
pub enum WithdrawError {
    /// The catalog is still served.
    #[error(transparent)]
    StillServed(ContentsError),
    /// It isn't served any more, but its files are left.
    #[error(transparent)]
    FilesLeft(ContentsError),
}

/// All catalogs that are served.
#[derive(Debug)]
pub struct Contents {
    folder: PathBuf,
    served: ArcSwap<BTreeMap<String, Arc<Served>>>,
    /// Held while what is served and the files change together.
    changing: Mutex<()>,
    /// Stores that are being built or about to be served, which therefore aren't left over.
    expected: Mutex<Vec<Digest>>,
    changes: watch::Sender<u64>,
}

impl Contents {
    /// Opens a folder and serves what was served from it before. Blocks.
    pub fn open(folder: &Path) -> Result<Self, ContentsError> {
        let contents = Self {
            folder: folder.to_path_buf(),
            served: ArcSwap::default(),
            changing: Mutex::new(()),
            expected: Mutex::default(),
            changes: watch::Sender::new(0),
        };
        let unpacking = contents.workplace();
        match fs::remove_dir_all(&unpacking) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ContentsError::of("empty", &unpacking)(error));
            }
            _ => {}
        }
        for part in [contents.records(), contents.stores(), unpacking] {
            fs::create_dir_all(&part).map_err(ContentsError::of("create", &part))?;
        }
        let mut served = BTreeMap::new();
        for name in contents.recorded()? {
            // What can't be read is fetched again, as if it had never been there.
            if let Some(found) = contents.reopen(&name) {
                served.insert(name, Arc::new(found));
            }
        }
        contents.served.store(Arc::new(served));
        Ok(contents)
    }

    fn records(&self) -> PathBuf {
        self.folder.join("served")
    }

    /// The folder for stores.
    pub(crate) fn stores(&self) -> PathBuf {
        self.folder.join("stores")
    }

    /// The folder in which images are unpacked for a moment.
    pub(crate) fn workplace(&self) -> PathBuf {
        self.folder.join("unpacking")
    }

    fn record(&self, name: &str) -> PathBuf {
        self.records().join(format!("{name}{RECORD_SUFFIX}"))
    }

    /// The catalogs that there are records of.
    fn recorded(&self) -> Result<Vec<String>, ContentsError> {
        let names = names_in(&self.records())?;
        let names = names
            .iter()
            .filter_map(|name| name.strip_suffix(RECORD_SUFFIX))
            .filter(|name| !name.starts_with('.'));
        Ok(names.map(str::to_owned).collect())
    }

    fn reopen(&self, name: &str) -> Option<Served> {
        let bytes = fs::read(self.record(name)).ok()?;
        let Record { reference, unpacked } = serde_json::from_slice(&bytes).ok()?;
        let digest = Reference::parse(&reference).ok()?.digest()?;
        match Store::open(&self.stores(), &digest) {
            Ok(Some(store)) => Some(Served::new(reference, unpacked, store, self.stores())),
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(catalog = name, %error, "the stored catalog is fetched again");
                None
            }
        }
    }

    /// What a catalog is served from at this instant.
    pub fn get(&self, name: &str) -> Option<Arc<Served>> {
        self.served.load().get(name).cloned()
    }

    /// What is said of a catalog's content in its status.
    pub fn content(&self, name: &str) -> Option<Content> {
        let served = self.get(name)?;
        Some(Content {
            reference: served.reference.clone(),
            unpacked: served.unpacked,
        })
    }

    /// The catalogs that are served.
    pub fn names(&self) -> Vec<String> {
        self.served.load().keys().cloned().collect()
    }

    /// A counter that moves whenever something else is served.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Serves a catalog from a store, in place of what it was served from before. Blocks.
    pub fn put(
        &self,
        name: &str,
        reference: String,
        unpacked: Timestamp,
        store: Store,
    ) -> Result<(), ContentsError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let record = Record {
            reference: reference.clone(),
            unpacked,
        };
        self.write_record(name, &record)?;
        let served = Arc::new(Served::new(reference, unpacked, store, self.stores()));
        self.exchange(|all| {
            all.insert(name.to_owned(), Arc::clone(&served));
        });
        // What is left behind costs room and nothing else, and is collected later.
        if let Err(error) = self.delete_unused_stores() {
            tracing::warn!(%error, "an old store is left behind");
        }
        Ok(())
    }

    /// Serves a catalog no more. Blocks.
    pub fn withdraw(&self, name: &str) -> Result<(), WithdrawError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let record = self.record(name);
        match fs::remove_file(&record) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(WithdrawError::StillServed(ContentsError::of("delete", &record)(
                    error,
                )));
            }
            _ => {}
        }
        self.exchange(|all| {
            all.remove(name);
        });
        self.delete_unused_stores().map_err(WithdrawError::FilesLeft)
    }

    /// Withdraws catalogs that don't exist any more and deletes files that nothing is served from. Blocks.
    pub fn collect_garbage(&self, existing: &BTreeSet<String>) -> Result<Vec<String>, ContentsError> {
        let mut gone: BTreeSet<String> = self.names().into_iter().collect();
        gone.extend(self.recorded()?);
        gone.retain(|name| !existing.contains(name));
        for name in &gone {
            self.withdraw(name).map_err(|error| match error {
                WithdrawError::StillServed(error) | WithdrawError::FilesLeft(error) => error,
            })?;
        }
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.delete_unused_stores()?;
        Ok(gone.into_iter().collect())
    }

    fn exchange(&self, change: impl Fn(&mut BTreeMap<String, Arc<Served>>)) {
        self.served.rcu(|all| {
            let mut all = BTreeMap::clone(all);
            change(&mut all);
            all
        });
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn write_record(&self, name: &str, record: &Record) -> Result<(), ContentsError> {
        let path = self.record(name);
        let failed = |error| ContentsError::of("write", &path)(error);
        let text = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        let mut file = tempfile::Builder::new()
            .prefix(".")
            .tempfile_in(self.records())
            .map_err(failed)?;
        file.write_all(&text).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Keeps the store of a catalog from being deleted until it is served.
    pub(crate) fn expect(self: &Arc<Self>, digest: Digest) -> Expected {
        self.expected().push(digest);
        Expected {
            contents: Arc::clone(self),
            digest,
        }
    }

    fn expected(&self) -> std::sync::MutexGuard<'_, Vec<Digest>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the stores that nothing is served from.
    fn delete_unused_stores(&self) -> Result<(), ContentsError> {
        let mut used: BTreeSet<String> = self.expected().iter().map(Digest::hex).collect();
        used.extend(self.served.load().values().map(|served| served.digest.hex()));
        let stores = self.stores();
        for name in names_in(&stores)? {
            let Some((digest, suffix)) = name.split_once('.').filter(|(digest, _)| !digest.is_empty()) else {
                continue;
            };
            let is_ours = format!(".{suffix}") == STORE_SUFFIX
                || Encoding::ALL.iter().any(|encoding| encoding.token() == suffix);
            if is_ours && !used.contains(digest) {
                let path = stores.join(&name);
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(ContentsError::of("delete", &path)(error));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// A store that is being built or about to be served.
#[derive(Debug)]
pub struct Expected {
    contents: Arc<Contents>,
    digest: Digest,
}

impl Drop for Expected {
    fn drop(&mut self) {
        let mut expected = self.contents.expected();
        if let Some(position) = expected.iter().position(|digest| *digest == self.digest) {
            expected.swap_remove(position);
        }
    }
}

fn names_in(folder: &Path) -> Result<Vec<String>, ContentsError> {
    let failed = |error| ContentsError::of("list", folder)(error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}
