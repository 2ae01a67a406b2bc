//! kubectl as people use it: the real program, on the cluster of a test.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use contract::real::Binaries;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::kubernetes::PATIENCE;
use crate::reference::Reference;
use crate::terminal::Seen;

/// How long a server that doesn't answer is left alone.
const PAUSE: Duration = Duration::from_millis(200);

/// Somebody who uses a cluster by kubectl.
pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    /// Where it keeps what it knows of the cluster's kinds.
    home: TempDir,
}

impl Kubectl {
    /// The user of a kubeconfig.
    pub(crate) fn of(kubeconfig: &Path) -> Result<Self, String> {
        let binaries = Binaries::locate().map_err(|error| error.to_string())?;
        Ok(Self {
            program: binaries.program("kubectl"),
            kubeconfig: kubeconfig.to_owned(),
            home: tempfile::tempdir().map_err(|error| error.to_string())?,
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(arguments)
            .env_clear()
            .env("HOME", self.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs a command and returns what was seen.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<Seen, String> {
        let child = self.command(arguments).spawn();
        let child = child.map_err(|error| format!("kubectl: {error}"))?;
        Seen::of(child).await
    }

    /// Runs a command that has to succeed; returns what it printed.
    pub(crate) async fn types(&self, command: &str) -> Result<String, String> {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        self.succeeds(&arguments).await
    }

    /// The same, for arguments with spaces in them.
    pub(crate) async fn succeeds(&self, arguments: &[&str]) -> Result<String, String> {
        let seen = self.run(arguments).await?;
        seen.successful()
            .map_err(|reason| format!("kubectl {}: {reason}", arguments.join(" ")))
    }

    /// Applies documents.
    pub(crate) async fn apply(&self, objects: &[Value]) -> Result<(), String> {
        let spawned = self.command(&["apply", "-f", "-"]).stdin(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| format!("kubectl: {error}"))?;
        let documents = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        if let Some(mut input) = child.stdin.take() {
            let text = documents.to_string();
            let fed = input.write_all(text.as_bytes()).await;
            fed.map_err(|error| format!("kubectl doesn't read: {error}"))?;
        }
        let seen = Seen::of(child).await?;
        let applied = seen.successful();
        applied
            .map(drop)
            .map_err(|reason| format!("kubectl apply: {reason}"))
    }

    /// Merges a document into an object.
    pub(crate) async fn merge(&self, reference: &Reference, patch: &Value) -> Result<(), String> {
        let place = place(reference);
        let text = patch.to_string();
        let mut arguments = vec!["patch"];
        arguments.extend(place.iter().map(String::as_str));
        arguments.extend([reference.name.as_str(), "--type", "merge", "-p", &text]);
        self.succeeds(&arguments).await.map(drop)
    }

    /// Deletes an object and waits until it is gone.
    pub(crate) async fn delete(&self, reference: &Reference) -> Result<(), String> {
        let place = place(reference);
        let mut arguments = vec!["delete"];
        arguments.extend(place.iter().map(String::as_str));
        arguments.extend([reference.name.as_str(), "--timeout", "120s"]);
        self.succeeds(&arguments).await.map(drop)
    }

    /// Reads an object; `None` where it isn't there.
    pub(crate) async fn get(&self, reference: &Reference) -> Result<Option<Value>, String> {
        let place = place(reference);
        let mut arguments = vec!["get"];
        arguments.extend(place.iter().map(String::as_str));
        arguments.extend([reference.name.as_str(), "--ignore-not-found", "-o", "json"]);
        let text = self.succeeds(&arguments).await?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| format!("{reference}: {error}"))
    }

    /// Reads an object that must be there.
    pub(crate) async fn read(&self, reference: &Reference) -> Result<Value, String> {
        let found = self.get(reference).await?;
        found.ok_or_else(|| format!("{reference} isn't there"))
    }

    /// Lists objects of a kind; `more` are further arguments, such as a selector.
    pub(crate) async fn list(
        &self,
        kind: &str,
        namespace: &str,
        more: &[&str],
    ) -> Result<Vec<Value>, String> {
        let mut arguments = vec!["get", kind, "-n", namespace, "-o", "json"];
        arguments.extend(more);
        let text = self.succeeds(&arguments).await?;
        let list: Value = serde_json::from_str(&text).map_err(|error| format!("{kind}: {error}"))?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// Begins to watch an object, whether it is there or not.
    pub(crate) fn watch(&self, reference: &Reference) -> Result<Watch, String> {
        let name = format!("metadata.name={}", reference.name);
        self.watch_all(reference, &["--field-selector", &name])
    }

    /// Begins to watch all objects of a kind in a namespace; `more` are further arguments.
    pub(crate) fn watch_all(&self, reference: &Reference, more: &[&str]) -> Result<Watch, String> {
        let place = place(reference);
        let mut arguments = vec!["get"];
        arguments.extend(place.iter().map(String::as_str));
        arguments.extend(["-w", "--output-watch-events", "-o", "json"]);
        arguments.extend(more);
        let child = self.command(&arguments).stderr(Stdio::null()).spawn();
        Ok(Watch {
            child: child.map_err(|error| format!("kubectl: {error}"))?,
            unread: Vec::new(),
            seen: Vec::new(),
        })
    }

    /// Begins a command that goes on, whose lines are read one by one.
    pub(crate) fn lines(&self, arguments: &[&str]) -> Result<Lines, String> {
        let child = self.command(arguments).stderr(Stdio::null()).spawn();
        let mut child = child.map_err(|error| format!("kubectl: {error}"))?;
        let output = child.stdout.take().ok_or("kubectl prints nothing")?;
        Ok(Lines {
            _child: child,
            lines: BufReader::new(output).lines(),
        })
    }

    /// Waits until an object is as wanted; returns what was found in it.
    pub(crate) async fn until<T>(
        &self,
        reference: &Reference,
        wanted: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<T, String> {
        let deadline = Instant::now() + PATIENCE;
        let mut last = "it isn't there".to_owned();
        while Instant::now() < deadline {
            let mut watch = self.watch(reference)?;
            let left = deadline.saturating_duration_since(Instant::now());
            let waiting = async {
                while let Some(event) = watch.next().await {
                    if event["type"] == "DELETED" {
                        "it was deleted".clone_into(&mut last);
                        continue;
                    }
                    match wanted(&event["object"]) {
                        Ok(found) => return Some(found),
                        Err(reason) => last = reason,
                    }
                }
                None
            };
            if let Ok(Some(found)) = tokio::time::timeout(left, waiting).await {
                return Ok(found);
            }
            // The server went away, or doesn't know the kind yet.
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("{reference}: after {} s: {last}", PATIENCE.as_secs()))
    }

    /// Waits until a field of an object has a value.
    pub(crate) async fn until_is(
        &self,
        reference: &Reference,
        pointer: &str,
        value: &str,
    ) -> Result<Value, String> {
        self.until(reference, |object| match object.pointer(pointer) {
            Some(Value::String(found)) if found == value => Ok(object.clone()),
            found => Err(format!(
                "{pointer} is {}, not {value}; its status is {}",
                found.unwrap_or(&Value::Null),
                object["status"]
            )),
        })
        .await
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, reference: &Reference) -> Result<(), String> {
        let place = place(reference);
        let mut arguments = vec!["wait", "--for=delete"];
        arguments.extend(place.iter().map(String::as_str));
        arguments.extend([reference.name.as_str(), "--timeout", "120s"]);
        self.succeeds(&arguments).await.map(drop)
    }
}

/// The kind and namespace of an object, as arguments: `deployments.v1.apps -n NAMESPACE`.
fn place(reference: &Reference) -> Vec<String> {
    let path = reference.collection();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let (api, rest) = match parts.as_slice() {
        ["apis", group, version, rest @ ..] => (format!(".{version}.{group}"), rest),
        ["api", _, rest @ ..] => (String::new(), rest),
        _ => (String::new(), parts.as_slice()),
    };
    match rest {
        ["namespaces", namespace, plural] => {
            vec![format!("{plural}{api}"), "-n".to_owned(), (*namespace).to_owned()]
        }
        rest => vec![format!("{}{api}", rest.join("/"))],
    }
}

#[test]
fn kinds_are_written_as_kubectl_reads_them() {
    let deployment = Reference::namespaced("apps/v1", "Deployment", "here", "web");
    assert_eq!(place(&deployment), ["deployments.v1.apps", "-n", "here"]);
    assert_eq!(
        place(&Reference::cluster("v1", "Namespace", "here")),
        ["namespaces"]
    );
}

/// A `kubectl get -w` that goes on until it is dropped.
pub(crate) struct Watch {
    child: Child,
    unread: Vec<u8>,
    /// What was seen until now, each with its `type` and `object`.
    pub(crate) seen: Vec<Value>,
}

impl Watch {
    /// Waits for the next event; none when the watch is over.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let mut documents = serde_json::Deserializer::from_slice(&self.unread).into_iter::<Value>();
            if let Some(Ok(event)) = documents.next() {
                let read = documents.byte_offset();
                self.unread.drain(..read);
                self.seen.push(event.clone());
                return Some(event);
            }
            let mut piece = vec![0; 64 << 10];
            let output = self.child.stdout.as_mut()?;
            let count = output.read(&mut piece).await.ok().filter(|count| *count > 0)?;
            self.unread.extend(piece.get(..count)?);
        }
    }

    /// Reads on until an object is as wanted.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<(), String> {
        let waiting = async {
            while let Some(event) = self.next().await {
                if wanted(&event["object"]) {
                    return true;
                }
            }
            false
        };
        if tokio::time::timeout(PATIENCE, waiting).await == Ok(true) {
            return Ok(());
        }
        let last = self
            .seen
            .last()
            .map_or(&Value::Null, |event| &event["object"]["status"]);
        Err(format!("in vain; the status that was seen last: {last}"))
    }

    /// The values that a field had, one after the other.
    pub(crate) fn values(&self, pointer: &str) -> Vec<String> {
        let mut values: Vec<String> = self
            .seen
            .iter()
            .filter(|event| event["type"] != "DELETED")
            .map(|event| {
                let value = event["object"].pointer(pointer).and_then(Value::as_str);
                value.unwrap_or_default().to_owned()
            })
            .collect();
        values.dedup();
        values
    }
}

/// A command that goes on until it is dropped.
pub(crate) struct Lines {
    _child: Child,
    lines: tokio::io::Lines<BufReader<ChildStdout>>,
}

impl Lines {
    /// Reads on until a line is as wanted; returns all that were read.
    pub(crate) async fn until_line(&mut self, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, String> {
        let mut read = Vec::new();
        let waiting = async {
            while let Ok(Some(line)) = self.lines.next_line().await {
                let line = line.trim_end().to_owned();
                let is_it = wanted(&line);
                read.push(line);
                if is_it {
                    return true;
                }
            }
            false
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(true) => Ok(read),
            _ => Err(format!("in vain; what was printed: {}", read.join("\n"))),
        }
    }
}
