//! Running a program that is ended in time, together with everything that it started.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Runs a command in a process group that ends as a whole: when the pipe to the shell is let go of, which happens at the latest
/// when this program ends in whatever way, and when the command is done but has left something behind.
const GROUP: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null &
program=$!
{ cat <&3 >/dev/null; kill -KILL 0; } >/dev/null 2>&1 &
exec 3<&-
wait "$program"
status=$?
trap "" TERM
kill -TERM 0
exit "$status"
"#;

/// How often it is looked whether a program has ended whose output is still held open.
const LOOK: Duration = Duration::from_millis(500);

/// What became of a program.
#[derive(Debug)]
pub(crate) struct Ran {
    /// What it wrote to its standard output.
    pub(crate) printed: String,
    pub(crate) is_success: bool,
    pub(crate) is_late: bool,
    pub(crate) elapsed: Duration,
}

/// A line of a program, and whether it is of its standard output.
type Line = (bool, String);

/// Runs a command for at most so long. All that it says is shown and kept in `log`.
pub(crate) fn run(command: &Command, limit: Duration, log: &Path) -> std::io::Result<Ran> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut log = File::create(log)?;
    let begun = Instant::now();
    let mut child = grouped(command).spawn()?;
    let lifeline = child.stdin.take();
    let (sender, lines) = channel();
    if let Some(output) = child.stdout.take() {
        forward(output, true, sender.clone());
    }
    if let Some(output) = child.stderr.take() {
        forward(output, false, sender);
    }
    let mut printed = String::new();
    let mut keep = |(is_output, line): Line| -> std::io::Result<()> {
        println!("{line}");
        writeln!(log, "{line}")?;
        if is_output {
            printed.push_str(&line);
            printed.push('\n');
        }
        Ok(())
    };
    let mut is_late = false;
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => keep(line)?,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if begun.elapsed() >= limit {
            is_late = true;
            break;
        }
    }
    if is_late {
        drop(lifeline);
    }
    let is_success = ended(child)? && !is_late;
    for line in lines.try_iter() {
        keep(line)?;
    }
    Ok(Ran {
        printed,
        is_success,
        is_late,
        elapsed: begun.elapsed(),
    })
}

fn grouped(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", GROUP, "group"])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell
}

fn ended(mut child: Child) -> std::io::Result<bool> {
    Ok(child.wait()?.success())
}

/// Sends the lines of an output; it ends with the output.
fn forward(output: impl Read + Send + 'static, is_output: bool, lines: Sender<Line>) {
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut bytes = Vec::new();
        while output.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let line = String::from_utf8_lossy(&bytes);
            if lines.send((is_output, line.trim_end().to_owned())).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;

    use super::{Ran, run};

    /// Longer than any test may take.
    const LONG: Duration = Duration::from_hours(1);

    fn shell(script: &str, limit: Duration, log: &Path) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("WORD", "said");
        run(&command, limit, log).expect("it runs")
    }

    #[test]
    fn what_a_program_says_is_kept_and_how_it_ends_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("deeper/log");
        let ran = shell("echo $WORD; printf unfinished", LONG, &log);
        assert_eq!(ran.printed, "said\nunfinished\n");
        assert!(ran.is_success && !ran.is_late);
        assert_eq!(
            std::fs::read_to_string(&log).expect("a log"),
            "said\nunfinished\n"
        );
        let ran = shell("echo complaint >&2; exit 3", LONG, &log);
        assert_eq!(ran.printed, "");
        assert!(!ran.is_success && !ran.is_late);
        assert_eq!(std::fs::read_to_string(&log).expect("a log"), "complaint\n");
    }

    #[test]
    fn what_takes_too_long_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let ran = shell("sleep 3600 & echo $!; sleep 3600", Duration::ZERO, &log);
        assert!(ran.is_late && !ran.is_success);
    }

    #[test]
    fn what_a_program_leaves_behind_is_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let ran = shell("sleep 3600 & echo $!", LONG, &log);
        assert!(ran.is_success);
        let left = Path::new("/proc").join(ran.printed.trim());
        // It has been told to end; until it is waited for it is a zombie, which has no memory.
        while std::fs::read_to_string(left.join("statm")).is_ok_and(|memory| !memory.starts_with("0 ")) {
            std::thread::yield_now();
        }
    }
}
