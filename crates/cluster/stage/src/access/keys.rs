//! The keys of a cluster: made on the first start, read on every later one, and renewed before they expire.
//!
//! Each pair of certificate and key is one file, so that a crash between two writes can't tear them apart.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::certificates::{self, Identity};
use super::signing::SigningKey;

/// The mode of files with keys and tokens: for their owner alone.
const FILE_MODE: u32 = 0o600;

/// The mode of the directory with the keys.
const DIRECTORY_MODE: u32 = 0o700;

/// The directory of the keys below the data directory.
const DIRECTORY: &str = "keys";

/// The largest key file that is read; real ones have a few kilobytes.
const LARGEST_FILE: u64 = 1 << 20;

/// How many random bytes the administrator's token is made of.
const TOKEN_BYTES: usize = 32;

/// Why the keys of a cluster can't be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The directory or one of its files can't be read or written.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file doesn't have a key in it.
    #[error("{path} has no usable key: {why}; remove the file to have a new one made")]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A key or a certificate can't be made.
    #[error("cannot make the {what}: {why}")]
    Make {
        /// What should have been made.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
}

/// Where keys are kept, if anywhere.
#[derive(Debug, Clone)]
pub struct KeyDirectory(Option<PathBuf>);

impl KeyDirectory {
    /// Returns the place of the keys below a data directory, which is made; `None` keeps them in memory.
    pub fn open(data_dir: Option<&Path>) -> Result<Self, KeyError> {
        let Some(data_dir) = data_dir else {
            return Ok(Self(None));
        };
        let path = data_dir.join(DIRECTORY);
        let failed = |action| {
            let path = path.clone();
            move |source| KeyError::File { action, path, source }
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(&path)
            .map_err(failed("make"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(DIRECTORY_MODE)).map_err(failed("protect"))?;
        Ok(Self(Some(path)))
    }

    /// Returns the path of a file, for messages.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.as_deref().unwrap_or(Path::new("memory")).join(name)
    }

    /// Returns what a file has in it; `None` where there is none.
    pub fn read(&self, name: &str) -> Result<Option<String>, KeyError> {
        let Some(directory) = &self.0 else { return Ok(None) };
        let path = directory.join(name);
        let failed = |source| KeyError::File {
            action: "read",
            path: path.clone(),
            source,
        };
        let metadata = match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata.map_err(failed)?,
        };
        if metadata.len() > LARGEST_FILE {
            return Err(KeyError::Broken {
                path,
                why: format!("it is larger than {LARGEST_FILE} bytes"),
            });
        }
        if metadata.permissions().mode() & 0o777 != FILE_MODE {
            fs::set_permissions(&path, fs::Permissions::from_mode(FILE_MODE)).map_err(failed)?;
        }
        fs::read_to_string(&path).map(Some).map_err(failed)
    }

    /// Writes a file whole or not at all.
    pub fn write(&self, name: &str, text: &str) -> Result<(), KeyError> {
        match &self.0 {
            Some(directory) => write_private(&directory.join(name), text.as_bytes()),
            None => Ok(()),
        }
    }
}

