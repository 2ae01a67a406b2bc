//! `baton up`: a cluster with a registry, OLM and a console on this machine, in one process.

mod addresses;
mod console;
mod demo;
mod following;
mod page;
mod running;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use image::policy::PolicySource;
use jiff::Timestamp;

use self::addresses::{AddressFlags, Remembered};
use self::page::Next;
use self::running::{Plan, Running};
use crate::data_folder::DataFolderFlag;
use crate::data_format;
use crate::failure::Failure;
use crate::hosted_stage;
use crate::images::{ImageFlags, Images};
use crate::instance::{Claim, Record};
use crate::kubeconfig;
use crate::logging::LogLevel;
use crate::own_registry;
use crate::runtime;
use crate::stop_signals::StopSignals;
use crate::terminal::Terminal;

/// Runs a cluster with a registry, the controllers of OLM and a console on this machine, until it is stopped.
#[derive(Args)]
pub(crate) struct Up {
    #[command(flatten)]
    data: DataFolderFlag,
    /// Keep everything in memory: all is gone at the end
    #[arg(long)]
    in_memory: bool,
    /// The kubeconfig to write for the administrator; without it, baton.kubeconfig in the data folder
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Publish the example's three versions, install its operator, and make an InferenceStack
    #[arg(long)]
    demo: bool,
    /// How much is told on standard error
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "warn")]
    log_level: LogLevel,
    #[command(flatten)]
    addresses: AddressFlags,
    #[command(flatten)]
    cluster_flags: hosted_stage::ClusterFlags,
    #[command(flatten)]
    images: ImageFlags,
}

impl Up {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let begun = Instant::now();
        // Refused before anything is made, so that a mistake leaves nothing behind.
        self.addresses.check()?;
        let folder = self.data.folder()?;
        let kubeconfig = self
            .kubeconfig
            .clone()
            .unwrap_or_else(|| folder.join(kubeconfig::OWN_FILE));
        let kubeconfig = std::path::absolute(&kubeconfig)?;
        kubeconfig::refuse_foreign(&kubeconfig)?;
        let claim = Claim::take(&folder)?;
        let _used = (!self.in_memory)
            .then(|| data_format::open(&folder))
            .transpose()?;
        hosted_stage::allow_many_files();
        self.log_level.start();
        runtime::block_on_server(self.work(claim, &folder, &kubeconfig, begun, terminal))
    }

    async fn work(
        self,
        claim: Claim,
        folder: &Path,
        kubeconfig: &Path,
        begun: Instant,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        // Listening for signals first: who reads the page may stop everything at once.
        let signals = StopSignals::listen()?;
        let claim = Arc::new(claim);
        let _outlived = hosted_stage::outlive_file_limits();
        let temporary = self
            .in_memory
            .then(|| tempfile::Builder::new().prefix("baton-up-").tempdir())
            .transpose()
            .map_err(|error| Failure::new(format!("cannot make a temporary folder: {error}")))?;
        signals.before_ending_at_once({
            let claim = Arc::clone(&claim);
            let gone = temporary.as_ref().map(|temporary| temporary.path().to_owned());
            let kubeconfig = self.in_memory.then(|| kubeconfig.to_owned());
            move || {
                claim.forget_record();
                // What can't be removed is left where the system clears up.
                let _ = gone.map(std::fs::remove_dir_all);
                let _ = kubeconfig.map(std::fs::remove_file);
            }
        });
        let files = temporary.as_ref().map_or(folder, tempfile::TempDir::path);
        let starting = Running::start(Plan {
            cluster: (!self.in_memory).then(|| folder.join("cluster")),
            files: files.to_owned(),
            addresses: &self.addresses,
            cluster_flags: &self.cluster_flags,
            last: Remembered::read(folder),
            images: Images::open(&self.images, PolicySource::Optional, None)?,
            token: console::token((!self.in_memory).then_some(folder))?,
            registry_password: own_registry::password((!self.in_memory).then_some(folder))?,
        });
        let running = tokio::select! {
            started = starting => started?,
            () = signals.asked() => return Ok(()),
        };
        let told = self.tell(&claim, &running, folder, kubeconfig, begun, terminal);
        if told.is_ok() {
            self.wait(&running, &signals, terminal).await;
            terminal.remark("stopping");
        }
        running.stop(terminal).await;
        if self.in_memory {
            // It leads nowhere any more.
            let _ = std::fs::remove_file(kubeconfig);
        }
        told
    }

    /// Tells others and the reader what runs where.
    fn tell(
        &self,
        claim: &Claim,
        running: &Running,
        folder: &Path,
        kubeconfig: &Path,
        begun: Instant,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        running
            .api
            .write_kubeconfig(kubeconfig)
            .map_err(|error| Failure::new(error.to_string()))?;
        let record = Record {
            process: std::process::id(),
            since: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            api: running.api.url(),
            registry: format!("http://{}", running.registry_host()),
            registry_password: Some(running.registry_password.expose().to_owned()),
            catalogs: format!("{}/catalogs", running.catalogs_url),
            console: Some(running.console_url.clone()),
            kubeconfig: kubeconfig.to_owned(),
            folder: folder.to_owned(),
            in_memory: self.in_memory,
        };
        if !self.in_memory {
            running.listening.write(folder)?;
        }
        claim.record(&record)?;
        let heading = format!(
            "baton is up: process {}, after {} s",
            record.process,
            seconds(begun.elapsed())
        );
        let next = if self.demo {
            Next::Demonstration
        } else {
            Next::AddCatalog
        };
        let page = page::draw(&record, &heading) + &page::draw_next(&record, &program(), next);
        terminal.print(page.as_bytes())
    }

    /// Waits until it is asked to stop; the demonstration goes on meanwhile.
    async fn wait(&self, running: &Running, signals: &StopSignals, terminal: &mut Terminal) {
        if self.demo {
            let shown = tokio::select! {
                shown = demo::show(running, terminal) => shown,
                () = signals.asked() => return,
            };
            if let Err(failure) = shown {
                terminal.remark(format!("Error: the demonstration stopped: {}", failure.text()));
            }
        }
        signals.asked().await;
    }
}

/// What runs where, for who asks later.
pub(crate) fn told(record: &Record) -> String {
    let heading = format!("baton is up: process {}, since {}", record.process, record.since);
    page::draw(record, &heading)
}

/// Seconds with two digits after the point.
fn seconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64())
}

/// What the reader called this program, so that the next command can be typed as it is shown.
fn program() -> String {
    std::env::args()
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "baton".to_owned())
}
