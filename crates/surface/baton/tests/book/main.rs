//! Every command in the book and in the README is run, as a reader would, and shows what the page says that it shows.
//!
//! ```text
//! pages ─ page (blocks, remarks, setups) ─► shell (a home and a network of its own) ─ output ─► what differs
//!       └ mention (commands in the text) ─► the program's own reference ─► what doesn't exist
//! ```
//!
//! `BATON_PAGES=tour,deploy cargo test -p baton --test book -- --nocapture` runs the pages whose path contains one of these
//! words, and shows each command as it is run.

mod mention;
mod output;
mod page;
mod shell;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use page::{Block, Shown, Step};
use shell::Shell;

/// How many pages are played at the same time where each has a network of its own: they mostly wait.
const HANDS: usize = 4;

/// How long a command is repeated whose page says that it shows something eventually.
const PATIENCE: Duration = Duration::from_mins(1);

/// Pages that take longest, which begin first so that they don't end last.
const LONG: [&str; 3] = [
    "docs/tour.md",
    "docs/src/author/from-chart-to-catalog.md",
    "docs/src/commands/rehearse.md",
];

/// The words with which pages call the program before it is installed.
const FROM_SOURCE: &str = "cargo run --release -- ";

/// The pages by their paths in the repository, and their texts.
fn pages() -> BTreeMap<String, String> {
    fn collect(folder: &Path, name: &str, pages: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).expect("a folder of pages") {
            let path = entry.expect("an entry").path();
            let name = format!(
                "{name}/{}",
                path.file_name().unwrap_or_default().to_string_lossy()
            );
            if path.is_dir() {
                collect(&path, &name, pages);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.insert(name, fs::read_to_string(path).expect("a page"));
            }
        }
    }
    let root = shell::repository();
    let mut pages = BTreeMap::new();
    collect(&root.join("docs"), "docs", &mut pages);
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    pages.insert("README.md".to_owned(), readme);
    pages
}

fn chosen() -> Vec<(String, String)> {
    let words = std::env::var("BATON_PAGES").unwrap_or_default();
    let words: Vec<&str> = words.split(',').filter(|word| !word.is_empty()).collect();
    let mut pages: Vec<(String, String)> = pages()
        .into_iter()
        .filter(|(path, _)| words.is_empty() || words.iter().any(|word| path.contains(word)))
        .collect();
    pages.sort_by_key(|(path, _)| !LONG.contains(&path.as_str()));
    pages
}

/// What came of a page.
#[derive(Default)]
struct Report {
    ran: usize,
    /// Reasons, each with how many commands it kept from being run.
    not_run: BTreeMap<String, usize>,
    problems: String,
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

/// Runs the commands of a page, one after the other, until one isn't as the page says: what follows may need it.
fn play(path: &str, text: &str, network: Option<[&'static str; 4]>) -> Report {
    let mut report = Report::default();
    let steps = match page::read(text) {
        Ok(steps) => steps,
        Err(problem) => {
            let _ = writeln!(report.problems, "{path}, {problem}");
            return report;
        }
    };
    if let Some(reason) = missing_program(&steps) {
        assert!(
            std::env::var_os("BATON_REQUIRE_REAL").is_none(),
            "{path}: {reason}"
        );
        corpus::skipped(&format!("{path}: {reason}"));
        return report;
    }
    let mut shell = None;
    for step in &steps {
        let problem = match step {
            Step::Block(block) if block.not_run.is_some() => {
                let reason = block.not_run.clone().unwrap_or_default();
                *report.not_run.entry(reason).or_default() += block.commands.len();
                continue;
            }
            Step::Block(block) => {
                report.ran += block.commands.len();
                let shell = shell.get_or_insert_with(|| Shell::open(network));
                play_block(path, block, shell)
            }
            Step::Setup(commands) => {
                let shell = shell.get_or_insert_with(|| Shell::open(network));
                play_setup(path, commands, shell)
            }
        };
        if let Some(problem) = problem {
            let _ = writeln!(report.problems, "{problem}");
            break;
        }
    }
    report
}

/// Why the page can't be played, where it uses a program that this machine doesn't have.
fn missing_program(steps: &[Step]) -> Option<String> {
    let commands = steps.iter().flat_map(|step| match step {
        Step::Setup(commands) => commands.as_slice(),
        Step::Block(block) if block.not_run.is_some() => &[],
        Step::Block(block) => block.commands.as_slice(),
    });
    let texts: Vec<&str> = commands.map(|shown| shown.command.as_str()).collect();
    ["kubectl", "helm"].into_iter().find_map(|program| {
        let is_used = texts
            .iter()
            .any(|text| text.split_whitespace().any(|word| word == program));
        is_used.then(|| shell::other_program(program).err()).flatten()
    })
}

/// Runs what a page needs and doesn't show; returns what went wrong.
fn play_setup(path: &str, commands: &[Shown], shell: &mut Shell) -> Option<String> {
    commands.iter().find_map(|shown| {
        let begun = Instant::now();
        let outcome = shell.run(&shown.command);
        let (line, command, seconds) = (shown.line, &shown.command, begun.elapsed().as_secs_f32());
        println!("{path}:{line}: {seconds:.1} s: setup: {command}");
        let (code, output) = (outcome.exit_code, outcome.output);
        (code != 0)
            .then(|| format!("{path}:{line}: setup: {command}\n  exit code {code}; it printed:\n{output}"))
    })
}

/// Runs a block; returns what isn't as the page says.
fn play_block(path: &str, block: &Block, shell: &mut Shell) -> Option<String> {
    for (index, shown) in block.commands.iter().enumerate() {
        let is_last = index + 1 == block.commands.len();
        let exit_code = if is_last { block.exit_code } else { 0 };
        let begun = Instant::now();
        let problem = play_command(block, shown, exit_code, shell);
        let (line, command) = (shown.line, &shown.command);
        println!("{path}:{line}: {:.1} s: {command}", begun.elapsed().as_secs_f32());
        if let Some(problem) = problem {
            return Some(format!("{path}:{line}: $ {command}\n{problem}"));
        }
    }
    None
}

fn play_command(block: &Block, shown: &Shown, exit_code: i32, shell: &mut Shell) -> Option<String> {
    let command = shown.command.replace(FROM_SOURCE, "baton ");
    let stays = block.runs_on || without_remark(&command).ends_with('&');
    let is_shown = |output: &str| match shown.output.as_slice() {
        [] => true,
        lines if stays => output::begins(lines, output),
        lines => output::matches(lines, output),
    };
    let begun = Instant::now();
    loop {
        let outcome = if stays {
            shell.start(&command, |output| !output.is_empty() && is_shown(output))
        } else {
            shell.run(&command)
        };
        if outcome.exit_code == exit_code && is_shown(&outcome.output) {
            return None;
        }
        if !block.eventually || begun.elapsed() > PATIENCE {
            let expected = shown.output.join("\n");
            let (found, output) = (outcome.exit_code, outcome.output);
            return Some(format!(
                "  exit code {found}, to be {exit_code}; it printed:\n{output}\n  the page says:\n{expected}\n"
            ));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// A command without what is said about it after a `#`.
fn without_remark(command: &str) -> &str {
    command
        .split_once(" #")
        .map_or(command, |(command, _)| command)
        .trim_end()
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
