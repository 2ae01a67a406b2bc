//! Child processes that never outlive the program that started them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A shell stands between us and the program. It waits for the end of its input, which comes when we let go of the
/// pipe or die in whatever way, and then kills the program: a panic, an abort and kill -9 all leave nothing behind.
const SUPERVISE: &str = r#"
log=$1; shift
"$@" </dev/null >>"$log" 2>&1 &
program=$!
echo "$program"
cat >/dev/null
kill -9 "$program" 2>/dev/null
wait "$program" 2>/dev/null
"#;

/// A running program with a log file; it is killed when this value is dropped.
#[derive(Debug)]
pub struct Supervised {
    shell: Child,
    lifeline: Option<ChildStdin>,
    pid: u32,
    log: PathBuf,
}

impl Supervised {
    /// Starts `program` with `arguments`; what it prints goes to `log`.
    pub fn start(program: &Path, arguments: &[String], log: &Path) -> std::io::Result<Self> {
        use std::os::unix::process::CommandExt as _;
        let mut shell = Command::new("sh")
            .arg("-c")
            .arg(SUPERVISE)
            .arg("supervise")
            .arg(log)
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A group of its own: an interrupt from the terminal reaches us, and the lifeline tells the shell.
            .process_group(0)
            .spawn()?;
        let lifeline = shell.stdin.take();
        let mut first = String::new();
        if let Some(stdout) = shell.stdout.take() {
            BufReader::new(stdout).read_line(&mut first)?;
        }
        let pid = first.trim().parse().map_err(|_| {
            std::io::Error::other(format!(
                "the shell that starts {} named no process",
                program.display()
            ))
        })?;
        Ok(Self {
            shell,
            lifeline,
            pid,
            log: log.to_owned(),
        })
    }

    /// The program's process id, for those who measure it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The end of what the program printed.
    pub fn last_words(&self) -> String {
        let mut text = String::new();
        if let Ok(mut file) = std::fs::File::open(&self.log) {
            let _ = file.read_to_string(&mut text);
        }
        let tail: Vec<_> = text.lines().rev().take(8).collect();
        tail.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::Supervised;
    use std::path::Path;

    #[test]
    fn a_dropped_program_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let program = Supervised::start(
            Path::new("sleep"),
            &["600".to_owned()],
            &folder.path().join("log"),
        )
        .unwrap();
        let entry = format!("/proc/{}", program.pid());
        if Path::new("/proc/self").exists() {
            assert!(Path::new(&entry).exists());
        }
        drop(program);
        assert!(!Path::new(&entry).exists());
    }

    #[test]
    fn what_a_program_printed_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = [
            "-c".to_owned(),
            "echo first; echo last; exec sleep 600".to_owned(),
        ];
        let program = Supervised::start(Path::new("sh"), &arguments, &folder.path().join("log")).unwrap();
        while program.last_words() != "first\nlast" {
            std::thread::yield_now();
        }
    }
}
