//! What somebody probably meant.

use catalog::nearest::{alternatives, nearest};

/// The end of a message about an unknown name: the known ones that look like it.
pub(super) fn did_you_mean<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> String {
    alternatives(&nearest(unknown, known)).map_or_else(String::new, |names| format!(" Did you mean {names}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_with_close_names_or_with_nothing() {
        let known = ["olmbundles", "olmpackages", "olmchannels", "summary"];
        assert_eq!(
            did_you_mean("olmpackage", known.into_iter()),
            " Did you mean \"olmpackages\"?"
        );
        assert_eq!(did_you_mean("zzzzzzzz", known.into_iter()), "");
    }
}
