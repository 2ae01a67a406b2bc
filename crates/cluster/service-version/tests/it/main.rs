//! Everything that is decided about versions and groups of OLM v0.

mod better;
mod groups;
mod support;
mod tables;
mod traces;
mod transitions;
