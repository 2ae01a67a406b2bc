//! Names and passwords for registries, from the files that Docker and Podman keep.
//!
//! The files are asked in containers/image's order, and the first that knows the registry wins:
//! `$REGISTRY_AUTH_FILE` alone when it is set; otherwise `$XDG_RUNTIME_DIR/containers/auth.json`,
//! `$XDG_CONFIG_HOME/containers/auth.json`, `$DOCKER_CONFIG/config.json` or `~/.docker/config.json`, and `~/.dockercfg`.
//! Within a file, `credHelpers` come first, then `auths` by the longest prefix of `host/namespace/repository`, then
//! `credsStore`. A file that is there but can't be read is an error: going on without it would look like a wrong
//! password later.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use crate::reference::Reference;
use crate::surroundings::Surroundings;

mod helper;
mod keeping;

pub use helper::HelperError;
pub use keeping::{Kept, KeptLogins};

/// The largest credentials file that is read: far above any that a tool writes.
const FILE_SIZE_LIMIT: u64 = 4 << 20;

/// Docker writes padding, other tools leave it out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A text that never shows up in logs, errors or debug output.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

/// What to present to a registry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Login {
    /// Nothing: the registry lets anybody in, or refuses.
    Anonymous,
    /// A name and a password.
    Password {
        /// Who logs in.
        username: String,
        /// The password or access token.
        password: Secret,
    },
    /// A token that the registry's token service changes into short-lived ones.
    IdentityToken(Secret),
}

/// Why no credentials could be found for a registry; never because none are kept, which is [`Login::Anonymous`].
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file exists, or was named explicitly, but can't be read.
    #[error("cannot read the credentials file {}: {source}; make it readable or {remedy}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
        /// What to do instead.
        remedy: &'static str,
    },
    /// The file is not what Docker or Podman write.
    #[error("the credentials file {} is invalid: {cause}; log in again or repair it", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where it stops making sense, without any of its values.
        cause: String,
    },
    /// An entry of the file is not a name and a password.
    #[error("the entry {key:?} of the credentials file {} is invalid: {cause}; log in to {key:?} again", path.display())]
    InvalidEntry {
        /// The file.
        path: PathBuf,
        /// The entry's key.
        key: String,
        /// What is wrong with it, without its values.
        cause: &'static str,
    },
    /// There is no file to keep logins in.
    #[error(
        "there is nowhere to keep a login: neither $DOCKER_CONFIG nor $HOME is set; name a file with --authfile"
    )]
    Nowhere,
    /// The file can't be written.
    #[error("cannot write the credentials file {}: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A credential helper named in the file failed.
    #[error("cannot ask the credential helper {program} for {registry} (named in {}): {cause}", path.display())]
    Helper {
        /// The file that names it.
        path: PathBuf,
        /// The program.
        program: String,
        /// The registry that it was asked for.
        registry: String,
        /// What went wrong.
        cause: HelperError,
    },
}

/// Names and passwords that lie in no file, such as those in a Kubernetes Secret.
#[derive(Clone)]
pub struct CredentialsDocument {
    /// What error messages call it, such as `Secret default/registry`.
    pub origin: String,
    /// What Docker or Podman would have written to a file.
    pub content: Secret,
    /// Whether it has the form of `~/.dockercfg`: the entries alone.
    pub is_legacy: bool,
}

impl fmt::Debug for CredentialsDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CredentialsDocument")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// Where names and passwords are looked up.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// What is asked before the source.
    documents: Vec<CredentialsDocument>,
    source: Source,
    /// Where helper programs are searched.
    search_path: Option<std::ffi::OsString>,
}

#[derive(Debug, Clone)]
enum Source {
    Fixed(Login),
    Files(Vec<CredentialsFile>),
}

#[derive(Debug, Clone)]
struct CredentialsFile {
    path: PathBuf,
    format: Format,
    /// Whether its absence is an error.
    required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Current,
    /// `~/.dockercfg`: the entries alone, keyed by registry.
    Legacy,
}

#[derive(Default, Deserialize)]
struct Contents {
    #[serde(default)]
    auths: Option<BTreeMap<String, Entry>>,
    #[serde(default, rename = "credHelpers")]
    helpers: Option<BTreeMap<String, String>>,
    #[serde(default, rename = "credsStore")]
    store: Option<String>,
}

#[derive(Default, Deserialize)]
struct Entry {
    #[serde(default)]
    auth: Option<String>,
    #[serde(default)]
    username: Option<String>,
    #[serde(default)]
    password: Option<String>,
    #[serde(default, rename = "identitytoken")]
    identity_token: Option<String>,
}

impl Credentials {
    /// No credentials at all.
    #[must_use]
    pub fn none() -> Self {
        Self::fixed(Login::Anonymous)
    }

