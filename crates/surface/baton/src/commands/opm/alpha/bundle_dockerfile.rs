//! The Dockerfile of a bundle, as far as bundles need one: labels, and directories that are copied.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use bundle::files::BundleFiles;

use crate::commands::opm::references::cannot;
use crate::failure::Failure;
use crate::written_files::stays_inside;

/// The image with nothing in it, on which bundles stand.
const SCRATCH: &str = "scratch";

/// The label that tells the package.
const PACKAGE_LABEL: &str = "operators.operatorframework.io.bundle.package.v1";

/// What a bundle's Dockerfile says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BundleDockerfile {
    pub(super) labels: BTreeMap<String, String>,
    /// What is copied, from the working directory and to the image.
    copies: Vec<(PathBuf, String)>,
}

impl BundleDockerfile {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| Failure::new(cannot("open", path, &error)))?;
        Self::parse(&text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut dockerfile = Self::default();
        let joined = text.replace("\\\n", " ");
        for line in joined.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (instruction, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let refused = |why: &str| {
                Err(format!(
                    "line {line:?} can't be built without a container tool: {why}"
                ))
            };
            match instruction.to_ascii_uppercase().as_str() {
                "FROM" if rest.trim() == SCRATCH => {}
                "FROM" => return refused("bundle images stand on scratch; leave --base-image out"),
                "LABEL" => dockerfile.labels.extend(labels(rest)?),
                "COPY" | "ADD" => {
                    let words: Vec<&str> = rest.split_whitespace().collect();
                    let [from, to] = words.as_slice() else {
                        return refused("it must name one path and the place for it in the image");
                    };
                    if from.starts_with("--") || !stays_inside(to.trim_start_matches('/')) {
                        return refused("it must name one path and the place for it in the image");
                    }
                    dockerfile
                        .copies
                        .push((PathBuf::from(from), to.trim_matches('/').to_owned()));
                }
                _ => return refused("a bundle's image has only labels and copied files"),
            }
        }
        Ok(dockerfile)
    }

    /// Whether everything that another Dockerfile copies is copied here too, to the same places, for the same package: then this
    /// is what an author has made of the other.
    pub(super) fn is_of_the_bundle_of(&self, other: &Self) -> bool {
        let is_copied = |(from, to): &(PathBuf, String)| {
            let mut copies = self.copies.iter();
            copies.any(|copy| copy.1 == *to && is_same_path(&copy.0, from))
        };
        other.copies.iter().all(is_copied)
            && self.labels.get(PACKAGE_LABEL) == other.labels.get(PACKAGE_LABEL)
    }

    /// The files of the image by their path in it.
    pub(super) fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let mut files = BTreeMap::new();
        for (from, to) in &self.copies {
            let below = |path: &str| {
                if to.is_empty() {
                    path.to_owned()
                } else {
                    format!("{to}/{path}")
                }
            };
            let found = fs::metadata(from).map_err(|error| Failure::new(cannot("stat", from, &error)))?;
            if found.is_dir() {
                let copied = BundleFiles::read_directory(from)?;
                files.extend(copied.iter().map(|(path, bytes)| (below(path), bytes.to_vec())));
            } else {
                let bytes = fs::read(from).map_err(|error| Failure::new(cannot("open", from, &error)))?;
                let name = from.file_name().unwrap_or_default().to_string_lossy();
                files.insert(below(&name), bytes);
            }
        }
        Ok(files)
    }
}

/// Whether two paths lead to the same place, whatever they are called.
fn is_same_path(one: &Path, other: &Path) -> bool {
    if let (Ok(one), Ok(other)) = (fs::canonicalize(one), fs::canonicalize(other)) {
        return one == other;
    }
    let named = |path: &Path| -> PathBuf {
        let components = path.components();
        components
            .filter(|part| !matches!(part, Component::CurDir))
            .collect()
    };
    named(one) == named(other)
}

/// Reads `key=value` pairs, where either may be quoted.
fn labels(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut characters = text.trim().chars().peekable();
    while characters.peek().is_some() {
        let (mut word, mut quote) = (String::new(), None);
        let mut key = None;
        for character in characters.by_ref() {
            match (character, quote) {
                ('"' | '\'', None) => quote = Some(character),
                (character, Some(open)) if character == open => quote = None,
                ('=', None) if key.is_none() => key = Some(std::mem::take(&mut word)),
                (blank, None) if blank.is_whitespace() => break,
                (character, _) => word.push(character),
            }
        }
        match key {
            Some(key) if quote.is_none() => found.push((key, word)),
            None if word.is_empty() => {}
            _ => return Err(format!("label {text:?} is not written as key=value")),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_copies_are_read() {
        let dockerfile = BundleDockerfile::parse(
            "FROM scratch\n\n# Core.\nLABEL a.b=c d=\"e f\" \\\n  g='h=i'\nLABEL \"x\"=\"\"\nCOPY bundle/manifests /manifests/\nadd x y/z\n",
        )
        .expect("a Dockerfile");
        let labels = [("a.b", "c"), ("d", "e f"), ("g", "h=i"), ("x", "")];
        assert_eq!(
            dockerfile.labels,
            labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into()
        );
        assert_eq!(
            dockerfile.copies,
            [
                (PathBuf::from("bundle/manifests"), "manifests".to_owned()),
                (PathBuf::from("x"), "y/z".to_owned())
            ]
        );
    }

    #[test]
    fn a_dockerfile_is_of_the_bundle_that_it_copies() {
        let own = "FROM scratch\nLABEL operators.operatorframework.io.bundle.package.v1=demo\nCOPY a/manifests /manifests/\nCOPY a/metadata /metadata/\n";
        let parse = |text: &str| BundleDockerfile::parse(text).expect("a Dockerfile");
        for (text, expected) in [
            (own.to_owned(), true),
            (
                format!("{own}LABEL more=1\nCOPY a/tests/scorecard /tests/scorecard/\n"),
                true,
            ),
            (own.replace("COPY a/", "COPY ./a/"), true),
            (own.replace("COPY a/", "COPY b/"), false),
            (own.replace("COPY a/metadata /metadata/\n", ""), false),
            (own.replace("=demo", "=other"), false),
        ] {
            assert_eq!(parse(&text).is_of_the_bundle_of(&parse(own)), expected, "{text}");
        }
    }

    #[test]
    fn what_needs_a_container_tool_is_refused() {
        for line in [
            "FROM alpine",
            "RUN make",
            "COPY a b c",
            "COPY a /../b",
            "LABEL a",
            "LABEL a=\"b",
        ] {
            assert!(BundleDockerfile::parse(line).is_err(), "{line}");
        }
    }
}
