//! Paths of a container on a machine that has no container.
//!
//! A real pod is a plain process: nothing is mounted for it, and `/` is the machine's. The files of its image are unpacked
//! in one directory and its volumes in others, so the absolute paths that the pod and its image name are rewritten where
//! the node sees them: in the command, its arguments, the environment and the working directory. A program that has an
//! absolute path compiled in finds the root of its image in `BATON_ROOT`.

use std::path::{Path, PathBuf};

/// The variable that names the root of the image.
pub const ROOT_VARIABLE: &str = "BATON_ROOT";

/// Where paths of a container really are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    /// The files of the image.
    pub root: PathBuf,
    /// Where volumes are mounted, and where they really are.
    pub mounts: Vec<(String, PathBuf)>,
}

impl Paths {
    /// Returns the paths of a container; the longest mount path comes first, because it wins.
    pub fn new(root: &Path, mut mounts: Vec<(String, PathBuf)>) -> Self {
        mounts.sort_by(|(one, _), (other, _)| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        Self {
            root: root.to_owned(),
            mounts,
        }
    }

    /// Returns where a path of the container really is: in a volume, or in the image.
    pub fn inside(&self, path: &str) -> PathBuf {
        self.in_volume(path)
            .unwrap_or_else(|| self.root.join(without_parents(path)))
    }

    /// Returns where a path of the container really is, if that is in a volume.
    pub fn in_volume(&self, path: &str) -> Option<PathBuf> {
        self.mounts.iter().find_map(|(mounted, place)| {
            let rest = path.strip_prefix(mounted.trim_end_matches('/'))?;
            match rest.strip_prefix('/') {
                Some(rest) => Some(place.join(without_parents(rest))),
                None => rest.is_empty().then(|| place.clone()),
            }
        })
    }

    /// Returns a text with the absolute paths in it that the container has: as a whole, after `=`, or between colons.
    pub fn rewrite(&self, text: &str) -> String {
        if let Some((name, value)) = text.split_once('=')
            && !name.contains('/')
        {
            return format!("{name}={}", self.rewrite_list(value));
        }
        self.rewrite_list(text)
    }

    /// Returns the value of a variable with the paths in it that the container has.
    pub fn rewrite_value(&self, text: &str) -> String {
        self.rewrite_list(text)
    }

    fn rewrite_list(&self, text: &str) -> String {
        // A URL has a colon and slashes too.
        if text.contains("://") {
            return text.to_owned();
        }
        text.split(':')
            .map(|part| self.rewrite_one(part))
            .collect::<Vec<_>>()
            .join(":")
    }

    fn rewrite_one(&self, path: &str) -> String {
        if !path.starts_with('/') {
            return path.to_owned();
        }
        if let Some(place) = self.in_volume(path) {
            return place.display().to_string();
        }
        let in_image = self.root.join(without_parents(path));
        let is_of_image = path.len() > 1 && in_image.exists();
        if is_of_image {
            in_image.display().to_string()
        } else {
            path.to_owned()
        }
    }
}

/// Returns a path that stays below where it is joined to.
fn without_parents(path: &str) -> PathBuf {
    path.split('/')
        .filter(|part| !part.is_empty() && !matches!(*part, "." | ".."))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_volumes_and_of_the_image_are_rewritten_and_others_stay() {
        let image = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(image.path().join("opt/helm")).expect("a directory");
        std::fs::write(image.path().join("opt/helm/watches.yaml"), "").expect("a file");
        let root = image.path().display().to_string();
        let paths = Paths::new(
            image.path(),
            vec![
                ("/etc".to_owned(), PathBuf::from("/v/outer")),
                ("/etc/config/".to_owned(), PathBuf::from("/v/inner")),
            ],
        );
        for (text, expected) in [
            ("/etc/config/a", "/v/inner/a".to_owned()),
            ("/etc/config", "/v/inner".to_owned()),
            ("/etc/configuration", "/v/outer/configuration".to_owned()),
            ("/etc/../../x", "/v/outer/x".to_owned()),
            ("/etcetera", "/etcetera".to_owned()),
            ("--file=/etc/config/a", "--file=/v/inner/a".to_owned()),
            ("/opt/helm/watches.yaml", format!("{root}/opt/helm/watches.yaml")),
            ("/opt/none", "/opt/none".to_owned()),
            ("/opt/helm:/etc", format!("{root}/opt/helm:/v/outer")),
            ("https://example.com/etc", "https://example.com/etc".to_owned()),
            ("./watches.yaml", "./watches.yaml".to_owned()),
            ("/", "/".to_owned()),
        ] {
            assert_eq!(paths.rewrite(text), expected, "{text}");
        }
        assert_eq!(paths.inside("/opt/helm"), image.path().join("opt/helm"));
    }
}
