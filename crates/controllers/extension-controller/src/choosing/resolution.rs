//! The next bundle, as the catalogs have it.

use api::cluster_extension::BundleMetadata;
use catalog::objects::Deprecation;
use gotemplate::format::quoted;
use resolve::dependencies::unmet;
use resolve::explanation::{Explanation, explain};
use resolve::request::Request;
use resolve::resolution::{Offer, OfferState, Resolution, resolve};
use version::Release;

use crate::failure::Failure;
use crate::notice::Notice;
use crate::snapshot::Snapshot;
use crate::standing::Bundle;

/// What resolution came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolving {
    /// The bundle, or why there is none.
    pub outcome: Result<Resolved, Failure>,
    /// What the catalogs say should not be used any more; none where none could be asked.
    pub deprecations: Option<Vec<Deprecation>>,
    /// What is worth telling beside the status.
    pub notices: Vec<Notice>,
}

/// A bundle that may be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The bundle.
    pub bundle: Bundle,
}

/// Asks the catalogs what may follow a bundle.
pub fn resolving(snapshot: &Snapshot, installed: Option<&Bundle>) -> Resolving {
    let failed = |message: String| Resolving {
        outcome: Err(Failure::passing(message)),
        deprecations: None,
        notices: Vec::new(),
    };
    if let Err(cause) = &snapshot.catalogs {
        return failed(cause.clone());
    }
    let request = match snapshot.request(installed) {
        Ok(request) => request,
        Err(fault) => return failed(fault.to_string()),
    };
    let offers = snapshot.offers();
    match resolve(&request, &offers, snapshot.broken_catalogs) {
        Ok(resolution) => {
            let skipped = resolution.skipped.iter();
            let notices = skipped.map(|(catalog, cause)| Notice::catalog_skipped(catalog, cause));
            Resolving {
                notices: notices.collect(),
                deprecations: Some(
                    resolution
                        .deprecations
                        .map(|deprecations| deprecations.0.clone())
                        .unwrap_or_default(),
                ),
                outcome: with_dependencies(snapshot, &request.package, &resolution),
            }
        }
        Err(unresolved) => Resolving {
            deprecations: deprecations_of(&offers),
            notices: vec![Notice::unresolved(&reasons(&request, &offers))],
            ..failed(unresolved.to_string())
        },
    }
}

/// Says in a few words why there is nothing to install, and what to change.
fn reasons(request: &Request, offers: &[Offer<'_>]) -> String {
    if offers.is_empty() {
        let text = "no catalog is selected; add a ClusterCatalog, or change spec.source.catalog.selector";
        return text.to_owned();
    }
    match explain(request, offers, None) {
        Ok(explanation) => explanation.summary(),
        Err(fault) => fault.to_string(),
    }
}

/// Says what became of every version that the catalogs have, seen from what is installed.
///
/// # Errors
///
/// If the spec or what is installed can't be understood.
pub fn explanation(snapshot: &Snapshot) -> Result<Explanation, String> {
    snapshot.catalogs.as_ref().map_err(Clone::clone)?;
    let standing = snapshot.standing();
    let installed = standing.installed.as_ref().map(|revision| &revision.bundle);
    let request = snapshot.request(installed).map_err(|fault| fault.to_string())?;
    let offers = snapshot.offers();
    let chosen = resolve(&request, &offers, snapshot.broken_catalogs).ok();
    explain(&request, &offers, chosen.as_ref()).map_err(|fault| fault.to_string())
}

/// Refuses a bundle that needs what isn't there.
fn with_dependencies(
    snapshot: &Snapshot,
    package: &str,
    resolution: &Resolution<'_>,
) -> Result<Resolved, Failure> {
    let bundle = resolution.bundle;
    let missing = unmet(bundle, &snapshot.inventory).map_err(Failure::passing)?;
    if !missing.is_empty() {
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        let name = quoted(&bundle.name);
        return Err(Failure::passing(format!("bundle {name} {}", missing.join("; "))));
    }
    Ok(Resolved {
        bundle: Bundle {
            package: package.to_owned(),
            image: bundle.image.clone(),
            metadata: BundleMetadata {
                name: bundle.name.clone(),
                version: resolution.version.version.to_string(),
                release: resolution
                    .version
                    .release
                    .as_ref()
                    .map(Release::as_str)
                    .map(str::to_owned),
            },
        },
    })
}

/// Returns what is deprecated of a package of which no bundle can be installed.
fn deprecations_of(offers: &[Offer<'_>]) -> Option<Vec<Deprecation>> {
    offers.iter().find_map(|offer| match &offer.state {
        OfferState::Read(Some(package)) => Some(package.deprecations.as_ref()?.0.clone()),
        _ => None,
    })
}
