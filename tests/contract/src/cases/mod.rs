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

mod discovery;

/// All cases of all modules.
pub(crate) fn all() -> Vec<Case> {
    [discovery::all()].concat()
}
