//! Paths as Go's `filepath` cleans, completes and relates them: by their text alone.

use std::io;
use std::path::{Component, Path, PathBuf};

/// The shortest path that says the same.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match cleaned.components().next_back() {
                Some(Component::Normal(_)) => {
                    cleaned.pop();
                }
                Some(Component::RootDir) => {}
                _ => cleaned.push(component),
            },
            other => cleaned.push(other),
        }
    }
    if cleaned.as_os_str().is_empty() {
        cleaned.push(".");
    }
    cleaned
}

/// The path from the root.
pub(super) fn absolute(path: &Path) -> io::Result<PathBuf> {
    Ok(clean(&std::env::current_dir()?.join(path)))
}

/// How to get from one absolute, clean path to another.
pub(super) fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from
        .components()
        .zip(to.components())
        .take_while(|(one, other)| one == other)
        .count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to.components().skip(shared)).collect();
    clean(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_does() {
        for (path, cleaned) in [
            ("a/./b//c", "a/b/c"),
            ("./a/..", "."),
            ("a/../../b", "../b"),
            ("/../a", "/a"),
            ("../..", "../.."),
            ("", "."),
            ("a/", "a"),
        ] {
            assert_eq!(clean(Path::new(path)), Path::new(cleaned), "{path}");
        }
    }

    #[test]
    fn paths_are_related_as_go_does() {
        for (from, to, path) in [
            ("/a/b", "/a/b/c", "c"),
            ("/a/b", "/a/c/d", "../c/d"),
            ("/a", "/a", "."),
            ("/", "/a", "a"),
        ] {
            assert_eq!(
                relative(Path::new(from), Path::new(to)),
                Path::new(path),
                "{from} {to}"
            );
        }
    }
}
