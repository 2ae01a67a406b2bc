//! `opm serve`: a catalog over gRPC.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use catalog::grpc;
use catalog::grpc::serving::{PreparedStore, ServeOptions, prepare, write_termination_log};
use catalog::store::CurrentStore;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::failure::Failure;
use crate::runtime;
use crate::terminal::Terminal;

use super::command::{Arguments, Command, Invocation};
use super::ending::{Ending, log_line};
use super::flags::Flag;

const TERMINATION_LOG: &str = "/dev/termination-log";

/// How long somebody who asks for a profile may take to ask.
const PROFILE_REQUEST_TIME: Duration = Duration::from_secs(10);

/// What is answered to somebody who asks for a profile.
const NO_PROFILE: &[u8] = b"HTTP/1.1 501 Not Implemented\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nprofiles of the Go runtime are not offered: this is baton\n";

const LONG: &str = "This command serves declarative configs via a GRPC server.

NOTE: The declarative config directory is loaded by the serve command at
startup. Changes made to the declarative config after the this command starts
will not be reflected in the served content.
";

pub(super) fn command() -> Command {
    Command {
        line: "serve <source_path>",
        short: "serve declarative configs",
        long: LONG.to_owned(),
        arguments: Arguments::Exactly(1),
        flags: vec![
            Flag::switch("debug", "enable debug logging"),
            Flag::text(
                "termination-log",
                TERMINATION_LOG,
                "path to a container termination log file",
            )
            .letter('t'),
            Flag::text("port", "50051", "port number to serve on").letter('p'),
            Flag::text(
                "pprof-addr",
                "localhost:6060",
                "address of startup profiling endpoint (addr:port format)",
            ),
            Flag::switch("pprof-capture-profiles", "capture pprof CPU profiles"),
            Flag::text("cache-dir", "", "if set, sync and persist server cache directory"),
            Flag::switch("cache-only", "sync the serve cache and exit without serving"),
            Flag::switch(
                "cache-enforce-integrity",
                "exit with error if cache is not present or has been invalidated. (default: true when --cache-dir is set and --cache-only is false, false otherwise), ",
            ),
        ],
        run: Some(run),
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    let log = invocation.text("termination-log");
    // The default is where Kubernetes looks; on other machines there is no such file, and none is made.
    let log = Some(Path::new(log)).filter(|path| invocation.given.has("termination-log") || path.exists());
    if let Some(path) = log
        && let Err(error) = write_termination_log(path, "")
    {
        let cause = super::references::cannot("open", path, &error);
        terminal.remark(log_line(
            "warning",
            "unable to set termination log path",
            &[("error", &cause)],
        ));
    }
    serve(invocation, terminal).map_err(|failure| {
        let ending = Ending::logger(failure);
        if let (Ending::Logger(text), Some(path)) = (&ending, log) {
            // What can't be written there was said to be so above.
            write_termination_log(path, &format!("{}\n", log_line("fatal", text, &[]))).ok();
        }
        ending
    })
}

fn serve(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Failure> {
    let configs = invocation.argument(0);
    let cache = Some(invocation.text("cache-dir")).filter(|folder| !folder.is_empty());
    let enforces = invocation
        .given
        .has("cache-enforce-integrity")
        .then(|| invocation.is_on("cache-enforce-integrity"));
    let options = ServeOptions {
        source: PathBuf::from(configs),
        cache_directory: cache.map(PathBuf::from),
        cache_only: invocation.is_on("cache-only"),
        enforce_integrity: enforces,
    };
    runtime::block_on(async {
        start_profiles(invocation, terminal).await;
        let prepared: PreparedStore = tokio::task::spawn_blocking(move || prepare(&options)).await??;
        if invocation.is_on("cache-only") {
            return Ok(());
        }
        let port = invocation.text("port");
        let mut fields = vec![("configs", configs), ("port", port)];
        if let Some(cache) = cache {
            fields.insert(0, ("cache", cache));
        }
        let listener = listen(port).await?;
        // Who reads that it is served may ask it to stop at once.
        let stop = runtime::stop_signal()?;
        terminal.remark(log_line("info", "serving registry", &fields));
        let current = Arc::new(CurrentStore::new(prepared.store.clone()));
        grpc::serve(current, listener, stop).await?;
        terminal.remark(log_line("info", "shutting down server", &fields));
        Ok(())
    })
}

/// Listens on every address of the machine, of both families where it has both.
async fn listen(port: &str) -> Result<TcpListener, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!("failed to listen: listen tcp :{port}: {error}"))
    };
    let number: u16 = port.parse().map_err(|_| {
        Failure::new(format!(
            "failed to listen: listen tcp: address {port}: invalid port"
        ))
    })?;
    match TcpListener::bind(("::", number)).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            Err(failed(&"bind: address already in use"))
        }
        Err(_) => TcpListener::bind(("0.0.0.0", number))
            .await
            .map_err(|error| failed(&format!("bind: {}", crate::failure::system_reason(&error)))),
    }
}

/// Answers at the address for profiles that there are none. opm stops where the address is taken; several catalogs on
/// one machine need not.
async fn start_profiles(invocation: &Invocation<'_>, terminal: &mut Terminal) {
    let address = invocation.text("pprof-addr");
    if address.is_empty() {
        return;
    }
    match TcpListener::bind(address).await {
        Ok(listener) => {
            terminal.remark(log_line(
                "info",
                "starting pprof endpoint",
                &[("address", address)],
            ));
            tokio::spawn(answer_profiles(listener));
        }
        Err(error) => terminal.remark(log_line(
            "warning",
            &format!(
                "could not start pprof endpoint: {}",
                crate::failure::system_reason(&error)
            ),
            &[("address", address)],
        )),
    }
    if invocation.is_on("pprof-capture-profiles") {
        terminal.remark(log_line(
            "warning",
            "profiles of the Go runtime are not captured: this is baton",
            &[("address", address)],
        ));
    }
}

async fn answer_profiles(listener: TcpListener) {
    // One after the other: nobody waits for this.
    while let Ok((connection, _)) = listener.accept().await {
        tokio::time::timeout(PROFILE_REQUEST_TIME, answer_profile(connection))
            .await
            .ok();
    }
}

async fn answer_profile(mut connection: TcpStream) {
    let mut request = [0; 1024];
    if connection.read(&mut request).await.is_ok() {
        connection.write_all(NO_PROFILE).await.ok();
        connection.shutdown().await.ok();
    }
}
