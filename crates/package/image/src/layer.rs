//! Reproducible layers: the same files give the same bytes and so the same digest.
