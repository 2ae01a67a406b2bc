//! Everything that holds for the template language.

mod language;
mod limits;
