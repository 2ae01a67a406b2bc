//! Suites: programs of tests that want what not every machine has, such as a real Kubernetes, and play it case by case.
//!
//! ```text
//! words ─ selection ─► groups, one after the other ─► cases, so many at once ─┬─ passed ──────────────────────► report
//!                          │                              ▲                   └─ failed ─ alone, anew ─ verdict ──┘
//!                          └── opens a ground for ────────┘
//! ```
//!
//! A suite is a `[[test]]` with `harness = false` and `test = false`: `cargo test --workspace` neither builds nor runs it, and
//! `cargo run -p xtask -- suites` does. Its `main` names what there is to play:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use std::sync::Arc;
//! use suite::{Case, Group, Suite};
//!
//! struct Server;
//!
//! async fn start() -> Result<Server, String> {
//!     Ok(Server)
//! }
//!
//! async fn a_server_answers(server: Arc<Server>) -> Result<(), String> {
//!     Ok(drop(server))
//! }
//!
//! fn main() -> ExitCode {
//!     let servers = Group::shared("servers", start)
//!         .at_once(8)
//!         .case(Case::new("a_server_answers", a_server_answers));
//!     Suite::new("example").with(servers).main()
//! }
//! ```
//!
//! Each case has a log of its own, `target/suites/<suite>/<group>/<case>.log`, and a time limit. One that fails is played once
//! more, alone and on a fresh ground: failing again it has failed; passing then it is FLAKY, which is told with both logs and
//! mended next, but isn't held against who ran the suite. Runners of tests that there are, libtest and its likes, know neither
//! of these, nor that cases share a server which is to be fresh the second time.

mod case;
mod group;
mod log;
mod program;
mod report;
mod selection;
mod verdict;

#[doc(hidden)]
pub use case::last_name;
pub use case::{Case, Ending, Outcome};
pub use group::Group;
pub use log::{caught, say};
pub use program::Suite;
pub use report::Summary;
pub use selection::Selection;
