//! `baton uninstall`: an extension and everything that it installed, gone.

use std::fmt::Write as _;

use api::{ClusterExtension, keys};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cluster::ClusterAccess;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Removes an extension and what it installed, and waits until all is gone.
#[derive(Args)]
pub(crate) struct Uninstall {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    /// Leave something in the cluster
    #[arg(long, value_enum, value_name = "WHAT")]
    keep: Option<Keep>,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

/// What stays in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Keep {
    /// The definitions of custom resources, and with them the resources
    Crds,
    /// Everything; nobody looks after it any more
    Everything,
}

impl Uninstall {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let extensions = Extensions::of(self.access.connect().await?);
            let extension = extensions.find(&self.name).await?;
            let mut leaving = extensions.leaving(&self.name).await?;
            if extension.is_some() {
                if let Some(keep) = self.keep {
                    let change = json!({"metadata": {"annotations": {keys::ON_DELETE: keep.word()}}});
                    extensions.change(&self.name, &change).await?;
                }
                extensions.delete(&self.name).await?;
            } else {
                extensions.add_what_is_left(&mut leaving).await?;
                if leaving.is_nothing() {
                    return Err(extensions.unknown(&self.name).await?);
                }
                if self.keep.is_some() {
                    return Err(Failure::new(format!(
                        "ClusterExtension {:?} is deleted already: --keep comes too late for what it installed",
                        self.name
                    )));
                }
                terminal.remark(format!(
                    "ClusterExtension {:?} is deleted already; what it installed is on its way out",
                    self.name
                ));
            }
            extensions.wait_gone(&mut leaving, self.wait, terminal).await?;
            self.output.print(terminal, &extension, |extension| {
                self.told(extension.as_ref(), leaving.unknown())
            })
        })
    }

    /// What became of the extension, and of what it leaves behind.
    fn told(&self, extension: Option<&ClusterExtension>, unknown: Option<&str>) -> String {
        let name = &self.name;
        let mut text = match (self.wait.is_declined(), unknown) {
            (true, _) => format!("{name} is being removed; `baton uninstall {name}` waits until it is gone"),
            (false, None) => format!("{name} is gone"),
            (false, Some(cause)) => format!("{name} is gone, as far as can be seen ({cause})"),
        };
        if let Some(extension) = extension {
            let namespace = &extension.spec.namespace;
            let _ = match self.keep {
                None => write!(text, "; the namespace {namespace} stays"),
                Some(Keep::Crds) => write!(
                    text,
                    "; its definitions with their resources and the namespace {namespace} stay"
                ),
                Some(Keep::Everything) => write!(
                    text,
                    "; what it installed into the namespace {namespace} stays, and nobody looks after it"
                ),
            };
        }
        text.push('\n');
        text
    }
}

impl Keep {
    /// What the annotation says for it.
    fn word(self) -> &'static str {
        match self {
            Self::Crds => "keep-crds",
            Self::Everything => "orphan",
        }
    }
}
