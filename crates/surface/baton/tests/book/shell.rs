//! A reader's shell: a home, a copy of the repository's examples, a network of its own, and the programs that pages use.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use contract::clients::Clients;
use contract::real::Binaries;
use tempfile::TempDir;

/// How long a command may take: long, because machines that run tests are busy.
const PATIENCE: Duration = Duration::from_secs(100);

/// How long what was started may take to end.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(20);

const GLANCE: Duration = Duration::from_millis(20);

/// The folders of the repository that pages refer to.
const FOLDERS: [&str; 2] = ["examples", "deploy"];

/// What a command came to.
pub(crate) struct Outcome {
    pub(crate) exit_code: i32,
    /// What it printed, with paths as the page has them.
    pub(crate) output: String,
}

/// A shell that stays from the first command of a page to the last.
pub(crate) struct Shell {
    process: Child,
    folder: TempDir,
    steps: usize,
}

/// The repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Programs beside baton that pages use, where this machine has them.
pub(crate) fn other_program(name: &str) -> Result<PathBuf, String> {
    match name {
        "kubectl" => Binaries::locate()
            .map(|binaries| binaries.program("kubectl"))
            .map_err(|reason| reason.to_string()),
        "helm" => Clients::locate()
            .map(|clients| clients.program("helm3"))
            .map_err(|reason| reason.to_string()),
        _ => Err(format!("{name} is not a program that pages use")),
    }
}

/// The program, without the symbols that are for debugging alone: pages put it into images.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let whole = PathBuf::from(env!("CARGO_BIN_EXE_baton"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
        fs::create_dir_all(&folder).expect("a folder");
        let (unfinished, stripped) = (
            folder.join(format!("baton.{}", std::process::id())),
            folder.join("baton"),
        );
        let mut strip = Command::new("strip");
        strip.arg("-o").args([&unfinished, &whole]);
        let is_stripped = strip.status().is_ok_and(|status| status.success());
        // Nobody who runs the program that was there sees another one.
        if is_stripped && fs::rename(&unfinished, &stripped).is_ok() {
            stripped
        } else {
            whole
        }
    })
}

/// The words before `bash` that give a process a network of its own, in which every port of a page is free; none where the
/// system allows nobody that.
pub(crate) fn own_network() -> Option<[&'static str; 4]> {
    let words = ["unshare", "--map-root-user", "--net", "--"];
    let mut trial = Command::new(words[0]);
    trial.args(&words[1..]).args(["ip", "link", "set", "lo", "up"]);
    let works = trial.output().is_ok_and(|output| output.status.success());
    works.then_some(words)
}

