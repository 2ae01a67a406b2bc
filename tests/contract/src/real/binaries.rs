//! The programs of a real Kubernetes release, built once from Go modules and kept outside of the project's own builds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program_cache;

/// The Kubernetes release that everything is compared with.
pub const RELEASE: &str = "1.36.3";

/// The version of the `k8s.io/*` libraries that belong to [`RELEASE`].
const LIBRARIES: &str = "0.36.3";

/// The etcd that goes with it. Distributions have older ones, which lack what watches with initial events need.
const ETCD: &str = "3.6.8";

const PROGRAMS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"];

/// Where the programs of a real cluster lie.
#[derive(Debug, Clone)]
pub struct Binaries {
    folder: PathBuf,
}

/// Why there is no real Kubernetes, or no real client, to run.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A program that has to be installed first is not in `PATH`.
    #[error("`{program}` was not found in PATH, and it is needed {purpose}; {remedy}")]
    Missing {
        /// The program's name.
        program: &'static str,
        /// What it is needed for.
        purpose: &'static str,
        /// How to install it.
        remedy: &'static str,
    },
    /// Nobody has built the programs yet.
    #[error("{} holds no Kubernetes {RELEASE}; `cargo run -p xtask -- realkube` builds it (about ten minutes the first time)", .0.display())]
    NotBuilt(PathBuf),
    /// Nobody has got the other clients yet.
    #[error("{} is absent; `cargo run -p xtask -- clients` gets it (about three minutes the first time)", .0.display())]
    NoClient(PathBuf),
    /// A step of the build failed.
    #[error("building from published packages: `{step}` failed: {cause}")]
    Step {
        /// The command that failed.
        step: String,
        /// What it said.
        cause: String,
    },
    /// A file of the build could not be written or read.
    #[error("building from published packages: {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: std::io::Error,
    },
}

impl Binaries {
    /// Finds the programs that an earlier [`Binaries::build`] left, without building anything.
    pub fn locate() -> Result<Self, BuildError> {
        let folder = folder();
        if PROGRAMS
            .iter()
            .any(|program| !program_cache::is_whole(&folder.join(program)))
        {
            return Err(BuildError::NotBuilt(folder));
        }
        Ok(Self { folder })
    }

    /// Builds what is missing and returns where everything is; `say` hears of each step.
    pub fn build(say: impl Fn(&str)) -> Result<Self, BuildError> {
        let folder = folder();
        let missing: Vec<_> = PROGRAMS
            .into_iter()
            .filter(|program| !program_cache::is_whole(&folder.join(program)))
            .collect();
        if missing.is_empty() {
            say(&format!("Kubernetes {RELEASE} is there: {}", folder.display()));
            return Ok(Self { folder });
        }
        find("go").ok_or(BuildError::Missing {
            program: "go",
            purpose: "to compile Kubernetes",
            remedy: "install Go 1.26 or newer from https://go.dev/dl",
        })?;
        compile(&folder, &missing, &say)?;
        Ok(Self { folder })
    }

    /// The path of one of `etcd`, `kube-apiserver`, `kube-controller-manager` and `kubectl`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The folder that keeps the programs of this release.
pub fn folder() -> PathBuf {
    program_cache::folder().join("realkube").join(RELEASE)
}

/// The root of this repository: the nearest folder with a lock file above the package that runs. Cargo names that
/// package when it runs something; otherwise it is the one that was built.
pub fn workspace() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file());
    root.unwrap_or(&package).to_owned()
}

/// Finds a program in `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

fn compile(folder: &Path, programs: &[&str], say: &impl Fn(&str)) -> Result<(), BuildError> {
    make_folder(folder)?;
    for program in programs {
        say(&format!("compiling {program}"));
        let (work, package, flags) = if *program == "etcd" {
            (
                etcd_module(folder)?,
                "go.etcd.io/etcd/server/v3".to_owned(),
                "-s -w".to_owned(),
            )
        } else {
            let version = "k8s.io/component-base/version";
            let flags = format!(
                "-s -w -X {version}.gitVersion=v{RELEASE} -X {version}.gitMajor=1 -X {version}.gitMinor=36"
            );
            (
                kubernetes_module(folder)?,
                format!("k8s.io/kubernetes/cmd/{program}"),
                flags,
            )
        };
        let unfinished = work.join(program);
        let output = unfinished.display().to_string();
        run(
            &work,
            &["build", "-trimpath", "-o", &output, "-ldflags", &flags, &package],
        )?;
        program_cache::keep(&unfinished, &folder.join(program))?;
    }
    say(&format!("Kubernetes {RELEASE} is ready: {}", folder.display()));
    Ok(())
}