    /// The same login for every registry.
    #[must_use]
    pub fn fixed(login: Login) -> Self {
        Self {
            documents: Vec::new(),
            source: Source::Fixed(login),
            search_path: None,
        }
    }

    /// The one file given, which must exist.
    #[must_use]
    pub fn from_file(path: &Path, surroundings: &Surroundings) -> Self {
        let file = CredentialsFile {
            path: path.to_owned(),
            format: Format::Current,
            required: true,
        };
        Self {
            documents: Vec::new(),
            source: Source::Files(vec![file]),
            search_path: surroundings.variable("PATH").map(ToOwned::to_owned),
        }
    }

    /// The files where Docker's and Podman's logins are kept.
    #[must_use]
    pub fn from_surroundings(surroundings: &Surroundings) -> Self {
        if let Some(path) = surroundings.variable("REGISTRY_AUTH_FILE") {
            return Self::from_file(Path::new(path), surroundings);
        }
        let optional = |path: PathBuf, format| CredentialsFile {
            path,
            format,
            required: false,
        };
        let mut files = Vec::new();
        if let Some(folder) = surroundings.variable("XDG_RUNTIME_DIR") {
            files.push(optional(
                Path::new(folder).join("containers/auth.json"),
                Format::Current,
            ));
        }
        if let Some(path) = surroundings.in_configuration("containers/auth.json") {
            files.push(optional(path, Format::Current));
        }
        match surroundings.variable("DOCKER_CONFIG") {
            Some(folder) => files.push(optional(Path::new(folder).join("config.json"), Format::Current)),
            None => files.extend(
                surroundings
                    .in_home(".docker/config.json")
                    .map(|path| optional(path, Format::Current)),
            ),
        }
        files.extend(
            surroundings
                .in_home(".dockercfg")
                .map(|path| optional(path, Format::Legacy)),
        );
        Self {
            documents: Vec::new(),
            source: Source::Files(files),
            search_path: surroundings.variable("PATH").map(ToOwned::to_owned),
        }
    }

    /// The same, with documents that are asked first, in their order.
    ///
    /// Only their entries count. Whoever writes such a document must not choose which program runs here, so the helpers
    /// that it names are passed over.
    #[must_use]
    pub fn with_documents(mut self, documents: Vec<CredentialsDocument>) -> Self {
        self.documents = documents;
        self
    }

    /// Finds what to present to the registry of `reference` for its repository.
    pub async fn login_for(&self, reference: &Reference) -> Result<Login, CredentialsError> {
        for document in &self.documents {
            let login = document.login_for(reference)?;
            if login != Login::Anonymous {
                return Ok(login);
            }
        }
        let files = match &self.source {
            Source::Fixed(login) => return Ok(login.clone()),
            Source::Files(files) => files,
        };
        for file in files {
            let Some(contents) = file.read()? else {
                continue;
            };
            let login = self.look_up(file, &contents, reference).await?;
            if login != Login::Anonymous {
                return Ok(login);
            }
        }
        Ok(Login::Anonymous)
    }

    async fn look_up(
        &self,
        file: &CredentialsFile,
        contents: &Contents,
        reference: &Reference,
    ) -> Result<Login, CredentialsError> {
        let registry = reference.registry();
        let helpers = contents.helpers.as_ref();
        let helper = helpers.and_then(|helpers| {
            helpers.get(registry).or_else(|| {
                // Docker knows its own registry by its old address.
                helpers
                    .iter()
                    .find(|(key, _)| {
                        key.contains("://") && normalized_key(key, file.format) == normalized(registry)
                    })
                    .map(|(_, helper)| helper)
            })
        });
        if let Some(helper) = helper {
            return self.ask(file, helper, registry).await;
        }
        if let Some((key, entry)) = contents.entry(file.format, reference) {
            let login = entry.login(&file.path, key)?;
            if login != Login::Anonymous {
                return Ok(login);
            }
        }
        match &contents.store {
            Some(store) if !store.is_empty() => self.ask(file, store, registry).await,
            _ => Ok(Login::Anonymous),
        }
    }

    async fn ask(
        &self,
        file: &CredentialsFile,
        helper: &str,
        registry: &str,
    ) -> Result<Login, CredentialsError> {
        // Docker's helpers know Docker Hub by the address that `docker login` stores.
        let asked = key_of(registry);
        helper::ask(helper, asked, self.search_path.as_deref())
            .await
            .map_err(|cause| CredentialsError::Helper {
                path: file.path.clone(),
                program: format!("docker-credential-{helper}"),
                registry: registry.to_owned(),
                cause,
            })
    }
}

