//! What became of each version of a package, and what to change so that another one is chosen.

use std::fmt::Write;

use serde::Serialize;

use crate::edges::Edge;
use crate::package::{Bundle, Package};
use crate::request::{InstalledError, Request, UpgradePolicy};
use crate::resolution::{Offer, OfferState, Resolution, preference};

/// What became of every version that the catalogs know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// A line for each catalog that was asked, in their order.
    pub catalogs: Vec<CatalogExplanation>,
}

/// What became of the versions of one catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogExplanation {
    /// The catalog.
    pub catalog: String,
    /// Its priority.
    pub priority: i32,
    /// Why it has nothing to offer; none where it has the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absence: Option<String>,
    /// Its bundles, the preferred ones first.
    pub bundles: Vec<BundleExplanation>,
}

/// What became of one bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BundleExplanation {
    /// The bundle.
    pub bundle: String,
    /// Its version, as it is compared.
    pub version: String,
    /// The channels it is in.
    pub channels: Vec<String>,
    /// Whether it should not be used any more.
    pub deprecated: bool,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "result")]
pub enum Verdict {
    /// It is installed, and stays.
    Kept,
    /// It is installed next.
    #[serde(rename_all = "camelCase")]
    Chosen {
        /// How it follows the installed version; empty where nothing is installed or any version may follow.
        because: String,
    },
    /// A better one was chosen.
    #[serde(rename_all = "camelCase")]
    Outranked {
        /// Why the other one is better.
        because: String,
    },
    /// It may not be chosen.
    #[serde(rename_all = "camelCase")]
    Excluded {
        /// Every rule that excludes it.
        rules: Vec<String>,
        /// What to change so that it may be chosen.
        change: String,
    },
}

