//! Registries that run beside a test, and what is published in them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// What a registry's manifests may be.
const MANIFEST_TYPES: &str =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json";

/// A registry in a process of its own.
pub(crate) trait Registry {
    /// Where it listens.
    fn address(&self) -> SocketAddr;

    /// Every tag of a repository, with the digest it stands for.
    fn tags(&self, repository: &str) -> BTreeMap<String, String> {
        let (_, body) = get(self.address(), &format!("/v2/{repository}/tags/list"));
        let Ok(answer) = serde_json::from_str::<serde_json::Value>(&body) else {
            return BTreeMap::new();
        };
        let tags = answer["tags"].as_array().cloned().unwrap_or_default();
        tags.iter()
            .filter_map(serde_json::Value::as_str)
            .map(|tag| {
                let (headers, _) = get(self.address(), &format!("/v2/{repository}/manifests/{tag}"));
                let digest = headers
                    .lines()
                    .find_map(|line| {
                        let (name, value) = line.split_once(':')?;
                        name.eq_ignore_ascii_case("docker-content-digest")
                            .then(|| value.trim().to_owned())
                    })
                    .unwrap_or_else(|| format!("no digest in {headers}"));
                (format!("{repository}:{tag}"), digest)
            })
            .collect()
    }
}

fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("the registry listens");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: {MANIFEST_TYPES}\r\nConnection: close\r\n\r\n"
    )
    .expect("a request is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (headers, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (headers.to_owned(), body.to_owned())
}

/// `baton registry serve`.
pub(crate) struct Embedded {
    folder: TempDir,
    process: Child,
    address: SocketAddr,
}

impl Embedded {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with more flags.
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (process, address) = serve(&mut program(), folder.path(), "127.0.0.1:0", flags);
        Self {
            folder,
            process,
            address,
        }
    }

    /// Starts one that lets in `user` with `password`.
    pub(crate) fn start_with_user(user: &str, password: &str) -> Self {
        let hash = bcrypt::hash(password, 4).expect("a hash");
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), format!("{user}:{hash}\n")).expect("written");
        Self::start_with(&["--htpasswd", &file.path().to_string_lossy()])
    }

    /// The folder that holds everything.
    pub(crate) fn storage(&self) -> PathBuf {
        self.folder.path().join("storage")
    }

    /// Ends the process without giving it a chance to tidy up.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("the registry runs");
        self.process.wait().expect("the registry ends");
    }

    /// Starts it again at the same address; `kilobytes` is the size of the largest file it can write.
    pub(crate) fn start_again(&mut self, kilobytes: Option<u32>) {
        let mut command = match kilobytes {
            Some(kilobytes) => on_a_full_disk(kilobytes),
            None => program(),
        };
        let address = self.address.to_string();
        (self.process, _) = serve(&mut command, self.folder.path(), &address, &[]);
    }

    /// Every file that the registry keeps for good, with its content.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for part in ["blobs", "repositories"] {
            collect(&self.storage().join(part), &mut files);
        }
        files
    }
}

impl Registry for Embedded {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_baton"))
}

/// The program as it would be on a disk that takes no file larger than this; what fails is told, as a full disk is.
pub(crate) fn on_a_full_disk(kilobytes: u32) -> Command {
    let mut command = Command::new("bash");
    command.args([
        "-c",
        &format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\""),
        env!("CARGO_BIN_EXE_baton"),
    ]);
    command
}

fn serve(command: &mut Command, folder: &Path, address: &str, flags: &[&str]) -> (Child, SocketAddr) {
    let mut process = command
        .args(["registry", "serve", "--address", address, "--storage"])
        .arg(folder.join("storage"))
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the registry starts");
    let mut output = BufReader::new(process.stderr.take().expect("standard error"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    let address = line
        .split_whitespace()
        .find_map(|word| word.strip_prefix("http://")?.parse().ok())
        .unwrap_or_else(|| panic!("no address in {line:?}"));
    // Whatever else it says must not fill the pipe.
    std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    (process, address)
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            let content = fs::read(&path).expect("a file");
            files.insert(path, content);
        }
    }
}

/// An address where nobody listens.
pub(crate) fn free_address() -> SocketAddr {
    let probe = TcpListener::bind("127.0.0.1:0").expect("a port");
    probe.local_addr().expect("an address")
}
