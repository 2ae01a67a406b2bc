//! The finished tree of an image, written to a directory.

use std::cell::RefCell;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::tree::{Kind, Tree, lexical};
use super::{Filter, Keep, UnpackError};

/// What the owner may do with every directory, as in OLM's own unpacking.
const OWNER_OF_DIRECTORY: u32 = 0o700;
/// What the owner may do with every file.
const OWNER_OF_FILE: u32 = 0o600;
/// The bits of a mode that are taken over: not those that make programs run as somebody else.
const PERMISSIONS: u32 = 0o777;

/// A directory beside the target, in which the content is gathered and put together; it is removed when it is dropped.
pub(super) struct Workplace {
    target: PathBuf,
    directory: tempfile::TempDir,
    files: u64,
}

/// The content of a file in the workplace, which goes away when no path needs it any more.
pub(super) struct Gathered {
    at: RefCell<PathBuf>,
    published: RefCell<bool>,
}

impl Drop for Gathered {
    fn drop(&mut self) {
        if !*self.published.borrow() {
            let _ = fs::remove_file(&*self.at.borrow());
        }
    }
}

impl Workplace {
    pub(super) fn beside(target: &Path) -> Result<Self, UnpackError> {
        let occupied = match fs::read_dir(target) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => error.kind() != io::ErrorKind::NotFound || target.is_symlink(),
        };
        if occupied {
            return Err(UnpackError::Occupied {
                target: target.to_path_buf(),
            });
        }
        let parent = match target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| UnpackError::Write { path, source }
        };
        fs::create_dir_all(parent).map_err(failed(parent))?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let directory = tempfile::Builder::new()
            .prefix(&format!(".{name}.unpacking-"))
            .tempdir_in(parent)
            .map_err(failed(parent))?;
        for part in ["tree", "files"] {
            let path = directory.path().join(part);
            fs::create_dir(&path).map_err(failed(&path))?;
        }
        Ok(Self {
            target: target.to_path_buf(),
            directory,
            files: 0,
        })
    }

    /// Puts the tree together and moves it to the target.
    pub(super) fn publish(self, tree: &Tree<Rc<Gathered>>, filter: &Filter) -> Result<(), UnpackError> {
        let root = self.directory.path().join("tree");
        // Nothing is written after the first link exists, so that nothing can be written through one.
        for links in [false, true] {
            for (path, node) in tree.nodes() {
                let is_link = matches!(node.kind, Kind::Symlink(_));
                let wanted = filter.wants(path) || matches!(node.kind, Kind::Directory);
                if is_link == links && wanted {
                    write(&root, path, &node.kind, node.mode).map_err(|source| UnpackError::Write {
                        path: self.target.join(path),
                        source,
                    })?;
                }
            }
        }
        fs::set_permissions(&root, Permissions::from_mode(0o755))
            .and_then(|()| fs::rename(&root, &self.target))
            .map_err(|source| match source.kind() {
                io::ErrorKind::DirectoryNotEmpty
                | io::ErrorKind::AlreadyExists
                | io::ErrorKind::NotADirectory => UnpackError::Occupied {
                    target: self.target.clone(),
                },
                _ => UnpackError::Write {
                    path: self.target.clone(),
                    source,
                },
            })
    }
}

impl Keep for Workplace {
    type Content = Rc<Gathered>;

    fn keep(&mut self, size: u64, content: &mut dyn Read) -> io::Result<Self::Content> {
        let path = self.directory.path().join("files").join(self.files.to_string());
        self.files += 1;
        let mut file = fs::File::create_new(&path)?;
        let gathered = Rc::new(Gathered {
            at: RefCell::new(path),
            published: RefCell::new(false),
        });
        let copied = io::copy(content, &mut file)?;
        if copied != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(gathered)
    }
}

fn write(root: &Path, path: &str, kind: &Kind<Rc<Gathered>>, mode: u32) -> io::Result<()> {
    let at = root.join(path);
    let mode = mode & PERMISSIONS;
    match kind {
        Kind::Directory => {
            fs::create_dir(&at)?;
            fs::set_permissions(&at, Permissions::from_mode(mode | OWNER_OF_DIRECTORY))
        }
        Kind::File(content) => {
            let mut published = content.published.borrow_mut();
            if *published {
                return fs::hard_link(&*content.at.borrow(), &at);
            }
            fs::rename(&*content.at.borrow(), &at)?;
            *published = true;
            fs::set_permissions(&at, Permissions::from_mode(mode | OWNER_OF_FILE))?;
            *content.at.borrow_mut() = at;
            Ok(())
        }
        Kind::Symlink(target) => symlink(safe_target(path, target), &at),
    }
}

/// The target of a link, such that following it on disk never leads out of the directory.
///
/// A target that goes up only at its start, and not beyond the root, is safe as it is: the link lies in a real directory
/// that deep, and every further link on the way is of the same kind. Any other target is replaced by where it leads in
/// an image whose root is the directory.
fn safe_target(link: &str, target: &str) -> String {
    let directory = link.rsplit_once('/').map_or("", |(directory, _)| directory);
    let depth = directory
        .split('/')
        .filter(|component| !component.is_empty())
        .count();
    let components: Vec<_> = target.split('/').collect();
    let climbs = components
        .iter()
        .take_while(|component| **component == "..")
        .count();
    let is_safe = !target.starts_with('/')
        && climbs <= depth
        && components.iter().skip(climbs).all(|component| *component != "..");
    if is_safe {
        return target.to_owned();
    }
    let inside = lexical(directory, target);
    let mut safe = "../".repeat(depth);
    safe.push_str(if inside.is_empty() { "." } else { &inside });
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_links_stay_within_the_directory() {
        for (link, target, expected) in [
            ("l", "file", "file"),
            ("a/b/l", "../../file", "../../file"),
            ("a/l", "./b//c", "./b//c"),
            ("l", "/etc/passwd", "etc/passwd"),
            ("a/b/l", "/etc/passwd", "../../etc/passwd"),
            ("l", "../etc/passwd", "etc/passwd"),
            ("a/l", "../../../etc", "../etc"),
            ("a/l", "b/../../..", "../."),
            ("a/l", "/", "../."),
            ("l", "..", "."),
        ] {
            assert_eq!(safe_target(link, target), expected, "{link} -> {target}");
        }
    }
}
