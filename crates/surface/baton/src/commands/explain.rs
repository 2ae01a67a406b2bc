//! `baton explain`: why an extension has this version, and why not that one.

use std::fmt::Write as _;

use clap::Args;
use extension_controller::explaining::{Explained, explained};
use resolve::explanation::{BundleExplanation, Verdict};

use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags};
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;

/// Says why an extension has its version, what comes next, and what keeps each other version away.
#[derive(Args)]
pub(crate) struct Explain {
    /// The extension
    #[arg(value_name = "EXTENSION")]
    name: String,
    /// Only these versions; without it, all
    #[arg(long, value_name = "VERSION")]
    version: Vec<String>,
    #[command(flatten)]
    observation: ObservationFlags,
    #[command(flatten)]
    output: OutputFlag,
}

impl Explain {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let observer = observed_cluster::observe(&self.observation, terminal).await?;
            let extension = Extensions::of(observer.client.clone()).read(&self.name).await?;
            let snapshot = observer.observe(&extension).await;
            let mut explained = explained(&snapshot).map_err(Failure::new)?;
            if !self.version.is_empty() {
                for catalog in &mut explained.versions.catalogs {
                    catalog
                        .bundles
                        .retain(|bundle| self.version.contains(&bundle.version));
                }
            }
            self.output.print(terminal, &explained, told)
        })
    }
}

fn told(explained: &Explained) -> String {
    let mut text = format!(
        "{}: package {}, {}\nnext: {}\n",
        explained.extension,
        explained.package,
        explained.installed.as_ref().map_or_else(
            || "nothing installed".to_owned(),
            |version| format!("{version} installed")
        ),
        explained.next
    );
    for catalog in &explained.versions.catalogs {
        let _ = writeln!(
            text,
            "catalog {} (priority {})",
            catalog.catalog, catalog.priority
        );
        if let Some(absence) = &catalog.absence {
            let _ = writeln!(text, "  {absence}");
        }
        for bundle in &catalog.bundles {
            text.push_str(&bundle_lines(explained, bundle));
        }
    }
    if explained.versions.catalogs.is_empty() {
        text.push_str("no catalog is selected; `baton catalog add` adds one\n");
    }
    text
}

fn bundle_lines(explained: &Explained, bundle: &BundleExplanation) -> String {
    let deprecated = if bundle.deprecated { ", deprecated" } else { "" };
    let mut text = format!(
        "  {} ({}; channels {}{deprecated}): ",
        bundle.version,
        bundle.bundle,
        bundle.channels.join(", ")
    );
    let because = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!(", {text}")
        }
    };
    let stuck = explained
        .stuck
        .as_ref()
        .filter(|stuck| stuck.version == bundle.version)
        .map(|stuck| format!("is stuck on {}", stuck.on));
    let _ = match &bundle.verdict {
        Verdict::Kept => match stuck {
            Some(stuck) => writeln!(text, "installed, and {stuck}"),
            None => writeln!(text, "installed, and stays"),
        },
        Verdict::Chosen { because: why } => {
            let does = does(explained, &bundle.version, stuck);
            writeln!(text, "{does}{}", because(why))
        }
        Verdict::Outranked { because: why } => {
            writeln!(text, "could follow, but a better one does{}", because(why))
        }
        Verdict::Excluded { rules, change } => {
            writeln!(text, "no: {}\n    to allow it: {change}", rules.join("; "))
        }
    };
    text
}

