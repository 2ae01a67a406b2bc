//! The documents that `/openapi/v3` serves.
