//! Binaries that go into images: which architecture each is for, and that it runs without anything else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use image::program::Program;
use image::reference::Reference;
use image::remote::is_loopback;

use crate::failure::Failure;

/// Where an image with a program is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Anywhere: the program must need nothing that the image doesn't have.
    Anywhere,
    /// On a stage of this machine, whose libraries the program may need.
    ThisMachine,
    /// Nobody said where, and the image goes to a registry of this machine: where no program was given either, this one is
    /// taken as it is, because who has built it here could only say so, too.
    RegistryOfThisMachine,
}

impl Reach {
    /// What a flag says, or else the name of the image.
    pub(crate) fn of(for_this_machine: bool, image: &Reference) -> Self {
        if for_this_machine {
            Self::ThisMachine
        } else if is_loopback(image.registry()) {
            Self::RegistryOfThisMachine
        } else {
            Self::Anywhere
        }
    }
}

/// Programs by the architecture that they run on.
#[derive(Debug, Default)]
pub(crate) struct Binaries {
    programs: BTreeMap<&'static str, PathBuf>,
    /// What whoever builds an image with them should know.
    remark: Option<String>,
}

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
            if program.is_dynamic && reach != Reach::ThisMachine {
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
        Ok(Self {
            programs: binaries,
            remark: None,
        })
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
        let remark = (program.is_dynamic && reach == Reach::RegistryOfThisMachine).then(|| {
            format!(
                "the operator's image gets {}, which needs libraries of this machine: the operator runs with baton up or baton stage \
                 here, and nowhere else; --binary FILE takes a static program, which runs anywhere",
                own.display()
            )
        });
        Ok(Self {
            programs: BTreeMap::from([(program.architecture, own)]),
            remark,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// What whoever builds an image with these programs should know.
    pub(crate) fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.programs
            .iter()
            .map(|(architecture, file)| (*architecture, file.as_path()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_for_a_registry_of_this_machine_is_for_this_machine() {
        let reach = |flag, image| Reach::of(flag, &Reference::parse(image).expect("a name"));
        for (flag, image, expected) in [
            (true, "registry.example.com/a:1", Reach::ThisMachine),
            (true, "localhost:5000/a:1", Reach::ThisMachine),
            (false, "localhost:5000/a:1", Reach::RegistryOfThisMachine),
            (false, "127.0.0.1:5000/a:1", Reach::RegistryOfThisMachine),
            (false, "registry.example.com/a:1", Reach::Anywhere),
            (false, "10.0.0.1:5000/a:1", Reach::Anywhere),
        ] {
            assert_eq!(reach(flag, image), expected, "{flag} {image}");
        }
    }
}