/// Writes a file that only its owner can read, whole or not at all.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), KeyError> {
    let failed = |source| KeyError::File {
        action: "write",
        path: path.to_owned(),
        source,
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    // A leftover of a crash may have another mode, which opening it wouldn't change.
    let _ = fs::remove_file(&beside);
    let written = (|| {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        fs::File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    })();
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

/// The keys of a cluster.
#[derive(Debug)]
pub struct Keys {
    directory: KeyDirectory,
    /// Signs the certificates of servers.
    pub authority: Identity,
    /// Signs the certificates of clients.
    pub client_authority: Identity,
    /// The administrator's certificate.
    pub administrator: Identity,
    /// The administrator's token.
    pub administrator_token: String,
    signing: Mutex<Option<Arc<SigningKey>>>,
}

impl Keys {
    /// Reads the keys below a data directory, and makes those that are missing or about to expire.
    pub fn open(data_dir: Option<&Path>) -> Result<Self, KeyError> {
        let directory = KeyDirectory::open(data_dir)?;
        let authority = certificates::authority(&directory, "authority.pem", "kubernetes")?;
        let client_authority =
            certificates::authority(&directory, "client-authority.pem", "kubernetes-clients")?;
        let administrator = certificates::administrator(&directory, &client_authority)?;
        let administrator_token = token(&directory)?;
        Ok(Self {
            directory,
            authority,
            client_authority,
            administrator,
            administrator_token,
            signing: Mutex::default(),
        })
    }

    /// Returns the certificate of a server with these names beside the usual ones.
    pub fn serving(&self, names: &[String]) -> Result<Identity, KeyError> {
        certificates::serving(&self.directory, &self.authority, names)
    }

    /// Returns the key that signs the tokens of ServiceAccounts.
    ///
    /// It is made when it is needed first: RSA keys take longer than everything else that a start does.
    pub fn signing(&self) -> Result<Arc<SigningKey>, KeyError> {
        let mut known = self.signing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &*known {
            return Ok(key.clone());
        }
        let key = Arc::new(SigningKey::open(&self.directory)?);
        *known = Some(key.clone());
        Ok(key)
    }
}

fn token(directory: &KeyDirectory) -> Result<String, KeyError> {
    const FILE: &str = "administrator.token";
    if let Some(text) = directory.read(FILE)? {
        let token = text.trim();
        if token.is_empty() {
            return Err(KeyError::Broken {
                path: directory.path(FILE),
                why: "it is empty".to_owned(),
            });
        }
        return Ok(token.to_owned());
    }
    let token = random_token()?;
    directory.write(FILE, &format!("{token}\n"))?;
    Ok(token)
}

fn random_token() -> Result<String, KeyError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| KeyError::Make {
        what: "administrator's token",
        why: error.to_string(),
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("a file").permissions().mode() & 0o777
    }

    #[test]
    fn keys_survive_a_restart_and_are_for_their_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = Keys::open(Some(folder.path())).expect("keys");
        let key_id = first.signing().expect("a key").id().to_owned();
        let serving = first.serving(&[]).expect("a certificate");
        let second = Keys::open(Some(folder.path())).expect("keys");
        assert_eq!(first.administrator_token, second.administrator_token);
        assert_eq!(
            first.authority.certificate_pem(),
            second.authority.certificate_pem()
        );
        assert_eq!(
            first.administrator.certificate_pem(),
            second.administrator.certificate_pem()
        );
        assert_eq!(key_id, second.signing().expect("a key").id());
        assert_eq!(
            serving.certificate_pem(),
            second.serving(&[]).expect("a certificate").certificate_pem()
        );
        let directory = folder.path().join(DIRECTORY);
        assert_eq!(mode(&directory), DIRECTORY_MODE);
        let files: Vec<PathBuf> = fs::read_dir(&directory)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        assert_eq!(files.len(), 6);
        for file in files {
            assert_eq!(mode(&file), FILE_MODE, "{}", file.display());
        }
    }

    #[test]
    fn a_file_without_a_key_is_named_and_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        Keys::open(Some(folder.path())).expect("keys");
        let file = folder.path().join(DIRECTORY).join("authority.pem");
        fs::write(&file, "nonsense").expect("a file");
        let error = Keys::open(Some(folder.path())).expect_err("broken").to_string();
        assert!(
            error.contains("authority.pem has no usable key") && error.contains("remove the file"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&file).expect("a file"), "nonsense");
    }

    #[test]
    fn readable_key_files_are_protected_again() {
        let folder = tempfile::tempdir().expect("a folder");
        Keys::open(Some(folder.path())).expect("keys");
        let file = folder.path().join(DIRECTORY).join("administrator.token");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
        Keys::open(Some(folder.path())).expect("keys");
        assert_eq!(mode(&file), FILE_MODE);
    }
}
