//! What goes into a cluster so that baton runs there, as pure functions: settings to objects, findings and plans.
//!
//! ```text
//! settings ─► components, rights ─► workloads, roles, network, monitoring, certificates, admission ─► installation (ordered)
//!                                                                                                        │
//!                                    files (plain YAML, Helm chart, table of rights) ◄───────────────────┤
//!                                    check: what a cluster lacks ◄── what was seen there ────────────────┤
//!                                    takeover: what becomes of upstream's installation ◄─────────────────┘
//! ```
//!
//! Nothing here has a client. `baton deploy` looks at the cluster, asks these functions, and does what they say.

pub mod admission;
pub mod certificates;
pub mod check;
pub mod classic;
pub mod component;
pub mod files;
pub mod helm_chart;
pub mod installation;
pub mod materials;
pub mod monitoring;
pub mod network;
pub mod part;
pub mod program_image;
pub mod rights;
pub mod roles;
pub mod settings;
pub mod takeover;
pub mod workloads;
