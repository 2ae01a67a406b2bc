//! Everything that baton prints: results to standard output, remarks and errors to standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use chart::diagnosis::{Diagnosis, Excerpt};

use crate::failure::Failure;

/// The exit code with which shells report a program whose reader has gone away.
const OUTPUT_CLOSED: u8 = 141;

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

    /// Prints a result as it is; it need not be text.
    #[expect(clippy::unused_self, reason = "there is one way to standard output, and it is this one")]
    pub(crate) fn print(&mut self, output: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(output).and_then(|()| stdout.flush()).map_err(|error| Failure::output(&error))
    }

    /// Prints the text that `--help` and `--version` ask for.
    #[expect(clippy::unused_self, reason = "there is one way to standard output, and it is this one")]
    pub(crate) fn print_help(&mut self, help: &clap::Error) -> Result<(), Failure> {
        let mut stdout = anstream::stdout().lock();
        write!(stdout, "{}", help.render().ansi()).and_then(|()| stdout.flush()).map_err(|error| Failure::output(&error))
    }

    /// Prints a remark. Nobody may be listening, and that is no reason to stop.
    #[expect(clippy::unused_self, reason = "there is one way to standard error, and it is this one")]
    pub(crate) fn remark(&mut self, text: impl Display) {
        writeln!(io::stderr(), "{text}").ok();
    }

    /// Prints why the command failed, if it did, and returns the exit code.
    pub(crate) fn finish(&mut self, outcome: Result<(), Failure>) -> ExitCode {
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failure::OutputClosed) => ExitCode::from(OUTPUT_CLOSED),
            Err(Failure::Message { text, diagnosis }) => {
                let report = self.report(&text, &diagnosis);
                io::stderr().write_all(report.as_bytes()).ok();
                ExitCode::FAILURE
            }
        }
    }

    fn report(&self, text: &str, diagnosis: &Diagnosis) -> String {
        let mut report = format!("{} {text}\n", self.styled(ERROR, "Error:"));
        for excerpt in &diagnosis.excerpts {
            self.append_excerpt(&mut report, excerpt);
        }
        for note in &diagnosis.notes {
            report.push_str(&format!("  {} {note}\n", self.styled(FRAME, "=")));
        }
        if self.is_watched {
            for hint in &diagnosis.hints {
                report.push_str(&format!("{} {hint}\n", self.styled(HINT, "hint:")));
            }
        }
        report
    }

    fn append_excerpt(&self, report: &mut String, excerpt: &Excerpt) {
        let last = excerpt.first_line + excerpt.lines.len().saturating_sub(1);
        let width = last.to_string().len();
        let bar = self.styled(FRAME, "|");
        report.push_str(&format!("{:width$} {} {}\n", "", self.styled(FRAME, "-->"), excerpt.title));
        report.push_str(&format!(" {:width$} {bar}\n", ""));
        for (number, line) in (excerpt.first_line..).zip(&excerpt.lines) {
            let shown = self.styled(FRAME, &format!("{number:width$}"));
            report.push_str(format!(" {shown} {bar} {line}").trim_end());
            report.push('\n');
            if number == excerpt.line {
                let label = excerpt.label.as_deref().unwrap_or_default();
                match excerpt.caret {
                    Some(column) => {
                        let caret = self.styled(ERROR, "^");
                        report.push_str(format!(" {:width$} {bar} {:column$}{caret} {label}", "", "").trim_end());
                        report.push('\n');
                    }
                    None if label.is_empty() => {}
                    None => report.push_str(&format!(" {:width$} {bar} {label}\n", "")),
                }
            }
        }
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.has_colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}
