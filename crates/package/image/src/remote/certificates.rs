//! The certificates that are trusted for a registry beside those of the system, from `certs.d` directories.

use std::io::Read;
use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::surroundings::Surroundings;

/// The largest certificate file that is read: the bundle of all public authorities is a tenth of it.
const FILE_SIZE_LIMIT: u64 = 4 << 20;

/// How a registry is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// HTTPS with a certificate that is trusted.
    #[default]
    Verified,
    /// HTTPS with any certificate, or plain HTTP where there is no HTTPS.
    Unverified,
    /// Plain HTTP.
    Off,
}

/// Where certificates of authorities are looked for.
#[derive(Debug, Clone, Default)]
pub struct Certificates {
    /// PEM files that are trusted for every registry.
    pub files: Vec<PathBuf>,
    /// Directories with one folder for each `host:port`, as Docker and Podman have them; the first that knows a host
    /// counts alone.
    pub folders: Vec<PathBuf>,
}

impl Certificates {
    /// The directories of the user and the system.
    #[must_use]
    pub fn from_surroundings(surroundings: &Surroundings) -> Self {
        let mut folders = Vec::new();
        folders.extend(surroundings.in_home(".config/containers/certs.d"));
        folders.push(surroundings.in_system("etc/containers/certs.d"));
        folders.push(surroundings.in_system("etc/docker/certs.d"));
        Self {
            files: Vec::new(),
            folders,
        }
    }

    /// The authorities that are trusted for a registry.
    pub(super) fn for_host(&self, host: &str) -> Result<Vec<CertificateDer<'static>>, String> {
        let mut found = Vec::new();
        for path in &self.files {
            read(path, &mut found)?;
        }
        // A host never holds a slash, so that the folder is one below.
        let folder = self
            .folders
            .iter()
            .map(|folder| folder.join(host))
            .find(|folder| folder.is_dir());
        let Some(folder) = folder else {
            return Ok(found);
        };
        let unreadable = |error: std::io::Error| format!("{}: {error}; make it readable", folder.display());
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            paths.push(entry.map_err(unreadable)?.path());
        }
        paths.sort();
        for path in paths {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("crt") => read(&path, &mut found)?,
                Some("cert" | "key") => {
                    return Err(format!(
                        "{}: logging in with a client certificate is not supported; use a name and a password, and remove the file",
                        path.display()
                    ));
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

fn read(path: &Path, found: &mut Vec<CertificateDer<'static>>) -> Result<(), String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_SIZE_LIMIT).read_to_end(&mut bytes))
        .map_err(|error| format!("{}: {error}; make it readable", path.display()))?;
    let before = found.len();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        found.push(certificate.map_err(|error| format!("{}: {error}; replace the file", path.display()))?);
    }
    if found.len() == before {
        return Err(format!(
            "{}: there is no certificate in it (BEGIN CERTIFICATE); replace the file",
            path.display()
        ));
    }
    Ok(())
}
