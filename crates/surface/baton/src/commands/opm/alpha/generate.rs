//! `opm alpha bundle generate`: a bundle's annotations and Dockerfile.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bundle::files::BundleFiles;
use bundle::validation::{MediaType, opm_media_type};
use gotemplate::format::quoted;
use serde_json::json;

use crate::commands::opm::command::{Arguments, Command, Invocation};
use crate::commands::opm::ending::{Ending, log_line};
use crate::commands::opm::flags::Flag;
use crate::commands::opm::paths::{absolute, relative};
use crate::commands::opm::references::cannot;
use crate::failure::{Failure, system_reason};
use crate::terminal::Terminal;
use crate::written_files;

use super::package_manifest::Inferred;

/// The file that a container tool builds a bundle with.
pub(super) const DOCKERFILE: &str = "bundle.Dockerfile";
const ANNOTATIONS: &str = "annotations.yaml";
const MANIFESTS: &str = "manifests/";
const METADATA: &str = "metadata/";
const PREFIX: &str = "operators.operatorframework.io.bundle.";

const LONG: &str = r#"The "opm alpha bundle generate" command will generate operator
bundle metadata if needed and a Dockerfile to build Operator bundle image.

$ opm alpha bundle generate --directory /test/0.1.0/ --package test-operator \
	--channels stable,beta --default stable

Note:
* All manifests yaml must be in the same directory."#;

pub(super) fn command() -> Command {
    let mut flags = vec![
        Flag::text(
            "directory",
            "",
            "The directory where bundle manifests for a specific version are located.",
        )
        .letter('d')
        .required(),
    ];
    flags.extend(shared_flags());
    Command {
        line: "generate",
        short: "Generate operator bundle metadata and Dockerfile",
        long: LONG.to_owned(),
        arguments: Arguments::None,
        flags,
        run: Some(run),
        ..Command::default()
    }
}

/// The flags that `build` has too.
pub(super) fn shared_flags() -> Vec<Flag> {
    const REQUIRED: &str =
        "(Required if `directory` is not pointing to a bundle in the nested bundle format)";
    vec![
        Flag::text(
            "package",
            "",
            format!("The name of the package that bundle image belongs to {REQUIRED}"),
        )
        .letter('p'),
        Flag::text(
            "channels",
            "",
            format!("The list of channels that bundle image belongs to{REQUIRED}"),
        )
        .letter('c'),
        Flag::text("default", "", "The default channel for the bundle image").letter('e'),
        Flag::text(
            "output-dir",
            "",
            "Optional output directory for operator manifests",
        )
        .letter('u'),
        Flag::text(
            "base-image",
            "scratch",
            "Use a custom image pullspec as the base bundle image",
        ),
    ]
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    Generation::of(invocation, true)
        .and_then(|generation| generation.run(terminal))
        .map(drop)
        .map_err(Ending::usage)
}

/// What is to be generated, and where.
pub(super) struct Generation {
    directory: PathBuf,
    output: Option<PathBuf>,
    package: String,
    channels: String,
    default_channel: String,
    overwrite: bool,
    base_image: String,
    working_directory: PathBuf,
}

impl Generation {
    pub(super) fn of(invocation: &Invocation<'_>, overwrite: bool) -> Result<Self, Failure> {
        let text = |name: &str| invocation.text(name).to_owned();
        let from_root =
            |path: &str| absolute(Path::new(path)).map_err(|error| Failure::new(system_reason(&error)));
        let output = Some(invocation.text("output-dir")).filter(|output| !output.is_empty());
        Ok(Self {
            directory: from_root(invocation.text("directory"))?,
            output: output.map(from_root).transpose()?,
            package: text("package"),
            channels: text("channels"),
            default_channel: text("default"),
            overwrite,
            base_image: text("base-image"),
            working_directory: from_root(".")?,
        })
    }

    /// Writes the annotations and the Dockerfile; returns the Dockerfile of this bundle, be it written or not.
    pub(super) fn run(mut self, terminal: &mut Terminal) -> Result<String, Failure> {
        if let Err(error) = fs::metadata(&self.directory) {
            return Err(Failure::new(cannot("stat", &self.directory, &error)));
        }
        let files = BundleFiles::read_directory(&self.directory)?;
        let media_type = opm_media_type(&files, &self.directory.to_string_lossy()).map_err(Failure::new)?;
        if self.channels.is_empty() || self.package.is_empty() {
            self.infer(terminal)?;
        }
        info(terminal, "Building annotations.yaml");
        let annotations: BTreeMap<String, &str> = self.statements(media_type).into_iter().collect();
        let text = goyaml::to_string_v3_indented(&json!({ "annotations": annotations }))?;
        let (manifests, metadata) = self.write_bundle(&files, &text, terminal)?;

        info(terminal, "Building Dockerfile");
        let dockerfile = self.dockerfile(media_type, &manifests, &metadata);
        let path = self.working_directory.join(DOCKERFILE);
        if self.overwrite || !path.exists() {
            write(&path, dockerfile.as_bytes(), terminal)?;
            return Ok(dockerfile);
        }
        info(
            terminal,
            &format!(
                "A bundle.Dockerfile already exists in current working directory: {}",
                self.working_directory.display()
            ),
        );
        Ok(dockerfile)
    }

