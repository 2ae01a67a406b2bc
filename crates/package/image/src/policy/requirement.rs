//! What a policy demands of an image, as it is written and as it is checked.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::identity::SignedIdentity;
use super::{Signatures, Signer, openpgp, read_limited, sigstore};
use crate::digest::Digest;
use crate::reference::Reference;

/// What a policy file says.
pub(super) struct Document {
    pub(super) default: Vec<Requirement>,
    pub(super) docker: BTreeMap<String, Vec<Requirement>>,
}

/// One demand on an image.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Requirement {
    InsecureAcceptAnything(NoFields),
    Reject(NoFields),
    SignedBy(SignedBy),
    SignedBaseLayer(SignedBaseLayer),
    SigstoreSigned(SigstoreSigned),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoFields {}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SignedBy {
    key_type: KeyType,
    key_path: Option<PathBuf>,
    key_paths: Option<Vec<PathBuf>>,
    key_data: Option<String>,
    signed_identity: Option<SignedIdentity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum KeyType {
    #[serde(rename = "GPGKeys")]
    GpgKeys,
    #[serde(rename = "signedByGPGKeys")]
    SignedByGpgKeys,
    #[serde(rename = "X509Certificates")]
    X509Certificates,
    #[serde(rename = "signedByX509CAs")]
    SignedByX509Authorities,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SignedBaseLayer {
    base_layer_identity: SignedIdentity,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SigstoreSigned {
    key_path: Option<PathBuf>,
    key_paths: Option<Vec<PathBuf>>,
    key_data: Option<String>,
    key_datas: Option<Vec<String>>,
    fulcio: Option<de::IgnoredAny>,
    pki: Option<de::IgnoredAny>,
    rekor_public_key_path: Option<de::IgnoredAny>,
    rekor_public_key_paths: Option<de::IgnoredAny>,
    rekor_public_key_data: Option<de::IgnoredAny>,
    rekor_public_key_datas: Option<de::IgnoredAny>,
    signed_identity: Option<SignedIdentity>,
}

/// Reads and checks a whole policy.
pub(super) fn parse(bytes: &[u8]) -> Result<Document, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        default: Option<Vec<Requirement>>,
        #[serde(default)]
        transports: UniqueMap<UniqueMap<Vec<Requirement>>>,
    }
    if bytes
        .trim_ascii_start()
        .first()
        .is_some_and(|first| *first != b'{')
    {
        return Err("it is not a JSON object".to_owned());
    }
    let file: File = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let default = file.default.ok_or("Default policy is missing")?;
    let mut transports = file.transports.entries;
    for requirements in
        std::iter::once(&default).chain(transports.values().flat_map(|scopes| scopes.entries.values()))
    {
        if requirements.is_empty() {
            return Err("List of verification policy requirements must not be empty".to_owned());
        }
        for requirement in requirements {
            requirement.validate()?;
        }
    }
    Ok(Document {
        default,
        docker: transports.remove("docker").unwrap_or_default().entries,
    })
}

impl Requirement {
    pub(super) fn accept_anything() -> Self {
        Self::InsecureAcceptAnything(NoFields {})
    }

    pub(super) fn is_simple_signing(&self) -> bool {
        matches!(self, Self::SignedBy(_))
    }

    pub(super) fn is_sigstore(&self) -> bool {
        matches!(self, Self::SigstoreSigned(_))
    }

    fn validate(&self) -> Result<(), String> {
        match self {
            Self::InsecureAcceptAnything(_) | Self::Reject(_) => Ok(()),
            Self::SignedBaseLayer(base) => base.base_layer_identity.check(),
            Self::SignedBy(signed) => signed.validate(),
            Self::SigstoreSigned(signed) => signed.validate(),
        }
    }

    /// Why no signature whatever could meet this requirement, if so.
    pub(super) fn certain_refusal(&self, reference: &Reference) -> Option<String> {
        match self {
            Self::Reject(_) => Some(format!(
                "Running image docker://{reference} is rejected by policy"
            )),
            Self::SignedBaseLayer(_) => Some("signedBaseLayer is not implemented; use signedBy".to_owned()),
            Self::SignedBy(signed) if signed.key_type != KeyType::GpgKeys => {
                Some("\"keyType\" other than GPGKeys is not implemented".to_owned())
            }
            _ => None,
        }
    }

    /// Says whose signature meets the requirement, if it takes one; or why the image doesn't meet it.
    pub(super) fn check(
        &self,
        reference: &Reference,
        manifest: &Digest,
        signatures: &Signatures,
    ) -> Result<Option<Signer>, String> {
        if let Some(refusal) = self.certain_refusal(reference) {
            return Err(refusal);
        }
        match self {
            Self::InsecureAcceptAnything(_) => Ok(None),
            Self::Reject(_) | Self::SignedBaseLayer(_) => Err("rejected by policy".to_owned()),
            Self::SignedBy(signed) => {
                let keys = openpgp::Keyring::new(&signed.keys()?)?;
                let identity = signed.signed_identity.clone().unwrap_or_default();
                any_accepted(&signatures.simple_signing, |signature| {
                    let (signed, key) = keys.verify(signature)?;
                    signed.check(reference, manifest, &identity)?;
                    Ok(Signer::OpenPgp(key))
                })
                .map(Some)
            }
            Self::SigstoreSigned(signed) => {
                let keys = sigstore::PublicKeys::new(&signed.keys()?)?;
                let identity = signed.signed_identity.clone().unwrap_or_default();
                any_accepted(&signatures.sigstore, |signature| {
                    let (signed, key) = keys.verify(signature)?;
                    signed.check(reference, manifest, &identity)?;
                    Ok(Signer::Sigstore(key))
                })
                .map(Some)
            }
        }
    }
}

fn any_accepted<T>(
    signatures: &[T],
    accept: impl Fn(&T) -> Result<Signer, String>,
) -> Result<Signer, String> {
    let mut reasons = Vec::new();
    for signature in signatures {
        match accept(signature) {
            Ok(signer) => return Ok(signer),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(match reasons.as_slice() {
        [] => "A signature was required, but no signature exists".to_owned(),
        [reason] => reason.clone(),
        _ => format!(
            "None of the signatures were accepted, reasons: {}",
            reasons.join("; ")
        ),
    })
}

impl SignedBy {
    fn validate(&self) -> Result<(), String> {
        let given = [
            self.key_path.is_some(),
            self.key_paths.is_some(),
            self.key_data.is_some(),
        ];
        match given.iter().filter(|given| **given).count() {
            0 => {
                return Err(
                    "Exactly one of keyPath, keyPaths and keyData must be specified, none of them present"
                        .to_owned(),
                );
            }
            1 => {}
            _ => {
                return Err(
                    "Exactly one of keyPath, keyPaths and keyData must be specified, more than one present"
                        .to_owned(),
                );
            }
        }
        check_sources(
            self.key_path.as_deref(),
            self.key_paths.as_deref(),
            self.key_data.as_slice(),
        )?;
        self.signed_identity
            .as_ref()
            .map_or(Ok(()), SignedIdentity::check)
    }

    fn keys(&self) -> Result<Vec<Vec<u8>>, String> {
        read_keys(
            self.key_path.as_deref(),
            self.key_paths.as_deref(),
            self.key_data.as_slice(),
        )
    }
}

impl SigstoreSigned {
    fn validate(&self) -> Result<(), String> {
        let unsupported = [
            (self.fulcio.is_some(), "fulcio"),
            (self.pki.is_some(), "pki"),
            (self.rekor_public_key_path.is_some(), "rekorPublicKeyPath"),
            (self.rekor_public_key_paths.is_some(), "rekorPublicKeyPaths"),
            (self.rekor_public_key_data.is_some(), "rekorPublicKeyData"),
            (self.rekor_public_key_datas.is_some(), "rekorPublicKeyDatas"),
        ];
        if let Some((_, field)) = unsupported.iter().find(|(given, _)| *given) {
            return Err(format!(
                "sigstoreSigned with {field:?} is not supported: give the signer's public key (keyPath or keyData)"
            ));
        }
        let given = [
            self.key_path.is_some(),
            self.key_paths.is_some(),
            self.key_data.is_some(),
            self.key_datas.is_some(),
        ];
        if given.iter().filter(|given| **given).count() != 1 {
            return Err(
                "exactly one of keyPath, keyPaths, keyData and keyDatas must be specified".to_owned(),
            );
        }
        if self.key_datas.as_ref().is_some_and(Vec::is_empty) {
            return Err("keyDatas contains no entries".to_owned());
        }
        check_sources(self.key_path.as_deref(), self.key_paths.as_deref(), self.data())?;
        self.signed_identity
            .as_ref()
            .map_or(Ok(()), SignedIdentity::check)
    }

    fn data(&self) -> &[String] {
        self.key_datas.as_deref().unwrap_or(self.key_data.as_slice())
    }

    fn keys(&self) -> Result<Vec<Vec<u8>>, String> {
        read_keys(self.key_path.as_deref(), self.key_paths.as_deref(), self.data())
    }
}

fn check_sources(path: Option<&Path>, paths: Option<&[PathBuf]>, data: &[String]) -> Result<(), String> {
    if path.is_some_and(|path| path.as_os_str().is_empty()) {
        return Err("keyPath must not be empty".to_owned());
    }
    if paths.is_some_and(|paths| paths.is_empty() || paths.iter().any(|path| path.as_os_str().is_empty())) {
        return Err("keyPaths must name files".to_owned());
    }
    decoded(data).map(drop)
}

fn decoded(data: &[String]) -> Result<Vec<Vec<u8>>, String> {
    data.iter()
        .map(
            |text| match STANDARD.decode(text.split_whitespace().collect::<String>()) {
                Ok(bytes) if bytes.is_empty() => Err("keyData must not be empty".to_owned()),
                Ok(bytes) => Ok(bytes),
                Err(error) => Err(format!("keyData is not base64: {error}")),
            },
        )
        .collect()
}

fn read_keys(
    path: Option<&Path>,
    paths: Option<&[PathBuf]>,
    data: &[String],
) -> Result<Vec<Vec<u8>>, String> {
    let mut keys = decoded(data)?;
    let paths = paths.unwrap_or_default().iter().map(PathBuf::as_path);
    for path in path.into_iter().chain(paths) {
        let key = read_limited(path)
            .map_err(|error| format!("cannot read the key file {}: {error}", path.display()))?;
        keys.push(key);
    }
    Ok(keys)
}

/// A map that refuses a key given twice, where serde's own would keep the last value.
struct UniqueMap<T> {
    entries: BTreeMap<String, T>,
}

impl<T> Default for UniqueMap<T> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for UniqueMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = UniqueMap<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, T>()? {
                    if entries.contains_key(&key) {
                        return Err(de::Error::custom(format!("duplicate key {key:?}")));
                    }
                    entries.insert(key, value);
                }
                Ok(UniqueMap { entries })
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}
