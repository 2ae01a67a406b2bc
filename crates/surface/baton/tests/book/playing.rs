//! Plays a page as a reader would.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::output;
use crate::page::{self, Block, Shown, Step};
use crate::shell::{self, Shell};

/// How many pages are played at the same time where each has a network of its own: they mostly wait.
pub(crate) const HANDS: usize = 4;

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
pub(crate) fn pages() -> BTreeMap<String, String> {
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

/// All pages with their texts; those that take long come first.
pub(crate) fn pages_in_order() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = pages().into_iter().collect();
    pages.sort_by_key(|(path, _)| !LONG.contains(&path.as_str()));
    pages
}

/// Whether a page uses programs beside baton and those of every machine: kubectl or Helm.
pub(crate) fn uses_other_programs(text: &str) -> bool {
    // What can't be read is told when it is played.
    let steps = page::read(text).unwrap_or_default();
    let mut commands = steps.iter().flat_map(|step| match step {
        Step::Setup(commands) => commands.as_slice(),
        Step::Block(block) if block.not_run.is_some() => &[],
        Step::Block(block) => block.commands.as_slice(),
    });
    commands.any(|shown| {
        let mut words = shown.command.split_whitespace();
        words.any(|word| matches!(word, "kubectl" | "helm"))
    })
}

/// What came of a page.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) ran: usize,
    /// Reasons, each with how many commands it kept from being run.
    pub(crate) not_run: BTreeMap<String, usize>,
    pub(crate) problems: String,
}

/// Runs the commands of a page, one after the other, until one isn't as the page says: what follows may need it.
pub(crate) fn play(path: &str, text: &str, network: Option<[&'static str; 4]>) -> Report {
    let mut report = Report::default();
    let steps = match page::read(text) {
        Ok(steps) => steps,
        Err(problem) => {
            let _ = writeln!(report.problems, "{path}, {problem}");
            return report;
        }
    };
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

/// Runs what a page needs and doesn't show; returns what went wrong.
fn play_setup(path: &str, commands: &[Shown], shell: &mut Shell) -> Option<String> {
    commands.iter().find_map(|shown| {
        let begun = Instant::now();
        let outcome = shell.run(&shown.command);
        let (line, command, seconds) = (shown.line, &shown.command, begun.elapsed().as_secs_f32());
        suite::say(format_args!("{path}:{line}: {seconds:.1} s: setup: {command}"));
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
        suite::say(format_args!(
            "{path}:{line}: {:.1} s: {command}",
            begun.elapsed().as_secs_f32()
        ));
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
