//! Credential helpers: programs named `docker-credential-…` that keep passwords in a keychain.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::{Login, Secret};

/// How long a helper may take. Some ask a cloud service; one that waits for a person must not hang a build forever.
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// The longest answer that is read.
const ANSWER_LIMIT: u64 = 1 << 20;

/// What a helper prints when it simply has no password for a registry.
const NOT_FOUND: &str = "credentials not found in native keychain";

/// The name under which helpers keep identity tokens.
const TOKEN_USER: &str = "<token>";

/// Why a credential helper gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The name in the file can't be the rest of a program's name.
    #[error("{0:?} is not the name of a helper; correct the file")]
    Name(String),
    /// The program isn't installed.
    #[error("it is not in PATH; install it or remove it from the file")]
    NotInstalled,
    /// The program couldn't be started or talked to.
    #[error("{0}; check that it can be run")]
    Process(#[from] std::io::Error),
    /// The program took too long.
    #[error("no answer within {} seconds; run it by hand to see what it waits for", TIME_LIMIT.as_secs())]
    TimeOut,
    /// The program reported an error.
    #[error("it failed: {0}; run it by hand to see why")]
    Failed(String),
    /// The program's answer isn't a name and a secret.
    #[error("its answer is not the JSON of a credential helper; update it")]
    Answer,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// Asks `docker-credential-<helper>` for the login of `registry`.
pub(super) async fn ask(
    helper: &str,
    registry: &str,
    search_path: Option<&OsStr>,
) -> Result<Login, HelperError> {
    match run(helper, "get", registry, search_path).await? {
        Answered::NotFound => Ok(Login::Anonymous),
        Answered::Done(answer) => {
            let answer: Answer = serde_json::from_slice(&answer).map_err(|_| HelperError::Answer)?;
            Ok(match answer.username.as_str() {
                "" if answer.secret.is_empty() => Login::Anonymous,
                TOKEN_USER => Login::IdentityToken(Secret::new(answer.secret)),
                _ => Login::Password {
                    username: answer.username,
                    password: Secret::new(answer.secret),
                },
            })
        }
    }
}

/// Has `docker-credential-<helper>` keep a login of `registry`.
pub(super) async fn store(
    helper: &str,
    registry: &str,
    login: &Login,
    search_path: Option<&OsStr>,
) -> Result<(), HelperError> {
    let (username, secret) = match login {
        Login::Anonymous => return Ok(()),
        Login::Password { username, password } => (username.as_str(), password),
        Login::IdentityToken(token) => (TOKEN_USER, token),
    };
    let told = json!({ "ServerURL": registry, "Username": username, "Secret": secret.expose() });
    run(helper, "store", &told.to_string(), search_path)
        .await
        .map(drop)
}

/// Has `docker-credential-<helper>` forget the login of `registry`; returns whether it had one.
pub(super) async fn erase(
    helper: &str,
    registry: &str,
    search_path: Option<&OsStr>,
) -> Result<bool, HelperError> {
    // Not every helper fails when there is nothing to forget.
    if ask(helper, registry, search_path).await? == Login::Anonymous {
        return Ok(false);
    }
    run(helper, "erase", registry, search_path).await?;
    Ok(true)
}

/// What a helper said.
enum Answered {
    Done(Vec<u8>),
    NotFound,
}

async fn run(
    helper: &str,
    action: &str,
    told: &str,
    search_path: Option<&OsStr>,
) -> Result<Answered, HelperError> {
    let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    if helper.is_empty() || !helper.chars().all(plain) {
        return Err(HelperError::Name(helper.to_owned()));
    }
    let name = format!("docker-credential-{helper}");
    let program = find(&name, search_path).ok_or(HelperError::NotInstalled)?;
    tokio::time::timeout(TIME_LIMIT, talk(&program, action, told))
        .await
        .map_err(|_| HelperError::TimeOut)?
}

async fn talk(program: &Path, action: &str, told: &str) -> Result<Answered, HelperError> {
    let mut child = Command::new(program)
        .arg(action)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A helper that fails at once may have closed its input already; its answer says why.
        let _ = input.write_all(told.as_bytes()).await;
    }
    let mut answer = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(ANSWER_LIMIT).read_to_end(&mut answer).await?;
    }
    let status = child.wait().await?;
    if status.success() {
        return Ok(Answered::Done(answer));
    }
    let message = String::from_utf8_lossy(&answer).trim().to_owned();
    if message == NOT_FOUND || message.ends_with(NOT_FOUND) {
        return Ok(Answered::NotFound);
    }
    let first_line = message.lines().next().unwrap_or_default().to_owned();
    Err(HelperError::Failed(if first_line.is_empty() {
        status.to_string()
    } else {
        first_line
    }))
}

fn find(name: &str, search_path: Option<&OsStr>) -> Option<PathBuf> {
    std::env::split_paths(search_path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}
