//! What a word on the command line stands for: a directory, an image layout, a tar, or an image in a registry.

use std::path::{Path, PathBuf};

/// Where a bundle or a catalog is to be read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NamedSource {
    /// A directory with the files themselves.
    Directory(PathBuf),
    /// An image in an OCI layout: a directory, or a tar (also gzipped, also as `docker save` writes it).
    Layout {
        /// The directory or tar.
        path: PathBuf,
        /// Which of its images, where it has several.
        name: Option<String>,
    },
    /// An image in a registry, as it was written.
    Image(String),
}

impl NamedSource {
    /// Reads a word: `oci:DIR[:NAME]`, `oci-archive:FILE[:NAME]`, `docker-archive:FILE[:NAME]`, `docker://IMAGE`, an
    /// existing directory or tar, or else an image.
    pub(crate) fn parse(word: &str) -> Self {
        for scheme in ["oci:", "oci-archive:", "docker-archive:"] {
            if let Some(rest) = word.strip_prefix(scheme) {
                return Self::layout(rest);
            }
        }
        if let Some(image) = word.strip_prefix("docker://") {
            return Self::Image(image.to_owned());
        }
        let path = Path::new(word);
        if path.is_dir() {
            let is_layout = path.join("oci-layout").is_file() && path.join("index.json").is_file();
            return if is_layout {
                Self::layout(word)
            } else {
                Self::Directory(path.to_owned())
            };
        }
        let is_tar = [".tar", ".tar.gz", ".tgz"]
            .iter()
            .any(|ending| word.ends_with(ending));
        if is_tar && path.is_file() {
            Self::layout(word)
        } else {
            Self::Image(word.to_owned())
        }
    }

    /// Splits a name off a path; a path with a colon in it wins when it exists.
    fn layout(text: &str) -> Self {
        let whole = Self::Layout {
            path: PathBuf::from(text),
            name: None,
        };
        match text.split_once(':') {
            Some((path, name)) if !Path::new(text).exists() => Self::Layout {
                path: PathBuf::from(path),
                name: Some(name.to_owned()),
            },
            _ => whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_what_they_look_like() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::create_dir_all(path("bundle")).expect("a directory");
        std::fs::create_dir_all(path("layout")).expect("a directory");
        for file in ["layout/oci-layout", "layout/index.json", "image.tar"] {
            std::fs::write(path(file), "").expect("a file");
        }
        let layout = |text: &str, name: Option<&str>| NamedSource::Layout {
            path: PathBuf::from(text),
            name: name.map(str::to_owned),
        };
        let table = [
            (
                path("bundle"),
                NamedSource::Directory(PathBuf::from(path("bundle"))),
            ),
            (path("layout"), layout(&path("layout"), None)),
            (
                format!("oci:{}:1.0.0", path("layout")),
                layout(&path("layout"), Some("1.0.0")),
            ),
            (path("image.tar"), layout(&path("image.tar"), None)),
            (
                format!("docker-archive:{}", path("image.tar")),
                layout(&path("image.tar"), None),
            ),
            (
                "docker://quay.io/a/b:1".to_owned(),
                NamedSource::Image("quay.io/a/b:1".to_owned()),
            ),
            (
                "quay.io/a/b:1".to_owned(),
                NamedSource::Image("quay.io/a/b:1".to_owned()),
            ),
            (
                "missing.tar".to_owned(),
                NamedSource::Image("missing.tar".to_owned()),
            ),
        ];
        for (word, expected) in table {
            assert_eq!(NamedSource::parse(&word), expected, "{word}");
        }
    }
}
