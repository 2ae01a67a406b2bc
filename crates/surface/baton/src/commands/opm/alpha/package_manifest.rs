//! What a bundle's package and channels are, told from the package manifest beside its directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use goyaml::ReadOptions;
use serde_json::Value;

use crate::commands::opm::references::cannot;

const KIND: &str = "ClusterServiceVersion";

/// The most bytes a file beside bundles may have to be looked into; the largest bundle has 6.8 MB.
const MAXIMUM_BYTES: u64 = 64 << 20;

/// What the package manifest says of a bundle.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inferred {
    pub(super) package: String,
    /// The channels that the bundle is in, by name.
    pub(super) channels: Vec<String>,
    pub(super) default_channel: String,
}

impl Inferred {
    /// Looks into the directory above a bundle's.
    pub(super) fn read(bundle: &Path) -> Result<Self, String> {
        let own = Version::read(bundle)
            .map_err(|error| format!("error loading CSV from bundle directory, {error}"))?;
        let package = bundle.parent().unwrap_or(bundle);
        let replaced = replaced(package)
            .map_err(|error| format!("error getting CSVs from bundles in the package directory, {error}"))?;
        let manifest = manifest(package).map_err(|error| {
            format!("error parsing package.yaml file in the package root directory, {error}")
        })?;
        let channels: Vec<(&str, &str)> = manifest["channels"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|channel| (text(&channel["name"]), text(&channel["currentCSV"])))
            .collect();
        let mut of_bundle: Vec<String> = channels
            .iter()
            .filter(|(_, head)| below(head, &replaced).contains(own.name.as_str()))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        of_bundle.sort();
        of_bundle.dedup();
        let default_channel = match (text(&manifest["defaultChannel"]), channels.as_slice()) {
            ("", [(only, _)]) => only,
            (named, _) => named,
        };
        Ok(Self {
            package: text(&manifest["packageName"]).to_owned(),
            channels: of_bundle,
            default_channel: default_channel.to_owned(),
        })
    }
}

/// What is needed of a `ClusterServiceVersion`.
struct Version {
    name: String,
    /// What it skips and replaces.
    replaces: Vec<String>,
}

impl Version {
    /// Finds the one in a directory.
    fn read(directory: &Path) -> Result<Self, String> {
        let shown = directory.display();
        let (files, _) =
            entries(directory).map_err(|error| format!("error reading bundle directory {shown}, {error}"))?;
        let mut found = None;
        for object in files.iter().filter_map(|file| object(file).ok()) {
            if object["kind"].as_str() != Some(KIND) {
                continue;
            }
            if found.is_some() {
                return Err("more than one ClusterServiceVersion is found in bundle".to_owned());
            }
            let skips = object["spec"]["skips"].as_array().into_iter().flatten();
            found = Some(Self {
                name: text(&object["metadata"]["name"]).to_owned(),
                replaces: skips
                    .chain([&object["spec"]["replaces"]])
                    .map(text)
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
            });
        }
        found.ok_or_else(|| format!("no ClusterServiceVersion object found in {shown}"))
    }
}

/// What the bundles of a package skip and replace, by name.
fn replaced(package: &Path) -> Result<BTreeMap<String, Vec<String>>, String> {
    let (_, directories) = entries(package)?;
    directories
        .iter()
        .map(|directory| {
            let version = Version::read(directory)?;
            Ok((version.name, version.replaces))
        })
        .collect()
}

/// A bundle and everything that it leads back to.
fn below<'a>(head: &'a str, replaced: &'a BTreeMap<String, Vec<String>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next = vec![head];
    while let Some(name) = next.pop() {
        if found.insert(name) {
            next.extend(replaced.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

/// The first file of a directory that is a package manifest.
fn manifest(package: &Path) -> Result<Value, String> {
    let (files, _) = entries(package)?;
    let mut faults = Vec::new();
    for file in files {
        let fault = match object(&file) {
            Ok(manifest) if !text(&manifest["packageName"]).is_empty() => return Ok(manifest),
            Ok(_) => "name of package (packageName) is missing".to_owned(),
            Err(error) => format!("could not decode contents into package manifest - {error}"),
        };
        faults.push(format!(
            "error parsing {} as package.yaml file, {fault}",
            file.display()
        ));
    }
    let faults = match faults.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Err(format!(
        "valid PackageManifest YAML file not found in {}, {faults}",
        package.display()
    ))
}

/// The files and the directories in a directory, by name.
fn entries(directory: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), String> {
    let failed = |error| cannot("open", directory, &error);
    let mut paths = fs::read_dir(directory)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    paths.sort();
    Ok(paths.into_iter().partition(|path| !path.is_dir()))
}

/// The first document of a file.
fn object(path: &Path) -> Result<Value, String> {
    let read = || {
        if fs::metadata(path)?.len() > MAXIMUM_BYTES {
            return Err(std::io::Error::other("file too large"));
        }
        fs::read(path)
    };
    let bytes = read().map_err(|error| cannot("open", path, &error))?;
    let first = goyaml::documents(&bytes).next().ok_or("EOF")?;
    first
        .and_then(|document| document.to_value(ReadOptions::default()))
        .map_err(|error| error.to_string())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(name: &str, more: &str) -> String {
        format!("kind: ClusterServiceVersion\nmetadata:\n  name: {name}\nspec:\n  version: 1.0.0\n{more}")
    }

    #[test]
    fn a_bundle_is_in_every_channel_whose_head_leads_back_to_it() {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, content) in [
            (
                "a.package.yaml",
                "packageName: a\nchannels:\n- {name: stable, currentCSV: a.v3}\n- {name: beta, currentCSV: a.v2}\n\
                 - {name: old, currentCSV: a.v1}\ndefaultChannel: beta\n"
                    .to_owned(),
            ),
            ("1/csv.yaml", version("a.v1", "")),
            ("2/csv.yaml", version("a.v2", "  replaces: a.v1\n")),
            ("3/csv.yaml", version("a.v3", "  skips: [a.v2]\n")),
            ("3/notes.txt", "- not an object\n".to_owned()),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, content).expect("a file");
        }
        let channels = |bundle: &str| {
            Inferred::read(&folder.path().join(bundle))
                .expect("a package")
                .channels
        };
        assert_eq!(channels("1"), ["beta", "old", "stable"]);
        assert_eq!(channels("2"), ["beta", "stable"]);
        let newest = Inferred::read(&folder.path().join("3")).expect("a package");
        assert_eq!(
            newest,
            Inferred {
                package: "a".to_owned(),
                channels: vec!["stable".to_owned()],
                default_channel: "beta".to_owned()
            }
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let bundle = folder.path().join("1");
        fs::create_dir_all(&bundle).expect("a directory");
        let error = Inferred::read(&bundle).expect_err("no version");
        assert!(error.starts_with(
            "error loading CSV from bundle directory, no ClusterServiceVersion object found in"
        ));
        fs::write(bundle.join("csv.yaml"), version("a.v1", "")).expect("a file");
        fs::write(folder.path().join("x.yaml"), "a: b\n").expect("a file");
        let error = Inferred::read(&bundle).expect_err("no package");
        assert!(
            error.ends_with("name of package (packageName) is missing"),
            "{error}"
        );
    }
}
