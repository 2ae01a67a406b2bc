//! The contract of a Kubernetes API, as cases that any server can be held to: stage in this process, stage over TLS,
//! and a real kube-apiserver.
//!
//! ```text
//! runner ── cases (functions) ──────┐
//!        └─ transcript (text files) ┴─ context ── exchange ── answer
//!                                                    └── server: in process | https ── real (etcd, apiserver, controllers, node)
//! ```

pub mod answer;
mod cases;
pub mod clients;
mod context;
mod exchange;
pub mod program_cache;
pub mod real;
mod runner;
pub mod server;
pub mod session;
pub mod simulation;
pub mod transcript;
pub mod watch;
mod webhook;

pub use context::{Context, PATIENCE};
pub use exchange::{Exchange, PatchKind, Watch};
pub use runner::{Case, Play, cases, run};
