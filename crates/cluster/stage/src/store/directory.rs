//! The directory of a store: who may read it, and that only one process has it open.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::StoreError;

const DATABASE: &str = "store.redb";
const LOCK: &str = "store.lock";
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// What a redb file begins with.
const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";

/// A directory that this process has for itself as long as the value lives.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    lock: File,
}

impl Directory {
    /// Makes the directory where it is missing, and takes possession of it.
    pub(super) fn claim(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Io {
            path: path.to_owned(),
            source,
        };
        make_private(path).map_err(failed)?;
        let lock_path = path.join(LOCK);
        let mut lock = open_private(&lock_path).map_err(|source| StoreError::Io {
            path: lock_path,
            source,
        })?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let known = lock.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                let holder = if known {
                    format!("process {}", holder.trim())
                } else {
                    "another process".into()
                };
                return Err(StoreError::InUse {
                    directory: path.to_owned(),
                    holder,
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // Only for the message above: a full disk must not keep a store from being opened.
        let _ = lock
            .set_len(0)
            .and_then(|()| writeln!(lock, "{}", std::process::id()));
        Ok(Self {
            path: path.to_owned(),
            lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn database_path(&self) -> PathBuf {
        self.path.join(DATABASE)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Closing the file is not enough while a process that is just being started still has a copy of it.
        let _ = self.lock.unlock();
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)?;
    // One that exists and has content may be shared on purpose; the files in it are private in any case.
    if fs::read_dir(path)?.next().is_none() {
        fs::set_permissions(path, Permissions::from_mode(DIRECTORY_MODE))?;
    }
    Ok(())
}

/// Opens a file for reading and writing that nobody else can read, and makes it where it is missing.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != FILE_MODE {
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    }
    Ok(file)
}

/// Gives a database file that lost its end its length back, filled with zeros; returns how much was missing.
///
/// The database refuses a file that is shorter than its header says. Much of the end is free space, so what is left
/// can be whole; its checksums tell.
pub(super) fn restore_length(file: &File) -> io::Result<u64> {
    let mut header = [0; 32];
    if file.metadata()?.len() < header.len() as u64 {
        return Ok(0);
    }
    file.read_exact_at(&mut header, 0)?;
    let number = |at: usize| {
        let bytes = header.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)))
    };
    if !header.starts_with(MAGIC) {
        return Ok(0);
    }
    let (page, region_header, region_pages) = (number(12), number(16), number(20));
    let (full_regions, trailing_pages) = (number(24), number(28));
    let full = full_regions.checked_mul(region_header + region_pages);
    let trailing = if trailing_pages == 0 {
        0
    } else {
        region_header + trailing_pages
    };
    let expected = full
        .and_then(|full| (full + trailing + 1).checked_mul(page))
        .unwrap_or(0);
    let actual = file.metadata()?.len();
    // A header that asks for more than a file can have is damaged itself, and the database will say so.
    if expected <= actual || expected > MAX_RESTORED_LENGTH {
        return Ok(0);
    }
    file.set_len(expected)?;
    Ok(expected - actual)
}

/// The longest file that is filled up; far more than a store of one machine has.
const MAX_RESTORED_LENGTH: u64 = 1 << 40;
