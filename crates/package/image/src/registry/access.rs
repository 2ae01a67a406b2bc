//! Who may use the registry: everyone, the users of an htpasswd file, or one user while others read.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use serde_json::json;
use tokio::sync::Semaphore;

use super::RegistryError;
use super::refusal::{ErrorCode, Refusal};
use super::tokens::{self, Tokens};
use crate::credentials::Secret;

/// The largest htpasswd file: enough for ten thousand users.
const MAX_HTPASSWD_BYTES: u64 = 1 << 20;

/// How many passwords are checked at once: each check keeps a processor busy on purpose, and strangers can ask for it.
const MAX_PASSWORD_CHECKS: usize = 2;

/// A hash that no password has, checked for unknown users, so that they take as long to refuse as known ones.
const NOBODY: &str = "$2b$10$abcdefghijklmnopqrstuuJ8l0VbRjVtYwzZ2rkXQPf6u5dQvF8Oe";

/// Who may read and write a registry.
#[derive(Debug)]
pub enum Access {
    /// Everyone who reaches it.
    Open,
    /// Its users; and strangers as far as is said.
    Users {
        /// Those who may do everything.
        users: Arc<Users>,
        /// What others may do.
        strangers: Strangers,
    },
}

/// What those may do who don't log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strangers {
    /// Nothing.
    StayOut,
    /// Read, if they are on this machine.
    ReadFromThisMachine,
    /// Read, wherever they are.
    Read,
}

/// Who asks, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Caller {
    /// Nobody who said who he is.
    Stranger,
    /// A user, by name.
    User(String),
}

impl Caller {
    /// The name of a user.
    pub(super) fn user(&self) -> Option<&str> {
        match self {
            Self::Stranger => None,
            Self::User(name) => Some(name),
        }
    }
}

/// What a connection says of its client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    pub(super) address: IpAddr,
    pub(super) is_tls: bool,
}

impl Peer {
    /// Whether the client is on this machine; one without a socket is.
    pub(super) fn is_local(peer: Option<Self>) -> bool {
        peer.is_none_or(|peer| peer.address.to_canonical().is_loopback())
    }
}

impl Access {
    /// Only users may do anything.
    pub fn users_only(users: Users) -> Self {
        Self::Users {
            users: Arc::new(users),
            strangers: Strangers::StayOut,
        }
    }

    /// Everyone on this machine may read, and one user may write.
    pub fn one_writer(name: &str, password: &Secret) -> Result<Self, RegistryError> {
        Ok(Self::Users {
            users: Arc::new(Users::one(name, password)?),
            strangers: Strangers::ReadFromThisMachine,
        })
    }

    /// Finds out who sent a request; an error for who says that he is a user and isn't, and for strangers who must stay out.
    pub(super) async fn identify(&self, headers: &HeaderMap, peer: Option<Peer>) -> Result<Caller, Refusal> {
        let Self::Users { users, .. } = self else {
            return Ok(Caller::Stranger);
        };
        match Shown::read(headers) {
            Shown::Nothing if self.lets_strangers_read(peer) => Ok(Caller::Stranger),
            Shown::Nothing => Err(refusal(
                "this registry asks for a name and a password: log in first",
            )),
            Shown::Password(name, password) => users.admit(&name, &password).await.map(Caller::User),
            // A token says no more than that its owner was let in for a while: strangers' tokens are worth nothing more.
            Shown::Token(token) if self.knows_strangers() => {
                match users.tokens.read(&token, SystemTime::now()) {
                    Some(caller) if caller.user().is_some() || self.lets_strangers_read(peer) => Ok(caller),
                    _ => Err(Refusal::new(
                        StatusCode::UNAUTHORIZED,
                        ErrorCode::Unauthorized,
                        "the token is none of this registry's, or too old: ask for another one",
                        json!(null),
                    )
                    .with_challenge(&tokens::challenge(headers, peer))),
                }
            }
            Shown::Token(_) | Shown::Nonsense => Err(refusal(
                "this registry takes a name and a password (Basic): log in again",
            )),
        }
    }

