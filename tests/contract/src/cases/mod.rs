//! The cases that are functions. Each module is a topic and lists its cases once.

use crate::runner::Case;

/// Lists the cases of a module: `cases![a, b]` makes `fn all() -> Vec<Case>`.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(super) fn all() -> Vec<$crate::runner::Case> {
            vec![$($crate::runner::Case::function(
                module_path!(),
                stringify!($name),
                |context| Box::pin(async move { $name(&context).await }),
            )),*]
        }
    };
}

mod contention;
mod conversion;
mod discovery;
mod limits;
mod openapi;
mod pages;
mod watching;
mod webhooks;

/// All cases of all modules.
pub(crate) fn all() -> Vec<Case> {
    [
        contention::all(),
        conversion::all(),
        discovery::all(),
        limits::all(),
        openapi::all(),
        pages::all(),
        watching::all(),
        webhooks::all(),
    ]
    .concat()
}