    /// Takes what isn't given from the manifest of the package that the bundle lies in.
    fn infer(&mut self, terminal: &mut Terminal) -> Result<(), Failure> {
        let missing: Vec<&str> = [("channels", &self.channels), ("package name", &self.package)]
            .into_iter()
            .filter(|(_, value)| value.is_empty())
            .map(|(name, _)| name)
            .collect();
        info(
            terminal,
            &format!(
                "Bundle {} information not provided, inferring from parent package directory",
                missing.join(" and ")
            ),
        );
        let inferred = Inferred::read(&self.directory).map_err(|error| {
            Failure::new(format!(
                "please manually input channels and packageName, error interpreting bundle from directory {}, {error}",
                self.directory.display()
            ))
        })?;
        if self.channels.is_empty() {
            self.channels = inferred.channels.join(",");
            if self.channels.is_empty() {
                return Err(Failure::new(
                    "error interpreting channels, please manually input channels instead",
                ));
            }
            info(terminal, &format!("Inferred channels: {}", self.channels));
        }
        if self.package.is_empty() {
            self.package = inferred.package;
            info(terminal, &format!("Inferred package name: {}", self.package));
        }
        if self.default_channel.is_empty() {
            self.default_channel = inferred.default_channel;
            info(
                terminal,
                &format!("Inferred default channel: {}", self.default_channel),
            );
        }
        Ok(())
    }

    /// What is said of the bundle, in the order of the Dockerfile.
    fn statements(&self, media_type: MediaType) -> Vec<(String, &str)> {
        let mut statements = vec![
            ("mediatype.v1", media_type.name()),
            ("manifests.v1", MANIFESTS),
            ("metadata.v1", METADATA),
            ("package.v1", &self.package),
            ("channels.v1", &self.channels),
        ];
        if !self.default_channel.is_empty() {
            statements.push(("channel.default.v1", &self.default_channel));
        }
        statements
            .into_iter()
            .map(|(name, value)| (format!("{PREFIX}{name}"), value))
            .collect()
    }

    fn dockerfile(&self, media_type: MediaType, manifests: &Path, metadata: &Path) -> String {
        // Writing to a String can't fail, here and below.
        let mut text = format!("FROM {}\n\n", self.base_image);
        for (name, value) in self.statements(media_type) {
            let _ = writeln!(text, "LABEL {name}={value}");
        }
        if !self.default_channel.is_empty() {
            text.push('\n');
        }
        for (path, place) in [(manifests, "/manifests/"), (metadata, "/metadata/")] {
            let path = relative(&self.working_directory, path);
            let _ = writeln!(text, "COPY {} {place}", path.display());
        }
        text
    }

    /// Writes the annotations, and the manifests where they are to be copied; returns where both are.
    fn write_bundle(
        &self,
        files: &BundleFiles,
        annotations: &str,
        terminal: &mut Terminal,
    ) -> Result<(PathBuf, PathBuf), Failure> {
        let (manifests, parent) = match &self.output {
            None => {
                let parent = self.directory.parent().unwrap_or(&self.directory);
                (self.directory.clone(), parent)
            }
            Some(output) => {
                info(terminal, "Generating output manifests directory");
                let manifests = output.join("manifests");
                self.copy(files, &manifests)?;
                (manifests, output.as_path())
            }
        };
        let metadata = parent.join("metadata");
        let path = metadata.join(ANNOTATIONS);
        match fs::read(&path) {
            Ok(existing) if !self.overwrite => {
                info(
                    terminal,
                    &format!("An annotations.yaml already exists in the directory: {METADATA}"),
                );
                info(terminal, "Validating existing annotations.yaml");
                compare(&existing, annotations.as_bytes())?;
            }
            Err(error) if !self.overwrite && error.kind() != io::ErrorKind::NotFound => {
                return Err(Failure::new(cannot("open", &path, &error)));
            }
            _ => write(&path, annotations.as_bytes(), terminal)?,
        }
        Ok((manifests, metadata))
    }

    fn copy(&self, files: &BundleFiles, to: &Path) -> Result<(), Failure> {
        let copies: Vec<(PathBuf, Vec<u8>)> = files
            .iter()
            .map(|(path, bytes)| (to.join(path), bytes.to_vec()))
            .filter(|(path, _)| self.overwrite || !path.exists())
            .collect();
        fs::create_dir_all(to).map_err(|error| Failure::new(cannot("mkdir", to, &error)))?;
        written_files::write_all(&copies).map_err(|error| Failure::new(cannot("open", to, &error)))
    }
}

/// Refuses annotations that lack something, or say something else.
fn compare(existing: &[u8], expected: &[u8]) -> Result<(), Failure> {
    let (existing, expected) = (goyaml::to_value(existing)?, goyaml::to_value(expected)?);
    let mut faults = Vec::new();
    for (name, value) in expected["annotations"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        match existing["annotations"].get(name) {
            None => faults.push(format!("Missing field: {name}")),
            Some(found) => {
                let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
                if found != value {
                    faults.push(format!(
                        "Expect field {} to have value {} instead of {}",
                        quoted(name),
                        quoted(value),
                        quoted(found)
                    ));
                }
            }
        }
    }
    match faults.as_slice() {
        [] => Ok(()),
        [only] => Err(Failure::new(only.clone())),
        several => Err(Failure::new(format!("[{}]", several.join(", ")))),
    }
}

fn write(path: &Path, text: &[u8], terminal: &mut Terminal) -> Result<(), Failure> {
    let (name, folder) = (
        path.file_name().unwrap_or_default(),
        path.parent().unwrap_or(path),
    );
    info(
        terminal,
        &format!("Writing {} in {}", name.display(), folder.display()),
    );
    written_files::write(path, |file| file.write_all(text))
        .map_err(|error: io::Error| Failure::new(cannot("open", path, &error)))
}

pub(super) fn info(terminal: &mut Terminal, message: &str) {
    terminal.remark(log_line("info", message, &[]));
}
