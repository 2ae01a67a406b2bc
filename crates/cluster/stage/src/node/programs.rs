//! Which file a program of a container is: one of its image, never one of this machine that happens to have its name.
//!
//! A pod is a process without a container around it, so to the kernel `/bin/sh` is this machine's shell. Whoever may create
//! a pod would run it with the rights of whoever started the server. So a program is looked for in the files of its image
//! alone, links and the interpreters of scripts included; what lies in a volume is no program, because whoever may create a
//! `ConfigMap` writes it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use super::paths::Paths;

/// How many links lead to a file, as Linux has it: more are a circle.
const MOST_LINKS: usize = 40;

/// How many scripts interpret each other, as Linux has it.
const MOST_INTERPRETERS: usize = 5;

/// How much of a script says what interprets it, as Linux has it.
const LONGEST_FIRST_LINE: u64 = 256;

/// What helps whoever wants a program of this machine.
const REMEDY: &str =
    "only programs of the pod's image run; with --host-programs those of this machine do too";

/// Returns whether a variable has the kernel's loader bring code of its choice into any program, whatever the program is.
pub fn brings_code(variable: &str) -> bool {
    variable.starts_with("LD_")
}

/// Says why a pod may not set a variable that brings code into programs.
pub fn refused_variable(variable: &str) -> String {
    format!("env {variable} would bring code into the program; {REMEDY}")
}

/// A program that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Its file.
    pub file: PathBuf,
    /// What it is called by.
    pub name: PathBuf,
    /// What comes before its arguments: the script that it interprets.
    pub first_arguments: Vec<PathBuf>,
}

impl Program {
    fn of(file: PathBuf) -> Self {
        Self {
            name: file.clone(),
            file,
            first_arguments: Vec::new(),
        }
    }
}

/// Where the programs of a container are.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// Where the paths of the container are.
    pub paths: Paths,
    /// The folders of programs that are named without one, as the container's `PATH` has them.
    pub search: String,
    /// Where the container starts, as a path in it.
    pub directory: String,
    /// Whether this machine's programs do where the image hasn't one.
    pub accepts_host: bool,
}

/// Why a program isn't run, in the words of runc.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// The image doesn't have it.
    #[error("exec: \"{0}\": stat {0}: no such file or directory; {remedy}", remedy = REMEDY)]
    Missing(String),
    /// No folder of `PATH` has it.
    #[error("exec: \"{0}\": executable file not found in $PATH; {remedy}", remedy = REMEDY)]
    NotInPath(String),
    /// It isn't a file.
    #[error("exec: \"{0}\": is a directory")]
    Directory(String),
    /// It may not be run, or reading it failed.
    #[error("exec: \"{0}\": {1}")]
    Unusable(String, String),
    /// It lies in a volume.
    #[error("exec: \"{0}\": permission denied: it lies in a volume; {remedy}", remedy = REMEDY)]
    InVolume(String),
    /// What interprets the script isn't there.
    #[error("exec: \"{0}\": its interpreter: {1}")]
    Interpreter(String, Box<NoProgram>),
}

impl Programs {
    /// Finds a program by what a pod or an image calls it.
    pub fn find(&self, program: &str) -> Result<Program, NoProgram> {
        // Programs of images are Linux's: elsewhere this program stands in for the one that baton's images have.
        if !cfg!(target_os = "linux")
            && program == "/baton"
            && let Ok(own) = std::env::current_exe()
        {
            return Ok(Program::of(own));
        }
        match self.in_image(program, MOST_INTERPRETERS) {
            Err(_) if self.accepts_host => Ok(Program::of(self.paths.rewrite(program).into())),
            found => found,
        }
    }

    /// Returns the value of `PATH` for what a program starts itself.
    pub fn search_path(&self) -> String {
        if self.accepts_host {
            return self.paths.rewrite_value(&self.search);
        }
        let folders = self.search.split(':').filter(|folder| folder.starts_with('/'));
        let of_image = folders.filter(|folder| self.paths.in_volume(folder).is_none());
        let inside = of_image.map(|folder| self.paths.inside(folder).display().to_string());
        inside.collect::<Vec<_>>().join(":")
    }

