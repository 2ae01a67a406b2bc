//! Helm charts without Helm: loading, values, rendering, manifests and release records, byte for byte as Helm 3.17.
//!
//! ```text
//! directory ─┐                                       ┌─ set_expression   --set and its relatives
//! archive  ──┴─► loader ─► Chart (shared)            │  value_options    -f files and flags, with provenance
//!                            │                       ▼
//!                            └─► dependencies ─► values ─► schema
//!                                     │              │
//!                                     └──────────────┴─► engine (functions, context, host) ─► rendered files
//!                                                                                               │
//!                             release ◄─ hooks, objects in install order, crds ◄─ manifest ◄────┘
//! ```
//!
//! `lint` checks a chart as Helm does. The `go_*` modules and `field_decoder` hold what Go's libraries do that users can
//! see: which characters are letters, which JSON fits which field, how addresses and expressions are read.

mod compatibility;
mod document;
mod field_decoder;
mod functions;
mod go_characters;
pub mod go_duration;
mod go_error;
mod keys;
mod time;

pub mod archive;
pub mod capabilities;
pub mod chart;
mod context;
pub mod cosmetic;
pub mod crds;
pub mod deadline;
pub mod dependencies;
pub mod dependency_update;
pub mod diagnosis;
pub mod directory;
pub mod engine;
pub mod environment;
pub mod explanation;
pub mod go_expression;
pub mod go_url;
pub mod host;
pub mod ignore;
pub mod inspection;
pub mod installation;
pub mod lint;
pub mod loader;
pub mod lock;
pub mod manifest;
pub mod metadata;
pub mod name_template;
pub mod packaging;
pub mod path_pattern;
pub mod pods;
pub mod presentation;
pub mod provenance;
pub mod release;
pub mod release_name;
pub mod repetition;
pub mod schema;
pub mod selection;
pub mod set_expression;
pub mod source;
pub mod value_options;
pub mod values;
pub mod warning;

pub use chart::{Chart, File};
