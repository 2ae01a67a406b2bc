//! Child processes: started without rights of their own and so that they die with the node, their output in a log, stopped
//! with time to finish.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use super::lock;
use super::log_file::{LONGEST_LINE, LogFile};
use super::programs::{Program, Programs};

/// How long the output of a process that has ended is waited for: what it left running may hold it open for ever.
const LONGEST_FAREWELL: Duration = Duration::from_secs(2);

/// The most that is kept of what a probe or hook prints.
const MOST_OUTPUT: u64 = 10 << 10;

/// What is started, and how.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// The program.
    pub program: Program,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// All of its environment.
    pub environment: BTreeMap<String, String>,
    /// Where it starts.
    pub directory: PathBuf,
    /// The control group it belongs to, if there is one.
    pub control_group: Option<PathBuf>,
    /// Where the programs of its container are, for what else is run beside it.
    pub programs: Programs,
}

type Started = Box<dyn FnOnce() + Send>;

/// Runs something on a thread that lives as long as this process.
///
/// A child is told to die when the thread that started it ends, and threads of a runtime come and go.
fn on_lasting_thread(task: Started) -> io::Result<()> {
    static THREAD: OnceLock<Mutex<mpsc::Sender<Started>>> = OnceLock::new();
    if THREAD.get().is_none() {
        let (sender, receiver) = mpsc::channel::<Started>();
        std::thread::Builder::new()
            .name("children".to_owned())
            .spawn(move || {
                for task in receiver {
                    task();
                }
            })?;
        // Another thread may have been quicker; then ours ends with its sender.
        let _ = THREAD.set(Mutex::new(sender));
    }
    let sent = THREAD.get().is_some_and(|sender| lock(sender).send(task).is_ok());
    sent.then_some(())
        .ok_or_else(|| io::Error::other("the thread that starts processes has ended"))
}

async fn spawn(launch: &Launch) -> io::Result<Child> {
    let mut command = Command::new(&launch.program.file);
    command
        .arg0(&launch.program.name)
        .args(&launch.program.first_arguments)
        .args(&launch.arguments)
        .env_clear()
        .envs(&launch.environment)
        .current_dir(&launch.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        // A group of its own, so that what the child starts is stopped with it.
        .process_group(0);
    confine(&mut command);
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let runtime = tokio::runtime::Handle::current();
    on_lasting_thread(Box::new(move || {
        let _entered = runtime.enter();
        let _ = sender.send(command.spawn());
    }))?;
    let child = receiver
        .await
        .map_err(|_| io::Error::other("the process was not started"))??;
    if let (Some(group), Some(id)) = (&launch.control_group, child.id()) {
        // Limits are a courtesy: a process without them is better than none.
        let _ = std::fs::write(group.join("cgroup.procs"), id.to_string());
    }
    Ok(child)
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "the child gives up its rights and asks the kernel to die with its parent, between fork and exec"
)]
fn confine(command: &mut Command) {
    // SAFETY: the closure makes system calls, which are safe between fork and exec: they allocate nothing and take no lock.
    unsafe {
        command.pre_exec(|| {
            give_up_rights()?;
            Ok(rustix::process::set_parent_process_death_signal(Some(
                Signal::KILL,
            ))?)
        });
    }
}

/// Leaves the calling thread with the rights of its user alone: no capabilities, though the user be root, and no way to
/// new ones through files that give them to whoever runs them.
#[cfg(target_os = "linux")]
fn give_up_rights() -> rustix::io::Result<()> {
    use rustix::thread::{self, CapabilitySet, CapabilitySets};
    thread::set_no_new_privs(true)?;
    for bit in 0..u64::BITS {
        // It ends at the last capability that the kernel knows. Who may not change the set has nothing to lose: without new
        // privileges it gives none to the program.
        if thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)).is_err() {
            break;
        }
    }
    // A kernel from before 4.3 has no such set.
    let _ = thread::clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    thread::set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )
}

#[cfg(not(target_os = "linux"))]
fn confine(_: &mut Command) {}

