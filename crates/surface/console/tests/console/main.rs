//! The console as browsers meet it: pages, access, buttons, and what it looks like in Chromium.

mod access;
mod browser;
mod buttons;
mod chromium;
mod olm_v0;
mod pages;
mod recorded;
mod world;