    /// Whether there are tokens: where everyone has to log in, a password is simpler.
    pub(super) fn knows_strangers(&self) -> bool {
        matches!(self, Self::Users { strangers, .. } if *strangers != Strangers::StayOut)
    }

    /// Whether strangers may read.
    pub(super) fn lets_strangers_read(&self, peer: Option<Peer>) -> bool {
        match self {
            Self::Open => true,
            Self::Users { strangers, .. } => match strangers {
                Strangers::StayOut => false,
                Strangers::ReadFromThisMachine => Peer::is_local(peer),
                Strangers::Read => true,
            },
        }
    }

    /// Fails unless the caller may change what the registry has.
    pub(super) fn admit_writer(&self, caller: &Caller) -> Result<(), Refusal> {
        match (self, caller) {
            (Self::Open, _) | (Self::Users { .. }, Caller::User(_)) => Ok(()),
            (Self::Users { .. }, Caller::Stranger) => Err(refusal(
                "writing to this registry needs a name and a password: log in with `baton login`, `docker login` or `helm \
                 registry login`, and push again",
            )),
        }
    }
}

/// What a request shows to be let in.
enum Shown {
    Nothing,
    Password(String, String),
    Token(String),
    Nonsense,
}

impl Shown {
    fn read(headers: &HeaderMap) -> Self {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let (header, None) = (sent.next(), sent.next()) else {
            return Self::Nonsense;
        };
        let Some(header) = header else {
            return Self::Nothing;
        };
        Self::parse(header.as_bytes()).unwrap_or(Self::Nonsense)
    }

    fn parse(header: &[u8]) -> Option<Self> {
        let (scheme, value) = std::str::from_utf8(header).ok()?.split_once(' ')?;
        let value = value.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(Self::Token(value.to_owned()));
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let text = String::from_utf8(STANDARD.decode(value).ok()?).ok()?;
        let (name, password) = text.split_once(':')?;
        Some(match (name, password) {
            // Some clients ask strangers for Basic like that.
            ("", "") => Self::Nothing,
            _ => Self::Password(name.to_owned(), password.to_owned()),
        })
    }
}

/// The users of a registry.
pub struct Users {
    hashes: HashMap<String, String>,
    /// Pairs that were right, as keyed hashes, so that each is worked out once and not for every request.
    verified: Mutex<HashSet<[u8; 32]>>,
    /// A pair that is right without a file, as a keyed hash.
    known: Option<hmac::Tag>,
    key: hmac::Key,
    pub(super) tokens: Tokens,
    checks: Semaphore,
}

impl std::fmt::Debug for Users {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = usize::from(self.known.is_some());
        write!(formatter, "Users({})", self.hashes.len() + known)
    }
}

