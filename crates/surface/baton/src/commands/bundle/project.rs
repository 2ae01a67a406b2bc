//! The author's tree: what is read of it, and which version of the operator it is to become.

use std::path::{Path, PathBuf};

use bundle::files::BundleFiles;
use bundle::generation::chart_check::{self, ChartCheck};
use bundle::generation::permissions::PERMISSIONS_FILE;
use bundle::generation::{self, ChartSources, Definitions, GeneratedBundle, NameSuffix, Options, Project};
use clap::Args;

use super::{charts, creation_time};
use crate::arguments::comma_separated;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::written_files;

/// Which version of the operator is made, and of what.
#[derive(Args, Clone)]
#[command(next_help_heading = "Operator")]
pub(crate) struct ProjectFlags {
    /// The author's tree, with its watches.yaml
    #[arg(short = 'C', long, value_name = "FOLDER", default_value = ".")]
    directory: PathBuf,
    /// The operator's version
    #[arg(long, value_name = "VERSION", env = "VERSION", hide_env_values = true)]
    version: String,
    /// The custom resource's version; must be the one that watches.yaml has
    #[arg(long, value_name = "VERSION", env = "CRD_VERSION", hide_env_values = true)]
    crd_version: Option<String>,
    /// The operator's image
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// The chart, if it is elsewhere than watches.yaml says: DIRECTORY, or NAME=DIRECTORY where there are several
    #[arg(long = "chart", value_name = "CHART")]
    charts: Vec<String>,
    /// The package, if it is not the tree's
    #[arg(long, value_name = "PACKAGE")]
    package: Option<String>,
    /// The channels that the bundle says it is for
    #[arg(long, value_name = "CHANNELS")]
    channels: Vec<String>,
    /// The channel for who names none
    #[arg(long, value_name = "CHANNEL")]
    default_channel: Option<String>,
    /// What the names of the operator's objects end with: version, none, or a text
    #[arg(long, value_name = "SUFFIX", default_value = "version")]
    name_suffix: String,
    /// Leave the custom resource's definition out of the bundle and write it to crds/
    #[arg(long)]
    separate_crds: bool,
    /// Let the pinned permissions change, and write them anew
    #[arg(long)]
    pub(crate) update_permissions: bool,
    /// Where the bundle is, below the tree
    #[arg(long, value_name = "FOLDER", default_value = "bundle")]
    output_dir: PathBuf,
}

/// A tree that was read and whose charts work, and the bundle that comes of it.
pub(crate) struct Generated {
    pub(crate) project: Project,
    pub(crate) bundle: GeneratedBundle,
    /// The checks of the charts that were allowed to fail, and did.
    pub(crate) allowed: Vec<ChartCheck>,
}

impl ProjectFlags {
    /// Where the bundle is.
    pub(crate) fn bundle_directory(&self) -> PathBuf {
        self.directory.join(&self.output_dir)
    }

    /// A path in the tree.
    pub(crate) fn in_tree(&self, path: impl AsRef<Path>) -> PathBuf {
        self.directory.join(path)
    }

    /// Reads the tree, checks its charts and makes the bundle, without writing anything.
    pub(crate) fn generate(
        &self,
        architectures: Vec<String>,
        allowed: Vec<ChartCheck>,
        terminal: &mut Terminal,
    ) -> Result<Generated, Failure> {
        let project = Project::read(&self.directory, &chart_sources(&self.charts))?;
        let report = chart_check::check(&project, &[]);
        charts::admit(&report, &allowed, terminal)?;
        let mut options = Options::new(&self.version, &self.image);
        options.definition_version.clone_from(&self.crd_version);
        options.package.clone_from(&self.package);
        if !self.channels.is_empty() {
            options.channels = comma_separated("--channels", &self.channels)?;
        }
        options.default_channel.clone_from(&self.default_channel);
        options.name_suffix = match self.name_suffix.as_str() {
            "version" => NameSuffix::Version,
            "none" | "" => NameSuffix::None,
            text => NameSuffix::Text(text.to_owned()),
        };
        if self.separate_crds {
            options.definitions = Definitions::Separate;
        }
        options.architectures = architectures;
        options.created_at = creation_time::of(&self.directory, &project, terminal)?;
        options.update_permissions = self.update_permissions;
        let bundle = generation::generate(&project, &options)?;
        Ok(Generated {
            project,
            bundle,
            allowed,
        })
    }

    /// Writes the bundle, unless the one in the tree is the same already.
    pub(crate) fn write_if_changed(&self, generated: &GeneratedBundle) -> Result<(), Failure> {
        let directory = self.bundle_directory();
        let existing = if directory.is_dir() {
            BundleFiles::read_directory(&directory)?
        } else {
            BundleFiles::default()
        };
        let is_same = |(path, bytes): (&String, &Vec<u8>)| existing.get(path) == Some(bytes.as_slice());
        if generated.files.iter().all(is_same) && !self.update_permissions {
            Ok(())
        } else {
            self.write(generated, false)
        }
    }

    /// Writes the bundle and what belongs beside it; files of an older bundle that are in it no more are removed.
    pub(crate) fn write(&self, generated: &GeneratedBundle, dockerfile: bool) -> Result<(), Failure> {
        let directory = self.bundle_directory();
        let mut files: Vec<(PathBuf, Vec<u8>)> = generated
            .files
            .iter()
            .map(|(path, bytes)| (directory.join(path), bytes.clone()))
            .collect();
        for (name, bytes) in &generated.definitions {
            files.push((self.in_tree("crds").join(name), bytes.clone()));
        }
        if self.update_permissions || !self.in_tree(PERMISSIONS_FILE).is_file() {
            files.push((
                self.in_tree(PERMISSIONS_FILE),
                generated.permissions_file.clone().into_bytes(),
            ));
        }
        if dockerfile {
            files.push((
                self.in_tree("bundle.Dockerfile"),
                generated.dockerfile.clone().into_bytes(),
            ));
        }
        let told = |error: std::io::Error| {
            Failure::new(format!(
                "cannot write the bundle to {}: {error}",
                directory.display()
            ))
        };
        let stale: Vec<PathBuf> = match BundleFiles::read_directory(&directory) {
            Ok(existing) => {
                let in_bundle = |path: &&str| path.starts_with("manifests/") || path.starts_with("metadata/");
                let names = existing.iter().map(|(path, _)| path).filter(in_bundle);
                names
                    .filter(|path| !generated.files.contains_key(*path))
                    .map(|path| directory.join(path))
                    .collect()
            }
            Err(_) => Vec::new(),
        };
        written_files::write_all(&files).map_err(told)?;
        stale.iter().try_for_each(std::fs::remove_file).map_err(told)
    }
}

/// Where charts are, from `DIRECTORY` and `NAME=DIRECTORY`.
pub(super) fn chart_sources(words: &[String]) -> ChartSources {
    let mut sources = ChartSources::default();
    for word in words {
        match word.split_once('=') {
            Some((name, path)) => drop(sources.by_name.insert(name.to_owned(), PathBuf::from(path))),
            None => sources.only = Some(PathBuf::from(word)),
        }
    }
    sources
}
