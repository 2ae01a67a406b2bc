//! The embedded OCI registry.
