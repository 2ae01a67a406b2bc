//! Everything that holds for patches and the ownership of fields.

mod ownership;
mod ownership_bookkeeping;
mod ownership_sets;
mod upstream;
