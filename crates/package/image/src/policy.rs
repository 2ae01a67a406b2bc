//! Which images may be used: `policy.json`, as Podman and opm read it.
//!
//! ```text
//! reference ─► requirements_for ─► what has to be fetched (needs) ─► signatures ─► evaluate ─► yes, or why not
//! ```
//!
//! Reading is strict: an unknown key, a key given twice, or a file that can't be read is an error, because each could
//! be a door that somebody believes closed. Evaluating is a pure function of the policy, the image's name and digest,
//! and the signatures that [`crate::remote`] has fetched; only key files are read, and a missing one refuses the image.
//!
//! `insecureAcceptAnything`, `reject`, `signedBy` with GPG keys and `sigstoreSigned` with public keys are known. Where
//! sigstoreSigned asks for Fulcio certificates, a PKI or a Rekor log entry, the policy is refused as a whole.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::reference::Reference;
use crate::surroundings::Surroundings;

mod acceptance;
mod identity;
pub mod lookaside;
mod openpgp;
mod payload;
mod requirement;
mod scope;
mod sigstore;

pub use acceptance::{Acceptance, Signer};

use requirement::Requirement;

/// The largest policy or key file that is read: far above any real one.
const FILE_SIZE_LIMIT: u64 = 4 << 20;

/// Which policy applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicySource {
    /// This file, which must exist.
    File(PathBuf),
    /// The user's or the system's policy; having none is an error, as it is for opm.
    Required,
    /// The user's or the system's policy; where there is none, every image is accepted.
    Optional,
}

/// Says which images may be used.
#[derive(Debug, Clone)]
pub struct Policy {
    default: Vec<Requirement>,
    /// By scope.
    docker: BTreeMap<String, Vec<Requirement>>,
    /// The file, for messages; none when everything is accepted.
    path: Option<PathBuf>,
}

/// Why there is no policy, or why it refuses an image.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// There is no policy where one is needed.
    #[error("no policy.json file found at any of the following: {}; write one, for example {example}", looked_at.join(", "), example = EXAMPLE)]
    Missing {
        /// Where one could have been, quoted.
        looked_at: Vec<String>,
    },
    /// The policy exists but can't be read.
    #[error("cannot read the signature policy {}: {source}; make it readable: without it no image is used", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The policy says something that isn't understood.
    #[error("invalid policy in {:?}: {cause}; correct it: without it no image is used", path.display().to_string())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What isn't understood.
        cause: String,
    },
    /// The configuration of where signatures are kept can't be used.
    #[error("cannot use the signature storage configuration {}: {cause}; correct it", path.display())]
    Lookaside {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// The policy refuses the image.
    #[error(
        "image {reference} is rejected by the signature policy {policy}: {reason}; sign it as the policy demands, or change the policy"
    )]
    Rejected {
        /// The image.
        reference: Box<Reference>,
        /// The policy's file.
        policy: String,
        /// Why, in upstream's words.
        reason: String,
    },
}

/// What somebody who has no policy may write.
const EXAMPLE: &str = r#"{"default":[{"type":"insecureAcceptAnything"}]}"#;

/// The kinds of signatures that decide about an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// GPG signatures, kept beside the registry.
    pub simple_signing: bool,
    /// Sigstore signatures, kept in the registry.
    pub sigstore: bool,
}

/// The signatures that were found for an image; none of them is trusted yet.
#[derive(Debug, Clone, Default)]
pub struct Signatures {
    /// GPG messages.
    pub simple_signing: Vec<Vec<u8>>,
    /// What cosign attached.
    pub sigstore: Vec<SigstoreSignature>,
}

/// One signature that cosign attached to an image.
#[derive(Debug, Clone)]
pub struct SigstoreSignature {
    /// The signed text.
    pub payload: Vec<u8>,
    /// Its signature, in base64.
    pub signature: String,
}

