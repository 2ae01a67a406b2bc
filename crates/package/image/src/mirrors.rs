//! registries.conf: where an image is really fetched from.