impl Shell {
    /// Opens a shell, in a network of its own if the words for that are given.
    pub(crate) fn open(network: Option<[&'static str; 4]>) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("book")
            .tempdir()
            .expect("a folder");
        let place = |name: &str| folder.path().join(name);
        for name in ["home", "tmp", "bin", "steps", "repository/target/release"] {
            fs::create_dir_all(place(name)).expect("a folder");
        }
        for name in FOLDERS {
            let copied = Command::new("cp")
                .arg("-r")
                .arg(repository().join(name))
                .arg(place("repository"))
                .status();
            assert!(
                copied.is_ok_and(|status| status.success()),
                "{name} can't be copied"
            );
        }
        for name in ["bin/baton", "repository/target/release/baton"] {
            symlink(program(), place(name)).expect("a link");
        }
        for name in ["kubectl", "helm"] {
            if let Ok(program) = other_program(name) {
                symlink(program, place("bin").join(name)).expect("a link");
            }
        }
        let mut words: Vec<&str> = network.into_iter().flatten().collect();
        words.extend(["bash", "--noprofile", "--norc"]);
        let path = std::env::var("PATH").unwrap_or_default();
        let mut process = Command::new(words[0])
            .args(&words[1..])
            .current_dir(place("repository"))
            .env_clear()
            .env("HOME", place("home"))
            .env("TMPDIR", place("tmp"))
            .env("PATH", format!("{}:{path}", place("bin").display()))
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("a shell");
        let mut stdin = process.stdin.take().expect("its input");
        let prelude = include_str!("setups.sh");
        let network = if network.is_some() {
            "ip link set lo up\n"
        } else {
            ""
        };
        writeln!(stdin, "{network}{prelude}").expect("the shell reads");
        process.stdin = Some(stdin);
        Self {
            process,
            folder,
            steps: 0,
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&mut self, command: &str) -> Outcome {
        let (script, log, ended) = self.step(command);
        self.tell(&format!(
            ". {script} </dev/null >{log} 2>&1; echo $? >{ended}.tmp; mv {ended}.tmp {ended}"
        ));
        let begun = Instant::now();
        while !Path::new(&ended).exists() {
            if begun.elapsed() > PATIENCE {
                let output = self.output(&log);
                return Outcome {
                    exit_code: -1,
                    output: format!("{output}\n(it had not ended after {} s)", PATIENCE.as_secs()),
                };
            }
            sleep(GLANCE);
        }
        let exit_code = fs::read_to_string(&ended).unwrap_or_default();
        Outcome {
            exit_code: exit_code.trim().parse().unwrap_or(-1),
            output: self.output(&log),
        }
    }

    /// Starts a command that stays, and waits until what it printed suffices; returns it in any case.
    pub(crate) fn start(&mut self, command: &str, suffices: impl Fn(&str) -> bool) -> Outcome {
        let command = command.split_once(" #").map_or(command, |(command, _)| command);
        let command = command.trim_end().trim_end_matches('&');
        let (script, log, number) = self.step(&format!("exec {command}"));
        self.tell(&format!(
            "( . {script} ) </dev/null >{log} 2>&1 & echo $! >{number}"
        ));
        let begun = Instant::now();
        loop {
            // Whether it runs is looked at first, so that its last words aren't missed.
            let has_ended = fs::read_to_string(&number).is_ok_and(|number| !is_running(number.trim()));
            let output = self.output(&log);
            if !has_ended && suffices(&output) {
                return Outcome { exit_code: 0, output };
            }
            if has_ended || begun.elapsed() > PATIENCE {
                return Outcome {
                    exit_code: -1,
                    output,
                };
            }
            sleep(GLANCE);
        }
    }

    fn tell(&mut self, line: &str) {
        let stdin = self.process.stdin.as_mut().expect("its input");
        writeln!(stdin, "{line}").expect("the shell reads");
    }

    /// Writes a command down; returns the paths of its script, its output and its exit code.
    fn step(&mut self, command: &str) -> (String, String, String) {
        self.steps += 1;
        let name = |what: &str| {
            let path = self.folder.path().join(format!("steps/{}.{what}", self.steps));
            path.display().to_string()
        };
        let (script, log, ended) = (name("sh"), name("out"), name("exit"));
        let command = command
            .replace("/tmp/", &format!("{}/", self.place("tmp")))
            .replace("/home/me", &self.place("home"));
        fs::write(&script, command).expect("a script");
        (script, log, ended)
    }

    fn place(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// What was printed, with paths as readers have them.
    fn output(&self, log: &str) -> String {
        let bytes = fs::read(log).unwrap_or_default();
        String::from_utf8_lossy(&bytes)
            .replace(&self.place("tmp"), "/tmp")
            .replace(&self.place("home"), "/home/me")
            .replace(&self.place("repository"), "/home/me/baton")
    }

    fn signal(&self, signal: &str) -> bool {
        let group = format!("-{}", self.process.id());
        let sent = Command::new("kill")
            .args([signal, "--", &group])
            .stderr(Stdio::null())
            .status();
        sent.is_ok_and(|status| status.success())
    }
}

/// Whether a process of this number is there and has not ended.
fn is_running(number: &str) -> bool {
    // The state follows the name, which stands in parentheses and may hold anything.
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('Z'));
    number.is_empty() || state == Some(false)
}

impl Drop for Shell {
    fn drop(&mut self) {
        // What the shell started ends as after Ctrl-C.
        self.signal("-TERM");
        self.process.stdin = None;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE_AT_THE_END && !matches!(self.process.try_wait(), Ok(Some(_))) {
            sleep(GLANCE);
        }
        // Whoever is still there has had time enough.
        while self.signal("-0") && begun.elapsed() < PATIENCE_AT_THE_END {
            sleep(GLANCE);
        }
        self.signal("-KILL");
        let _ = self.process.wait();
    }
}
