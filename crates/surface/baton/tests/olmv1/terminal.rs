//! What people type and what they see: the program run as they run it, and the transcript of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use regex::{Captures, Regex};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::world::World;

/// How long a command may take, on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(3);

/// What differs from run to run in whatever is printed, and what is taken down instead.
static VARYING: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (r"sha256:[0-9a-f]{64}", "sha256:[DIGEST]"),
        (
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            "[UID]",
        ),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z", "[TIME]"),
        (r#"(resourceVersion"?): "\d+""#, "$1: [VERSION]"),
        (r"\b127\.0\.0\.1:\d+", "[ADDRESS]"),
        // What generated names end with has no vowels.
        (r"\binstall-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "install-[NAME]"),
    ]
    .into_iter()
    .map(|(pattern, instead)| (Regex::new(pattern).expect("a pattern"), instead))
    .collect()
});

/// An age in a table, with the spaces that make it as wide as its column.
static AGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)(   )((?:\d+[smh]){1,2} *)(   |$)").expect("a pattern"));

/// Lines that say how far something is: which of them are printed depends on who is faster.
const PROGRESS: [&str; 5] = [
    "waiting for the controller to see the change",
    "RollingOut: ",
    "Succeeded: ",
    "phase ",
    "waits for ",
];

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The exit code; none where a signal ended the program.
    pub(crate) code: Option<i32>,
}

impl Seen {
    /// Waits until a program has ended.
    pub(crate) async fn of(child: Child) -> Result<Self, String> {
        let ended = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
        let output = ended.map_err(|_| format!("it takes more than {} s", PATIENCE.as_secs()))?;
        let output = output.map_err(|error| error.to_string())?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Self {
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code(),
        })
    }

    /// Returns what was printed, if the command succeeded.
    pub(crate) fn successful(self) -> Result<String, String> {
        if self.code == Some(0) {
            Ok(self.stdout)
        } else {
            Err(format!(
                "exit code {:?}\n{}{}",
                self.code, self.stdout, self.stderr
            ))
        }
    }
}

/// A terminal of somebody who uses a cluster, with a home of its own.
pub(crate) struct Terminal {
    home: TempDir,
    kubeconfig: PathBuf,
    /// What differs from world to world, and what is taken down instead.
    names: Vec<(String, &'static str)>,
    /// How lines begin that say how far something is.
    progress: Vec<&'static str>,
    transcript: String,
}

impl Terminal {
    /// The terminal of the administrator.
    pub(crate) fn of(world: &World) -> Result<Self, String> {
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let address = world.kubernetes.url.trim_start_matches("https://").to_owned();
        Ok(Self {
            names: vec![
                (home.path().display().to_string(), "[HOME]"),
                (world.kubeconfig().display().to_string(), "[KUBECONFIG]"),
                (world.images.host.clone(), "[REGISTRY]"),
                (address, "[SERVER]"),
            ],
            kubeconfig: world.kubeconfig(),
            home,
            progress: PROGRESS.to_vec(),
            transcript: String::new(),
        })
    }

    /// Uses another kubeconfig from now on.
    pub(crate) fn use_kubeconfig(&mut self, file: &Path) {
        file.clone_into(&mut self.kubeconfig);
    }

    /// Takes down no lines that begin so: whether they are printed depends on who is faster.
    pub(crate) fn passes_over(&mut self, begin: &'static str) {
        self.progress.push(begin);
    }

    /// A path in the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The program, with nothing of this machine's settings.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for name in ["PATH", "TMPDIR"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
    }

    /// Starts the program and leaves it running.
    pub(crate) fn start(&self, arguments: &[&str]) -> Result<Child, String> {
        let started = self.command(arguments).spawn();
        started.map_err(|error| format!("baton {}: {error}", arguments.join(" ")))
    }

