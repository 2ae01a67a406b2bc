//! Processes that an earlier server left running.
//!
//! A container's program dies with the server, because it asked the kernel for that. What the program itself started
//! didn't ask, and lives on when the server is killed. All of them carry the variable that names the root of their image,
//! which lies in the directory of the node, so they are known by it.

use std::path::Path;

use rustix::process::{Pid, Signal};

use super::paths::ROOT_VARIABLE;

/// Ends every process whose image lies below a directory; returns how many there were.
#[cfg(target_os = "linux")]
pub(super) fn end(images: &Path) -> usize {
    let own = std::process::id();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let processes = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // Others' processes can't be read, and aren't ours.
    let orphans = processes.filter(|id| {
        *id != own
            && std::fs::read(format!("/proc/{id}/environ")).is_ok_and(|variables| is_of(&variables, images))
    });
    let mut count = 0;
    for id in orphans {
        if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw)
            && rustix::process::kill_process(id, Signal::KILL).is_ok()
        {
            count += 1;
        }
    }
    count
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end(_: &Path) -> usize {
    0
}

/// Returns whether an environment names an image below a directory.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only Linux shows environments")
)]
fn is_of(variables: &[u8], images: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    variables.split(|byte| *byte == 0).any(|variable| {
        let value = variable
            .strip_prefix(ROOT_VARIABLE.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|root| Path::new(std::ffi::OsStr::from_bytes(root)).starts_with(images))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_known_by_the_root_of_their_image() {
        let images = Path::new("/data/node/images");
        for (variables, expected) in [
            ("A=b\0BATON_ROOT=/data/node/images/abc\0C=d", true),
            ("BATON_ROOT=/data/node/images-of-others/abc", false),
            ("X=BATON_ROOT=/data/node/images/abc", false),
            ("BATON_ROOT=/other/node/images/abc", false),
            ("", false),
        ] {
            assert_eq!(is_of(variables.as_bytes(), images), expected, "{variables}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_was_left_running_is_ended() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut left = std::process::Command::new("sleep")
            .arg("1000")
            .env(ROOT_VARIABLE, directory.path().join("image"))
            .spawn()
            .expect("sleep runs");
        // The environment is there once the program is.
        while end(directory.path()) == 0 {
            std::thread::yield_now();
        }
        assert!(!left.wait().expect("an end").success());
    }
}
