//! What is told of a suite: a line for each case as it ends, and in the end where the time went, what is flaky and what failed.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use crate::case::Outcome;
use crate::verdict::Verdict;

/// How many of the slowest cases are told.
const SLOWEST: usize = 10;

/// How many lines of a reason are told; the log has all of them.
const LINES_OF_A_REASON: usize = 30;

/// What the line of a flaky case begins with.
const FLAKY: &str = "FLAKY ";

/// A case that was played.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) group: String,
    pub(crate) title: String,
    pub(crate) verdict: Verdict,
    /// How long it took the first time.
    pub(crate) elapsed: Duration,
    pub(crate) log: PathBuf,
    /// The log of the second time, where there was one.
    pub(crate) log_again: Option<PathBuf>,
}

/// The line that tells how a case ended, in the form of Rust's own test programs with the time.
pub(crate) fn line(title: &str, outcome: &Outcome, elapsed: Duration) -> String {
    let word = if outcome.is_ok() { "ok" } else { "FAILED" };
    format!("test {title} ... {word} <{:.3}s>", elapsed.as_secs_f32())
}

/// How many cases of a suite passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Those that passed, the flaky ones among them.
    pub passed: usize,
    /// Those that failed, alone as well.
    pub failed: usize,
    /// Those that passed alone only.
    pub flaky: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

impl Summary {
    fn of<'p>(played: impl IntoIterator<Item = &'p Played>) -> Self {
        let mut summary = Self::default();
        for case in played {
            match case.verdict {
                Verdict::Passed => summary.passed += 1,
                Verdict::Flaky { .. } => {
                    summary.passed += 1;
                    summary.flaky += 1;
                }
                Verdict::Failed { .. } => summary.failed += 1,
            }
        }
        summary
    }

    /// Reads what a suite printed; nothing where it didn't come to its end.
    pub fn read(printed: &str) -> Option<Self> {
        let (passed, failed) = printed.lines().last()?.split_once(" passed, ")?;
        Some(Self {
            passed: passed.parse().ok()?,
            failed: failed.strip_suffix(" failed")?.parse().ok()?,
            flaky: flaky(printed).count(),
        })
    }
}

/// The lines of what a suite printed that name flaky cases.
pub(crate) fn flaky(printed: &str) -> impl Iterator<Item = &str> {
    printed.lines().filter(|line| line.starts_with(FLAKY))
}

/// What is told when all cases have been played.
pub(crate) fn closing(played: &[Played]) -> String {
    let mut text = String::new();
    groups(&mut text, played);
    slowest(&mut text, played);
    for case in played {
        match &case.verdict {
            Verdict::Passed => {}
            Verdict::Flaky { first } => {
                let _ = writeln!(
                    text,
                    "\n{FLAKY}{}: it failed beside others and passed alone",
                    case.title
                );
                indented(&mut text, first);
                logs(&mut text, case);
            }
            Verdict::Failed { first, again } => {
                let _ = writeln!(text, "\nFAILED {}", case.title);
                indented(&mut text, first);
                match again {
                    Some(again) if again == first => text.push_str("    and the same alone\n"),
                    Some(again) => {
                        text.push_str("    and alone:\n");
                        indented(&mut text, again);
                    }
                    None => text.push_str("    and it was not played alone\n"),
                }
                logs(&mut text, case);
            }
        }
    }
    let _ = writeln!(text, "\n{}", Summary::of(played));
    text
}

fn groups(text: &mut String, played: &[Played]) {
    let mut groups: BTreeMap<&str, Vec<&Played>> = BTreeMap::new();
    for case in played {
        groups.entry(&case.group).or_default().push(case);
    }
    text.push_str("\n   passed  failed   flaky  seconds of all cases\n");
    for (group, cases) in groups {
        let summary = Summary::of(cases.iter().copied());
        let seconds: f32 = cases.iter().map(|case| case.elapsed.as_secs_f32()).sum();
        let Summary {
            passed,
            failed,
            flaky,
        } = summary;
        let _ = writeln!(text, "{passed:>9}{failed:>8}{flaky:>8}{seconds:>9.1}  {group}");
    }
}