/// Says what became of every version. `chosen` is what resolution came to, where it came to something.
pub fn explain(
    request: &Request,
    offers: &[Offer<'_>],
    chosen: Option<&Resolution<'_>>,
) -> Result<Explanation, InstalledError> {
    let catalogs = offers.iter().map(|offer| {
        let (absence, bundles) = match &offer.state {
            OfferState::Disabled => (Some("the catalog is set to Unavailable".to_owned()), Vec::new()),
            OfferState::Broken(cause) => (Some(cause.clone()), Vec::new()),
            OfferState::Read(None) => (
                Some("the catalog doesn't have the package".to_owned()),
                Vec::new(),
            ),
            OfferState::Read(Some(package)) => (None, bundles(request, offer, package, chosen)?),
        };
        Ok(CatalogExplanation {
            catalog: offer.catalog.to_owned(),
            priority: offer.priority,
            absence,
            bundles,
        })
    });
    Ok(Explanation {
        catalogs: catalogs.collect::<Result<_, InstalledError>>()?,
    })
}

fn bundles(
    request: &Request,
    offer: &Offer<'_>,
    package: &Package,
    chosen: Option<&Resolution<'_>>,
) -> Result<Vec<BundleExplanation>, InstalledError> {
    let edges = request.edges(package)?;
    let mut sorted: Vec<&Bundle> = package.bundles.iter().collect();
    sorted.sort_by(|one, other| preference(package, one, other));
    let explained = sorted.into_iter().map(|bundle| {
        let edge = edges.as_ref().and_then(|edges| edges.lead_to(bundle));
        let is_cut_off = edges.is_some() && edge.is_none();
        let exclusion = exclusion(request, package, bundle, is_cut_off);
        let verdict = exclusion.unwrap_or_else(|| rank(request, offer, package, bundle, edge, chosen));
        BundleExplanation {
            bundle: bundle.name.clone(),
            version: version_text(bundle),
            channels: package.channels_with(&bundle.name).map(str::to_owned).collect(),
            deprecated: is_deprecated(package, bundle),
            verdict,
        }
    });
    Ok(explained.collect())
}

fn version_text(bundle: &Bundle) -> String {
    match &bundle.version {
        Ok(version) => version.to_build_metadata().to_string(),
        Err(_) => String::new(),
    }
}

fn is_deprecated(package: &Package, bundle: &Bundle) -> bool {
    let deprecations = package.deprecations.as_ref();
    deprecations.is_some_and(|deprecations| deprecations.name_bundle(&bundle.name))
}

fn exclusion(request: &Request, package: &Package, bundle: &Bundle, is_cut_off: bool) -> Option<Verdict> {
    let mut rules = Vec::new();
    let mut changes = Vec::new();
    if let Err(fault) = &bundle.version {
        rules.push(format!("its version can't be read: {fault}"));
        changes.push("the catalog must be mended by its author".to_owned());
    } else if let Some(wish) = request.version.as_ref().filter(|_| !request.has_in_range(bundle)) {
        rules.push(format!("it isn't in the range \"{}\"", wish.text));
        changes.push(format!("set version to \"{}\"", version_text(bundle)));
    }
    if !request.has_in_channels(package, bundle) {
        let channels: Vec<&str> = package.channels_with(&bundle.name).collect();
        let asked = request.channels.join(", ");
        if channels.is_empty() {
            rules.push(format!("it is in no channel, and {asked} was asked for"));
            changes.push("leave channels empty".to_owned());
        } else {
            let channels = channels.join(", ");
            rules.push(format!("it is in {channels}, not in {asked}"));
            changes.push(format!("add one of {channels} to channels"));
        }
    }
    if let Some(installed) = request.installed.as_ref().filter(|_| is_cut_off) {
        rules.push(format!(
            "no replaces, skips or skipRange of {} leads from {} to it",
            if request.channels.is_empty() {
                "any channel".to_owned()
            } else {
                request.channels.join(", ")
            },
            installed.version
        ));
        let onward = between(package, request, bundle);
        changes.push(match onward {
            Some(step) => format!("go to {step} first, or set upgradeConstraintPolicy to SelfCertified"),
            None => {
                "set upgradeConstraintPolicy to SelfCertified and answer for the step yourself".to_owned()
            }
        });
    }
    (!rules.is_empty()).then(|| Verdict::Excluded {
        rules,
        change: changes.join(", and "),
    })
}

/// Returns a version that follows the installed one and that `target` follows.
fn between<'a>(package: &'a Package, request: &'a Request, target: &Bundle) -> Option<&'a str> {
    let edges = request.edges(package).ok()??;
    let steps = package
        .bundles
        .iter()
        .filter(|step| matches!(edges.lead_to(step), Some(Edge::Channel(..))) && step.name != target.name);
    let follows = |step: &Bundle| {
        let (Ok(version), name) = (&step.version, &step.name) else {
            return false;
        };
        let entries = package
            .channels
            .iter()
            .filter_map(|channel| channel.entry(&target.name));
        entries.into_iter().any(|entry| {
            &entry.replaces == name
                || entry.skips.contains(name)
                || entry
                    .skip_range
                    .as_ref()
                    .is_some_and(|range| range.matches(&version.version))
        })
    };
    steps
        .filter(|step| follows(step))
        .min_by(|one, other| preference(package, one, other))
        .map(|step| step.name.as_str())
}

fn rank(
    request: &Request,
    offer: &Offer<'_>,
    package: &Package,
    bundle: &Bundle,
    edge: Option<Edge<'_>>,
    chosen: Option<&Resolution<'_>>,
) -> Verdict {
    let Some(chosen) = chosen else {
        return Verdict::Outranked {
            because: "other catalogs of the same priority have a version too, so that none is chosen"
                .to_owned(),
        };
    };
    if chosen.catalog == offer.catalog && chosen.bundle.name == bundle.name {
        let installed = request.installed.as_ref();
        if installed.is_some_and(|installed| installed.name == bundle.name) {
            return Verdict::Kept;
        }
        return Verdict::Chosen {
            because: because(request, edge),
        };
    }
    let because = if chosen.catalog == offer.catalog {
        if is_deprecated(package, bundle) && !is_deprecated(package, chosen.bundle) {
            format!("it is deprecated and {} isn't", chosen.bundle.name)
        } else {
            format!("{} is newer", chosen.bundle.name)
        }
    } else if is_deprecated(package, bundle) {
        format!("catalog {} has a version that isn't deprecated", chosen.catalog)
    } else {
        format!(
            "catalog {} has a higher priority than {}",
            chosen.catalog, offer.priority
        )
    };
    Verdict::Outranked { because }
}

fn because(request: &Request, edge: Option<Edge<'_>>) -> String {
    let Some(installed) = &request.installed else {
        return "nothing is installed, and it is the newest of the candidates".to_owned();
    };
    match edge {
        Some(Edge::Channel(channel, rule)) => {
            format!(
                "{} of channel {channel} leads from {} to it",
                rule.field(),
                installed.version
            )
        }
        Some(Edge::Same) => format!("it has the installed version, {}", installed.version),
        None if request.policy == UpgradePolicy::SelfCertified => {
            "upgradeConstraintPolicy is SelfCertified: any version may follow".to_owned()
        }
        None => String::new(),
    }
}

/// How many bundles of a catalog a message names; `baton explain` names them all.
const NAMED_IN_MESSAGES: usize = 5;

impl Explanation {
    /// Returns a few sentences that follow upstream's error in a condition.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        for catalog in &self.catalogs {
            if let Some(absence) = &catalog.absence {
                write!(out, "; catalog {}: {absence}", catalog.catalog).ok();
                continue;
            }
            write!(out, "; catalog {} has", catalog.catalog).ok();
            for (index, bundle) in catalog.bundles.iter().take(NAMED_IN_MESSAGES).enumerate() {
                let comma = if index == 0 { "" } else { "," };
                write!(out, "{comma} {}", bundle.bundle).ok();
                if let Verdict::Excluded { rules, change } = &bundle.verdict {
                    write!(out, " ({}; to allow it: {change})", rules.join("; ")).ok();
                }
            }
            let more = catalog.bundles.len().saturating_sub(NAMED_IN_MESSAGES);
            if more > 0 {
                write!(out, " and {more} more").ok();
            }
        }
        out.trim_start_matches("; ").to_owned()
    }
}
