//! What is said of a case after it was played once, or twice.

use crate::case::Outcome;

/// What is said of a case in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It held at once.
    Passed,
    /// It didn't hold beside others, and held alone.
    Flaky {
        /// Why it didn't hold the first time.
        first: String,
    },
    /// It doesn't hold.
    Failed {
        /// Why it didn't hold the first time.
        first: String,
        /// Why it didn't hold the second time; nothing where it wasn't played again.
        again: Option<String>,
    },
}

impl Verdict {
    /// Judges by the first time and, where there was one, the second.
    pub(crate) fn of(first: Outcome, again: Option<Outcome>) -> Self {
        match (first, again) {
            (Ok(()), _) => Self::Passed,
            (Err(first), Some(Ok(()))) => Self::Flaky { first },
            (Err(first), again) => Self::Failed {
                first,
                again: again.and_then(Result::err),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict;

    #[test]
    fn what_fails_twice_has_failed_and_what_passes_then_is_flaky() {
        let failed = |reason: &str| Err(reason.to_owned());
        let first = || "beside others".to_owned();
        for (once, again, expected) in [
            (Ok(()), None, Verdict::Passed),
            (
                failed("beside others"),
                Some(Ok(())),
                Verdict::Flaky { first: first() },
            ),
            (
                failed("beside others"),
                Some(failed("alone")),
                Verdict::Failed {
                    first: first(),
                    again: Some("alone".to_owned()),
                },
            ),
            (
                failed("beside others"),
                None,
                Verdict::Failed {
                    first: first(),
                    again: None,
                },
            ),
        ] {
            assert_eq!(Verdict::of(once, again), expected);
        }
    }
}
