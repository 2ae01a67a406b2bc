//! Packages that were read from catalogs, kept so that the next decision needn't read them again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use catalog::store::Store;
use image::digest::Digest;
use resolve::package::{Package, PackageError, Releases};

/// The most bundles of all kept packages together; one takes about a kilobyte.
const MOST_BUNDLES: usize = 20_000;

/// Packages by the digest of their catalog and their name. What was not asked for longest goes first.
#[derive(Debug, Default)]
pub struct Packages {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    packages: HashMap<(Digest, String), (u64, Arc<Package>)>,
    bundles: usize,
    asked: u64,
}

impl Packages {
    /// Returns a package of a catalog; none where the catalog hasn't got it.
    ///
    /// # Errors
    ///
    /// If an object of the package can't be read.
    pub fn read(&self, store: &Store, name: &str) -> Result<Option<Arc<Package>>, PackageError> {
        let key = (*store.digest(), name.to_owned());
        if let Some(package) = self.lock().get(&key) {
            return Ok(Some(package));
        }
        // Read without the lock: others needn't wait for a large package.
        let Some(package) = Package::read(store, name, Releases::Stated)? else {
            return Ok(None);
        };
        let package = Arc::new(package);
        self.lock().put(key, &package);
        Ok(Some(package))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn get(&mut self, key: &(Digest, String)) -> Option<Arc<Package>> {
        self.asked += 1;
        let (asked, package) = self.packages.get_mut(key)?;
        *asked = self.asked;
        Some(Arc::clone(package))
    }

    fn put(&mut self, key: (Digest, String), package: &Arc<Package>) {
        self.asked += 1;
        self.bundles += package.bundles.len();
        if let Some((_, before)) = self.packages.insert(key, (self.asked, Arc::clone(package))) {
            self.bundles -= before.bundles.len();
        }
        while self.bundles > MOST_BUNDLES && self.packages.len() > 1 {
            let oldest = self.packages.iter().min_by_key(|(_, (asked, _))| *asked);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            if let Some((_, gone)) = self.packages.remove(&oldest) {
                self.bundles -= gone.bundles.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use catalog::reading::Source;
    use catalog::store::StoreWriter;

    use super::*;

    fn store(folder: &std::path::Path, packages: &[(&str, usize)]) -> Store {
        let mut lines = String::new();
        for (package, versions) in packages {
            let _ = writeln!(lines, "{{\"schema\":\"olm.package\",\"name\":\"{package}\"}}");
            for version in 0..*versions {
                let _ = writeln!(
                    lines,
                    "{{\"schema\":\"olm.bundle\",\"package\":\"{package}\",\"name\":\"{package}.v{version}\"}}"
                );
            }
        }
        let content = folder.join("content");
        std::fs::create_dir_all(&content).expect("a folder");
        std::fs::write(content.join("catalog.json"), &lines).expect("a catalog");
        let digest = Digest::of(lines.as_bytes());
        let mut writer = StoreWriter::create(&folder.join("stores"), &digest).expect("a writer");
        writer.push_all(Source::Directory(&content)).expect("a catalog");
        writer.finish().expect("a store")
    }

    #[test]
    fn a_package_is_read_once_and_the_least_wanted_goes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), &[("a", 9_000), ("b", 9_000), ("c", 9_000)]);
        let packages = Packages::default();
        let read = |name| packages.read(&store, name).expect("readable").expect("a package");
        let first = read("a");
        read("b");
        assert!(Arc::ptr_eq(&first, &read("a")), "a is kept");
        read("c");
        assert!(Arc::ptr_eq(&first, &read("a")), "b was asked for longer ago");
        let kept = packages.kept.lock().expect("a lock");
        assert_eq!(kept.bundles, 18_000);
        assert_eq!(kept.packages.len(), 2);
    }

    #[test]
    fn a_package_that_is_not_there_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), &[("a", 1)]);
        assert!(Packages::default().read(&store, "b").expect("readable").is_none());
    }
}