/// Kubernetes' own module can't be installed by `go install`: its `replace` lines point into its own tree. A module
/// that requires it and points the same libraries at their published versions can be built.
fn kubernetes_module(folder: &Path) -> Result<PathBuf, BuildError> {
    let work = folder.with_file_name(format!("{RELEASE}.build"));
    if work.join("go.sum").is_file() {
        return Ok(work);
    }
    make_folder(&work)?;
    let module = format!("k8s.io/kubernetes@v{RELEASE}");
    let described = run(&work, &["mod", "download", "-json", &module])?;
    let source = serde_json::from_str::<serde_json::Value>(&described)
        .ok()
        .and_then(|described| Some(PathBuf::from(described.get("Dir")?.as_str()?)))
        .ok_or_else(|| BuildError::Step {
            step: format!("go mod download -json {module}"),
            cause: "it named no folder".to_owned(),
        })?;
    let published = read(&source.join("go.mod"))?;
    let packages = PROGRAMS.iter().filter(|program| **program != "etcd");
    let packages: Vec<String> = packages
        .map(|program| format!("k8s.io/kubernetes/cmd/{program}"))
        .collect();
    prepare(&work, &our_module(&published), &packages)?;
    Ok(work)
}

fn etcd_module(folder: &Path) -> Result<PathBuf, BuildError> {
    let work = folder.with_file_name(format!("etcd-{ETCD}.build"));
    if !work.join("go.sum").is_file() {
        make_folder(&work)?;
        let module = format!("module realetcd\n\ngo 1.26.0\n\nrequire go.etcd.io/etcd/server/v3 v{ETCD}\n");
        prepare(&work, &module, &["go.etcd.io/etcd/server/v3".to_owned()])?;
    }
    Ok(work)
}

/// Writes a module that needs `packages` and lets Go find the versions of everything they need.
pub(crate) fn prepare(work: &Path, module: &str, packages: &[String]) -> Result<(), BuildError> {
    write(&work.join("go.mod"), module)?;
    let mut tools = "//go:build tools\n\npackage tools\n\nimport (\n".to_owned();
    for package in packages {
        let _ = writeln!(tools, "\t_ \"{package}\"");
    }
    tools.push_str(")\n");
    write(&work.join("tools.go"), &tools)?;
    run(work, &["mod", "tidy", "-e"])?;
    Ok(())
}

/// The go.mod that requires Kubernetes and sends each of its in-tree libraries to the published one.
fn our_module(published: &str) -> String {
    let mut module = format!(
        "module realkube\n\ngo 1.26.0\n\ngodebug default=go1.26\n\nrequire k8s.io/kubernetes v{RELEASE}\n"
    );
    for line in published.lines().filter(|line| line.contains("=> ./staging/")) {
        let line = line.trim().trim_start_matches("replace ");
        if let Some(library) = line.split_whitespace().next() {
            let _ = writeln!(module, "replace {library} => {library} v{LIBRARIES}");
        }
    }
    module
}

pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Result<String, BuildError> {
    let step = || format!("go {}", arguments.join(" "));
    let output = Command::new("go")
        .args(arguments)
        .current_dir(folder)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=mod")
        .output()
        .map_err(|cause| BuildError::Step {
            step: step(),
            cause: cause.to_string(),
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let tail: Vec<_> = said.lines().rev().take(20).collect();
        let cause = tail.into_iter().rev().collect::<Vec<_>>().join("\n");
        return Err(BuildError::Step { step: step(), cause });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn make_folder(path: &Path) -> Result<(), BuildError> {
    std::fs::create_dir_all(path).map_err(|cause| BuildError::File {
        path: path.to_owned(),
        cause,
    })
}

fn read(path: &Path) -> Result<String, BuildError> {
    std::fs::read_to_string(path).map_err(|cause| BuildError::File {
        path: path.to_owned(),
        cause,
    })
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    std::fs::write(path, text).map_err(|cause| BuildError::File {
        path: path.to_owned(),
        cause,
    })
}

#[cfg(test)]
mod tests {
    use super::our_module;

    #[test]
    fn every_in_tree_library_is_sent_to_its_published_version() {
        let published = "module k8s.io/kubernetes\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tk8s.io/cri-api => ./staging/src/k8s.io/cri-api\n)\n";
        let ours = our_module(published);
        assert!(
            ours.contains("replace k8s.io/api => k8s.io/api v0.36.3\n"),
            "{ours}"
        );
        assert!(
            ours.contains("replace k8s.io/cri-api => k8s.io/cri-api v0.36.3\n"),
            "{ours}"
        );
    }
}