impl Users {
    /// Reads an htpasswd file with bcrypt hashes, as `htpasswd -B` writes it.
    pub fn from_htpasswd(path: &Path) -> Result<Self, RegistryError> {
        let unreadable = |source| RegistryError::Htpasswd {
            path: path.to_path_buf(),
            source,
        };
        let mut text = String::new();
        File::open(path)
            .map_err(unreadable)?
            .take(MAX_HTPASSWD_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        if text.len() as u64 > MAX_HTPASSWD_BYTES {
            return Err(unreadable(std::io::Error::other(format!(
                "the file is larger than {MAX_HTPASSWD_BYTES} bytes"
            ))));
        }
        let hashes = parse(&text).map_err(|line| RegistryError::HtpasswdLine {
            path: path.to_path_buf(),
            line,
        })?;
        Self::of(hashes)
    }

    /// One user, by a password that nobody guesses: it is compared, not hashed slowly.
    pub fn one(name: &str, password: &Secret) -> Result<Self, RegistryError> {
        let mut users = Self::of(HashMap::new())?;
        users.known = Some(hmac::sign(&users.key, &pair_of(name, password.expose())));
        Ok(users)
    }

    fn of(hashes: HashMap<String, String>) -> Result<Self, RegistryError> {
        Ok(Self {
            hashes,
            verified: Mutex::default(),
            known: None,
            key: random_key()?,
            tokens: Tokens::new(random_key()?),
            checks: Semaphore::new(MAX_PASSWORD_CHECKS),
        })
    }

    /// The name of a user; an error unless the password is his.
    pub(super) async fn admit(self: &Arc<Self>, name: &str, password: &str) -> Result<String, Refusal> {
        let wrong = || refusal("the name or the password is wrong: log in again");
        let pair = pair_of(name, password);
        // The comparison takes as long whatever is wrong.
        if let Some(known) = &self.known
            && hmac::verify(&self.key, &pair, known.as_ref()).is_ok()
        {
            return Ok(name.to_owned());
        }
        if self.hashes.is_empty() {
            return Err(wrong());
        }
        let mut pair_hash = [0; 32];
        pair_hash.copy_from_slice(hmac::sign(&self.key, &pair).as_ref());
        if self
            .verified
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&pair_hash)
        {
            return Ok(name.to_owned());
        }
        let _check = self.checks.acquire().await;
        let users = Arc::clone(self);
        let (owner, password) = (name.to_owned(), password.to_owned());
        let is_right = tokio::task::spawn_blocking(move || {
            let hash = users.hashes.get(&owner);
            // Cutting long passwords short would let many pass for one.
            let matches = bcrypt::non_truncating_verify(password, hash.map_or(NOBODY, String::as_str));
            hash.is_some() && matches.unwrap_or(false)
        });
        if !is_right.await.unwrap_or(false) {
            return Err(wrong());
        }
        self.verified
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(pair_hash);
        Ok(name.to_owned())
    }
}

/// A name and a password as one text; no name has a zero byte or, for its sender's encoding, a colon.
fn pair_of(name: &str, password: &str) -> Vec<u8> {
    format!("{name}\0{password}").into_bytes()
}

fn random_key() -> Result<hmac::Key, RegistryError> {
    hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).map_err(|_| RegistryError::NoRandomness)
}

/// Reads lines of `name:hash`; the error is the number of the line that isn't one.
fn parse(text: &str) -> Result<HashMap<String, String>, usize> {
    let mut hashes = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = index + 1;
        let (name, hash) = line.split_once(':').ok_or(number)?;
        let is_bcrypt = hash.len() == 60
            && ["$2a$", "$2b$", "$2y$"]
                .iter()
                .any(|version| hash.starts_with(version));
        // The library is asked too: it is the one that will have to read the hash.
        if name.is_empty() || !is_bcrypt || hash.parse::<bcrypt::HashParts>().is_err() {
            return Err(number);
        }
        hashes.insert(name.to_owned(), hash.to_owned());
    }
    Ok(hashes)
}

/// The refusal that has clients ask their user for a name and a password.
pub(super) fn refusal(message: &str) -> Refusal {
    Refusal::new(
        StatusCode::UNAUTHORIZED,
        ErrorCode::Unauthorized,
        message,
        json!(null),
    )
    .with_challenge("Basic realm=\"baton registry\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bcrypt_hashes_are_taken() {
        let hash = bcrypt::hash("secret", 4).unwrap();
        assert_eq!(parse(&format!("# users\n\nann:{hash}\n")).unwrap().len(), 1);
        for line in [
            "ann",
            "ann:secret",
            "ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
            "ann:$apr1$a$b",
            &format!(":{hash}"),
        ] {
            assert_eq!(parse(&format!("ben:{hash}\n{line}\n")).err(), Some(2), "{line}");
        }
    }

    #[test]
    fn the_hash_of_nobody_is_one() {
        assert!(matches!(bcrypt::non_truncating_verify("", NOBODY), Ok(false)));
    }
}
