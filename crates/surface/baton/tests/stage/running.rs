//! The program as a server that runs, and clients of it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use serde_json::Value;

use super::world::World;

/// A running server, which is stopped at the latest when the test is over.
pub(crate) struct Running {
    process: Child,
    pub(crate) url: String,
}

impl Running {
    /// Starts the server on any port, with more arguments.
    pub(crate) fn start(world: &World, arguments: &[&str]) -> Self {
        let mut all = vec!["stage", "--listen", "127.0.0.1:0"];
        all.extend(arguments);
        Self::of(world.command(&all))
    }

    /// Runs a command that becomes the server.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().expect("the program runs");
        let mut lines = BufReader::new(process.stderr.take().expect("its remarks")).lines();
        let first = lines.next().expect("a line").expect("a text");
        // The kubeconfig is written before the lines, and the second line ends what it says.
        lines.next().expect("a line").expect("a text");
        std::thread::spawn(move || lines.for_each(drop));
        let url = first
            .split_whitespace()
            .find(|word| word.starts_with("https://"))
            .unwrap_or_else(|| panic!("no address in {first:?}"))
            .to_owned();
        Self { process, url }
    }

    /// Returns the number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Asks the server to stop, and returns its exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let id = self.process.id().to_string();
        let signalled = Command::new("kill").args(["-TERM", &id]).status().expect("kill");
        assert!(signalled.success());
        self.process.wait().expect("an end").code()
    }

    /// Ends the process as `kill -9` does: it learns nothing of it.
    pub(crate) fn kill(mut self) {
        self.process.kill().expect("a running process");
        self.process.wait().expect("an end");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads a kubeconfig, which only its owner can.
pub(crate) fn kubeconfig(world: &World, file: &str) -> Value {
    let path = world.path(file);
    let mode = fs::metadata(&path).expect("a kubeconfig").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    goyaml::to_value(&fs::read(path).expect("a kubeconfig")).expect("YAML")
}

fn decoded(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("base64");
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .expect("base64")
}

/// A client with what the kubeconfig says, and nothing else.
pub(crate) fn client(config: &Value, with_certificate: bool) -> reqwest::Client {
    // A second installation is refused and harmless: the provider is the same.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let authority = decoded(&config["clusters"][0]["cluster"]["certificate-authority-data"]);
    // A connection for each request: what one watcher leaves unread must not hold up another.
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .http1_only()
        .tls_certs_only([reqwest::Certificate::from_pem(&authority).expect("an authority")]);
    if with_certificate {
        let user = &config["users"][0]["user"];
        let mut identity = decoded(&user["client-certificate-data"]);
        identity.extend(decoded(&user["client-key-data"]));
        builder = builder.identity(reqwest::Identity::from_pem(&identity).expect("an identity"));
    }
    builder.build().expect("a client")
}

/// Asks for something and waits for all of the answer.
pub(crate) fn get(client: &reqwest::Client, url: &str) -> (u16, Value) {
    tokio::runtime::Runtime::new()
        .expect("a runtime")
        .block_on(async { answer(client.get(url)).await.expect("an answer") })
}

/// Sends a request; returns the code and the body of the answer, as far as it is JSON.
pub(crate) async fn answer(request: reqwest::RequestBuilder) -> Result<(u16, Value), reqwest::Error> {
    let answer = request.send().await?;
    let code = answer.status().as_u16();
    let body = answer.bytes().await?;
    Ok((code, serde_json::from_slice(&body).unwrap_or_default()))
}

/// The events of a watch, one after the other.
pub(crate) struct Events {
    answer: reqwest::Response,
    rest: Vec<u8>,
}

impl Events {
    /// Starts a watch.
    pub(crate) async fn start(request: reqwest::RequestBuilder) -> Result<Self, reqwest::Error> {
        Ok(Self {
            answer: request.send().await?,
            rest: Vec::new(),
        })
    }

    /// Returns the next event; `None` at the end, however it comes.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).expect("an event is never half"));
            }
            let piece = self.answer.chunk().await.ok().flatten()?;
            self.rest.extend_from_slice(&piece);
        }
    }
}
