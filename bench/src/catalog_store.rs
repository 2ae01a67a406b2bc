//! Builds the store of a catalog, opens it, and serves it to a client in another process, and says what that costs.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use catalog::grpc;
use catalog::grpc::messages::registry_client::RegistryClient;
use catalog::grpc::messages::{GetPackageRequest, ListBundlesRequest, ListPackageRequest};
use catalog::grpc::serving::{ServeOptions, prepare};
use catalog::reading::{self, Source};
use catalog::store::{CurrentStore, Store};
use tokio::net::TcpListener;
use tonic::transport::{Channel, Endpoint};

/// How many packages are asked for, one after the other.
const PACKAGE_CALLS: usize = 1000;

/// Builds, opens and serves the store of the catalog in `directory`, and prints a line for each figure.
pub(crate) fn measure(directory: &Path) -> Result<(), Box<dyn Error>> {
    let cache = tempfile::tempdir()?;
    let options = ServeOptions {
        source: directory.to_path_buf(),
        cache_directory: Some(cache.path().to_path_buf()),
        cache_only: true,
        ..ServeOptions::default()
    };
    let start = crate::cpu_milliseconds();
    let digest = *prepare(&options)?.store.digest();
    println!("build: {:.2} CPU s", (crate::cpu_milliseconds() - start) / 1e3);
    println!(
        "peak while building: {:.0} MiB",
        crate::catalog_load::peak_mebibytes()?
    );

    let start = Instant::now();
    reading::digest(Source::Directory(directory))?;
    println!("digest of the files: {:.1} ms", milliseconds(start));

    let folder = cache.path().join("baton.v1");
    let start = Instant::now();
    let store = Store::open(&folder, &digest)?.ok_or("the store is gone")?;
    println!("open: {:.2} ms", milliseconds(start));
    let size = fs::metadata(folder.join(format!("{}.catalog", digest.hex())))?.len();
    println!(
        "objects: {}, content: {} bytes, file: {size} bytes",
        store.len(),
        store.content_length()
    );

    let mut child = Command::new(std::env::current_exe()?)
        .args([
            Path::new("catalog-serve"),
            &folder,
            Path::new(&digest.to_string()),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let address = lines.next().ok_or("the server did not start")??;
    // One thread: the client asks one thing after the other, and should not compete with the server.
    let client = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = client.block_on(ask(&address, child.id()));
    // The connection ends with the client, and the server with its input.
    drop(client);
    drop(child.stdin.take());
    child.wait()?;
    outcome
}

/// Serves a store until the input ends; prints where.
pub(crate) fn serve(folder: &Path, digest: &str) -> Result<(), Box<dyn Error>> {
    let store = Store::open(folder, &digest.parse()?)?.ok_or("there is no such store")?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}", listener.local_addr()?);
        let ended = tokio::task::spawn_blocking(|| std::io::stdin().lines().count());
        let shutdown = async {
            ended.await.ok();
        };
        grpc::serve(Arc::new(CurrentStore::new(store)), listener, shutdown).await?;
        Ok(())
    })
}

async fn ask(address: &str, server: u32) -> Result<(), Box<dyn Error>> {
    let channel: Channel = Endpoint::from_shared(address.to_owned())?.connect().await?;
    let mut client = RegistryClient::new(channel).max_decoding_message_size(usize::MAX);
    println!("serving, idle: {:.1} MiB anonymous", anonymous_mebibytes(server)?);
    for round in ["first", "second"] {
        let start = Instant::now();
        let mut bundles = client.list_bundles(ListBundlesRequest {}).await?.into_inner();
        let mut count = 0;
        while bundles.message().await?.is_some() {
            count += 1;
        }
        println!(
            "ListBundles, {round}: {count} bundles in {:.3} s",
            milliseconds(start) / 1e3
        );
    }
    let mut names = Vec::new();
    let mut packages = client.list_packages(ListPackageRequest {}).await?.into_inner();
    while let Some(package) = packages.message().await? {
        names.push(package.name);
    }
    let start = Instant::now();
    for name in names.iter().cycle().take(PACKAGE_CALLS) {
        client
            .get_package(GetPackageRequest { name: name.clone() })
            .await?;
    }
    println!("{PACKAGE_CALLS} × GetPackage: {:.3} s", milliseconds(start) / 1e3);
    println!(
        "serving, after that: {:.1} MiB anonymous",
        anonymous_mebibytes(server)?
    );
    Ok(())
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// The memory of a process that isn't a file's.
pub(crate) fn anonymous_mebibytes(process: u32) -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let kibibytes = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .ok_or("the kernel does not tell the anonymous memory")?;
    Ok(kibibytes.trim().parse::<f64>()? / 1024.0)
}