/// What the version that comes next does: it waits, is on its way, or can't go on.
fn does(explained: &Explained, version: &str, stuck: Option<String>) -> String {
    let waiting = explained
        .waiting
        .as_ref()
        .filter(|waiting| waiting.version == version);
    let is_under_way = explained.under_way.as_deref() == Some(version);
    match (waiting, stuck, is_under_way) {
        (Some(waiting), _, _) => waiting.does.clone(),
        (None, Some(stuck), _) => stuck,
        (None, None, true) => "is being rolled out".to_owned(),
        (None, None, false) => "comes next".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use extension_controller::explaining::{Stuck, Waiting};
    use resolve::explanation::{CatalogExplanation, Explanation};

    use super::*;

    #[test]
    fn every_version_gets_its_reason() {
        let bundle = |version: &str, verdict| BundleExplanation {
            bundle: format!("web.v{version}"),
            version: version.to_owned(),
            channels: vec!["stable-v1".to_owned(), "fast-v1".to_owned()],
            deprecated: version == "1.0.0",
            verdict,
        };
        let mut explained = Explained {
            extension: "web".to_owned(),
            package: "web-operator".to_owned(),
            installed: Some("1.1.0".to_owned()),
            next: "version 1.2.0 is to be rolled out".to_owned(),
            under_way: None,
            waiting: None,
            stuck: None,
            versions: Explanation {
                catalogs: vec![
                    CatalogExplanation {
                        catalog: "main".to_owned(),
                        priority: 0,
                        absence: None,
                        bundles: vec![
                            bundle(
                                "2.0.0",
                                Verdict::Excluded {
                                    rules: vec!["no edge leads from 1.1.0 to it".to_owned()],
                                    change: "use --force".to_owned(),
                                },
                            ),
                            bundle(
                                "1.2.0",
                                Verdict::Chosen {
                                    because: "it replaces web.v1.1.0".to_owned(),
                                },
                            ),
                            bundle("1.1.0", Verdict::Kept),
                            bundle(
                                "1.0.0",
                                Verdict::Outranked {
                                    because: String::new(),
                                },
                            ),
                        ],
                    },
                    CatalogExplanation {
                        catalog: "other".to_owned(),
                        priority: -1,
                        absence: Some("the catalog doesn't have the package".to_owned()),
                        bundles: Vec::new(),
                    },
                ],
            },
        };
        insta::assert_snapshot!(told(&explained), @r"
        web: package web-operator, 1.1.0 installed
        next: version 1.2.0 is to be rolled out
        catalog main (priority 0)
          2.0.0 (web.v2.0.0; channels stable-v1, fast-v1): no: no edge leads from 1.1.0 to it
            to allow it: use --force
          1.2.0 (web.v1.2.0; channels stable-v1, fast-v1): comes next, it replaces web.v1.1.0
          1.1.0 (web.v1.1.0; channels stable-v1, fast-v1): installed, and stays
          1.0.0 (web.v1.0.0; channels stable-v1, fast-v1, deprecated): could follow, but a better one does
        catalog other (priority -1)
          the catalog doesn't have the package
        ");
        let line = |explained: &Explained, version: &str| {
            let told = told(explained);
            let begin = format!("  {version} (");
            let line = told
                .lines()
                .find(|line| line.starts_with(&begin))
                .expect("a line");
            line.split_once("): ").expect("a verdict").1.to_owned()
        };
        let stuck = |version: &str| {
            Some(Stuck {
                version: version.to_owned(),
                on: "Deployment web: no replicas".to_owned(),
            })
        };
        explained.under_way = Some("1.2.0".to_owned());
        assert_eq!(
            line(&explained, "1.2.0"),
            "is being rolled out, it replaces web.v1.1.0"
        );
        explained.stuck = stuck("1.2.0");
        assert_eq!(
            line(&explained, "1.2.0"),
            "is stuck on Deployment web: no replicas, it replaces web.v1.1.0"
        );
        assert_eq!(line(&explained, "1.1.0"), "installed, and stays");
        explained.under_way = None;
        explained.stuck = stuck("1.1.0");
        explained.waiting = Some(Waiting {
            version: "1.2.0".to_owned(),
            does: "waits for approval".to_owned(),
        });
        assert_eq!(
            line(&explained, "1.2.0"),
            "waits for approval, it replaces web.v1.1.0"
        );
        assert_eq!(
            line(&explained, "1.1.0"),
            "installed, and is stuck on Deployment web: no replicas"
        );
    }
}
