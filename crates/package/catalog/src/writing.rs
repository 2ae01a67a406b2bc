//! Catalogs written as JSON, YAML or a file per package.
