//! Certificates with their keys: from files that may be renewed at any time, or made for one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::failure::Failure;

/// A certificate in files, read again when one of them is another: who renews certificates restarts nobody.
#[derive(Debug)]
pub(super) struct ReloadedIdentity {
    certificate: PathBuf,
    key: PathBuf,
    read: Mutex<(Stamp, Arc<CertifiedKey>)>,
}

/// When the two files were last written.
type Stamp = (Option<SystemTime>, Option<SystemTime>);

impl ReloadedIdentity {
    pub(super) fn open(certificate: &Path, key: &Path) -> Result<Self, Failure> {
        let stamp = (written(certificate), written(key));
        let identity = read(certificate, key).map_err(|cause| Failure::new(cause.clone()))?;
        Ok(Self {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            read: Mutex::new((stamp, Arc::new(identity))),
        })
    }
}

impl ResolvesServerCert for ReloadedIdentity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut current = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = (written(&self.certificate), written(&self.key));
        if stamp != current.0 {
            match read(&self.certificate, &self.key) {
                Ok(identity) => *current = (stamp, Arc::new(identity)),
                // Half of a renewal, perhaps: the next client finds the other half.
                Err(cause) => tracing::warn!(%cause, "the certificate that was read before is served on"),
            }
        }
        Some(Arc::clone(&current.1))
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let bytes = |path: &Path| {
        fs::read(path).map_err(|error| format!("cannot read the file {}: {error}", path.display()))
    };
    let broken =
        |path: &Path, cause: &dyn std::fmt::Display| format!("cannot use {}: {cause}", path.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&bytes(certificate)?)
        .collect::<Result<_, _>>()
        .map_err(|error| broken(certificate, &error))?;
    if chain.is_empty() {
        return Err(broken(certificate, &"there is no certificate in it"));
    }
    let secret = PrivateKeyDer::from_pem_slice(&bytes(key)?).map_err(|error| broken(key, &error))?;
    let secret =
        rustls::crypto::aws_lc_rs::sign::any_supported_type(&secret).map_err(|error| broken(key, &error))?;
    let identity = CertifiedKey::new(chain, secret);
    identity.keys_match().map_err(|error| {
        broken(
            key,
            &format!("it is not the key of {}: {error}", certificate.display()),
        )
    })?;
    Ok(identity)
}

/// A certificate that is made for one run and that nobody can know.
#[derive(Debug)]
pub(crate) struct OwnIdentity {
    key: Arc<CertifiedKey>,
    pem: String,
}

impl OwnIdentity {
    /// Makes one for `localhost`.
    pub(crate) fn make() -> Result<Self, Failure> {
        Self::make_for(vec!["localhost".to_owned()])
    }

    /// Makes one for names.
    pub(crate) fn make_for(names: Vec<String>) -> Result<Self, Failure> {
        let failed =
            |error: &dyn std::fmt::Display| Failure::new(format!("cannot make a certificate: {error}"));
        let made = rcgen::generate_simple_self_signed(names).map_err(|error| failed(&error))?;
        let key =
            PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(|error| failed(&error))?;
        let key =
            rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).map_err(|error| failed(&error))?;
        Ok(Self {
            key: Arc::new(CertifiedKey::new(vec![made.cert.der().clone()], key)),
            pem: made.cert.pem(),
        })
    }

    /// The certificate as PEM, for those who shall believe it.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }
}

impl ResolvesServerCert for OwnIdentity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_certificate_are_told_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a file");
            path
        };
        let made = |name: &str| {
            let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
            (made.cert.pem(), made.signing_key.serialize_pem())
        };
        let ((certificate, key), (_, other_key)) = (made("a.example"), made("b.example"));
        let certificate = file("tls.crt", &certificate);
        let key = file("tls.key", &key);
        assert!(read(&certificate, &key).is_ok());
        for (certificate, key, said) in [
            (
                certificate.clone(),
                folder.path().join("none"),
                "none: No such file",
            ),
            (
                file("empty.crt", ""),
                key.clone(),
                "empty.crt: there is no certificate in it",
            ),
            (certificate.clone(), file("empty.key", ""), "empty.key: "),
            (
                certificate,
                file("other.key", &other_key),
                "other.key: it is not the key of ",
            ),
        ] {
            let cause = read(&certificate, &key).expect_err("refused");
            assert!(cause.contains(said), "{cause} lacks {said:?}");
        }
    }
}
