//! Whole namespaces of OLM v0: what becomes of their Subscriptions.

mod catalogs;
mod isolation;
mod properties;
mod world;
