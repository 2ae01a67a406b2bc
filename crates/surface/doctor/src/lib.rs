//! What is wrong in a cluster and what to do about it, and what of a cluster may be shown to others.
//!
//! ```text
//! question::first ─► lists ─► Picture ─ question::further ─► lists ─► Picture ─ rules ─► findings ─ folded ─► Report
//! objects, logs ─ redaction ─► texts without secrets ─ archive ─► a .tar.gz
//! ```
//!
//! Everything here is pure: no client, no clock. Whoever asks the API server puts the answers into a [`Picture`].
//!
//! - [`question`]: what is asked of the API server, and what of an answer is kept
//! - [`rules`]: one module for each subject, from a picture to findings
//! - [`report`]: findings with their consequences, root causes first
//! - [`redaction`]: objects and texts without passwords, tokens and keys
//! - [`leadership`]: who of several controllers works, in a line for each
//! - [`logs`]: whose logs an archive holds
//! - [`archive`]: files within limits, the same bytes for the same files

pub mod archive;
mod conditions;
pub mod finding;
mod kinds;
pub mod leadership;
pub mod logs;
mod moment;
pub mod picture;
pub mod question;
pub mod redaction;
pub mod report;
pub mod rules;
pub mod subject;

pub use finding::{Finding, Severity};
pub use picture::Picture;
pub use question::Question;
pub use report::Report;
pub use subject::Subject;
