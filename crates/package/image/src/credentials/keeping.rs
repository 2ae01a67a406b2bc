//! Keeping and forgetting a login, in the file that `docker login` writes and by the helpers that it names.

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::{Map, Value, json};

use super::{BASE64, CredentialsError, FILE_SIZE_LIMIT, Login, helper, key_of};
use crate::surroundings::Surroundings;

/// Only the owner reads passwords.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Where a login was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// In the file, as anybody who reads it can.
    InFile(PathBuf),
    /// By a helper, which is named by its program.
    ByHelper(String),
}

/// The file where logins are kept.
#[derive(Debug, Clone)]
pub struct KeptLogins {
    path: PathBuf,
    search_path: Option<OsString>,
}

impl KeptLogins {
    /// The file that `docker login` writes; where `$REGISTRY_AUTH_FILE` is set, that one, since no other is read then.
    pub fn from_surroundings(surroundings: &Surroundings) -> Result<Self, CredentialsError> {
        let path = if let Some(path) = surroundings.variable("REGISTRY_AUTH_FILE") {
            Some(PathBuf::from(path))
        } else if let Some(folder) = surroundings.variable("DOCKER_CONFIG") {
            Some(Path::new(folder).join("config.json"))
        } else {
            surroundings.in_home(".docker/config.json")
        };
        let path = path.ok_or(CredentialsError::Nowhere)?;
        Ok(Self::in_file(&path, surroundings))
    }

    /// The file that is given.
    #[must_use]
    pub fn in_file(path: &Path, surroundings: &Surroundings) -> Self {
        Self {
            path: path.to_owned(),
            search_path: surroundings.variable("PATH").map(ToOwned::to_owned),
        }
    }

    /// Keeps the login of a registry, given as `host` or `host:port`, in place of the one before.
    pub async fn keep(&self, registry: &str, login: &Login) -> Result<Kept, CredentialsError> {
        let mut content = self.read()?;
        let key = key_of(registry);
        let helper = helper_for(&content, key);
        let entry = match &helper {
            Some(helper) => {
                helper::store(helper, key, login, self.search_path.as_deref())
                    .await
                    .map_err(|cause| self.failed(helper, registry, cause))?;
                // Docker leaves such an entry, so that others see which registries there are.
                json!({})
            }
            None => match login {
                Login::Anonymous => json!({}),
                Login::Password { username, password } => {
                    json!({ "auth": BASE64.encode(format!("{username}:{}", password.expose())) })
                }
                Login::IdentityToken(token) => json!({ "identitytoken": token.expose() }),
            },
        };
        self.logins_in(&mut content)?.insert(key.to_owned(), entry);
        self.write(&content)?;
        Ok(match helper {
            Some(helper) => Kept::ByHelper(format!("docker-credential-{helper}")),
            None => Kept::InFile(self.path.clone()),
        })
    }

    /// Forgets the login of a registry; returns whether there was one.
    pub async fn forget(&self, registry: &str) -> Result<bool, CredentialsError> {
        let mut content = self.read()?;
        let key = key_of(registry);
        let mut was_there = match helper_for(&content, key) {
            Some(helper) => helper::erase(&helper, key, self.search_path.as_deref())
                .await
                .map_err(|cause| self.failed(&helper, registry, cause))?,
            None => false,
        };
        let logins = self.logins_in(&mut content)?;
        let mut has_changed = false;
        // Other programs write the address with its scheme.
        for key in [
            key.to_owned(),
            registry.to_owned(),
            format!("http://{registry}"),
            format!("https://{registry}"),
        ] {
            has_changed |= logins.remove(&key).is_some();
        }
        if has_changed {
            self.write(&content)?;
        }
        was_there |= has_changed;
        Ok(was_there)
    }

    fn failed(&self, helper: &str, registry: &str, cause: helper::HelperError) -> CredentialsError {
        CredentialsError::Helper {
            path: self.path.clone(),
            program: format!("docker-credential-{helper}"),
            registry: registry.to_owned(),
            cause,
        }
    }

