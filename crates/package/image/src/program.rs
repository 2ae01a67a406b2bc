//! Programs that go into images: which architecture one is for, and whether it runs without anything else.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The label of images whose program is baton: a node of baton's own runs them as processes.
pub const BUILT_BY_BATON_LABEL: &str = "dev.baton.image.program";

/// What a Linux program says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// The architecture as images name it, such as `amd64`.
    pub architecture: &'static str,
    /// Whether it needs a dynamic linker and libraries, which an image made from nothing doesn't have.
    pub is_dynamic: bool,
}

/// Why a file is not a program for an image.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The file can't be read.
    #[error("cannot read binary {}: {cause}; give a static program for Linux", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        cause: std::io::Error,
    },
    /// The file is something else.
    #[error("binary {} is no Linux program: {cause}; give a static program for Linux", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        cause: String,
    },
}

/// The type of the program header that names a dynamic linker.
const INTERPRETER: u64 = 3;

impl Program {
    /// Reads the ELF header of a file.
    ///
    /// # Errors
    ///
    /// When it can't be read, or isn't a 64-bit Linux program for an architecture that images are made for.
    pub fn read(path: &Path) -> Result<Self, ProgramError> {
        let unreadable = |cause| ProgramError::Unreadable {
            path: path.to_owned(),
            cause,
        };
        let foreign = |cause: &str| ProgramError::Foreign {
            path: path.to_owned(),
            cause: cause.to_owned(),
        };
        let mut file = File::open(path).map_err(unreadable)?;
        let mut header = [0; 64];
        file.read_exact(&mut header)
            .map_err(|_| foreign("it is too short"))?;
        let is_big_endian = match header.strip_prefix(b"\x7fELF\x02") {
            Some([1, ..]) => false,
            Some([2, ..]) => true,
            _ => return Err(foreign("it is no 64-bit ELF file")),
        };
        let number = |bytes: &[u8]| {
            let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
            if is_big_endian {
                bytes.iter().fold(0, add)
            } else {
                bytes.iter().rev().fold(0, add)
            }
        };
        let architecture = match (number(&header[18..20]), is_big_endian) {
            (62, false) => "amd64",
            (183, false) => "arm64",
            (21, false) => "ppc64le",
            (22, true) => "s390x",
            (243, false) => "riscv64",
            (machine, _) => {
                return Err(foreign(&format!(
                    "it is for a machine without images (ELF machine {machine})"
                )));
            }
        };
        let (start, size, count) = (
            number(&header[32..40]),
            number(&header[54..56]),
            number(&header[56..58]),
        );
        let mut is_dynamic = false;
        for place in 0..count {
            let mut kind = [0; 4];
            file.seek(SeekFrom::Start(start.saturating_add(place * size)))
                .and_then(|_| file.read_exact(&mut kind))
                .map_err(|_| foreign("it is cut off"))?;
            is_dynamic |= number(&kind) == INTERPRETER;
        }
        Ok(Self {
            architecture,
            is_dynamic,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: u16, headers: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&u16::try_from(headers.len()).expect("few").to_le_bytes());
        for kind in headers {
            bytes.extend(kind.to_le_bytes());
            bytes.extend([0; 52]);
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Program, ProgramError> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("written");
        Program::read(file.path())
    }

    #[test]
    fn a_program_says_its_architecture_and_whether_it_is_static() {
        assert_eq!(
            read(&elf(62, &[1, 1])).expect("a program"),
            Program {
                architecture: "amd64",
                is_dynamic: false
            }
        );
        assert_eq!(
            read(&elf(183, &[1, 3])).expect("a program"),
            Program {
                architecture: "arm64",
                is_dynamic: true
            }
        );
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        for (bytes, reason) in [
            (b"#!/bin/sh\n".to_vec(), "too short"),
            (vec![b'x'; 100], "no 64-bit ELF file"),
            (elf(40, &[]), "ELF machine 40"),
            (elf(62, &[1])[..70].to_vec(), ""),
        ] {
            match read(&bytes) {
                Err(error) => assert!(error.to_string().contains(reason), "{error}"),
                Ok(program) => assert!(reason.is_empty(), "{program:?}"),
            }
        }
        assert!(read(&elf(62, &[1])[..66]).is_err(), "cut off in a program header");
    }
}
