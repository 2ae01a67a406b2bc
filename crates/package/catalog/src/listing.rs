//! Packages, channels and bundles of a catalog as tables.
