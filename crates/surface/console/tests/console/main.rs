//! The console as browsers meet it: pages, access, sessions and buttons; `suite.rs` looks at it in Chromium.

mod access;
mod buttons;
mod olm_v0;
mod packages;
mod pages;
mod recorded;
mod sessions;
mod troubles;
mod world;