impl Policy {
    /// The policy of those who have none: every image is accepted.
    #[must_use]
    pub fn accept_anything() -> Self {
        Self {
            default: vec![Requirement::accept_anything()],
            docker: BTreeMap::new(),
            path: None,
        }
    }

    /// Reads the policy that applies.
    pub fn load(source: &PolicySource, surroundings: &Surroundings) -> Result<Self, PolicyError> {
        let mut candidates = Vec::new();
        if let PolicySource::File(path) = source {
            return Self::from_file(path);
        }
        candidates.extend(surroundings.in_home(".config/containers/policy.json"));
        candidates.push(surroundings.in_system("etc/containers/policy.json"));
        for path in &candidates {
            match Self::from_file(path) {
                Err(PolicyError::Unreadable { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound => {}
                read => return read,
            }
        }
        match source {
            PolicySource::Optional => Ok(Self::accept_anything()),
            _ => Err(PolicyError::Missing {
                looked_at: candidates
                    .iter()
                    .map(|path| format!("{:?}", path.display().to_string()))
                    .collect(),
            }),
        }
    }

    /// Reads one file.
    pub fn from_file(path: &Path) -> Result<Self, PolicyError> {
        let bytes = read_limited(path).map_err(|source| PolicyError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::from_slice(&bytes, path)
    }

    /// Reads a policy from its text; `path` is what messages call it.
    pub fn from_slice(bytes: &[u8], path: &Path) -> Result<Self, PolicyError> {
        let invalid = |cause: String| PolicyError::Invalid {
            path: path.to_owned(),
            cause,
        };
        let document = requirement::parse(bytes).map_err(invalid)?;
        Ok(Self {
            default: document.default,
            docker: document.docker,
            path: Some(path.to_owned()),
        })
    }

    /// Says which signatures have to be fetched before [`Self::evaluate`] can decide about an image.
    pub fn needs(&self, reference: &Reference) -> Needs {
        let mut needs = Needs::default();
        for requirement in self.requirements_for(reference) {
            needs.simple_signing |= requirement.is_simple_signing();
            needs.sigstore |= requirement.is_sigstore();
        }
        needs
    }

    /// Refuses an image that no signature could help: for this nothing has to be fetched.
    pub fn refuse_early(&self, reference: &Reference) -> Result<(), PolicyError> {
        let refusal = self
            .requirements_for(reference)
            .iter()
            .find_map(|requirement| requirement.certain_refusal(reference));
        match refusal {
            Some(reason) => Err(self.rejected(reference, reason)),
            None => Ok(()),
        }
    }

    /// Decides about an image by its name, the digest of its manifest and the signatures that were found: every
    /// requirement has to be met, each by one signature. Says by whose.
    pub fn evaluate(
        &self,
        reference: &Reference,
        manifest: &Digest,
        signatures: &Signatures,
    ) -> Result<Acceptance, PolicyError> {
        let mut signers = Vec::new();
        for requirement in self.requirements_for(reference) {
            let signer = requirement
                .check(reference, manifest, signatures)
                .map_err(|reason| self.rejected(reference, reason))?;
            signers.extend(signer);
        }
        Ok(Acceptance {
            policy: self.path.clone(),
            signers,
        })
    }

    /// The requirements of the narrowest scope that the image lies in.
    fn requirements_for(&self, reference: &Reference) -> &[Requirement] {
        scope::scopes(reference)
            .iter()
            .find_map(|scope| self.docker.get(scope))
            .or_else(|| self.docker.get(""))
            .unwrap_or(&self.default)
    }

    fn rejected(&self, reference: &Reference, reason: String) -> PolicyError {
        PolicyError::Rejected {
            reference: Box::new(reference.clone()),
            policy: match &self.path {
                Some(path) => path.display().to_string(),
                None => "(built in)".to_owned(),
            },
            reason,
        }
    }
}

/// Reads a file of a bounded size.
fn read_limited(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(FILE_SIZE_LIMIT + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_SIZE_LIMIT {
        return Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            format!("it is larger than {FILE_SIZE_LIMIT} bytes"),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