    fn invalid(&self, cause: impl Into<String>) -> CredentialsError {
        CredentialsError::Invalid {
            path: self.path.clone(),
            cause: cause.into(),
        }
    }

    fn read(&self) -> Result<Map<String, Value>, CredentialsError> {
        let unreadable = |source| CredentialsError::Unreadable {
            path: self.path.clone(),
            source,
            remedy: "name another one (--authfile)",
        };
        let mut bytes = Vec::new();
        match fs::File::open(&self.path) {
            Ok(file) => file
                .take(FILE_SIZE_LIMIT + 1)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(unreadable(error)),
        };
        if bytes.len() as u64 > FILE_SIZE_LIMIT {
            return Err(self.invalid(format!("it is larger than {FILE_SIZE_LIMIT} bytes")));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Map::new());
        }
        // The reader's own message may quote a value.
        serde_json::from_slice(&bytes).map_err(|error| {
            self.invalid(format!(
                "not the JSON that Docker and Podman write, at line {}, column {}",
                error.line(),
                error.column()
            ))
        })
    }

    fn logins_in<'a>(
        &self,
        content: &'a mut Map<String, Value>,
    ) -> Result<&'a mut Map<String, Value>, CredentialsError> {
        let logins = content.entry("auths").or_insert(Value::Null);
        if logins.is_null() {
            *logins = json!({});
        }
        logins
            .as_object_mut()
            .ok_or_else(|| self.invalid("\"auths\" is no object"))
    }

    /// Writes the file in place of the one before, or of the one that a link leads to.
    fn write(&self, content: &Map<String, Value>) -> Result<(), CredentialsError> {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let write = || {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            fs::DirBuilder::new()
                .recursive(true)
                .mode(FOLDER_MODE)
                .create(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.as_file()
                .set_permissions(fs::Permissions::from_mode(FILE_MODE))?;
            serde_json::to_writer_pretty(&mut file, content)?;
            file.write_all(b"\n")?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|source| CredentialsError::Unwritable {
            path: self.path.clone(),
            source,
        })
    }
}

