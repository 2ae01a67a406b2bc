//! The example's tree, which is in the program, and its published versions.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::written_files;

/// Every file of the tree, by its path in it.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/example.rs"));

/// The catalog's template.
const TEMPLATE: &str = "catalog/operator_catalog.yaml";

/// The custom resource that shows what the operator can do.
const SAMPLE: &str = "config/samples/inferencestack.yaml";

/// What the names of the example's images begin with in its files.
const IMAGES: &str = "registry.example.com/models/";

/// What the name of each image begins with.
pub(super) const IMAGE: &str = "inference-stack-operator";

/// A version that was published.
#[derive(Debug, Clone, Copy)]
pub(super) struct Published {
    pub(super) version: &'static str,
    /// When, in seconds since 1970: the same bundle each time.
    pub(super) at: i64,
    /// Its chart.
    pub(super) chart: &'static str,
}

/// Every published version, as the example's Makefile has them.
pub(super) const VERSIONS: [Published; 3] = [
    Published {
        version: "1.0.0",
        at: 1_746_057_600,
        chart: "versions/1.0.0/chart",
    },
    Published {
        version: "1.1.0",
        at: 1_754_006_400,
        chart: "versions/1.1.0/chart",
    },
    Published {
        version: "2.0.0",
        at: 1_764_547_200,
        chart: "chart",
    },
];

/// Writes the tree into a folder.
pub(super) fn write(folder: &Path) -> Result<(), Failure> {
    let files: Vec<(PathBuf, Vec<u8>)> = FILES
        .iter()
        .map(|(name, bytes)| (folder.join(name), bytes.to_vec()))
        .collect();
    written_files::write_all(&files).map_err(|error| {
        Failure::new(format!(
            "cannot write the example to {}: {error}",
            folder.display()
        ))
    })
}

/// The name of one of the example's images in a registry.
pub(super) fn image(registry: &str, ending: &str, tag: &str) -> String {
    format!("{registry}/{IMAGE}{ending}:{tag}")
}

/// The template of the catalog, with the images where this registry has them.
pub(super) fn template(registry: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(file(TEMPLATE));
    text.replace(IMAGES, &format!("{registry}/")).into_bytes()
}

/// The custom resource.
pub(super) fn sample() -> &'static [u8] {
    file(SAMPLE)
}

fn file(name: &str) -> &'static [u8] {
    let found = FILES.iter().find(|(path, _)| *path == name);
    found.map_or(b"", |(_, bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use catalog::template::Template;

    use super::*;

    fn tree() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/inference-stack")
    }

    #[test]
    fn the_versions_are_those_of_the_examples_makefile() {
        let makefile = std::fs::read_to_string(tree().join("Makefile")).expect("a file");
        let published = makefile
            .lines()
            .find_map(|line| line.strip_prefix("PUBLISHED = "))
            .expect("the published versions");
        let ours: Vec<String> = VERSIONS
            .iter()
            .map(|one| format!("{}@{}@{}", one.version, one.at, one.chart))
            .collect();
        assert_eq!(published, ours.join(" "));
    }

    #[test]
    fn the_catalog_names_the_images_that_are_published() {
        let template = Template::parse(&template("127.0.0.1:5000"), None).expect("a template");
        let expected: Vec<String> = VERSIONS
            .iter()
            .map(|one| image("127.0.0.1:5000", "-bundle", one.version))
            .collect();
        let mut named = template.references();
        named.sort_unstable();
        named.dedup();
        assert_eq!(named, expected);
    }

    #[test]
    fn the_whole_tree_is_in_the_program() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path()).expect("a tree");
        for name in [
            "watches.yaml",
            "chart/.helmignore",
            "chart/templates/_helpers.tpl",
            SAMPLE,
            TEMPLATE,
        ] {
            let written = std::fs::read(folder.path().join(name)).expect("a file");
            assert_eq!(
                written,
                std::fs::read(tree().join(name)).expect("a file"),
                "{name}"
            );
        }
        assert!(goyaml::to_value(sample()).expect("YAML").is_object());
    }
}
