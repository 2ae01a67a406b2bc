//! Image names in Docker's normalised grammar.
