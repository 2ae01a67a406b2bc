//! A program that changes the manifests before they are printed.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// A program, found, with its arguments.
pub(super) struct PostRenderer {
    program: PathBuf,
    arguments: Vec<String>,
}

impl PostRenderer {
    /// Finds the program: a name in `PATH`, or a path.
    pub(super) fn find(program: &str, arguments: &[String]) -> Result<Self, Failure> {
        let found = if program.contains('/') {
            let path = PathBuf::from(program);
            match path.metadata() {
                Ok(_) if is_executable(&path) => Ok(path),
                Ok(_) => Err("permission denied".to_owned()),
                Err(_) => Err(format!("stat {program}: no such file or directory")),
            }
        } else {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&folders)
                .map(|folder| folder.join(program))
                .find(|path| is_executable(path))
                .ok_or_else(|| "executable file not found in $PATH".to_owned())
        };
        let found = found.map_err(|reason| {
            Failure::new(format!(
                "invalid argument {program:?} for \"--post-renderer\" flag: unable to find binary at {program}: \
                 exec: {program:?}: {reason}"
            ))
        })?;
        let program = std::path::absolute(&found).unwrap_or(found);
        Ok(Self {
            program,
            arguments: arguments.to_vec(),
        })
    }

    /// Gives the program the manifests and returns what it makes of them.
    pub(super) fn run(&self, manifests: &[u8]) -> Result<Vec<u8>, String> {
        let failed = |errors: &[u8], reason: &dyn std::fmt::Display| {
            format!(
                "error while running post render on files: error while running command {}. error output:\n{}: {reason}",
                self.program.display(),
                String::from_utf8_lossy(errors),
            )
        };
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(b"", &error))?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || {
                // A program that does not read everything is free not to.
                stdin.map_or(Ok(()), |mut stdin| stdin.write_all(manifests)).ok();
            });
            child.wait_with_output()
        });
        let output = output.map_err(|error: io::Error| failed(b"", &error))?;
        match output.status.code() {
            Some(0) => Ok(output.stdout),
            Some(code) => Err(failed(&output.stderr, &format_args!("exit status {code}"))),
            None => Err(failed(&output.stderr, &output.status)),
        }
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
