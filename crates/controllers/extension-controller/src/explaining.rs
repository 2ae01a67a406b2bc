//! Why an extension has its version, and what keeps each other version away: what `baton explain` and the console show.

use std::fmt::Write as _;

use resolve::explanation::Explanation;
use serde::Serialize;

use crate::choosing::{Target, choose, explanation};
use crate::snapshot::Snapshot;
use crate::standing::Bundle;

/// Why an extension has its version.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// The extension.
    pub extension: String,
    /// Its package; empty where it names none.
    pub package: String,
    /// The version that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed: Option<String>,
    /// What happens next, and why.
    pub next: String,
    /// What became of every version that the catalogs know.
    #[serde(flatten)]
    pub versions: Explanation,
}

/// Explains what was seen of an extension.
///
/// # Errors
///
/// If the spec or what is installed can't be understood.
pub fn explained(snapshot: &Snapshot) -> Result<Explained, String> {
    let standing = snapshot.standing();
    let installed = standing.installed.as_ref().map(|revision| &revision.bundle);
    let versions = explanation(snapshot)?;
    let choice = choose(snapshot);
    let mut next = match &choice.target {
        Target::Bundle(bundle) if installed.is_some_and(|installed| installed.is_same_version(bundle)) => {
            format!("version {} stays", bundle.full_version())
        }
        Target::Bundle(bundle) => format!("version {} is rolled out", bundle.full_version()),
        Target::Image(image) => format!("what {image} holds is installed"),
        Target::Again { revision, instead_of } => format!(
            "version {} comes back, since {} did not roll out in time",
            revision.bundle.full_version(),
            instead_of.bundle.full_version()
        ),
        Target::AsItIs => "nothing changes".to_owned(),
        Target::Unknown(failure) => failure.message.clone(),
    };
    if let Some(wait) = &choice.wait {
        let _ = write!(next, "; {wait}");
    }
    Ok(Explained {
        extension: snapshot.extension.name().to_owned(),
        package: snapshot
            .filter()
            .map(|filter| filter.package_name.clone())
            .unwrap_or_default(),
        installed: installed.map(Bundle::full_version),
        next,
        versions,
    })
}
