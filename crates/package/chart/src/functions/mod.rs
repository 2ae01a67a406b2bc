//! The functions of Sprig and Helm, by what they are about; each file lists its own.

mod conversion;
mod equality;
mod limits;
mod number_syntax;

use gotemplate::Function;

/// Every function that templates can call, apart from Go's own.
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    let groups: [&'static [Function]; 0] = [];
    groups.into_iter().flatten()
}