    fn in_image(&self, program: &str, most: usize) -> Result<Program, NoProgram> {
        if program.contains('/') {
            return self.at(program, most);
        }
        // As everywhere, what can't be run is passed over.
        let mut folders = self.search.split(':').filter(|folder| folder.starts_with('/'));
        folders
            .find_map(|folder| self.at(&format!("{folder}/{program}"), most).ok())
            .ok_or_else(|| NoProgram::NotInPath(program.to_owned()))
    }

    fn at(&self, program: &str, most: usize) -> Result<Program, NoProgram> {
        let named = || program.to_owned();
        let whole = if program.starts_with('/') {
            named()
        } else {
            format!("{}/{program}", self.directory)
        };
        if self.paths.in_volume(&whole).is_some() {
            return Err(NoProgram::InVolume(named()));
        }
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NoProgram::Missing(named()),
            _ => NoProgram::Unusable(named(), error.to_string()),
        };
        let file = follow(&self.paths.root, &whole).map_err(failed)?;
        let metadata = fs::metadata(&file).map_err(failed)?;
        if metadata.is_dir() {
            return Err(NoProgram::Directory(named()));
        }
        if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
            return Err(NoProgram::Unusable(named(), "permission denied".to_owned()));
        }
        let Some((interpreter, argument)) = interpreter(&file).map_err(failed)? else {
            return Ok(Program {
                // Some programs do what they are called, so the name isn't that of the file which links lead to.
                name: self.paths.inside(&whole),
                ..Program::of(file)
            });
        };
        // The kernel would look for it on this machine.
        let interpreted = |why| NoProgram::Interpreter(named(), Box::new(why));
        let Some(fewer) = most.checked_sub(1) else {
            return Err(NoProgram::Unusable(
                named(),
                "too many levels of interpreters".to_owned(),
            ));
        };
        let mut found = self.at(&interpreter, fewer).map_err(interpreted)?;
        found.first_arguments.extend(argument.map(PathBuf::from));
        found.first_arguments.push(file);
        Ok(found)
    }
}

/// Returns where a path of an image leads, its links followed as if the image were all that there is.
fn follow(root: &Path, path: &str) -> io::Result<PathBuf> {
    fn parts(path: &Path) -> Vec<Option<OsString>> {
        let parts = path.components().filter_map(|part| match part {
            Component::Normal(part) => Some(Some(part.to_owned())),
            Component::ParentDir => Some(None),
            _ => None,
        });
        parts.rev().collect()
    }
    let mut left = parts(Path::new(path));
    let mut at = PathBuf::new();
    let mut links = 0;
    while let Some(part) = left.pop() {
        let Some(part) = part else {
            at.pop();
            continue;
        };
        let next = at.join(part);
        let real = root.join(&next);
        if !fs::symlink_metadata(&real)?.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::other("too many levels of symbolic links"));
        }
        let target = fs::read_link(&real)?;
        if target.is_absolute() {
            at = PathBuf::new();
        }
        left.extend(parts(&target));
    }
    Ok(root.join(at))
}

