//! Why a policy accepts an image.

use std::fmt;
use std::path::PathBuf;

/// Why a policy accepts an image: who has signed it, or that nobody had to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Acceptance {
    /// The policy's file; none where there is no policy.
    pub policy: Option<PathBuf>,
    /// Who signed the image, one for each signature that the policy demands; none where it demands none.
    pub signers: Vec<Signer>,
}

/// A key whose signature was demanded and found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signer {
    /// A public key of sigstore, by the digest of its DER form.
    Sigstore(String),
    /// A key of GPG, by its fingerprint.
    OpenPgp(String),
}

/// How the words for an image with signatures begin.
const SIGNED: &str = "signed by ";

impl Acceptance {
    /// Whether words that an acceptance was told in tell of a signature.
    pub fn tells_of_signature(words: &str) -> bool {
        words.starts_with(SIGNED)
    }

    /// Whether a signature was demanded, and found.
    pub fn is_signed(&self) -> bool {
        !self.signers.is_empty()
    }
}

impl fmt::Display for Acceptance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.policy.as_ref().map(|path| path.display());
        match (self.signers.as_slice(), policy) {
            ([], None) => formatter.write_str("no signature is required: there is no signature policy"),
            ([], Some(policy)) => write!(
                formatter,
                "no signature is required: the signature policy {policy} accepts the image as it is"
            ),
            (signers, policy) => {
                let signers: Vec<String> = signers.iter().map(ToString::to_string).collect();
                write!(formatter, "{SIGNED}{}", signers.join(" and "))?;
                match policy {
                    Some(policy) => write!(formatter, ", as the signature policy {policy} demands"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sigstore(key) => write!(formatter, "sigstore key {key}"),
            Self::OpenPgp(fingerprint) => write!(formatter, "GPG key {fingerprint}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_who_signed_or_that_nobody_had_to() {
        let policy = Some(PathBuf::from("/etc/containers/policy.json"));
        let key = Signer::Sigstore("sha256:ab".to_owned());
        let other = Signer::OpenPgp("0123".to_owned());
        for (policy, signers, said) in [
            (
                None,
                vec![],
                "no signature is required: there is no signature policy",
            ),
            (
                policy.clone(),
                vec![],
                "no signature is required: the signature policy /etc/containers/policy.json accepts the image as it is",
            ),
            (
                policy,
                vec![key, other],
                "signed by sigstore key sha256:ab and GPG key 0123, as the signature policy /etc/containers/policy.json demands",
            ),
        ] {
            let acceptance = Acceptance { policy, signers };
            assert_eq!(acceptance.to_string(), said);
            assert_eq!(Acceptance::tells_of_signature(said), acceptance.is_signed());
        }
    }
}