/// A process that runs; it is killed with all that it started when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    group: Option<Pid>,
    /// What brings its output to the log.
    copies: Vec<JoinHandle<()>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl Process {
    /// Starts a process whose output goes to a log.
    pub async fn start(launch: &Launch, log: Arc<Mutex<LogFile>>) -> io::Result<Self> {
        let mut child = spawn(launch).await?;
        let mut copies = Vec::new();
        if let Some(output) = child.stdout.take() {
            copies.push(tokio::spawn(copy(output, log.clone())));
        }
        if let Some(errors) = child.stderr.take() {
            copies.push(tokio::spawn(copy(errors, log)));
        }
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        Ok(Self { child, group, copies })
    }

    /// Waits for the end and returns the exit code. By then the log has what the process said last.
    pub async fn wait(&mut self) -> i32 {
        let status = self.child.wait().await;
        self.copies.retain(|copy| !copy.is_finished());
        let _ = tokio::time::timeout(LONGEST_FAREWELL, join_all(&mut self.copies)).await;
        status.map_or(255, exit_code)
    }

    /// Sends a signal to the process and all that it started.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Asks the process to end, and kills it when it takes too long; returns the exit code.
    pub async fn stop(&mut self, grace: Duration) -> i32 {
        self.signal(Signal::TERM);
        if let Ok(code) = tokio::time::timeout(grace, self.wait()).await {
            return code;
        }
        self.signal(Signal::KILL);
        self.wait().await
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(255)
}

/// Copies output to a log, line by line; long lines are cut.
async fn copy(output: impl AsyncRead + Unpin, log: Arc<Mutex<LogFile>>) {
    let mut output = BufReader::with_capacity(LONGEST_LINE, output);
    let mut line = Vec::new();
    loop {
        let read = match output.fill_buf().await {
            Ok(read) if !read.is_empty() => read,
            _ => break,
        };
        let end = read.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(read.len(), |end| end + 1);
        line.extend_from_slice(read.get(..end.unwrap_or(read.len())).unwrap_or_default());
        output.consume(taken);
        if end.is_some() || line.len() >= LONGEST_LINE {
            // A log that can't be written, such as on a full disk, doesn't stop the process.
            let _ = lock(&log).add(Timestamp::now(), &line);
            line.clear();
        }
    }
    if !line.is_empty() {
        let _ = lock(&log).add(Timestamp::now(), &line);
    }
}

/// Runs something to its end, as probes and hooks do; returns whether it went well, and what it printed.
pub async fn run(launch: &Launch, time: Duration) -> (bool, String) {
    let mut child = match spawn(launch).await {
        Ok(child) => child,
        Err(error) => {
            return (
                false,
                format!("cannot run {}: {error}", launch.program.file.display()),
            );
        }
    };
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let mut text = Vec::new();
    let finish = async {
        if let Some(output) = output {
            let _ = output.take(MOST_OUTPUT).read_to_end(&mut text).await;
        }
        if let Some(errors) = errors {
            let _ = errors.take(MOST_OUTPUT).read_to_end(&mut text).await;
        }
        child.wait().await
    };
    match tokio::time::timeout(time, finish).await {
        Ok(Ok(status)) => (status.success(), String::from_utf8_lossy(&text).into_owned()),
        Ok(Err(error)) => (false, error.to_string()),
        Err(_) => (
            false,
            format!(
                "command timed out: context deadline exceeded after {}s",
                time.as_secs()
            ),
        ),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_has_no_capabilities_and_gets_none() {
        let launch = Launch {
            program: Program {
                file: "/bin/cat".into(),
                name: "cat".into(),
                first_arguments: Vec::new(),
            },
            arguments: vec!["/proc/self/status".to_owned()],
            directory: "/".into(),
            ..Launch::default()
        };
        let (good, status) = run(&launch, Duration::from_mins(1)).await;
        assert!(good, "{status}");
        let field = |status: &str, name: &str| -> u64 {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
            u64::from_str_radix(line.expect("a field"), 16).expect("a number")
        };
        assert_eq!(field(&status, "NoNewPrivs"), 1);
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert_eq!(field(&status, set), 0, "{set}");
        }
        // Only who may change the set can empty it.
        let own = std::fs::read_to_string("/proc/self/status").expect("our own");
        let set_capabilities = rustix::thread::CapabilitySet::SETPCAP.bits();
        if field(&own, "CapEff") & set_capabilities != 0 {
            assert_eq!(field(&status, "CapBnd"), 0);
        }
    }
}