/// Returns what interprets a script, and the one argument that it gets before the script; `None` for other programs.
fn interpreter(file: &Path) -> io::Result<Option<(String, Option<String>)>> {
    let mut start = Vec::new();
    fs::File::open(file)?
        .take(LONGEST_FIRST_LINE)
        .read_to_end(&mut start)?;
    let Some(line) = start.strip_prefix(b"#!") else {
        return Ok(None);
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    let (interpreter, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let argument = Some(argument.trim().to_owned()).filter(|argument| !argument.is_empty());
    Ok(Some((interpreter.to_owned(), argument)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Image(tempfile::TempDir);

    impl Image {
        fn new() -> Self {
            let image = Self(tempfile::tempdir().expect("a directory"));
            for (path, mode, text) in [
                ("usr/bin/box", 0o755, "\u{7f}ELF"),
                ("usr/bin/text", 0o644, "no program"),
                ("opt/run", 0o755, "#!/bin/sh -e \necho\n"),
                ("opt/twice", 0o755, "#! /opt/run\n"),
                ("opt/host", 0o755, "#!/bin/bash\n"),
                ("opt/circle", 0o755, "#!/opt/circle\n"),
            ] {
                let file = image.at(path);
                fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                fs::write(&file, text).expect("written");
                fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("its mode");
            }
            for (link, target) in [
                ("bin", "usr/bin"),
                ("usr/bin/sh", "/usr/bin/box"),
                ("usr/bin/up", "../../../../../../usr/bin/box"),
                ("usr/bin/machine", "/etc/passwd"),
                ("usr/bin/round", "round"),
            ] {
                symlink(target, image.at(link)).expect("a link");
            }
            image
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn programs(&self, accepts_host: bool) -> Programs {
            let volume = ("/scripts".to_owned(), self.at("opt"));
            Programs {
                paths: Paths::new(self.0.path(), vec![volume]),
                search: "/scripts:/opt:bin:/usr/bin".to_owned(),
                directory: "/opt".to_owned(),
                accepts_host,
            }
        }
    }

    #[test]
    fn a_program_is_a_file_of_its_image_and_nothing_else() {
        let image = Image::new();
        let programs = image.programs(false);
        let file = image.at("usr/bin/box");
        for (program, name, first_arguments) in [
            ("/usr/bin/box", "usr/bin/box", vec![]),
            ("/bin/sh", "bin/sh", vec![]),
            ("sh", "usr/bin/sh", vec![]),
            ("up", "usr/bin/up", vec![]),
            ("/opt/../usr/bin/box", "opt/usr/bin/box", vec![]),
            ("./run", "bin/sh", vec![PathBuf::from("-e"), image.at("opt/run")]),
            ("run", "bin/sh", vec![PathBuf::from("-e"), image.at("opt/run")]),
            (
                "/opt/twice",
                "bin/sh",
                vec![PathBuf::from("-e"), image.at("opt/run"), image.at("opt/twice")],
            ),
        ] {
            let expected = Program {
                file: file.clone(),
                name: image.at(name),
                first_arguments,
            };
            assert_eq!(programs.find(program), Ok(expected), "{program}");
        }
        for (program, expected) in [
            (
                "/bin/bash",
                format!("exec: \"/bin/bash\": stat /bin/bash: no such file or directory; {REMEDY}"),
            ),
            (
                "/../../../../../bin/cat",
                format!(
                    "exec: \"/../../../../../bin/cat\": stat /../../../../../bin/cat: no such file or directory; {REMEDY}"
                ),
            ),
            (
                "machine",
                format!("exec: \"machine\": executable file not found in $PATH; {REMEDY}"),
            ),
            (
                "cat",
                format!("exec: \"cat\": executable file not found in $PATH; {REMEDY}"),
            ),
            ("/usr/bin", "exec: \"/usr/bin\": is a directory".to_owned()),
            ("/bin/text", "exec: \"/bin/text\": permission denied".to_owned()),
            (
                "/bin/round",
                "exec: \"/bin/round\": too many levels of symbolic links".to_owned(),
            ),
            (
                "/scripts/run",
                format!("exec: \"/scripts/run\": permission denied: it lies in a volume; {REMEDY}"),
            ),
            (
                "/opt/host",
                format!(
                    "exec: \"/opt/host\": its interpreter: exec: \"/bin/bash\": stat /bin/bash: no such file or directory; {REMEDY}"
                ),
            ),
        ] {
            let why = programs.find(program).map_err(|why| why.to_string());
            assert_eq!(why, Err(expected), "{program}");
        }
        let circle = programs.find("/opt/circle").map_err(|why| why.to_string());
        assert!(circle.is_err_and(|why| why.ends_with("too many levels of interpreters")));
    }

    #[test]
    fn programs_of_the_machine_stand_in_for_what_the_image_lacks_where_that_is_accepted() {
        let image = Image::new();
        let programs = image.programs(true);
        assert_eq!(programs.find("/bin/bash"), Ok(Program::of("/bin/bash".into())));
        assert_eq!(programs.find("cat"), Ok(Program::of("cat".into())));
        assert_eq!(
            programs.find("/scripts/run"),
            Ok(Program::of(image.at("opt/run")))
        );
        // What the image has stands before.
        let own = programs.find("/bin/sh").expect("the image's");
        assert_eq!(own.file, image.at("usr/bin/box"));
    }

    #[test]
    fn what_a_program_starts_itself_is_looked_for_in_its_image() {
        let image = Image::new();
        let root = image.0.path().display();
        assert_eq!(
            image.programs(false).search_path(),
            format!("{root}/opt:{root}/usr/bin")
        );
        let machine = Programs {
            search: "/usr/bin:/sbin".to_owned(),
            ..image.programs(true)
        };
        assert_eq!(machine.search_path(), format!("{root}/usr/bin:/sbin"));
    }
}