impl CredentialsFile {
    fn read(&self) -> Result<Option<Contents>, CredentialsError> {
        let unreadable = |source| CredentialsError::Unreadable {
            path: self.path.clone(),
            source,
            remedy: if self.required {
                "name another one (REGISTRY_AUTH_FILE)"
            } else {
                "remove it"
            },
        };
        let file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !self.required => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        let mut bytes = Vec::new();
        file.take(FILE_SIZE_LIMIT + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        let invalid = |cause: String| CredentialsError::Invalid {
            path: self.path.clone(),
            cause,
        };
        if bytes.len() as u64 > FILE_SIZE_LIMIT {
            return Err(invalid(format!("it is larger than {FILE_SIZE_LIMIT} bytes")));
        }
        Contents::parse(&bytes, self.format).map(Some).map_err(invalid)
    }
}

impl CredentialsDocument {
    fn login_for(&self, reference: &Reference) -> Result<Login, CredentialsError> {
        let format = if self.is_legacy {
            Format::Legacy
        } else {
            Format::Current
        };
        let origin = Path::new(&self.origin);
        let contents = Contents::parse(self.content.expose().as_bytes(), format).map_err(|cause| {
            CredentialsError::Invalid {
                path: origin.to_owned(),
                cause,
            }
        })?;
        match contents.entry(format, reference) {
            Some((key, entry)) => entry.login(origin, key),
            None => Ok(Login::Anonymous),
        }
    }
}

impl Contents {
    /// Reads what Docker or Podman wrote, or says where it stops making sense.
    fn parse(bytes: &[u8], format: Format) -> Result<Self, String> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        // serde's own message may quote a value, so only the position is passed on.
        let at = |error: serde_json::Error| {
            format!(
                "not the JSON that Docker and Podman write, at line {}, column {}",
                error.line(),
                error.column()
            )
        };
        match format {
            Format::Current => serde_json::from_slice(bytes).map_err(at),
            Format::Legacy => Ok(Self {
                auths: Some(serde_json::from_slice(bytes).map_err(at)?),
                ..Self::default()
            }),
        }
    }

    /// The entry for the longest prefix of the repository's name, or for the registry under another of its names.
    fn entry(&self, format: Format, reference: &Reference) -> Option<(&str, &Entry)> {
        let entries = self.auths.as_ref()?;
        let name = reference.name();
        let mut key = match format {
            Format::Current => Some(name.as_str()),
            Format::Legacy => Some(reference.registry()),
        };
        while let Some(prefix) = key {
            if let Some((key, entry)) = entries.get_key_value(prefix) {
                return Some((key, entry));
            }
            key = prefix.rsplit_once('/').map(|(shorter, _)| shorter);
        }
        entries
            .iter()
            .find(|(key, _)| normalized_key(key, format) == normalized(reference.registry()))
            .map(|(key, entry)| (key.as_str(), entry))
    }
}

impl Entry {
    fn login(&self, path: &Path, key: &str) -> Result<Login, CredentialsError> {
        let invalid = |cause| CredentialsError::InvalidEntry {
            path: path.to_owned(),
            key: key.to_owned(),
            cause,
        };
        if let Some(token) = self.identity_token.as_ref().filter(|token| !token.is_empty()) {
            return Ok(Login::IdentityToken(Secret::new(token)));
        }
        let Some(encoded) = self.auth.as_ref().filter(|auth| !auth.is_empty()) else {
            return Ok(match (&self.username, &self.password) {
                (Some(username), Some(password)) => Login::Password {
                    username: username.clone(),
                    password: Secret::new(password),
                },
                // Docker leaves an empty entry behind when a helper keeps the password.
                _ => Login::Anonymous,
            });
        };
        let decoded = BASE64
            .decode(encoded)
            .map_err(|_| invalid("\"auth\" is not base64"))?;
        let decoded = String::from_utf8(decoded).map_err(|_| invalid("\"auth\" is not text"))?;
        let (username, password) = decoded
            .split_once(':')
            .ok_or_else(|| invalid("\"auth\" has no colon between name and password"))?;
        Ok(Login::Password {
            username: username.to_owned(),
            password: Secret::new(password.trim_matches('\0')),
        })
    }
}

/// An entry's key as the name of a registry: without scheme, and without a path where the file format had none.
fn normalized_key(key: &str, format: Format) -> &str {
    let stripped = key.strip_prefix("http://").unwrap_or(key);
    let stripped = stripped.strip_prefix("https://").unwrap_or(stripped);
    let is_address = stripped.len() != key.len();
    let host = if format == Format::Legacy || is_address {
        stripped.split('/').next().unwrap_or_default()
    } else {
        stripped
    };
    normalized(host)
}

/// What a registry is called in files and by helpers: Docker Hub by the address that `docker login` stores.
fn key_of(registry: &str) -> &str {
    match normalized(registry) {
        "index.docker.io" => "https://index.docker.io/v1/",
        _ => registry,
    }
}

/// Docker Hub has several names.
fn normalized(registry: &str) -> &str {
    match registry {
        "docker.io" | "registry-1.docker.io" => "index.docker.io",
        other => other,
    }
}

#[cfg(test)]
mod tests;
