//! Every command in the book and in the README is run, as a reader would, and shows what the page says that it shows.
//!
//! ```text
//! pages ─ page (blocks, remarks, setups) ─► shell (a home and a network of its own) ─ output ─► what differs
//!       └ mention (commands in the text) ─► the program's own reference ─► what doesn't exist
//! ```
//!
//! `BATON_PAGES=tour,deploy cargo test -p baton --test book -- --nocapture` runs the pages whose path contains one of these
//! words, and shows each command as it is run. Pages that use kubectl or Helm are played by `suite.rs`.

mod mention;
mod output;
mod page;
mod playing;
mod shell;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use playing::{HANDS, pages, pages_in_order, play, uses_other_programs};

/// The pages that are asked for and need nothing that a machine may lack.
fn chosen() -> Vec<(String, String)> {
    let words = std::env::var("BATON_PAGES").unwrap_or_default();
    let words: Vec<&str> = words.split(',').filter(|word| !word.is_empty()).collect();
    let mut pages = pages_in_order();
    pages.retain(|(path, _)| words.is_empty() || words.iter().any(|word| path.contains(word)));
    assert!(!pages.is_empty(), "BATON_PAGES={words:?} picks no page");
    let (left, pages): (Vec<_>, Vec<_>) = pages.into_iter().partition(|(_, text)| uses_other_programs(text));
    for (path, _) in left {
        println!("{path} uses kubectl or Helm: cargo run -p xtask -- suites book::pages::{path}");
    }
    pages
}

#[test]
fn every_command_of_the_book_does_what_its_page_says() {
    let pages = chosen();
    let network = shell::own_network();
    if network.is_none() {
        eprintln!("this system gives nobody a network of their own: pages are played one after the other");
    }
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..network.map_or(1, |_| HANDS) {
            scope.spawn(|| {
                while let Some((path, text)) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = play(path, text, network);
                    reports.lock().expect("no page panics").push(report);
                }
            });
        }
    });
    let reports = reports.into_inner().expect("no page panics");
    let ran: usize = reports.iter().map(|report| report.ran).sum();
    let mut not_run: BTreeMap<&str, usize> = BTreeMap::new();
    for (reason, count) in reports.iter().flat_map(|report| &report.not_run) {
        *not_run.entry(reason).or_default() += count;
    }
    println!("{ran} commands of {} pages were run", pages.len());
    for (reason, count) in not_run {
        println!("not run: {count}, because: {reason}");
    }
    let problems: String = reports.iter().map(|report| report.problems.as_str()).collect();
    assert!(problems.is_empty(), "the book is not true:\n{problems}");
}

#[test]
fn every_command_that_a_page_mentions_exists() {
    let reference = mention::Reference::of_the_program();
    let problems: Vec<String> = pages()
        .iter()
        .filter(|(path, _)| !path.starts_with("docs/src/reference/"))
        .flat_map(|(path, text)| reference.problems(path, text))
        .collect();
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn the_reference_of_commands_is_what_the_program_says() {
    let path = "docs/src/reference/commands.md";
    let there = fs::read_to_string(shell::repository().join(path)).unwrap_or_default();
    assert!(
        there == mention::reference_page(),
        "{path} has drifted; write it anew with: cargo run -p xtask -- reference"
    );
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let pages = pages();
    let contents = &pages["docs/src/SUMMARY.md"];
    let missing: Vec<&str> = pages
        .keys()
        .filter_map(|path| path.strip_prefix("docs/src/"))
        .filter(|path| *path != "SUMMARY.md" && !contents.contains(&format!("({path})")))
        .collect();
    assert!(missing.is_empty(), "SUMMARY.md lacks {missing:?}");
}
