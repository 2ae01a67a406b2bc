//! The console as browsers meet it: pages, access, sessions, buttons, and what it looks like in Chromium.

mod access;
mod browser;
mod buttons;
mod chromium;
mod olm_v0;
mod packages;
mod pages;
mod recorded;
mod sessions;
mod troubles;
mod world;
