//! What this program is made of: a bill of materials that is part of the program, as CycloneDX writes it.
//!
//! The list is generated from what Cargo links into the program and committed, and a test fails where it drifted. So the
//! program can tell it anywhere, and a change of what is linked shows in a review.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The list, as JSON.
pub const LIST: &str = include_str!("../materials.cdx.json");

/// How the list is written anew.
pub const REGENERATE: &str = "cargo run -p xtask -- materials";

/// The targets that images are made for; what is linked differs between them.
pub const TARGETS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// What Cargo is asked for what it links into the program for a target: crates by depth, each with its licence. Macros and
/// what they need run while compiling and aren't part of the program.
pub fn question(target: &str) -> Vec<String> {
    let mut words: Vec<String> =
        "tree --color never --package baton --locked --edges normal,no-proc-macro --prefix depth"
            .split(' ')
            .map(str::to_owned)
            .collect();
    words.extend([
        "--target".to_owned(),
        target.to_owned(),
        "--format".to_owned(),
        "{p}|{l}".to_owned(),
    ]);
    words
}

/// Why the list can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MaterialsError {
    /// Cargo said something else than expected.
    #[error("cannot read line {0:?} of cargo tree: expected a depth, a name, a version and a licence")]
    Line(String),
    /// The file with checksums can't be read.
    #[error("cannot read Cargo.lock: {0}")]
    Lock(String),
    /// The file with the compiler's version can't be read.
    #[error("cannot read rust-toolchain.toml: {0}")]
    Toolchain(String),
}

/// A crate that is linked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Linked {
    name: String,
    version: String,
    /// Whether it is one of the house, and so in no registry.
    is_ours: bool,
    licence: String,
}

impl Linked {
    /// Reads `name vVERSION (/path)|LICENCE (*)`.
    fn read(text: &str) -> Option<Self> {
        let (package, licence) = text.split_once('|')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        let licence = licence.trim_end_matches(" (*)").trim();
        Some(Self {
            name: name.to_owned(),
            version: version.to_owned(),
            is_ours: words.next().is_some_and(|place| place.starts_with("(/")),
            // An older way to write the same.
            licence: licence.replace('/', " OR "),
        })
    }

    /// How lists call it. A crate of the house has a name that strangers in a registry may have too.
    fn reference(&self) -> String {
        if self.is_ours {
            format!("baton/{}@{}", self.name, self.version)
        } else {
            format!("pkg:cargo/{}@{}", self.name, self.version)
        }
    }

    fn component(&self, kind: &str, checksums: &BTreeMap<(String, String), String>) -> Value {
        let mut component = json!({
            "type": kind, "bom-ref": self.reference(), "name": self.name, "version": self.version,
        });
        if !self.licence.is_empty() {
            component["licenses"] = json!([{"expression": self.licence}]);
        }
        if self.is_ours {
            component["group"] = "baton".into();
        } else {
            component["purl"] = self.reference().into();
        }
        if let Some(checksum) = checksums.get(&(self.name.clone(), self.version.clone())) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        component
    }
}

/// Makes the list of Cargo's answers to [`question`] for each target, `Cargo.lock` and `rust-toolchain.toml`.
pub fn list(answers: &[String], lock: &str, toolchain: &str) -> Result<String, MaterialsError> {
    let mut edges: BTreeMap<Linked, BTreeSet<String>> = BTreeMap::new();
    let mut root = None;
    for answer in answers {
        let mut above: Vec<Linked> = Vec::new();
        for line in answer.lines().filter(|line| !line.is_empty()) {
            let unread = || MaterialsError::Line(line.to_owned());
            let digits = line.chars().take_while(char::is_ascii_digit).count();
            let depth: usize = line[..digits].parse().map_err(|_| unread())?;
            let linked = Linked::read(&line[digits..]).ok_or_else(unread)?;
            above.truncate(depth);
            match above.last() {
                Some(user) => {
                    edges.entry(user.clone()).or_default().insert(linked.reference());
                }
                None => root = Some(linked.clone()),
            }
            edges.entry(linked.clone()).or_default();
            above.push(linked);
        }
    }
    let root = root.ok_or_else(|| MaterialsError::Line(String::new()))?;
    let checksums = checksums(lock)?;
    let standard = standard_library(toolchain)?;
    edges
        .entry(root.clone())
        .or_default()
        .extend(standard["bom-ref"].as_str().map(str::to_owned));
    let libraries = edges.keys().filter(|linked| **linked != root);
    let components: Vec<Value> = libraries
        .map(|linked| linked.component("library", &checksums))
        .chain([standard])
        .collect();
    let dependencies: Vec<Value> = edges
        .iter()
        .filter(|(_, uses)| !uses.is_empty())
        .map(|(linked, uses)| json!({"ref": linked.reference(), "dependsOn": uses}))
        .collect();
    // A line for each, so that a change shows as itself.
    let lines = |values: &[Value]| {
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        lines.join(",\n")
    };
    Ok(format!(
        "{{\"$schema\":\"http://cyclonedx.org/schema/bom-1.6.schema.json\",\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.6\",\
         \"version\":1,\"metadata\":{{\"component\":{}}},\n\"components\":[\n{}\n],\n\"dependencies\":[\n{}\n]}}\n",
        root.component("application", &checksums),
        lines(&components),
        lines(&dependencies)
    ))
}

