//! `baton upgrade`: another version, range or channel for an extension.

use api::cluster_extension::UpgradeConstraintPolicy;
use clap::Args;
use serde_json::{Value, json};

use crate::catalogs;
use crate::commands::install::{offering, only_catalog, told};
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::observed_cluster::ObservationFlags;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Changes which version an extension should have, and waits until it has it.
#[derive(Args)]
pub(crate) struct Upgrade {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    /// The version, or a range such as ">=1.2.0 <2.0.0"; "" for the newest that may follow
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Only versions of this channel; may be repeated; "" for all
    #[arg(long, value_name = "CHANNEL")]
    channel: Vec<String>,
    /// Only from this catalog; "" for all
    #[arg(long, value_name = "CATALOG")]
    catalog: Option<String>,
    /// Take the version even if the catalog has no edge to it: you answer for the step
    #[arg(long)]
    force: bool,
    /// Follow the catalog's edges again
    #[arg(long, conflicts_with = "force")]
    no_force: bool,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    observation: ObservationFlags,
    #[command(flatten)]
    output: OutputFlag,
}

impl Upgrade {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let client = self.observation.access.connect().await?;
            if let Some(name) = self.catalog.as_ref().filter(|name| !name.is_empty()) {
                catalogs::check_named(&client, name).await?;
            }
            let extensions = Extensions::of(client);
            let now = extensions.read(&self.name).await?;
            let change = self.change();
            if self.asks_for_something() {
                let asked = extensions.changed(&self.name, &change).await?;
                offering::check(&asked, &self.observation, terminal).await?;
            }
            let wanted = extensions.change(&self.name, &change).await?;
            if wanted.metadata.generation == now.metadata.generation {
                terminal.remark(format!(
                    "nothing to change in {}: see what may follow with `baton explain {}`",
                    self.name, self.name
                ));
            }
            let installed = extensions.wait_installed(&wanted, self.wait, terminal).await?;
            self.output.print(terminal, &installed, told)
        })
    }

    /// Whether something is named that catalogs may not have; taking back what was named before is no such thing.
    fn asks_for_something(&self) -> bool {
        let named = [self.version.as_ref(), self.catalog.as_ref()];
        let mut names = named.into_iter().flatten().chain(&self.channel);
        names.any(|name| !name.is_empty())
    }

    fn change(&self) -> Value {
        let mut catalog = json!({});
        if let Some(version) = &self.version {
            catalog["version"] = or_null(version);
        }
        if !self.channel.is_empty() {
            let channels: Vec<&String> = self
                .channel
                .iter()
                .filter(|channel| !channel.is_empty())
                .collect();
            catalog["channels"] = if channels.is_empty() {
                Value::Null
            } else {
                json!(channels)
            };
        }
        if let Some(name) = &self.catalog {
            catalog["selector"] = if name.is_empty() {
                Value::Null
            } else {
                json!(only_catalog(name))
            };
        }
        if self.force {
            catalog["upgradeConstraintPolicy"] = json!(UpgradeConstraintPolicy::SelfCertified);
        } else if self.no_force {
            catalog["upgradeConstraintPolicy"] = json!(UpgradeConstraintPolicy::CatalogProvided);
        }
        json!({"spec": {"source": {"catalog": catalog}}})
    }
}

fn or_null(text: &str) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        Value::from(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        upgrade: Upgrade,
    }

    fn upgrade(arguments: &[&str]) -> Upgrade {
        let line = <Line as clap::Parser>::try_parse_from([&["upgrade", "web"], arguments].concat());
        line.expect("arguments").upgrade
    }

    fn change(arguments: &[&str]) -> Value {
        upgrade(arguments).change()["spec"]["source"]["catalog"].take()
    }

    #[test]
    fn catalogs_are_asked_for_what_is_named_and_not_for_what_is_taken_back() {
        for (arguments, expected) in [
            (&[] as &[&str], false),
            (&["--force"], false),
            (&["--version", "", "--channel", "", "--catalog", ""], false),
            (&["--version", "9.9.9"], true),
            (&["--channel", "stabel"], true),
            (&["--catalog", "main"], true),
        ] {
            assert_eq!(upgrade(arguments).asks_for_something(), expected, "{arguments:?}");
        }
    }

    #[test]
    fn only_what_is_named_changes() {
        for (arguments, expected) in [
            (&[] as &[&str], json!({})),
            (&["--version", "1.2.0"], json!({"version": "1.2.0"})),
            (&["--version", ""], json!({"version": null})),
            (
                &["--channel", "a", "--channel", "b"],
                json!({"channels": ["a", "b"]}),
            ),
            (&["--channel", ""], json!({"channels": null})),
            (&["--catalog", ""], json!({"selector": null})),
            (&["--force"], json!({"upgradeConstraintPolicy": "SelfCertified"})),
            (
                &["--no-force"],
                json!({"upgradeConstraintPolicy": "CatalogProvided"}),
            ),
        ] {
            assert_eq!(change(arguments), expected, "{arguments:?}");
        }
    }
}
