//! The decision: one bundle of one catalog, or the reason why there is none.

use std::cmp::{Ordering, Reverse};

use gotemplate::format::quoted;
use thiserror::Error;
use version::VersionRelease;

use crate::edges::Edges;
use crate::package::{Bundle, Package, PackageDeprecations};
use crate::request::{InstalledError, Request, UpgradePolicy};

/// A catalog, as far as the asked package goes.
#[derive(Debug, Clone)]
pub struct Offer<'a> {
    /// The catalog's name.
    pub catalog: &'a str,
    /// Whose word counts more when several catalogs have the package.
    pub priority: i32,
    /// The package in it.
    pub state: OfferState<'a>,
}

/// What a catalog can say of the package.
#[derive(Debug, Clone)]
pub enum OfferState<'a> {
    /// The package, or that it isn't there.
    Read(Option<&'a Package>),
    /// The user took the catalog out of service.
    Disabled,
    /// The catalog can't be asked, and why.
    Broken(String),
}

/// What a catalog that can't be asked does to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BrokenCatalogs {
    /// Nothing, as long as another one has an answer.
    #[default]
    Skip,
    /// It blocks them all: what it would have said might have come first.
    Block,
}

/// What to install.
#[derive(Debug, Clone)]
pub struct Resolution<'a> {
    /// The bundle.
    pub bundle: &'a Bundle,
    /// Its version.
    pub version: &'a VersionRelease,
    /// The catalog it comes from.
    pub catalog: &'a str,
    /// What of the package should not be used any more.
    pub deprecations: Option<&'a PackageDeprecations>,
    /// Catalogs that were passed over because they couldn't be asked, and why.
    pub skipped: Vec<(&'a str, String)>,
}

/// Why nothing can be installed. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unresolved {
    /// A catalog can't be asked.
    #[error(
        "error walking catalogs: error getting package {} from catalog {}: {cause}",
        quoted(.package), quoted(.catalog)
    )]
    Broken {
        /// The package.
        package: String,
        /// The catalog.
        catalog: String,
        /// Why it can't be asked.
        cause: String,
    },
    /// The installed version isn't one, so that nothing can be said to follow it.
    #[error("error walking catalogs: error finding upgrade edges: {0}")]
    Installed(InstalledError),
    /// No bundle, or several with an equal right.
    #[error("{0}")]
    Choice(NoChoice),
    /// The bundle that would be chosen has a version that can't be read.
    #[error("error getting resolved bundle version for bundle {}: {cause}", quoted(.bundle))]
    Version {
        /// The bundle.
        bundle: String,
        /// What is wrong with its version.
        cause: String,
    },
}

/// No bundle, or several with an equal right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoChoice {
    /// The installed version.
    pub installed: Option<String>,
    /// The package.
    pub package: String,
    /// The range that was asked for.
    pub version: Option<String>,
    /// The channels that were asked for.
    pub channels: Vec<String>,
    /// The catalogs with an equal right, sorted; empty where no bundle was found.
    pub catalogs: Vec<String>,
}

impl std::fmt::Display for NoChoice {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(installed) = &self.installed {
            let installed = quoted(installed);
            write!(
                formatter,
                "error upgrading from currently installed version {installed}: "
            )?;
        }
        let found = if self.catalogs.is_empty() {
            "no bundles found"
        } else {
            "found bundles"
        };
        write!(formatter, "{found} for package {}", quoted(&self.package))?;
        if let Some(version) = &self.version {
            write!(formatter, " matching version {}", quoted(version))?;
        }
        if !self.channels.is_empty() {
            write!(formatter, " in channels [{}]", self.channels.join(" "))?;
        }
        if !self.catalogs.is_empty() {
            let catalogs = self.catalogs.join(" ");
            write!(
                formatter,
                " in multiple catalogs with the same priority [{catalogs}]"
            )?;
        }
        Ok(())
    }
}

struct Candidate<'a> {
    offer: &'a Offer<'a>,
    bundle: &'a Bundle,
    deprecations: Option<&'a PackageDeprecations>,
}

impl Candidate<'_> {
    fn is_deprecated(&self) -> bool {
        self.deprecations
            .is_some_and(|deprecations| deprecations.name_bundle(&self.bundle.name))
    }
}

