//! `baton catalog serve`: a catalog over gRPC that goes and comes back, and servers that are none.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use contract::real::Supervised;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How long the program may take until it answers.
const START_DEADLINE: Duration = Duration::from_mins(1);

/// A catalog in a folder, and the program that serves it.
pub(crate) struct CatalogServer {
    process: Mutex<Option<Supervised>>,
    address: String,
    folder: TempDir,
}

impl CatalogServer {
    /// Serves objects at an address.
    pub(crate) async fn start(address: &str, metas: &[Value]) -> Result<Self, String> {
        let server = Self {
            process: Mutex::default(),
            address: address.to_owned(),
            folder: tempfile::tempdir().map_err(|error| error.to_string())?,
        };
        server.write(metas)?;
        server.start_again().await?;
        Ok(server)
    }

    /// Writes other objects, which the next start serves.
    pub(crate) fn write(&self, metas: &[Value]) -> Result<(), String> {
        let text: Vec<String> = metas.iter().map(Value::to_string).collect();
        let folder = self.folder.path().join("catalog");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        fs::write(folder.join("catalog.json"), text.join("\n")).map_err(|error| error.to_string())
    }

    /// Starts the program where it was.
    pub(crate) async fn start_again(&self) -> Result<(), String> {
        let catalog = self.folder.path().join("catalog").display().to_string();
        let arguments = ["catalog", "serve", &catalog, "--address", &self.address].map(str::to_owned);
        let log = self.folder.path().join("log");
        let process = Supervised::start(Path::new(env!("CARGO_BIN_EXE_baton")), &arguments, &log)
            .map_err(|error| error.to_string())?;
        let deadline = Instant::now() + START_DEADLINE;
        while TcpStream::connect(&self.address).await.is_err() {
            if Instant::now() > deadline {
                return Err(format!("the catalog isn't served:\n{}", process.last_words()));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        Ok(())
    }

    /// Ends the program as `kill -9` does.
    pub(crate) fn kill(&self) {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// What a server does that is no catalog.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    /// It answers with something that is neither HTTP nor gRPC.
    Babbling,
    /// It takes what is sent and says nothing.
    Silent,
}

/// A server that is no catalog, until it is dropped.
pub(crate) struct Impostor {
    pub(crate) address: String,
    task: JoinHandle<()>,
}

impl Drop for Impostor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Impostor {
    pub(crate) async fn start(manner: Manner) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let task = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut buffer = vec![0; 4 << 10];
                    loop {
                        match client.read(&mut buffer).await {
                            Ok(read) if read > 0 => {}
                            _ => return,
                        }
                        if matches!(manner, Manner::Babbling)
                            && client
                                .write_all(b"who goes there? \x00\xff\xff\xff\xff\x07")
                                .await
                                .is_err()
                        {
                            return;
                        }
                    }
                });
            }
        });
        Ok(Self {
            address: address.to_string(),
            task,
        })
    }
}

/// A proxy for HTTP's CONNECT that leads to one server, whatever it is asked for, and remembers what that was.
pub(crate) struct ConnectProxy {
    pub(crate) address: String,
    asked: std::sync::Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for ConnectProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ConnectProxy {
    pub(crate) async fn to(server: &str) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let asked = std::sync::Arc::<Mutex<Vec<String>>>::default();
        let (server, remembered) = (server.to_owned(), std::sync::Arc::clone(&asked));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(lead(client, server.clone(), std::sync::Arc::clone(&remembered)));
            }
        });
        Ok(Self {
            address: address.to_string(),
            asked,
            task,
        })
    }

    /// What it was asked to lead to.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn lead(
    mut client: TcpStream,
    server: String,
    asked: std::sync::Arc<Mutex<Vec<String>>>,
) -> Option<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(client.read_u8().await.ok()?);
    }
    let line = String::from_utf8_lossy(&request);
    let target = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(target);
    let mut server = TcpStream::connect(server).await.ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
    tokio::io::copy_bidirectional(&mut client, &mut server)
        .await
        .ok()?;
    Some(())
}
