//! `baton snapshot`: a support archive of a cluster, without secrets.

mod collecting;

use std::path::PathBuf;

use clap::Args;
use doctor::archive::{Archive, LeftOut, Limits};

use crate::cluster::ClusterAccess;
use crate::commands::doctor::Scope;
use crate::failure::{Failure, system_reason};
use crate::runtime;
use crate::terminal::Terminal;
use crate::written_files;

/// The folder that everything in the archive lies in.
const FOLDER: &str = "baton-snapshot";

/// How many bytes of one object or log are kept where nothing else is said.
const FILE_KIBIBYTES: usize = 1024;

/// How many things that were left out are named; the archive lists all of them.
const NAMED: usize = 10;

/// Collects what somebody needs who shall help: objects, events, logs and doctor's report, without secrets.
///
/// It only reads. Of Secrets it keeps the names and sizes of their entries; values of environment variables, values behind
/// names such as `password`, private keys, tokens and passwords in addresses are cut out of everything, logs included.
#[derive(Args)]
pub(crate) struct Snapshot {
    /// The file to write
    #[arg(value_name = "FILE", default_value = "baton-snapshot.tar.gz")]
    file: PathBuf,
    /// Overwrite the file if it is there
    #[arg(long)]
    force: bool,
    /// The most MiB that are collected, before they are compressed
    #[arg(long, value_name = "MIB", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=4096))]
    limit: u16,
    /// The most KiB of one object or log; what is longer is cut
    #[arg(long, value_name = "KIB", default_value_t = FILE_KIBIBYTES as u32, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    limit_each: u32,
    /// The last lines of each log that are kept
    #[arg(long, value_name = "LINES", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    log_lines: u32,
    /// Keep the values of Helm releases too; what looks like a secret is cut out of them as well
    #[arg(long)]
    with_values: bool,
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    access: ClusterAccess,
}

impl Snapshot {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        self.check_file()?;
        let archive = runtime::block_on(self.collect())?;
        self.write(&archive)?;
        terminal.print(format!("{}\n", self.told(&archive)).as_bytes())
    }

    /// Refuses a file that is there before anything is collected.
    fn check_file(&self) -> Result<(), Failure> {
        if self.force || !self.file.exists() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{} is there already; name another file, or overwrite it with --force",
            self.file.display()
        )))
    }

    fn limits(&self) -> Limits {
        Limits {
            total: usize::from(self.limit) << 20,
            file: (self.limit_each as usize) << 10,
        }
    }

    fn write(&self, archive: &Archive) -> Result<(), Failure> {
        let written = written_files::write(&self.file, |output| {
            archive.write(FOLDER, &mut *output)?;
            output.flush()
        });
        written.map_err(|error: std::io::Error| {
            Failure::new(format!(
                "cannot write {}: {}",
                self.file.display(),
                system_reason(&error)
            ))
        })
    }

    /// What there is in the archive, and what isn't.
    fn told(&self, archive: &Archive) -> String {
        let mut lines = vec![format!(
            "{} holds {} files without secrets; look through it before you give it away",
            self.file.display(),
            archive.count()
        )];
        let left_out = archive.left_out();
        if !left_out.is_empty() {
            lines.push("left out:".to_owned());
        }
        let shown = left_out.iter().take(NAMED);
        lines.extend(shown.map(|LeftOut { what, why }| format!("  {what}: {why}")));
        if let Some(more) = left_out.len().checked_sub(NAMED).filter(|more| *more > 0) {
            lines.push(format!(
                "  and {more} more; {FOLDER}/{} in the archive lists all",
                doctor::archive::CONTENTS
            ));
        }
        lines.join("\n")
    }
}