/// Chooses the bundle to install from what the catalogs offer, in the order in which they are given.
pub fn resolve<'a>(
    request: &'a Request,
    offers: &'a [Offer<'a>],
    broken_catalogs: BrokenCatalogs,
) -> Result<Resolution<'a>, Unresolved> {
    let mut found: Vec<Candidate<'a>> = Vec::new();
    let mut skipped = Vec::new();
    for offer in offers {
        let package = match &offer.state {
            OfferState::Disabled | OfferState::Read(None) => continue,
            OfferState::Read(Some(package)) => package,
            OfferState::Broken(cause) if broken_catalogs == BrokenCatalogs::Skip => {
                skipped.push((offer.catalog, cause.clone()));
                continue;
            }
            OfferState::Broken(cause) => return Err(broken(request, offer.catalog, cause)),
        };
        let Some(bundle) = best(request, package).map_err(Unresolved::Installed)? else {
            continue;
        };
        let candidate = Candidate {
            offer,
            bundle,
            deprecations: package.deprecations.as_ref(),
        };
        match found
            .last()
            .map(|prior| (candidate.is_deprecated(), prior.is_deprecated()))
        {
            Some((true, false)) => continue,
            Some((false, true)) => found.clear(),
            _ => {}
        }
        found.push(candidate);
    }
    found.sort_by_key(|candidate| Reverse(candidate.offer.priority));
    let chosen = match found.as_slice() {
        [only] => only,
        [first, second, ..] if first.offer.priority != second.offer.priority => first,
        [] if let Some((catalog, cause)) = skipped.first() => return Err(broken(request, catalog, cause)),
        none_or_several => {
            let mut catalogs: Vec<String> = none_or_several
                .iter()
                .map(|candidate| candidate.offer.catalog.to_owned())
                .collect();
            catalogs.sort();
            return Err(Unresolved::Choice(request.no_choice(catalogs)));
        }
    };
    let version = chosen
        .bundle
        .version
        .as_ref()
        .map_err(|cause| Unresolved::Version {
            bundle: chosen.bundle.name.clone(),
            cause: cause.clone(),
        })?;
    Ok(Resolution {
        bundle: chosen.bundle,
        version,
        catalog: chosen.offer.catalog,
        deprecations: chosen.deprecations,
        skipped,
    })
}

fn broken(request: &Request, catalog: &str, cause: &str) -> Unresolved {
    Unresolved::Broken {
        package: request.package.clone(),
        catalog: catalog.to_owned(),
        cause: cause.to_owned(),
    }
}

impl Request {
    fn no_choice(&self, catalogs: Vec<String>) -> NoChoice {
        NoChoice {
            installed: self.installed.as_ref().map(|installed| installed.version.clone()),
            package: self.package.clone(),
            version: self.version.as_ref().map(|wish| wish.text.clone()),
            channels: self.channels.clone(),
            catalogs,
        }
    }

    /// Returns the way from what is installed along the channels that may be followed; none where any version may.
    pub(crate) fn edges<'a>(&'a self, package: &'a Package) -> Result<Option<Edges<'a>>, InstalledError> {
        let Some(installed) = &self.installed else {
            return Ok(None);
        };
        if self.policy == UpgradePolicy::SelfCertified {
            return Ok(None);
        }
        let channels = package
            .channels
            .iter()
            .filter(|channel| self.follows(&channel.name));
        Edges::new(installed, channels).map(Some)
    }

    /// Returns whether a channel may be followed.
    pub(crate) fn follows(&self, channel: &str) -> bool {
        self.channels.is_empty() || self.channels.iter().any(|asked| asked == channel)
    }

    /// Returns whether a bundle is in a channel that was asked for; every bundle is when none was.
    pub(crate) fn has_in_channels(&self, package: &Package, bundle: &Bundle) -> bool {
        self.channels.is_empty()
            || package
                .channels_with(&bundle.name)
                .any(|channel| self.follows(channel))
    }

    /// Returns whether a bundle's version is one of those asked for.
    pub(crate) fn has_in_range(&self, bundle: &Bundle) -> bool {
        let Some(wish) = &self.version else { return true };
        bundle
            .version
            .as_ref()
            .is_ok_and(|version| wish.constraint.check(&version.version))
    }
}

/// Returns the bundle of a package that comes first among those that satisfy the request.
fn best<'a>(request: &'a Request, package: &'a Package) -> Result<Option<&'a Bundle>, InstalledError> {
    let edges = request.edges(package)?;
    let candidates = package.bundles.iter().filter(|bundle| {
        request.has_in_channels(package, bundle)
            && request.has_in_range(bundle)
            && edges.as_ref().is_none_or(|edges| edges.lead_to(bundle).is_some())
    });
    // The first of equals stays the first, as in a stable sort.
    Ok(candidates.reduce(|first, next| {
        if preference(package, next, first).is_lt() {
            next
        } else {
            first
        }
    }))
}

/// Orders the bundles of a package: what is to be preferred comes first.
pub fn preference(package: &Package, one: &Bundle, other: &Bundle) -> Ordering {
    let is_deprecated = |bundle: &Bundle| {
        package
            .deprecations
            .as_ref()
            .is_some_and(|deprecations| deprecations.name_bundle(&bundle.name))
    };
    let by_version = || match (&one.version, &other.version) {
        (Ok(one), Ok(other)) => other.precedence(one),
        (one, other) => one.is_err().cmp(&other.is_err()),
    };
    is_deprecated(one)
        .cmp(&is_deprecated(other))
        .then_with(by_version)
}
