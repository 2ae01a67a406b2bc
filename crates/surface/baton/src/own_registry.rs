//! The registry of `baton up` or `baton stage`: who may write to it, and that the commands of its owner can.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use image::credentials::{CredentialsDocument, Login, Secret};
use serde_json::json;

use crate::failure::Failure;
use crate::instance::{self, Found, Record};
use crate::{hosted_stage, kept_secret, kubeconfig};

/// The name that its owner logs in with.
pub(crate) const USER: &str = "baton";

/// The file that keeps the password.
pub(crate) const PASSWORD_FILE: &str = "registry.password";

/// The shortest password that is used: one that was made is not shorter.
const SHORTEST_PASSWORD: usize = 32;

/// Returns the password that a folder keeps, or a new one.
pub(crate) fn password(folder: Option<&Path>) -> Result<Secret, Failure> {
    let file = folder.map(|folder| folder.join(PASSWORD_FILE));
    let text = kept_secret::read_or_make(file.as_deref())?;
    match file {
        Some(file) => checked(text, &file),
        None => Ok(Secret::new(text)),
    }
}

/// Returns the password that a folder keeps, if it keeps one.
pub(crate) fn kept_password(folder: &Path) -> Result<Option<Secret>, Failure> {
    let file = folder.join(PASSWORD_FILE);
    kept_secret::read(&file)?
        .map(|text| checked(text, &file))
        .transpose()
}

fn checked(text: String, file: &Path) -> Result<Secret, Failure> {
    if text.len() >= SHORTEST_PASSWORD && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Secret::new(text));
    }
    Err(Failure::new(format!(
        "cannot use {}: a password of the registry has {SHORTEST_PASSWORD} or more characters without spaces; delete the file to get \
         a new one",
        file.display()
    )))
}

/// What its owner logs in with.
pub(crate) fn login(password: Secret) -> Login {
    Login::Password {
        username: USER.to_owned(),
        password,
    }
}

/// Where a running `baton up` has its registry, as images name it, and what its owner logs in with.
pub(crate) fn of(record: &Record) -> Option<(String, Login)> {
    let host = record.registry.strip_prefix("http://")?;
    let password = record.registry_password.clone()?;
    Some((host.to_owned(), login(Secret::new(password))))
}

/// Whether a running `baton up` has its registry under a name.
pub(crate) fn is_called(record: &Record, registry: &str) -> bool {
    of(record).is_some_and(|(host, _)| names(&host).iter().any(|name| name == registry))
}

/// The logins of the `baton up` that runs on the usual folder, and of those whose kubeconfig the environment names; each for
/// its registry alone.
pub(crate) fn known_logins() -> Vec<CredentialsDocument> {
    let named = kubeconfig::named_data_folders().into_iter();
    let named = named.filter_map(|folder| match instance::find(&folder) {
        Ok(Found::Running(record)) => Some(*record),
        _ => None,
    });
    named
        .chain(instance::usual())
        .filter_map(|record| document(&record))
        .collect()
}

fn document(record: &Record) -> Option<CredentialsDocument> {
    let (host, _) = of(record)?;
    let entry = json!({ "username": USER, "password": record.registry_password });
    let entries: BTreeMap<String, _> = names(&host)
        .into_iter()
        .map(|name| (name, entry.clone()))
        .collect();
    Some(CredentialsDocument {
        origin: "the record of baton up".to_owned(),
        content: Secret::new(json!({ "auths": entries }).to_string()),
        is_legacy: false,
    })
}

/// The names of a registry of this machine, as images have them.
fn names(host: &str) -> Vec<String> {
    match host.parse::<SocketAddr>() {
        Ok(address) => hosted_stage::hosts(address),
        Err(_) => vec![host.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use image::credentials::Credentials;
    use image::reference::Reference;

    use super::*;

    #[tokio::test]
    async fn the_password_is_shown_to_no_other_registry() {
        let record = Record {
            process: 1,
            since: String::new(),
            api: String::new(),
            registry: "http://127.0.0.1:5000".to_owned(),
            registry_password: Some("secret".to_owned()),
            catalogs: String::new(),
            console: None,
            kubeconfig: PathBuf::new(),
            folder: PathBuf::new(),
            in_memory: false,
        };
        let documents = document(&record).into_iter().collect();
        let credentials = Credentials::none().with_documents(documents);
        let own = login(Secret::new("secret"));
        for (image, expected) in [
            ("127.0.0.1:5000/a:v1", own.clone()),
            ("localhost:5000/a/b", own),
            ("127.0.0.1:5001/a:v1", Login::Anonymous),
            ("localhost/a", Login::Anonymous),
            ("quay.io/a/b", Login::Anonymous),
        ] {
            let image = Reference::parse(image).expect("a name");
            assert_eq!(
                credentials.login_for(&image).await.expect("a look"),
                expected,
                "{image}"
            );
        }
        assert!(is_called(&record, "localhost:5000") && !is_called(&record, "localhost:5001"));
    }

    #[test]
    fn a_password_that_was_spoilt_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(kept_password(folder.path()).expect("a look").is_none());
        let made = password(Some(folder.path())).expect("a password");
        assert_eq!(kept_password(folder.path()).expect("a look"), Some(made));
        std::fs::write(folder.path().join(PASSWORD_FILE), "short\n").expect("a file");
        let said = password(Some(folder.path())).expect_err("a failure").text();
        assert!(
            said.contains("registry.password: a password of the registry has"),
            "{said}"
        );
        assert!(!said.contains("short"), "{said}");
    }
}
