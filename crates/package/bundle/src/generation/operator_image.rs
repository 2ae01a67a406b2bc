//! The images of an operator: its own, which is baton with the charts and nothing else, and that of its bundle.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use image::build::{self, ARCHITECTURES, BuildError, BuiltImage, ImageSettings};
use image::content::ContentStore;
use image::layer::{Compression, Layer, LayerError, LayerFiles};
use image::program::{BUILT_BY_BATON_LABEL, Program, ProgramError};

use super::GeneratedBundle;
use super::project::Project;
use super::watches::WATCHES_FILE;

/// Where the program is in the image.
const PROGRAM: &str = "/baton";

/// Where charts and watches are in the image; operators have always had them there.
const HOME: &str = "/opt/helm";

/// The user that the operator runs as: nobody in particular, and not root.
const USER: &str = "65532:65532";

/// Why an image could not be made.
#[derive(Debug, thiserror::Error)]
pub enum OperatorImageError {
    /// No binary was given.
    #[error(
        "the operator's image needs a baton binary for at least one architecture; give one with --binary amd64=PATH"
    )]
    NoBinary,
    /// A binary is no program for an image.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A binary is for another architecture.
    #[error("binary {} is for {actual}, not for {architecture}; correct the architecture or the file", path.display())]
    WrongBinary {
        /// The file.
        path: PathBuf,
        /// The architecture that it was given for.
        architecture: String,
        /// The architecture that it is for.
        actual: &'static str,
    },
    /// A layer couldn't be made.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The image couldn't be put together.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// What an operator's image holds.
#[derive(Debug, Clone)]
pub struct OperatorImage {
    /// The binary of each architecture.
    pub binaries: BTreeMap<String, PathBuf>,
    /// The charts and `watches.yaml`.
    pub content: LayerFiles,
    /// What the image says of itself.
    pub settings: ImageSettings,
    /// What is odd about the binaries, though an image can be made.
    pub warnings: Vec<String>,
}

impl OperatorImage {
    /// Describes the image of a tree's operator; `generated` is the bundle that will run it.
    pub fn new(
        project: &Project,
        generated: &GeneratedBundle,
        binaries: BTreeMap<String, PathBuf>,
    ) -> Result<Self, OperatorImageError> {
        if binaries.is_empty() {
            return Err(OperatorImageError::NoBinary);
        }
        let mut warnings = Vec::new();
        for (architecture, path) in &binaries {
            let program = Program::read(path)?;
            if program.architecture != architecture {
                return Err(OperatorImageError::WrongBinary {
                    path: path.clone(),
                    architecture: architecture.clone(),
                    actual: program.architecture,
                });
            }
            if program.is_dynamic {
                warnings.push(format!(
                    "{} needs libraries that the image doesn't have; build it with -C target-feature=+crt-static",
                    path.display()
                ));
            }
        }
        let mut content = LayerFiles::new();
        content.add_bytes(
            &format!("{HOME}/{WATCHES_FILE}"),
            generated.watches_text.clone(),
            0o644,
        )?;
        for watched in &project.watched {
            let place = format!(
                "{HOME}/{}",
                watched.watch.chart.trim_start_matches("./").trim_end_matches('/')
            );
            match &watched.archive {
                Some(archive) => content.add_bytes(&place, archive.clone(), 0o644)?,
                None => {
                    for file in watched.chart.raw.iter() {
                        content.add_bytes(&format!("{place}/{}", file.name), file.data.to_vec(), 0o644)?;
                    }
                }
            }
        }
        let version = generated.name.split_once(".v").map_or("", |(_, version)| version);
        let labels = BTreeMap::from([
            (
                "org.opencontainers.image.title".to_owned(),
                generated.package.clone(),
            ),
            ("org.opencontainers.image.version".to_owned(), version.to_owned()),
            (BUILT_BY_BATON_LABEL.to_owned(), PROGRAM.to_owned()),
        ]);
        let settings = ImageSettings {
            labels,
            entrypoint: [PROGRAM, "operator", "run", "--watches-file=./watches.yaml"]
                .map(str::to_owned)
                .to_vec(),
            environment: vec![format!("HOME={HOME}")],
            working_directory: Some(HOME.to_owned()),
            user: Some(USER.to_owned()),
            ..ImageSettings::default()
        };
        Ok(Self {
            binaries,
            content,
            settings,
            warnings,
        })
    }

    /// Makes the image in a store: one for a single architecture, an index for several.
    pub fn build(&self, store: &ContentStore) -> Result<BuiltImage, OperatorImageError> {
        let mut programs = BTreeMap::new();
        for (architecture, path) in &self.binaries {
            programs.insert(
                architecture.clone(),
                program_layer(path, store, Compression::Gzip)?,
            );
        }
        self.build_on(&programs, store)
    }

    /// Makes the image in a store on layers that hold the programs, by architecture.
    pub fn build_on(
        &self,
        programs: &BTreeMap<String, Layer>,
        store: &ContentStore,
    ) -> Result<BuiltImage, OperatorImageError> {
        let content = self.content.write(store, Compression::Gzip)?;
        let mut images = Vec::new();
        for (architecture, program) in programs {
            images.push(build::image(
                store,
                &self.settings,
                architecture,
                &[program.clone(), content.clone()],
            )?);
        }
        match images.as_slice() {
            [only] => Ok(only.clone()),
            several => Ok(build::index(store, &self.settings, several)?),
        }
    }
}

/// Makes the layer that holds the program: one of its own, because versions of an operator share it, and differ in the
/// chart.
pub fn program_layer(
    path: &Path,
    store: &ContentStore,
    compression: Compression,
) -> Result<Layer, OperatorImageError> {
    let mut program = LayerFiles::new();
    program.add_file(PROGRAM, path, 0o755)?;
    Ok(program.write(store, compression)?)
}

/// Makes the image of a bundle in a store: one layer, for every architecture that operators run on.
pub fn bundle_image(
    files: &BTreeMap<String, Vec<u8>>,
    labels: &BTreeMap<String, String>,
    store: &ContentStore,
) -> Result<BuiltImage, OperatorImageError> {
    let mut content = LayerFiles::new();
    for (path, bytes) in files {
        content.add_bytes(path, bytes.clone(), 0o644)?;
    }
    let layer = content.write(store, Compression::Gzip)?;
    let settings = ImageSettings {
        labels: labels.clone(),
        working_directory: Some("/".to_owned()),
        ..ImageSettings::default()
    };
    Ok(build::for_architectures(
        store,
        &settings,
        &ARCHITECTURES,
        &[layer],
    )?)
}
