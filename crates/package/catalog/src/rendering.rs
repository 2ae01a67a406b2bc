//! Bundles rendered to `olm.bundle` objects.
