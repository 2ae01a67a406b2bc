//! Registries over HTTP: pull into and push from the content store.
