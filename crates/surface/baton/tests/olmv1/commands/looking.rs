//! `baton status` of what doesn't become ready, and `--watch`.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;

use super::{Chapter, Outcome};
use crate::conditions::Says;
use crate::conditions::holds;
use crate::kubernetes::PATIENCE;
use crate::reference::Reference;

pub(super) async fn at_what_is_stuck(mut chapter: Chapter) -> Outcome {
    chapter
        .terminal
        .types_all(&["install stuck --version 1.0.0 --no-wait"])
        .await?;
    let deployment = Reference::namespaced("apps/v1", "Deployment", "stuck", "test-operator-stuck");
    chapter
        .kubernetes()
        .until(&deployment, |deployment| {
            holds(deployment, "Available", "False", "", Says::Anything)
        })
        .await?;
    chapter.says("stuck", "True", "RollingOut", "").await?;
    chapter
        .terminal
        .types_all(&[
            "upgrade stuck --timeout 1",
            "status stuck",
            "get revisions stuck-1",
        ])
        .await?;
    chapter.terminal.types_in_both_forms("status stuck").await?;
    chapter.terminal.types_all(&["explain stuck"]).await?;
    let waited = chapter
        .terminal
        .run(&["upgrade", "stuck", "--timeout", "20"])
        .await?;
    let told = "phase deploy of stuck-1: 0 of 1 ready; Deployment stuck/test-operator-stuck: waits: ";
    if !waited.stderr.lines().any(|line| line.starts_with(told)) {
        return Err(format!("who waits isn't told what for:\n{}", waited.stderr));
    }

    // Interrupted, and nothing else ends it while something waits.
    let mut watching = chapter.terminal.start(&["status", "stuck", "--watch"])?;
    let first = lines_until(&mut watching, "phase").await?;
    if !first.starts_with("stuck: stuck (nothing installed)") {
        return Err(format!("the watch begins with\n{first}"));
    }
    interrupt(&watching)?;
    let ended = tokio::time::timeout(PATIENCE, watching.wait()).await;
    let ended = ended.map_err(|_| "an interrupt doesn't end the watch")?;
    let ended = ended.map_err(|error| error.to_string())?;
    if ended.success() {
        return Err(format!("a watch that is interrupted succeeds: {ended}"));
    }

    // Ends by itself, with the tree of what is installed then.
    let watching = chapter.terminal.start(&["status", "stuck", "--watch"])?;
    chapter
        .terminal
        .types_all(&["upgrade stuck --version 1.0.1"])
        .await?;
    let ended = tokio::time::timeout(PATIENCE, watching.wait_with_output()).await;
    let ended = ended.map_err(|_| "the watch doesn't end when everything is there")?;
    let ended = ended.map_err(|error| error.to_string())?;
    let shown = String::from_utf8_lossy(&ended.stdout).into_owned();
    let last = shown.rsplit("\n\n").next().unwrap_or_default();
    let now = chapter.terminal.run(&["status", "stuck"]).await?.successful()?;
    if !ended.status.success() || last.trim() != now.trim() {
        return Err(format!(
            "the watch ends with {} and\n{last}\nand the status is\n{now}",
            ended.status
        ));
    }
    chapter
        .terminal
        .types_all(&["status stuck --watch", "status stuck --watch -o json"])
        .await?;
    chapter.ends("looking");
    Ok(())
}

/// Reads what a program prints until a line contains a text.
async fn lines_until(child: &mut Child, text: &str) -> Result<String, String> {
    let stdout = child.stdout.take().ok_or("nothing is printed")?;
    let mut lines = BufReader::new(stdout).lines();
    let mut read = String::new();
    let reading = async {
        while let Some(line) = lines.next_line().await.map_err(|error| error.to_string())? {
            read.push_str(&line);
            read.push('\n');
            if line.contains(text) {
                return Ok(());
            }
        }
        Err(format!("{text:?} is never printed"))
    };
    let within = tokio::time::timeout(PATIENCE + Duration::from_secs(1), reading).await;
    within.map_err(|_| format!("{text:?} isn't printed in time"))??;
    // Kept open: a reader that goes away ends the program too.
    child.stdout = Some(lines.into_inner().into_inner());
    Ok(read)
}

/// Ends a program as somebody at the keyboard does. A shell that starts the tests in its background lets them ignore that, and
/// with them what they start; there, it is ended as a supervisor does.
fn interrupt(child: &Child) -> Outcome {
    let id = child.id().ok_or("it has ended already")?.to_string();
    let signal = if ignores_interrupts() { "-TERM" } else { "-INT" };
    let asked = std::process::Command::new("kill").args([signal, &id]).status();
    match asked {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("process {id} can't be interrupted: {status}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether this process was started so that interrupts are ignored.
fn ignores_interrupts() -> bool {
    const INTERRUPT: u64 = 1 << 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & INTERRUPT != 0)
}
