//! The images of an operator: its own, which is baton with the charts and nothing else, and that of its bundle.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use image::build::{self, ARCHITECTURES, BuildError, BuiltImage, ImageSettings};
use image::content::ContentStore;
use image::layer::{Compression, LayerError, LayerFiles};

use super::GeneratedBundle;
use super::project::Project;
use super::watches::WATCHES_FILE;

/// Where the program is in the image.
const PROGRAM: &str = "/baton";

/// Where charts and watches are in the image; operators have always had them there.
const HOME: &str = "/opt/helm";

/// The user that the operator runs as: nobody in particular, and not root.
const USER: &str = "65532:65532";

/// How many program headers of a binary are looked at; real ones have a dozen.
const MAXIMUM_HEADERS: u16 = 256;

/// Why an image could not be made.
#[derive(Debug, thiserror::Error)]
pub enum OperatorImageError {
    /// No binary was given.
    #[error(
        "the operator's image needs a baton binary for at least one architecture; give one with --binary amd64=PATH"
    )]
    NoBinary,
    /// A binary can't be read.
    #[error("cannot read the binary {} for {architecture}: {cause}; give a static baton binary for Linux", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The architecture that it was given for.
        architecture: String,
        /// What the file system said.
        cause: std::io::Error,
    },
    /// A binary is no Linux program for the architecture.
    #[error("{} is no Linux program for {architecture}: {cause}; give a static baton binary for Linux on {architecture}", path.display())]
    WrongBinary {
        /// The file.
        path: PathBuf,
        /// The architecture that it was given for.
        architecture: String,
        /// What it is instead.
        cause: String,
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
            if is_dynamic(path, architecture)? {
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
        let content = self.content.write(store, Compression::Gzip)?;
        let mut images = Vec::new();
        for (architecture, path) in &self.binaries {
            // A layer of its own, because versions of an operator share the program, and differ in the chart.
            let mut program = LayerFiles::new();
            program.add_file(PROGRAM, path, 0o755)?;
            let program = program.write(store, Compression::Gzip)?;
            images.push(build::image(
                store,
                &self.settings,
                architecture,
                &[program, content.clone()],
            )?);
        }
        match images.as_slice() {
            [only] => Ok(only.clone()),
            several => Ok(build::index(store, &self.settings, several)?),
        }
    }
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

/// The machine that an ELF header names for an architecture, and whether its numbers are big-endian.
fn machine(architecture: &str) -> Option<(u16, bool)> {
    match architecture {
        "amd64" => Some((62, false)),
        "arm64" => Some((183, false)),
        "ppc64le" => Some((21, false)),
        "s390x" => Some((22, true)),
        "riscv64" => Some((243, false)),
        _ => None,
    }
}

/// Whether a binary for Linux needs a dynamic linker, which an image from nothing doesn't have.
fn is_dynamic(path: &Path, architecture: &str) -> Result<bool, OperatorImageError> {
    let unreadable = |cause| OperatorImageError::Unreadable {
        path: path.to_owned(),
        architecture: architecture.to_owned(),
        cause,
    };
    let wrong = |cause: &str| OperatorImageError::WrongBinary {
        path: path.to_owned(),
        architecture: architecture.to_owned(),
        cause: cause.to_owned(),
    };
    let (expected, big_endian) =
        machine(architecture).ok_or_else(|| wrong("baton knows no such architecture"))?;
    let mut file = File::open(path).map_err(unreadable)?;
    let mut header = [0_u8; 64];
    let mut read = 0;
    while let Some(rest) = header.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read(rest).map_err(unreadable)? {
            0 => return Err(wrong("it is too short")),
            count => read += count,
        }
    }
    if !header.starts_with(b"\x7fELF\x02") {
        return Err(wrong("it is no 64-bit ELF file"));
    }
    if (header[5] == 2) != big_endian {
        return Err(wrong("it has the wrong byte order"));
    }
    let number = |bytes: &[u8]| {
        let fold = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if big_endian {
            bytes.iter().fold(0, fold)
        } else {
            bytes.iter().rev().fold(0, fold)
        }
    };
    let found = number(&header[18..20]) as u16;
    if found != expected {
        return Err(wrong(&format!("it is for ELF machine {found}, not {expected}")));
    }
    let (offset, size, count) = (
        number(&header[32..40]),
        number(&header[54..56]),
        (number(&header[56..58]) as u16).min(MAXIMUM_HEADERS),
    );
    for index in 0..u64::from(count) {
        const INTERPRETER: u64 = 3;
        let mut kind = [0_u8; 4];
        let at = offset.saturating_add(index * size);
        file.seek(SeekFrom::Start(at)).map_err(unreadable)?;
        if file.read_exact(&mut kind).is_err() {
            return Err(wrong("it is cut off"));
        }
        if number(&kind) == INTERPRETER {
            return Ok(true);
        }
    }
    Ok(false)
}
