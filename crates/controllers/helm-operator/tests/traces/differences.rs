//! What is meant to differ from the recordings, and why.

use crate::comparing::Difference;

/// A difference that is meant.
#[derive(Debug)]
pub(crate) struct Known {
    /// In which recording.
    pub(crate) trace: &'static str,
    /// After which actions: the number of the first one's record.
    pub(crate) after: u64,
    /// What differs; a star at the end stands for any ending.
    pub(crate) what: &'static str,
    /// Words that our side must have; none if it has nothing.
    pub(crate) ours: &'static str,
    /// Why it differs.
    #[expect(dead_code, reason = "the reason is for whoever reads the table")]
    pub(crate) why: &'static str,
}

impl Known {
    /// Returns whether a difference is this one.
    pub(crate) fn is(&self, difference: &Difference) -> bool {
        let title = difference.title();
        let is_named = match self.what.strip_suffix('*') {
            Some(start) => title.starts_with(start),
            None => title == self.what,
        };
        let words = difference.our_words();
        is_named && (if self.ours.is_empty() { words.is_empty() } else { words.contains(self.ours) })
    }
}

/// Returns what is meant to differ after some actions of a recording.
pub(crate) fn of(trace: &str, after: u64) -> Vec<&'static Known> {
    KNOWN.iter().filter(|known| known.trace == trace && known.after == after).collect()
}

/// All of it.
pub(crate) const KNOWN: &[Known] = &[];
