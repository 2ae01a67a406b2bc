//! The console as browsers meet it: pages, access, buttons, and what it looks like in Chromium.

mod access;
mod browser;
mod buttons;
mod chromium;
mod pages;
mod world;
