//! Who may use the registry: names and passwords from an htpasswd file.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use serde_json::json;
use tokio::sync::Semaphore;

use super::RegistryError;
use super::refusal::{ErrorCode, Refusal};

/// The largest htpasswd file: enough for ten thousand users.
const MAX_HTPASSWD_BYTES: u64 = 1 << 20;

/// How many passwords are checked at once: each check keeps a processor busy on purpose, and strangers can ask for it.
const MAX_PASSWORD_CHECKS: usize = 2;

/// A hash that no password has, checked for unknown users, so that they take as long to refuse as known ones.
const NOBODY: &str = "$2b$10$abcdefghijklmnopqrstuuJ8l0VbRjVtYwzZ2rkXQPf6u5dQvF8Oe";

/// The users of a registry.
pub struct Users {
    hashes: HashMap<String, String>,
    /// Pairs that were right, as keyed hashes, so that each is worked out once and not for every request.
    verified: Mutex<HashSet<[u8; 32]>>,
    key: hmac::Key,
    checks: Semaphore,
}

impl std::fmt::Debug for Users {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Users({})", self.hashes.len())
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
        Self::parse(&text).map_err(|line| RegistryError::HtpasswdLine {
            path: path.to_path_buf(),
            line,
        })
    }

    /// Reads lines of `name:hash`; the error is the number of the line that isn't one.
    fn parse(text: &str) -> Result<Self, usize> {
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
        Ok(Self {
            hashes,
            verified: Mutex::default(),
            key: hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).map_err(|_| 0_usize)?,
            checks: Semaphore::new(MAX_PASSWORD_CHECKS),
        })
    }

    /// An error unless the request comes from a user of the registry.
    pub async fn admit(self: &Arc<Self>, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some((name, password)) = credentials(headers) else {
            return Err(refusal(
                "this registry asks for a name and a password: log in first",
            ));
        };
        let users = Arc::clone(self);
        let pair = hmac::sign(&self.key, format!("{name}\0{password}").as_bytes());
        let mut pair_hash = [0; 32];
        pair_hash.copy_from_slice(pair.as_ref());
        if self
            .verified
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&pair_hash)
        {
            return Ok(());
        }
        let _check = self.checks.acquire().await;
        let is_right = tokio::task::spawn_blocking(move || {
            let hash = users.hashes.get(&name);
            // Cutting long passwords short would let many pass for one.
            let matches = bcrypt::non_truncating_verify(password, hash.map_or(NOBODY, String::as_str));
            hash.is_some() && matches.unwrap_or(false)
        });
        if !is_right.await.unwrap_or(false) {
            return Err(refusal("the name or the password is wrong: log in again"));
        }
        self.verified
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(pair_hash);
        Ok(())
    }
}

fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, value) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(value.trim()).ok()?).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

fn refusal(message: &str) -> Refusal {
    Refusal::new(
        StatusCode::UNAUTHORIZED,
        ErrorCode::Unauthorized,
        message,
        json!(null),
    )
    .with_header(WWW_AUTHENTICATE, "Basic realm=\"baton registry\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bcrypt_hashes_are_taken() {
        let hash = bcrypt::hash("secret", 4).unwrap();
        assert_eq!(
            Users::parse(&format!("# users\n\nann:{hash}\n"))
                .unwrap()
                .hashes
                .len(),
            1
        );
        for line in [
            "ann",
            "ann:secret",
            "ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
            "ann:$apr1$a$b",
            &format!(":{hash}"),
        ] {
            assert_eq!(
                Users::parse(&format!("ben:{hash}\n{line}\n")).err(),
                Some(2),
                "{line}"
            );
        }
    }

    #[test]
    fn the_hash_of_nobody_is_one() {
        assert!(matches!(bcrypt::non_truncating_verify("", NOBODY), Ok(false)));
    }
}
