//! Why nothing can be rehearsed.

use apply::refusal::words;
use thiserror::Error;

/// A rehearsal that could not take place: nothing is known of what the upgrade would do.
#[derive(Debug, Error)]
pub enum Impossible {
    /// The live cluster refused a read that everything else needs, or didn't answer.
    #[error("cannot {doing}: {cause}{}", if *.is_forbidden { "; ask for that right, or use another --context" } else { "" })]
    Live {
        /// What was tried.
        doing: String,
        /// What the server said.
        cause: String,
        /// Whether a right is missing.
        is_forbidden: bool,
    },
    /// The stage didn't do what it should.
    #[error("the stage did not {doing}: {cause}")]
    Stage {
        /// What was tried.
        doing: String,
        /// Why it failed.
        cause: String,
    },
    /// No bundle can be had for what was asked for.
    #[error(
        "ClusterExtension {extension:?} cannot go to version {version:?}: {cause}; see what may follow with `baton explain {extension}`"
    )]
    NoBundle {
        /// The extension.
        extension: String,
        /// The version.
        version: String,
        /// Why.
        cause: String,
    },
    /// There is nothing to rehearse.
    #[error("ClusterExtension {extension:?} has version {version} already; name another one with --to")]
    Installed {
        /// The extension.
        extension: String,
        /// The version.
        version: String,
    },
    /// Nothing is installed that could be upgraded.
    #[error("ClusterExtension {0:?} has no version that is installed; see `baton status {0}`")]
    NotInstalled(String),
    /// The extension follows no catalog.
    #[error("ClusterExtension {0:?} follows no catalog, so there is no version to go to")]
    NoCatalog(String),
}

impl Impossible {
    pub(crate) fn live(doing: &str, error: &kube::Error) -> Self {
        Self::Live {
            doing: doing.to_owned(),
            cause: words(error),
            is_forbidden: matches!(error, kube::Error::Api(status) if status.code == 403),
        }
    }

    pub(crate) fn stage(doing: impl Into<String>, cause: impl ToString) -> Self {
        Self::Stage {
            doing: doing.into(),
            cause: cause.to_string(),
        }
    }
}
