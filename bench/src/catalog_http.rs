//! Serves a catalog over HTTP to clients in another process, exchanges it under them, and says what that costs.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use catalog::reading::{self, Source};
use catalog::store::{Store, StoreWriter};
use catalog_controller::contents::Contents;
use catalog_controller::serve::Front;
use catalog_controller::{Handle, router};
use image::digest::Digest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::catalog_store::anonymous_mebibytes;

/// How many connections download at the same time.
const CONNECTIONS: usize = 4;
/// For how long they do.
const ROUND: Duration = Duration::from_secs(4);
/// How many clients read while the catalog is exchanged.
const READERS: usize = 2000;
/// How much each of them reads.
const READ_BYTES: u64 = 1 << 20;
/// How much is read or written at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Serves the catalog in `directory` and prints a line for each figure.
pub(crate) fn measure(directory: &Path) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let stores = folder.path().join("stores");
    let first = reading::digest(Source::Directory(directory))?;
    let second = Digest::of(first.to_string().as_bytes());
    let mut length = 0;
    for digest in [first, second] {
        let mut writer = StoreWriter::create(&stores, &digest)?;
        writer.push_all(Source::Directory(directory))?;
        length = writer.finish()?.content_length();
    }
    let mut child = Command::new(std::env::current_exe()?)
        .args([
            Path::new("catalog-http-serve"),
            folder.path(),
            Path::new(&first.to_string()),
            Path::new(&second.to_string()),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let address = lines.next().ok_or("the server did not start")??;
    println!("content: {length} bytes");
    println!(
        "serving, idle: {:.1} MiB anonymous",
        anonymous_mebibytes(child.id())?
    );
    println!("loopback by itself: {:.2} GB/s", loopback()?);
    let (bytes, seconds) = download(&address, length)?;
    println!("/api/v1/all: {:.2} GB/s", bytes as f64 / 1e9 / seconds);
    println!(
        "serving, after that: {:.1} MiB anonymous",
        anonymous_mebibytes(child.id())?
    );
    let mut input = child.stdin.take().ok_or("no input")?;
    writeln!(input, "exchange")?;
    input.flush()?;
    let start = Instant::now();
    let whole = tokio::runtime::Runtime::new()?.block_on(read_at_once(&address));
    println!(
        "exchanged under {READERS} readers: {whole} read all they asked for, in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    println!(
        "serving, after that: {:.1} MiB anonymous",
        anonymous_mebibytes(child.id())?
    );
    drop(input);
    child.wait()?;
    let exchanges: Vec<String> = lines.collect::<Result<_, _>>()?;
    println!("exchanges: {}", exchanges.join(" "));
    Ok(())
}

/// Serves two stores until the input ends, and exchanges them from the first line of it on; prints where.
pub(crate) fn serve(folder: &Path, first: &str, second: &str) -> Result<(), Box<dyn Error>> {
    let stores = folder.join("stores");
    let open = |digest: &str| -> Result<Store, Box<dyn Error>> {
        Ok(Store::open(&stores, &digest.parse()?)?.ok_or("there is no such store")?)
    };
    let pair = [open(first)?, open(second)?];
    let contents = Arc::new(Contents::open(folder)?);
    let put = |contents: &Contents, name: &str, store: &Store| {
        let reference = format!("registry.example/catalog@{}", store.digest());
        contents.put(name, reference, jiff::Timestamp::now(), store.clone())
    };
    // Under these names both stay on disk, whichever of them is served.
    for (name, store) in ["first", "second"].into_iter().zip(&pair) {
        put(&contents, name, store)?;
    }
    put(&contents, "catalog", &pair[0])?;
    let runtime = tokio::runtime::Runtime::new()?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
    println!("{}", listener.local_addr()?);
    let routes = router(Handle::of(Arc::clone(&contents)), Front::Nothing);
    runtime.spawn(axum::serve(listener, routes).into_future());
    if std::io::stdin().lines().next().is_none() {
        return Ok(());
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    std::thread::spawn(move || {
        std::io::stdin().lines().count();
        over.store(true, Ordering::Relaxed);
    });
    let mut exchanges = 0_u64;
    while !is_over.load(Ordering::Relaxed) {
        exchanges += 1;
        put(&contents, "catalog", &pair[(exchanges % 2) as usize])?;
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("{exchanges}");
    Ok(())
}

/// How much a socket of this machine carries when nothing is done but reading and writing.
fn loopback() -> Result<f64, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let is_over = AtomicBool::new(false);
    let carried = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let Ok((mut socket, _)) = listener.accept() else {
                    return;
                };
                let buffer = vec![0; BUFFER_BYTES];
                while !is_over.load(Ordering::Relaxed) {
                    if socket.write_all(&buffer).is_err() {
                        return;
                    }
                }
            });
            scope.spawn(|| {
                let Ok(mut socket) = TcpStream::connect(address) else {
                    return;
                };
                let mut buffer = vec![0; BUFFER_BYTES];
                while let Ok(count @ 1..) = socket.read(&mut buffer) {
                    carried.fetch_add(count as u64, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(ROUND);
        is_over.store(true, Ordering::Relaxed);
    });
    Ok(carried.into_inner() as f64 / 1e9 / start.elapsed().as_secs_f64())
}

/// Downloads the whole catalog again and again, and returns the bytes and the seconds.
fn download(address: &str, length: u64) -> Result<(u64, f64), Box<dyn Error>> {
    let start = Instant::now();
    let bytes = AtomicU64::new(0);
    let failures = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                scope.spawn(|| -> std::io::Result<()> {
                    let mut socket = BufReader::with_capacity(BUFFER_BYTES, TcpStream::connect(address)?);
                    let mut buffer = vec![0; BUFFER_BYTES];
                    while start.elapsed() < ROUND {
                        socket
                            .get_mut()
                            .write_all(b"GET /catalogs/catalog/api/v1/all HTTP/1.1\r\nHost: bench\r\n\r\n")?;
                        let mut line = String::new();
                        while line != "\r\n" {
                            line.clear();
                            socket.read_line(&mut line)?;
                        }
                        let mut left = length;
                        while left > 0 {
                            let room = buffer.len().min(left as usize);
                            let count = socket.read(&mut buffer[..room])?;
                            if count == 0 {
                                return Err(std::io::ErrorKind::UnexpectedEof.into());
                            }
                            left -= count as u64;
                            bytes.fetch_add(count as u64, Ordering::Relaxed);
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        let outcomes = clients.into_iter().map(std::thread::ScopedJoinHandle::join);
        outcomes.filter(|outcome| !matches!(outcome, Ok(Ok(())))).count()
    });
    if failures > 0 {
        return Err(format!("{failures} downloads failed").into());
    }
    Ok((bytes.into_inner(), start.elapsed().as_secs_f64()))
}

/// How many of many clients get all that they ask for.
async fn read_at_once(address: &str) -> usize {
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..READERS {
        let address = address.to_owned();
        readers.spawn(async move { read_part(&address).await.unwrap_or(false) });
    }
    readers
        .join_all()
        .await
        .into_iter()
        .filter(|is_whole| *is_whole)
        .count()
}

async fn read_part(address: &str) -> std::io::Result<bool> {
    let mut socket = tokio::net::TcpStream::connect(address).await?;
    let request = format!(
        "GET /catalogs/catalog/api/v1/all HTTP/1.1\r\nHost: bench\r\nRange: bytes=0-{}\r\nConnection: close\r\n\r\n",
        READ_BYTES - 1
    );
    socket.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await?;
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let body = head.map_or(0, |end| answer.len() - end - 4) as u64;
    Ok(answer.starts_with(b"HTTP/1.1 206 ") && body == READ_BYTES)
}
