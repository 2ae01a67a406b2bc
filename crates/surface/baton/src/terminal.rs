//! Everything that baton prints: results to standard output, remarks and errors to standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use chart::diagnosis::{Diagnosis, Excerpt};

use crate::failure::Failure;
use crate::progress::Bars;

/// The exit code with which shells report a program whose reader has gone away.
const OUTPUT_CLOSED: u8 = 141;

/// The exit code of a command that was to judge something and could not: 1 says that it is bad.
const UNDECIDED: u8 = 2;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const FRAME: Style = AnsiColor::Blue.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Standard output and standard error.
pub(crate) struct Terminal {
    /// Whether somebody reads standard error, so that hints help.
    is_watched: bool,
    has_colours: bool,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let stderr = io::stderr();
        Self {
            is_watched: stderr.is_terminal(),
            has_colours: AutoStream::choice(&stderr) != ColorChoice::Never,
        }
    }

    /// Bars for what takes long, where somebody watches.
    pub(crate) fn bars(&self) -> Option<Bars> {
        self.is_watched.then(Bars::new)
    }

    /// Prints a result as it is; it need not be text.
    #[expect(
        clippy::unused_self,
        reason = "there is one way to standard output, and it is this one"
    )]
    pub(crate) fn print(&mut self, output: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(output)
            .and_then(|()| stdout.flush())
            .map_err(|error| Failure::output(&error))
    }

    /// Prints a result with colours, which are left out where standard output is no terminal.
    #[expect(
        clippy::unused_self,
        reason = "there is one way to standard output, and it is this one"
    )]
    pub(crate) fn print_styled(&mut self, text: &str) -> Result<(), Failure> {
        let mut stdout = anstream::stdout().lock();
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .map_err(|error| Failure::output(&error))
    }

    /// Prints the text that `--help` and `--version` ask for.
    #[expect(
        clippy::unused_self,
        reason = "there is one way to standard output, and it is this one"
    )]
    pub(crate) fn print_help(&mut self, help: &clap::Error) -> Result<(), Failure> {
        let mut stdout = anstream::stdout().lock();
        write!(stdout, "{}", help.render().ansi())
            .and_then(|()| stdout.flush())
            .map_err(|error| Failure::output(&error))
    }

    /// Prints a remark. Nobody may be listening, and that is no reason to stop.
    #[expect(
        clippy::unused_self,
        reason = "there is one way to standard error, and it is this one"
    )]
    pub(crate) fn remark(&mut self, text: impl Display) {
        writeln!(io::stderr(), "{text}").ok();
    }

    /// Prints why the command failed, if it did, and returns the exit code.
    pub(crate) fn finish(&mut self, outcome: Result<(), Failure>) -> ExitCode {
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failure::Told) => ExitCode::FAILURE,
            Err(Failure::OutputClosed) => ExitCode::from(OUTPUT_CLOSED),
            Err(Failure::Undecided(text)) => {
                let report = self.report(&text, &Diagnosis::default());
                io::stderr().write_all(report.as_bytes()).ok();
                ExitCode::from(UNDECIDED)
            }
            Err(Failure::Message { text, diagnosis }) => {
                let report = self.report(&text, &diagnosis);
                io::stderr().write_all(report.as_bytes()).ok();
                ExitCode::FAILURE
            }
        }
    }

    fn report(&self, text: &str, diagnosis: &Diagnosis) -> String {
        let mut lines = vec![format!("{} {text}", self.styled(ERROR, "Error:"))];
        for excerpt in &diagnosis.excerpts {
            self.draw(excerpt, &mut lines);
        }
        lines.extend(
            diagnosis
                .notes
                .iter()
                .map(|note| format!("  {} {note}", self.styled(FRAME, "="))),
        );
        if self.is_watched {
            lines.extend(
                diagnosis
                    .hints
                    .iter()
                    .map(|hint| format!("{} {hint}", self.styled(HINT, "hint:"))),
            );
        }
        lines.push(String::new());
        lines.join("\n")
    }

    fn draw(&self, excerpt: &Excerpt, lines: &mut Vec<String>) {
        let last = excerpt.first_line + excerpt.lines.len().saturating_sub(1);
        let width = last.to_string().len();
        let (bar, pointer) = (self.styled(FRAME, "|"), self.styled(ERROR, ">"));
        lines.push(format!(
            "{:width$} {} {}",
            "",
            self.styled(FRAME, "-->"),
            excerpt.title
        ));
        lines.push(format!(" {:width$} {bar}", ""));
        for (number, line) in (excerpt.first_line..).zip(&excerpt.lines) {
            let is_meant = number == excerpt.line;
            // Where no caret says which line is meant, its bar does.
            let is_pointed_at = is_meant && excerpt.caret.is_none() && excerpt.lines.len() > 1;
            let edge = if is_pointed_at { &pointer } else { &bar };
            let shown = self.styled(FRAME, &format!("{number:width$}"));
            lines.push(format!(" {shown} {edge} {line}").trim_end().to_owned());
            let label = excerpt.label.as_deref().unwrap_or_default();
            match excerpt.caret {
                Some(column) if is_meant => {
                    let caret = self.styled(ERROR, "^");
                    let mark = format!(" {:width$} {bar} {:column$}{caret} {label}", "", "");
                    lines.push(mark.trim_end().to_owned());
                }
                None if is_meant && !label.is_empty() => lines.push(format!(" {:width$} {bar} {label}", "")),
                _ => {}
            }
        }
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.has_colours {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}
