//! What customers would see change between two catalogs.