fn slowest(text: &mut String, played: &[Played]) {
    let mut slowest: Vec<&Played> = played.iter().collect();
    slowest.sort_by_key(|case| std::cmp::Reverse(case.elapsed));
    text.push_str("\nthe slowest\n");
    for case in slowest.into_iter().take(SLOWEST) {
        let _ = writeln!(text, "{:>9.1} s  {}", case.elapsed.as_secs_f32(), case.title);
    }
}

fn indented(text: &mut String, reason: &str) {
    let mut lines = reason.lines();
    for line in lines.by_ref().take(LINES_OF_A_REASON) {
        let _ = writeln!(text, "    {line}");
    }
    let more = lines.count();
    if more > 0 {
        let _ = writeln!(text, "    … and {more} more lines in the log");
    }
}

fn logs(text: &mut String, case: &Played) {
    let _ = writeln!(text, "    log: {}", case.log.display());
    if let Some(again) = &case.log_again {
        let _ = writeln!(text, "    log of the second time: {}", again.display());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Played, Summary, closing, line};
    use crate::verdict::Verdict;

    fn played(title: &str, milliseconds: u64, verdict: Verdict) -> Played {
        let (group, name) = title.split_once("::").expect("a group");
        let is_again = !matches!(verdict, Verdict::Passed | Verdict::Failed { again: None, .. });
        Played {
            group: group.to_owned(),
            title: format!("suite::{title}"),
            verdict,
            elapsed: Duration::from_millis(milliseconds),
            log: format!("logs/{name}.log").into(),
            log_again: is_again.then(|| format!("logs/{name}.alone.log").into()),
        }
    }

    fn several() -> Vec<Played> {
        let first = || "no answer\nafter 3 s".to_owned();
        vec![
            played("b::holds", 1200, Verdict::Passed),
            played("a::flickers", 64_000, Verdict::Flaky { first: first() }),
            played(
                "b::same",
                20,
                Verdict::Failed {
                    first: first(),
                    again: Some(first()),
                },
            ),
            played(
                "b::other",
                0,
                Verdict::Failed {
                    first: "long\n".repeat(33),
                    again: Some("short".to_owned()),
                },
            ),
            played(
                "a::once",
                5,
                Verdict::Failed {
                    first: first(),
                    again: None,
                },
            ),
        ]
    }

    #[test]
    fn the_end_tells_groups_slow_cases_flaky_ones_and_failures() {
        let long = "    long\n".repeat(30);
        assert_eq!(
            closing(&several()),
            format!(
                "
   passed  failed   flaky  seconds of all cases
        1       1       1     64.0  a
        1       2       0      1.2  b

the slowest
     64.0 s  suite::a::flickers
      1.2 s  suite::b::holds
      0.0 s  suite::b::same
      0.0 s  suite::a::once
      0.0 s  suite::b::other

FLAKY suite::a::flickers: it failed beside others and passed alone
    no answer
    after 3 s
    log: logs/flickers.log
    log of the second time: logs/flickers.alone.log

FAILED suite::b::same
    no answer
    after 3 s
    and the same alone
    log: logs/same.log
    log of the second time: logs/same.alone.log

FAILED suite::b::other
{long}    … and 3 more lines in the log
    and alone:
    short
    log: logs/other.log
    log of the second time: logs/other.alone.log

FAILED suite::a::once
    no answer
    after 3 s
    and it was not played alone
    log: logs/once.log

2 passed, 3 failed
"
            )
        );
    }

    #[test]
    fn a_summary_is_read_from_what_was_printed() {
        let several = several();
        let summary = Summary::of(&several);
        assert_eq!(
            summary,
            Summary {
                passed: 2,
                failed: 3,
                flaky: 1
            }
        );
        assert_eq!(Summary::read(&closing(&several)), Some(summary));
        for cut in [
            "",
            "test a::b ... ok <0.100s>\n",
            "2 passed",
            "x passed, 1 failed",
        ] {
            assert_eq!(Summary::read(cut), None, "{cut}");
        }
    }

    #[test]
    fn a_case_is_told_as_a_test_is() {
        let told = |outcome| line("s::g::c", &outcome, Duration::from_millis(1234));
        assert_eq!(told(Ok(())), "test s::g::c ... ok <1.234s>");
        assert_eq!(told(Err("why".to_owned())), "test s::g::c ... FAILED <1.234s>");
    }
}
