//! Taking over what somebody else installed, without touching what runs.

pub mod classic;
pub mod helm;
