//! Binaries that go into images: which architecture each is for, and that it runs without anything else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use image::program::Program;

use crate::failure::Failure;

/// Where an image with a program is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Anywhere: the program must need nothing that the image doesn't have.
    Anywhere,
    /// On a stage of this machine, whose libraries the program may need.
    ThisMachine,
}

/// Static programs by the architecture that they run on.
#[derive(Debug, Default)]
pub(crate) struct Binaries(BTreeMap<&'static str, PathBuf>);

impl Binaries {
    /// Reads `[ARCHITECTURE=]FILE` words; the file itself says which architecture it is for.
    pub(crate) fn parse(words: &[String]) -> Result<Self, Failure> {
        Self::parse_for(words, Reach::Anywhere)
    }

    fn parse_for(words: &[String], reach: Reach) -> Result<Self, Failure> {
        let mut binaries = BTreeMap::new();
        for word in words {
            let (stated, file) = match word.split_once('=') {
                Some((architecture, file)) => (Some(architecture), Path::new(file)),
                None => (None, Path::new(word.as_str())),
            };
            let program = Program::read(file)?;
            if program.is_dynamic && reach == Reach::Anywhere {
                return Err(Failure::new(format!(
                    "binary {} needs libraries that the image does not have; link it statically",
                    file.display()
                )));
            }
            if let Some(stated) = stated.filter(|stated| *stated != program.architecture) {
                return Err(Failure::new(format!(
                    "binary {} is for {}, not for {stated}: correct the architecture or the file",
                    file.display(),
                    program.architecture
                )));
            }
            if binaries.insert(program.architecture, file.to_owned()).is_some() {
                return Err(Failure::new(format!(
                    "two binaries are for {}: give one for each architecture",
                    program.architecture
                )));
            }
        }
        Ok(Self(binaries))
    }

    /// The given binaries, or this program itself when there are none.
    pub(crate) fn parse_or_own(words: &[String], reach: Reach) -> Result<Self, Failure> {
        if !words.is_empty() {
            return Self::parse_for(words, reach);
        }
        let own = std::env::current_exe()
            .map_err(|error| Failure::new(format!("cannot find this program's file: {error}")))?;
        let program = Program::read(&own)?;
        if program.is_dynamic && reach == Reach::Anywhere {
            return Err(Failure::new(format!(
                "{} needs libraries that an operator image does not have; give a static one with --binary FILE, \
                 made by RUSTFLAGS='-C target-feature=+crt-static' cargo build --release --target {}-unknown-linux-gnu, \
                 or try it on this machine alone with --for-this-machine",
                own.display(),
                std::env::consts::ARCH
            )));
        }
        Ok(Self(BTreeMap::from([(program.architecture, own)])))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.0
            .iter()
            .map(|(architecture, file)| (*architecture, file.as_path()))
    }
}
