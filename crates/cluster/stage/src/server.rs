//! The listening end.
