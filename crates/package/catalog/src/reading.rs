//! Catalog files read as streams of objects.
