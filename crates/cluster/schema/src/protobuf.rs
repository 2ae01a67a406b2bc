//! The binary form in which Go clients send built-in kinds.
