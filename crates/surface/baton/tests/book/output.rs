//! Whether what a command shows is what its page shows.
//!
//! - A line `…` stands for any lines, also for none; `…` within a line stands for any text.
//! - Of a command that goes on running, a page shows the beginning.
//! - Empty lines at the end don't count.
//! - Columns are as wide as they need to be: runs of blanks are one blank, and blanks at the end of a line are none.
//! - What differs from run to run is the same on both sides: times, ages, durations, digests, numbers of processes, tokens,
//!   sizes of images, and the letters that Kubernetes puts behind generated names. [`VOLATILE`] is the list.
//!
//! Ports are what they are in the page, because each page has a network of its own; the folder of the test is the reader's
//! home.

use std::sync::LazyLock;

use regex::Regex;

/// What differs from run to run, and what stands for it.
static VOLATILE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
        (r"\bsha256:([0-9a-f]{6,64}|[0-9a-f]*…)", "sha256:DIGEST"),
        (r"\bprocess \d+", "process NUMBER"),
        (r"\bafter \d+(\.\d+)? s\b", "after SECONDS s"),
        (r"token=[\w-]+…?", "token=TOKEN"),
        // The age of an object, as kubectl and baton print it.
        (r"(^|\s)(\d+[smhd]){1,2}(\s|$)", "${1}AGE${3}"),
        (r"\b\d+(\.\d+)? (B|kB|KiB|MiB|GiB)\b", "SIZE"),
        // A ReplicaSet's hash and a pod's letters; a generated name.
        (
            r"-[0-9a-f]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b",
            "-HASH-LETTERS",
        ),
        (r"\binstall-[a-z0-9]{5}\b", "install-LETTERS"),
        (r"[ \t]+", " "),
    ]
    .into_iter()
    .map(|(pattern, by)| (Regex::new(pattern).expect("a pattern"), by))
    .collect()
});

fn plain(line: &str) -> String {
    let line = VOLATILE.iter().fold(line.to_owned(), |line, (pattern, by)| {
        pattern.replace_all(&line, *by).into_owned()
    });
    line.trim_end().to_owned()
}

/// Says whether the lines of a page match those of a run.
pub(crate) fn matches(page: &[String], run: &str) -> bool {
    lines_match(&expected(page), &lines(run))
}

/// Says whether a run began with the lines of a page.
pub(crate) fn begins(page: &[String], run: &str) -> bool {
    let mut page = expected(page);
    page.push(Expected::AnyLines);
    lines_match(&page, &lines(run))
}

fn expected(page: &[String]) -> Vec<Expected> {
    let text = page.join("\n");
    text.trim_end().lines().map(Expected::of).collect()
}

fn lines(run: &str) -> Vec<String> {
    run.trim_end().lines().map(plain).collect()
}

/// A line of a page.
enum Expected {
    AnyLines,
    Line(Regex),
}

impl Expected {
    fn of(line: &str) -> Self {
        if line.trim() == "…" {
            return Self::AnyLines;
        }
        let parts: Vec<String> = plain(line).split('…').map(regex::escape).collect();
        Self::Line(Regex::new(&format!("^{}$", parts.join(".*"))).expect("an escaped pattern"))
    }
}

fn lines_match(page: &[Expected], run: &[String]) -> bool {
    match (page.split_first(), run.split_first()) {
        (None, None) => true,
        (None, Some(_)) | (Some((Expected::Line(_), _)), None) => false,
        (Some((Expected::AnyLines, rest)), _) => {
            (0..=run.len()).any(|skipped| lines_match(rest, &run[skipped..]))
        }
        (Some((Expected::Line(pattern), page)), Some((line, run))) => {
            pattern.is_match(line) && lines_match(page, run)
        }
    }
}

#[test]
fn a_page_matches_what_differs_only_by_chance() {
    let page = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (shown, run) in [
        ("made x", "made x\n"),
        ("NAME  AGE\nx  2d", "NAME      AGE\nx         14s\n"),
        ("up: process 4711, after 0.38 s", "up: process 12, after 2.01 s"),
        ("a\n…\nz", "a\nb\nc\nz"),
        ("a\n…\nz", "a\nz"),
        ("at sha256:5f…, now", "at sha256:5f00aa11bb, now"),
        ("x …", "x and more"),
        ("a", "a\n\n"),
    ] {
        assert!(matches(&page(shown), run), "{shown:?} does not match {run:?}");
    }
    assert!(begins(&page("a"), "a\nb") && !begins(&page("b"), "a\nb"));
    for (shown, run) in [
        ("made x", "made y"),
        ("a", "a\nb"),
        ("a\nb", "a"),
        ("x …", "y and more"),
    ] {
        assert!(!matches(&page(shown), run), "{shown:?} matches {run:?}");
    }
}