    /// Runs the program; nothing is taken down.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<Seen, String> {
        let ended = Seen::of(self.start(arguments)?).await;
        ended.map_err(|reason| format!("baton {}: {reason}", arguments.join(" ")))
    }

    /// Runs the program and takes down what its user sees.
    pub(crate) async fn types(&mut self, arguments: &[&str]) -> Result<Seen, String> {
        let seen = self.run(arguments).await?;
        self.take_down(arguments, &seen);
        Ok(seen)
    }

    /// Runs commands one after the other and takes down what their user sees.
    pub(crate) async fn types_all(&mut self, commands: &[&str]) -> Result<(), String> {
        for command in commands {
            let arguments: Vec<&str> = command.split_whitespace().collect();
            self.types(&arguments).await?;
        }
        Ok(())
    }

    /// Runs a command that reads, as JSON and as YAML, checks that both say the same, and takes down the latter.
    pub(crate) async fn types_in_both_forms(&mut self, command: &str) -> Result<Value, String> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let with = |form: &'static str| [words.as_slice(), &["-o", form]].concat();
        let json = self.run(&with("json")).await?.successful()?;
        let yaml = self.types(&with("yaml")).await?.successful()?;
        let from_json: Value = serde_json::from_str(&json).map_err(|error| format!("{command}: {error}"))?;
        let from_yaml = goyaml::to_value(yaml.as_bytes()).map_err(|error| format!("{command}: {error}"))?;
        if without_revision(&from_json) == without_revision(&from_yaml) {
            Ok(from_json)
        } else {
            Err(format!("{command}: JSON says\n{json}\nand YAML\n{yaml}"))
        }
    }

    /// Takes down a command and what was seen of it.
    pub(crate) fn take_down(&mut self, arguments: &[&str], seen: &Seen) {
        let quoted = |argument: &&str| {
            if argument.is_empty() || argument.contains([' ', '<', '>']) {
                format!("'{argument}'")
            } else {
                (*argument).to_owned()
            }
        };
        let words: Vec<String> = arguments.iter().map(quoted).collect();
        let mut text = format!("$ baton {}\n{}", words.join(" "), seen.stdout);
        if !text.ends_with('\n') {
            text.push_str("[no newline]\n");
        }
        let told = |line: &&str| !self.progress.iter().any(|begin| line.starts_with(begin));
        for line in seen.stderr.lines().filter(told) {
            text.push_str("2> ");
            text.push_str(line);
            text.push('\n');
        }
        match seen.code {
            Some(0) => {}
            Some(code) => {
                let _ = writeln!(text, "[exit {code}]");
            }
            None => text.push_str("[ended by a signal]\n"),
        }
        text.push('\n');
        self.transcript.push_str(&self.steady(&text));
    }

    /// Replaces what differs from run to run.
    fn steady(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, instead) in &self.names {
            text = text.replace(name, instead);
        }
        for (pattern, instead) in VARYING.iter() {
            text = pattern.replace_all(&text, *instead).into_owned();
        }
        let as_wide = |found: &Captures<'_>| {
            let end = found.get(3).map_or("", |end| end.as_str());
            // The last column has no width.
            let width = if end.is_empty() { 0 } else { found[2].len() };
            format!("{}{:width$}{end}", &found[1], "[AGE]")
        };
        // Twice: two ages side by side share the spaces between them.
        let once = AGE.replace_all(&text, as_wide).into_owned();
        AGE.replace_all(&once, as_wide).into_owned()
    }

    /// Everything that was typed and seen.
    pub(crate) fn transcript(&self) -> &str {
        &self.transcript
    }
}

#[test]
fn ages_keep_the_width_of_their_columns() {
    let row = |text: &str| {
        let as_wide = |found: &Captures<'_>| format!("{}|{}|{}", &found[1], &found[2], &found[3]);
        AGE.replace_all(text, as_wide).into_owned()
    };
    assert_eq!(
        row("main   3s             True   12s"),
        "main   |3s          |   True   |12s|"
    );
    assert_eq!(row("main   1m5s"), "main   |1m5s|");
    assert_eq!(row("in 3s"), "in 3s");
}

/// A list without the revision of the whole cluster, which anybody may have moved between two looks.
fn without_revision(list: &Value) -> Value {
    let mut list = list.clone();
    if list["items"].is_array() {
        list["metadata"]["resourceVersion"] = Value::Null;
    }
    list
}
