//! Objects that a real server refused, and what it said of them.
