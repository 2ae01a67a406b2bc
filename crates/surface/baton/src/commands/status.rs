//! `baton status`: extensions as trees, down to the objects, with what each waits for.

use std::io::Write as _;

use api::{ClusterExtension, ClusterObjectSet};
use clap::Args;
use deploy::component::Component;
use doctor::leadership::{self, Leadership};
use doctor::question;
use extension_controller::tree::{ExtensionTree, TreeError, TreeReader};
use futures_util::{Stream, StreamExt as _};
use kube::api::Api;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};

use crate::cluster::{ClusterAccess, refused};
use crate::cluster_picture;
use crate::commands::up;
use crate::extensions::{Extensions, drawing, is_rolled_out};
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::burst;

/// Shows extensions as trees: revisions, phases and objects, and what each waits for.
#[derive(Args)]
pub(crate) struct Status {
    /// The extension; without it, all
    #[arg(value_name = "EXTENSION")]
    name: Option<String>,
    /// Show every object, not only those that something waits for; without an extension, also who leads
    #[arg(short, long)]
    all: bool,
    /// Show archived revisions too
    #[arg(long)]
    archived: bool,
    /// Show the tree again whenever something changes, until everything is installed and available
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
    /// The namespace of the Secrets that keep the objects of revisions
    #[arg(long, value_name = "NAMESPACE", default_value = api::keys::SYSTEM_NAMESPACE)]
    system_namespace: String,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

impl Status {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            if self.name.is_none()
                && !self.output.is_for_programs()
                && let Some(up) = self.access.up().await
            {
                terminal.print(format!("{}\n", up::told(&up)).as_bytes())?;
            }
            let client = self.access.connect().await?;
            if self.watch {
                // What follows may have no end.
                self.tell_who_leads(&client, terminal).await?;
                return self.draw(&client, terminal).await;
            }
            self.draw(&client, terminal).await?;
            self.tell_who_leads(&client, terminal).await
        })
    }

    /// Says where nobody looks after what is there, and why; where everything is asked for, also who leads.
    async fn tell_who_leads(&self, client: &Client, terminal: &mut Terminal) -> Result<(), Failure> {
        let picture = cluster_picture::ask(client, question::of_leaders()).await;
        let told = leadership::tell(&picture);
        let is_all = self.all && self.name.is_none();
        // Who has extensions need not have OLM v0, though Subscriptions of earlier days lie about.
        let is_warned_of =
            |told: &Leadership| told.is_missed && (is_all || told.component != Component::Subscriptions);
        for missed in told.iter().filter(|told| is_warned_of(told)) {
            terminal.remark(format!("warning: {}", missed.words));
        }
        if !is_all || self.output.is_for_programs() {
            return Ok(());
        }
        let others = told.iter().filter(|told| !told.is_missed);
        let mut lines = Vec::new();
        for told in others {
            writeln!(lines, "{}", told.words)?;
        }
        terminal.print(&lines)
    }

    /// Draws the trees: once, or until nothing in them waits for anything.
    async fn draw(&self, client: &Client, terminal: &mut Terminal) -> Result<(), Failure> {
        // Watching first: what changes while the tree is read must not be missed.
        let mut changes = std::pin::pin!(changes(client));
        let mut is_ready = self.show(client, terminal).await?;
        while self.watch && !is_ready {
            burst(changes.as_mut()).await;
            terminal.print(b"\n")?;
            is_ready = self.show(client, terminal).await?;
        }
        Ok(())
    }

    /// Shows the trees; returns whether nothing in them waits for anything.
    async fn show(&self, client: &Client, terminal: &mut Terminal) -> Result<bool, Failure> {
        let extensions = Extensions::of(client.clone());
        let chosen = match &self.name {
            Some(name) => vec![extensions.read(name).await?],
            None => extensions.all().await?,
        };
        if chosen.is_empty() {
            terminal.remark("no extension is installed; `baton catalog search` shows what there is, `baton install` installs it");
        }
        let reader = TreeReader::new(client.clone(), self.system_namespace.clone());
        let mut trees = Vec::with_capacity(chosen.len());
        for extension in &chosen {
            trees.push(reader.read(extension, self.archived).await.map_err(unread)?);
        }
        self.output.print(terminal, &trees, |trees| {
            trees.iter().map(|tree| drawing::draw(tree, self.all)).collect()
        })?;
        Ok(!chosen.is_empty()
            && chosen.iter().all(is_rolled_out)
            && trees.iter().all(ExtensionTree::is_available))
    }
}

/// Draws an extension whenever something changes, until it is installed and available.
pub(crate) async fn follow(client: &Client, name: &str, terminal: &mut Terminal) -> Result<(), Failure> {
    let status = Status {
        name: Some(name.to_owned()),
        all: false,
        archived: false,
        watch: true,
        system_namespace: api::keys::SYSTEM_NAMESPACE.to_owned(),
        access: ClusterAccess::default(),
        output: OutputFlag::default(),
    };
    status.draw(client, terminal).await
}

fn unread(error: TreeError) -> Failure {
    match error {
        TreeError::Revisions { extension, source } => refused(
            &format!("list the revisions of ClusterExtension {extension:?}"),
            *source,
        ),
        TreeError::Object(error) => Failure::from(error),
    }
}

/// Something that happens whenever an extension or a revision changes.
fn changes(client: &Client) -> impl Stream<Item = ()> + use<> {
    let extensions = watcher(
        Api::<ClusterExtension>::all(client.clone()),
        watcher::Config::default(),
    );
    let revisions = watcher(
        Api::<ClusterObjectSet>::all(client.clone()),
        watcher::Config::default(),
    );
    let extensions = extensions
        .default_backoff()
        .touched_objects()
        .map(|seen| seen.map(|one| one.name_any()));
    let revisions = revisions
        .default_backoff()
        .touched_objects()
        .map(|seen| seen.map(|one| one.name_any()));
    // What fails is tried again; the tree shows what could be read.
    futures_util::stream::select(extensions, revisions).filter_map(async |seen| seen.ok().map(drop))
}
