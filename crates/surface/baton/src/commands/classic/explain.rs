//! `baton classic explain`: why a Subscription leads to this version, and why not to another.

mod verdict;

use std::fmt::Write as _;
use std::sync::Arc;

use apply::object::annotation;
use clap::Args;
use classic::{Kind, keys};
use resolve::classic::existing::{Existing, UpgradeStrategy};
use resolve::classic::request::Subscription as Asking;
use resolve::classic::{Catalog, CatalogKey, Isolation, Request, resolve};
use serde::Serialize;
use serde_json::Value;

use self::verdict::{Case, Judged, judge};
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::sources::{ReadSource, SourceFlags};
use crate::subscriptions::{Subscriptions, place};
use crate::terminal::Terminal;

/// Says why a Subscription leads to this version, and for each other one which rule keeps it away.
///
/// It resolves the namespace with the controller's own code, from catalogs that are read from here.
#[derive(Args)]
pub(crate) struct Explain {
    /// The Subscription, or its package
    #[arg(value_name = "NAME")]
    name: String,
    /// The namespace of the Subscription; without it, all are looked through
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Only these versions; without it, all
    #[arg(long, value_name = "VERSION")]
    version: Vec<String>,
    #[command(flatten)]
    sources: SourceFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// What is said.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Explained {
    subscription: String,
    package: String,
    channel: String,
    catalog: String,
    installed: Option<String>,
    /// What comes next, in a sentence.
    next: String,
    /// Why nothing does, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    obstacle: Option<String>,
    /// Catalogs that can't be read from here, with the reason.
    unread: Vec<String>,
    versions: Vec<Judged>,
}

impl Explain {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let subscriptions = Subscriptions::of(self.sources.access.connect().await?);
            let found = subscriptions.find(&self.name, self.namespace.as_deref()).await?;
            let mut explained = self.explained(&subscriptions, &found, terminal).await?;
            if !self.version.is_empty() {
                explained.versions.retain(|judged| {
                    self.version.contains(&judged.version) || self.version.contains(&judged.bundle)
                });
            }
            self.output.print(terminal, &explained, told)
        })
    }

    async fn explained(
        &self,
        subscriptions: &Subscriptions,
        found: &Value,
        terminal: &Terminal,
    ) -> Result<Explained, Failure> {
        let (namespace, name) = place(found);
        let (all, versions, groups) = tokio::try_join!(
            subscriptions.list(Kind::Subscription, &namespace),
            subscriptions.list(Kind::ClusterServiceVersion, &namespace),
            subscriptions.list(Kind::OperatorGroup, &namespace),
        )?;
        let group = groups.first().cloned().unwrap_or_default();
        let with_global = annotation(&group, keys::EXCLUDE_GLOBAL_CATALOGS) != Some("true");
        let sources = self.sources.list(subscriptions, &namespace, with_global).await?;
        let read = self.sources.read(subscriptions, sources, terminal).await?;
        let asking: Vec<Asking> = all.iter().map(Asking::from_object).collect();
        let versions: Vec<&Value> = versions.iter().collect();
        let strategy = UpgradeStrategy::of_group(&group);
        let existing = Existing::read(&namespace, &versions, &asking, strategy);
        let catalogs: Vec<Catalog> = read.iter().map(catalog).collect();
        let resolution = resolve(&Request {
            namespace: &namespace,
            catalogs: &catalogs,
            existing: &existing,
            subscriptions: &asking,
            isolation: Isolation::Subscription,
            forbid: None,
        });
        let asked = Asking::from_object(found);
        let installed = existing
            .versions
            .iter()
            .find(|version| version.subscription.as_deref() == Some(name.as_str()))
            .map(|version| &*version.entry);
        let next = resolution
            .installs
            .iter()
            .find(|install| install.subscriptions.contains(&name));
        let failure = resolution.failure_of(&name);
        let case = Case {
            asked: &asked,
            installed,
            next: next.map(|install| &*install.entry),
        };
        let entries = catalogs
            .iter()
            .filter_map(|catalog| catalog.content.as_ref().ok())
            .flat_map(|content| {
                let entries = content.entries();
                let of_package = content.of_package(&asked.package).iter();
                of_package.map(move |position| &entries[*position])
            });
        let mut judged: Vec<Judged> = entries.map(|entry| judge(&case, entry)).collect();
        verdict::order(&mut judged);
        let unread = read.iter().filter_map(|read| {
            let (namespace, name) = place(&read.source);
            let cause = read.content.as_ref().err()?;
            Some(format!("{namespace}/{name}: {cause}"))
        });
        Ok(Explained {
            subscription: format!("{namespace}/{name}"),
            package: asked.package.clone(),
            channel: asked.channel.clone(),
            catalog: asked.catalog.to_string(),
            installed: installed.map(|entry| entry.name.clone()),
            next: verdict::next(&case, failure.is_some(), groups.len()),
            obstacle: failure.map(|failure| failure.explanation.to_string()),
            unread: unread.collect(),
            versions: judged,
        })
    }
}

/// A catalog as the resolver takes it.
fn catalog(read: &ReadSource) -> Catalog {
    let (namespace, name) = place(&read.source);
    let priority = read.source.pointer("/spec/priority").and_then(Value::as_i64);
    Catalog {
        content: match &read.content {
            Ok(content) => Ok(Arc::clone(&content.snapshot)),
            Err(cause) => Err(cause.clone()),
        },
        key: CatalogKey::new(namespace, name),
        priority: priority
            .and_then(|priority| i32::try_from(priority).ok())
            .unwrap_or(0),
    }
}

fn told(explained: &Explained) -> String {
    let channel = match explained.channel.as_str() {
        "" => "any channel".to_owned(),
        channel => format!("channel {channel}"),
    };
    let mut text = format!(
        "{}: package {}, {channel} of {}, {}\nnext: {}\n",
        explained.subscription,
        explained.package,
        explained.catalog,
        explained.installed.as_ref().map_or_else(
            || "nothing installed".to_owned(),
            |name| format!("{name} installed")
        ),
        explained.next
    );
    if let Some(obstacle) = &explained.obstacle {
        let _ = writeln!(text, "  {}", obstacle.replace('\n', "\n  "));
    }
    for unread in &explained.unread {
        let _ = writeln!(text, "not read from here: {unread}");
    }
    for judged in &explained.versions {
        let _ = writeln!(
            text,
            "  {} ({}; channel {} of {}): {}",
            judged.version, judged.bundle, judged.channel, judged.catalog, judged.verdict
        );
        if let Some(change) = &judged.change {
            let _ = writeln!(text, "    to allow it: {change}");
        }
    }
    text
}
