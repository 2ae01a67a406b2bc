//! policy.json: which images may be used, and whose signature they need.
