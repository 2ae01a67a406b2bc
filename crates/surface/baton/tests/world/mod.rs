//! A folder with charts and values in it, and the program run inside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder that is gone when the test is over.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// A folder with a chart called `demo`, version 1.0.0.
    pub(crate) fn with_chart(files: &[(&str, &str)]) -> Self {
        let world = Self::new().file("demo/Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n");
        files.iter().fold(world, |world, (name, content)| {
            world.file(&format!("demo/{name}"), content)
        })
    }

    /// Puts a file into the folder.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, content).expect("a file");
        self
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Every file in the folder, by name.
    pub(crate) fn files(&self) -> Vec<String> {
        fn collect(folder: &Path, root: &Path, files: &mut Vec<String>) {
            for entry in fs::read_dir(folder).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() && !path.is_symlink() {
                    collect(&path, root, files);
                } else {
                    files.push(
                        path.strip_prefix(root)
                            .expect("inside")
                            .to_string_lossy()
                            .into_owned(),
                    );
                }
            }
        }
        let mut files = Vec::new();
        collect(self.folder.path(), self.folder.path(), &mut files);
        files.sort();
        files
    }

    /// The program, ready to be run in the folder, without anything of the machine's own settings.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .env("KUBECONFIG", "/none");
        for variable in [
            "HELM_NAMESPACE",
            "HELM_DEBUG",
            "HELM_KUBECONTEXT",
            "NO_COLOR",
            "CLICOLOR_FORCE",
            "COLUMNS",
            "LINES",
        ] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs the program.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program runs")
    }

    /// Runs the program and writes down everything that a user sees.
    pub(crate) fn see(&self, arguments: &[&str]) -> String {
        self.describe(arguments, &self.run(arguments))
    }

    /// Writes down what a run showed.
    pub(crate) fn describe(&self, arguments: &[&str], output: &Output) -> String {
        let text = |bytes: &[u8]| {
            let folder = self.folder.path().to_string_lossy().into_owned();
            String::from_utf8_lossy(bytes).replace(&folder, "[WORLD]")
        };
        format!(
            "$ baton {}\nexit code: {}\n----- stdout -----\n{}----- stderr -----\n{}",
            arguments.join(" "),
            output
                .status
                .code()
                .map_or_else(|| "none".to_owned(), |code| code.to_string()),
            text(&output.stdout),
            text(&output.stderr),
        )
    }
}
