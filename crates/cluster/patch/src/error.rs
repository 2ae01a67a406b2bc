//! Why a patch can't be applied, and what the API server answers then.

use thiserror::Error;

/// What the server says when a defect of upstream's own makes it give up on the request.
pub(crate) const PANICKED: &str = "This request caused apiserver to panic. Look in the logs for details.";

/// Why a patch can't be applied. The text is the one that Kubernetes' libraries have for it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatchError {
    /// The patch isn't a patch of its type: HTTP 400 with this text.
    #[error("{0}")]
    BadRequest(String),
    /// The patch doesn't fit the object: HTTP 422. The text is for logs; clients get [`PatchError::message`].
    #[error("{0}")]
    Unprocessable(String),
    /// The patch has more operations than are allowed: HTTP 413 with this text.
    #[error("{0}")]
    TooLarge(String),
    /// The patch can't be merged, which upstream doesn't tell apart from its own failures: HTTP 500 with this text.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// Returns the HTTP status of the answer.
    pub const fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Unprocessable(_) => 422,
            Self::TooLarge(_) => 413,
            Self::Internal(_) => 500,
        }
    }

    /// Returns the `reason` of the Status; empty where upstream gives none.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::Unprocessable(_) => "Invalid",
            Self::TooLarge(_) => "RequestEntityTooLarge",
            Self::Internal(_) => "",
        }
    }

    /// Returns the `message` of the Status.
    pub fn message(&self) -> String {
        match self {
            Self::BadRequest(text) | Self::Internal(text) => text.clone(),
            Self::TooLarge(text) => format!("Request entity too large: {text}"),
            Self::Unprocessable(_) => {
                "the server rejected our request due to an error in our request".to_owned()
            }
        }
    }

    /// A defect of upstream's that ends the request.
    pub(crate) fn panicked() -> Self {
        Self::Internal(PANICKED.to_owned())
    }
}