/// The checksums of crates, by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>, MaterialsError> {
    #[derive(serde::Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    #[derive(serde::Deserialize)]
    struct Locked {
        name: String,
        version: String,
        checksum: Option<String>,
    }
    let lock: Lock = toml::from_str(lock).map_err(|error| MaterialsError::Lock(error.to_string()))?;
    let checksums = lock
        .package
        .into_iter()
        .filter_map(|locked| Some(((locked.name, locked.version), locked.checksum?)));
    Ok(checksums.collect())
}

/// The library that comes with the compiler.
fn standard_library(toolchain: &str) -> Result<Value, MaterialsError> {
    let file: toml::Table =
        toml::from_str(toolchain).map_err(|error| MaterialsError::Toolchain(error.to_string()))?;
    let version = file
        .get("toolchain")
        .and_then(|toolchain| toolchain.get("channel"))
        .and_then(toml::Value::as_str)
        .ok_or_else(|| MaterialsError::Toolchain("it names no toolchain.channel".to_owned()))?;
    let reference = format!("pkg:github/rust-lang/rust@{version}");
    Ok(json!({
        "type": "library", "bom-ref": reference, "name": "std", "version": version, "purl": reference,
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"memchr\"\nversion = \"2.8.3\"\nchecksum = \"ab\"\n";
    const TOOLCHAIN: &str = "[toolchain]\nchannel = \"1.95.0\"\n";

    #[test]
    fn crates_become_components_with_who_uses_whom() {
        let answers = [
            "0baton v0.1.0 (/src/baton)|Apache-2.0\n1goyaml v0.1.0 (/src/goyaml)|Apache-2.0\n\
             2memchr v2.8.3|Unlicense/MIT\n1memchr v2.8.3|Unlicense/MIT (*)\n"
                .to_owned(),
            "0baton v0.1.0 (/src/baton)|Apache-2.0\n1other v1.0.0|\n".to_owned(),
        ];
        let text = list(&answers, LOCK, TOOLCHAIN).expect("a list");
        let list: Value = serde_json::from_str(&text).expect("JSON");
        let licensed = |expression: &str| json!([{"expression": expression}]);
        assert_eq!(
            list,
            json!({
                "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
                "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
                "metadata": {"component": {
                    "type": "application", "bom-ref": "baton/baton@0.1.0", "group": "baton", "name": "baton",
                    "version": "0.1.0", "licenses": licensed("Apache-2.0"),
                }},
                "components": [
                    {"type": "library", "bom-ref": "baton/goyaml@0.1.0", "group": "baton", "name": "goyaml",
                        "version": "0.1.0", "licenses": licensed("Apache-2.0")},
                    {"type": "library", "bom-ref": "pkg:cargo/memchr@2.8.3", "purl": "pkg:cargo/memchr@2.8.3",
                        "name": "memchr", "version": "2.8.3", "licenses": licensed("Unlicense OR MIT"),
                        "hashes": [{"alg": "SHA-256", "content": "ab"}]},
                    {"type": "library", "bom-ref": "pkg:cargo/other@1.0.0", "purl": "pkg:cargo/other@1.0.0",
                        "name": "other", "version": "1.0.0"},
                    {"type": "library", "bom-ref": "pkg:github/rust-lang/rust@1.95.0",
                        "purl": "pkg:github/rust-lang/rust@1.95.0", "name": "std", "version": "1.95.0",
                        "licenses": licensed("MIT OR Apache-2.0")},
                ],
                "dependencies": [
                    {"ref": "baton/baton@0.1.0", "dependsOn": [
                        "baton/goyaml@0.1.0", "pkg:cargo/memchr@2.8.3", "pkg:cargo/other@1.0.0",
                        "pkg:github/rust-lang/rust@1.95.0",
                    ]},
                    {"ref": "baton/goyaml@0.1.0", "dependsOn": ["pkg:cargo/memchr@2.8.3"]},
                ],
            })
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (answer, lock, toolchain, said) in [
            ("baton v0.1.0|MIT", LOCK, TOOLCHAIN, "cannot read line"),
            ("0baton|MIT", LOCK, TOOLCHAIN, "cannot read line"),
            ("", LOCK, TOOLCHAIN, "cannot read line"),
            ("0baton v0.1.0|MIT", "x", TOOLCHAIN, "cannot read Cargo.lock"),
            ("0baton v0.1.0|MIT", LOCK, "[toolchain]\n", "no toolchain.channel"),
        ] {
            let error = list(&[answer.to_owned()], lock, toolchain)
                .expect_err("refused")
                .to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn the_program_tells_its_own_list() {
        let list: Value = serde_json::from_str(LIST).expect("JSON");
        assert_eq!(list["bomFormat"], "CycloneDX");
        assert_eq!(list["metadata"]["component"]["name"], "baton");
        assert_eq!(
            list["metadata"]["component"]["version"],
            env!("CARGO_PKG_VERSION")
        );
        let has = |name: &str| {
            let components = list["components"].as_array();
            components.is_some_and(|all| all.iter().any(|component| component["name"] == name))
        };
        assert!(has("rustls") && has("std") && !has("proptest"));
    }
}
