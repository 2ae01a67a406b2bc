//! Sessions with a command-line client: what a person types, and what the client prints on a real cluster.
//!
//! A session is a text file. A line that begins with `$ ` is a command for the shell; the lines up to the next one are
//! what it printed on a real cluster, with what differs from run to run replaced. A line `[exit 1]` ends the output of a
//! command that failed. Files that commands read are written with `cat > name <<EOF`, as one does.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;

/// How long a command may take before it is stopped; `timeout` of the shell's own tools does it.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long a reading command is repeated until it prints what the session says: controllers need their time, and on a
/// busy machine more of it.
const SETTLING: Duration = Duration::from_secs(20);

/// One command of a session, and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The command, which may have several lines.
    pub command: String,
    /// What it printed, with what differs from run to run replaced.
    pub output: String,
}

impl Step {
    /// Whether the command only reads, so that it may be given again without changing what follows.
    pub fn only_reads(&self) -> bool {
        self.command.split([';', '&']).all(|part| {
            let mut words = part.split_whitespace();
            words.next() == Some("kubectl") && matches!(words.next(), Some("get" | "describe" | "wait"))
        })
    }
}

/// Where a session is played.
#[derive(Debug)]
pub struct Stand {
    /// The kubeconfig of the administrator.
    pub kubeconfig: PathBuf,
    /// The folders with the clients, before those of the machine.
    pub programs: Vec<PathBuf>,
    folder: tempfile::TempDir,
}

impl Stand {
    /// Returns a place with an empty home.
    pub fn new(kubeconfig: &Path, programs: &[PathBuf]) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("session-").tempdir()?;
        Ok(Self {
            kubeconfig: kubeconfig.to_owned(),
            programs: programs.to_vec(),
            folder,
        })
    }

    /// Plays a step and returns what it printed; a step that only reads is played again until it prints what it should,
    /// as the controllers of a cluster take their time.
    pub fn play(&self, step: &Step) -> std::io::Result<Step> {
        let until = Instant::now() + SETTLING;
        loop {
            let output = self.run(&step.command)?;
            if output == step.output || !step.only_reads() || Instant::now() >= until {
                return Ok(Step {
                    command: step.command.clone(),
                    output,
                });
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// Runs a command and returns what it printed, with what differs from run to run replaced.
    pub fn run(&self, command: &str) -> std::io::Result<String> {
        let mut path: Vec<PathBuf> = self.programs.clone();
        path.extend(std::env::split_paths(
            &std::env::var_os("PATH").unwrap_or_default(),
        ));
        let path = std::env::join_paths(path).map_err(std::io::Error::other)?;
        let seconds = PATIENCE.as_secs().to_string();
        let output = Command::new("timeout")
            .args([seconds.as_str(), "sh", "-c", &format!("exec 2>&1\n{command}")])
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", self.folder.path())
            .env("KUBECACHEDIR", self.folder.path().join("cache"))
            .stdin(Stdio::null())
            .output()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if !output.status.success() {
            let code = output
                .status
                .code()
                .map_or_else(|| "by a signal".to_owned(), |code| code.to_string());
            text.extend(["[exit ", code.as_str(), "]\n"]);
        }
        Ok(without_last_empty_lines(normal(&text)))
    }
}

/// Reads a session.
pub fn read(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut document = None;
    for line in text.lines() {
        if let (Some(end), Some(step)) = (&document, steps.last_mut()) {
            step.command.push('\n');
            step.command.push_str(line);
            if line == *end {
                document = None;
            }
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                output: String::new(),
            });
            document = command.split_once("<<").map(|(_, end)| end.trim().to_owned());
        } else if let Some(step) = steps.last_mut() {
            step.output.push_str(line);
            step.output.push('\n');
        }
    }
    for step in &mut steps {
        // An empty line before the next command is for the reader.
        step.output = without_last_empty_lines(std::mem::take(&mut step.output));
    }
    steps
}

fn without_last_empty_lines(mut text: String) -> String {
    while text.ends_with("\n\n") {
        text.pop();
    }
    if text == "\n" {
        text.clear();
    }
    text
}

/// Writes a session, with the comment that stands before its first command.
pub fn write(comment: &str, steps: &[Step]) -> String {
    let mut text = comment.to_owned();
    for step in steps {
        text.push_str("$ ");
        text.push_str(&step.command);
        text.push('\n');
        text.push_str(&step.output);
        text.push('\n');
    }
    text
}

/// Replaces what differs from run to run: times, ages, ids, versions, addresses and generated names.
fn normal(text: &str) -> String {
    let rules: &[(&str, &str)] = &[
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (
            r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000",
            "<time>",
        ),
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "<uid>",
        ),
        (r#"(resourceVersion"?: ?)"?\d+"?"#, "$1<version>"),
        (r"(Resource Version: +)\d+", "$1<version>"),
        (
            r"\bkube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}\b",
            "kube-api-access-<id>",
        ),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "<time>"),
        // Whether a client's watch ends just when it begins is a matter of chance.
        (r"(?m)^[IW]\d{4} [^\n]* reflector\.go:[^\n]*\n", ""),
        (r"\b([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "$1<time> "),
        (r"/tmp/kubectl-edit-\d+\.yaml", "/tmp/kubectl-edit-<id>.yaml"),
        (r"/tmp/(LIVE|MERGED)-\d+/", "/tmp/$1-<id>/"),
        (r"https://127\.0\.0\.1:\d+", "https://<server>"),
        (r"\b10\.\d+\.\d+\.\d+\b", "<address>"),
        (
            r"\b[bcdfghjklmnpqrstvwxz2456789]{7,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b",
            "<hash>-<id>",
        ),
        (
            r"(pod-template-hash[=:] ?)[bcdfghjklmnpqrstvwxz2456789]+",
            "$1<hash>",
        ),
        (
            r"(replicaset(?:\.apps)?/[\w-]+-|New-ReplicaSet|ReplicaSet )[bcdfghjklmnpqrstvwxz2456789]{7,10}\b",
            "$1<hash>",
        ),
        (r"v1\.36\.3(\+baton)?", "v1.36.3"),
    ];
    let mut text = text.to_owned();
    for (pattern, replacement) in rules {
        text = Regex::new(pattern).map_or(text.clone(), |rule| {
            rule.replace_all(&text, *replacement).into_owned()
        });
    }
    // A column of ages is as wide as its widest; the width is part of the age.
    let age = Regex::new(r"(?m)( +)(\d+[smhd]){1,2}( ago)?").ok();
    if let Some(age) = age {
        text = age.replace_all(&text, "  <age>$3  ").into_owned();
    }
    let after = Regex::new(r"(<age>(?: ago)?) +").ok();
    if let Some(after) = after {
        text = after.replace_all(&text, "$1  ").into_owned();
    }
    let ends = Regex::new(r"(?m) +$").ok();
    if let Some(ends) = ends {
        text = ends.replace_all(&text, "").into_owned();
    }
    let columns = Regex::new(r" {3,}").ok();
    columns.map_or(text.clone(), |columns| {
        columns.replace_all(&text, "   ").into_owned()
    })
}