/// The helper that keeps the logins of a registry, by the rest of its program's name.
fn helper_for(content: &Map<String, Value>, key: &str) -> Option<String> {
    let own = content
        .get("credHelpers")
        .and_then(|helpers| helpers.get(key)?.as_str());
    let helper = own.or_else(|| content.get("credsStore")?.as_str());
    helper.filter(|helper| !helper.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use crate::credentials::{Credentials, Secret};
    use crate::reference::Reference;

    use super::*;

    fn password(name: &str, password: &str) -> Login {
        Login::Password {
            username: name.to_owned(),
            password: Secret::new(password),
        }
    }

    async fn found(surroundings: &Surroundings, image: &str) -> Login {
        Credentials::from_surroundings(surroundings)
            .login_for(&Reference::parse(image).unwrap())
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn a_login_is_kept_where_docker_keeps_it_and_everything_else_stays() {
        let home = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::under(home.path()).with_home(home.path());
        let logins = KeptLogins::from_surroundings(&surroundings).unwrap();
        let path = home.path().join(".docker/config.json");
        let kept = logins
            .keep("127.0.0.1:5000", &password("baton", "s:ecret"))
            .await
            .unwrap();
        assert_eq!(kept, Kept::InFile(path.clone()));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(
            found(&surroundings, "127.0.0.1:5000/a").await,
            password("baton", "s:ecret")
        );

        let before = json!({
            "auths": { "ghcr.io": { "auth": "YTpi" } },
            "HttpHeaders": { "X": "y" },
            "currentContext": "other",
        });
        fs::write(&path, before.to_string()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        logins
            .keep("127.0.0.1:5000", &password("baton", "new"))
            .await
            .unwrap();
        logins.keep("docker.io", &password("ann", "hub")).await.unwrap();
        let mut after: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(mode(&path), 0o600);
        let auths = after["auths"].as_object().unwrap().clone();
        assert_eq!(
            auths.keys().collect::<Vec<_>>(),
            ["127.0.0.1:5000", "ghcr.io", "https://index.docker.io/v1/"]
        );
        assert_eq!(
            found(&surroundings, "docker.io/library/a").await,
            password("ann", "hub")
        );
        assert!(logins.forget("docker.io").await.unwrap());
        assert!(logins.forget("127.0.0.1:5000").await.unwrap());
        assert!(!logins.forget("127.0.0.1:5000").await.unwrap());
        after = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(after, before);
    }

    #[tokio::test]
    async fn a_file_that_is_broken_stays_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let surroundings = Surroundings::under(home.path()).with_variable("DOCKER_CONFIG", home.path());
        let path = home.path().join("config.json");
        let logins = KeptLogins::from_surroundings(&surroundings).unwrap();
        for broken in ["{", "[]", r#"{"auths": "secret"}"#] {
            fs::write(&path, broken).unwrap();
            let error = logins.keep("a.example", &password("ann", "x")).await.unwrap_err();
            assert!(matches!(error, CredentialsError::Invalid { .. }), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), broken);
        }
        let nowhere = Surroundings::under(home.path());
        assert!(matches!(
            KeptLogins::from_surroundings(&nowhere),
            Err(CredentialsError::Nowhere)
        ));
    }

    #[tokio::test]
    async fn a_link_leads_to_the_file_that_is_written() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("dotfiles.json");
        fs::write(&target, "{}").unwrap();
        let link = home.path().join("config.json");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let surroundings = Surroundings::under(home.path()).with_variable("REGISTRY_AUTH_FILE", &link);
        let logins = KeptLogins::from_surroundings(&surroundings).unwrap();
        logins.keep("a.example", &password("ann", "x")).await.unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&target).unwrap().contains("a.example"));
    }

    #[tokio::test]
    async fn a_helper_keeps_what_it_is_named_for() {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("docker-credential-test");
        let script = "#!/bin/sh\ncd \"$(dirname \"$0\")\"\ncase $1 in\nstore) cat >stored ;;\n\
                      get) if [ -f stored ]; then cat stored; else echo 'credentials not found in native keychain'; exit 1; fi ;;\n\
                      erase) rm stored ;;\nesac\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::join_paths([home.path(), Path::new("/bin"), Path::new("/usr/bin")]).unwrap();
        let surroundings = Surroundings::under(home.path())
            .with_variable("DOCKER_CONFIG", home.path())
            .with_variable("PATH", path);
        let file = home.path().join("config.json");
        for settings in [
            json!({ "credsStore": "test" }),
            json!({ "credHelpers": { "a.example": "test" } }),
        ] {
            fs::write(&file, settings.to_string()).unwrap();
            let logins = KeptLogins::from_surroundings(&surroundings).unwrap();
            let kept = logins
                .keep("a.example", &password("ann", "hidden"))
                .await
                .unwrap();
            assert_eq!(kept, Kept::ByHelper("docker-credential-test".to_owned()));
            let written = fs::read_to_string(&file).unwrap();
            assert!(
                !written.contains("hidden") && written.contains("a.example"),
                "{written}"
            );
            let stored: Value =
                serde_json::from_slice(&fs::read(home.path().join("stored")).unwrap()).unwrap();
            assert_eq!(
                stored,
                json!({ "ServerURL": "a.example", "Username": "ann", "Secret": "hidden" })
            );
            assert_eq!(
                found(&surroundings, "a.example/b").await,
                password("ann", "hidden")
            );
            assert!(logins.forget("a.example").await.unwrap());
            assert!(!home.path().join("stored").exists());
            assert!(!logins.forget("a.example").await.unwrap());
        }
    }
}
