//! A Kubernetes API for one machine: a server that kubectl, Helm and controllers can't tell from the real one, with the
//! small controllers and the node that make a cluster live.
//!
//! ```text
//! HTTP or in process ─► wire ─► access ─► door ─► api ─► admission ─► store ─► watchers
//!                                                  ▲                             │
//!                                      controllers, node ◄───────────────────────┘
//! ```
//!
//! - [`store`]: all objects under one revision, in memory and in a journal
//! - [`resource`], [`custom`], [`rules`]: what is served, and by which rules
//! - [`api`]: the one path of every read and write
//! - [`wire`]: the same over HTTP
//! - [`door`], [`fairness`]: whose request is computed next, and where
//! - [`access`]: who is who, and who may do what
//! - [`admission`]: what decides about writes beyond the rules of a kind
//! - [`aggregation`]: APIs that another server serves
//! - [`indices`]: what is found without reading everything
//! - [`callback`]: calls to servers that objects name
//! - [`allocation`]: addresses and ports that the cluster has only once
//! - [`quota`]: what objects use of what a namespace is allowed
//! - [`bootstrap`]: the first objects of a cluster
//! - [`controllers`], [`node`]: what makes a cluster live
//! - [`events`]: what controllers and the node tell about objects
//! - [`server`]: the listening end, its certificates and the kubeconfig

pub mod access;
pub mod admission;
pub mod aggregation;
pub mod allocation;
pub mod api;
pub mod bootstrap;
pub mod callback;
pub mod caller;
pub mod client;
pub mod controllers;
pub mod custom;
pub mod decode;
pub mod door;
pub mod events;
pub mod fairness;
pub mod filter;
pub mod health;
pub mod indices;
pub mod node;
pub mod object;
pub mod options;
pub mod quota;
pub mod request;
pub mod resource;
pub mod rules;
pub mod selectors;
pub mod server;
pub mod status;
pub mod store;
pub mod wire;

mod stage;

pub use stage::{Options, Service, Stage, StageError};
pub use wire::Body;
