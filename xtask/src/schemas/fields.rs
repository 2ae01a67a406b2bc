//! How Go holds each field of a definition: the published definitions don't say it, but what a server writes and how
//! it words a mistake depends on it.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::process::Command;

/// Prints the fields of all types that clients know, from the types themselves.
const FIELDS: &str = include_str!("fields.go");

/// Prints what the values of enumerations mean, from the comments of constants.
const MEANINGS: &str = include_str!("meanings.go");

/// The release of Kubernetes' Go modules whose types are asked.
const RELEASE: &str = "v0.36.3";

const MODULES: [&str; 5] = [
    "api",
    "apiextensions-apiserver",
    "apimachinery",
    "client-go",
    "kube-aggregator",
];

/// Returns the fields by definition, from the given file or else by running the program; needs Go then.
///
/// A field is `name:flags:inside:type:element`, without trailing colons: the flags are `p` (a pointer), `o` (omitempty)
/// and `z` (omitzero); `inside` is the embedded struct that it comes from; the types are named where they have a name.
pub(super) fn read(source: Option<&str>) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let text = match source {
        Some(path) => fs::read_to_string(path)?,
        None => run(FIELDS)?,
    };
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(lines
        .map(|(definition, fields)| (definition.to_owned(), fields.to_owned()))
        .collect())
}

/// Returns what the values of types mean, by the type (as `package Type`) and the value; needs Go.
pub(super) fn meanings() -> Result<BTreeMap<(String, String), String>, Box<dyn Error>> {
    let text = run(MEANINGS)?;
    let mut meanings: BTreeMap<(String, String), String> = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, '\t');
        let (Some(held), Some(value), Some(meaning)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        // Of several constants with one value, the one that says more counts.
        let known = meanings.entry((held.to_owned(), value.to_owned())).or_default();
        if known.len() < meaning.len() {
            meaning.clone_into(known);
        }
    }
    Ok(meanings)
}

fn run(program: &str) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let requirements = MODULES
        .map(|module| format!("require k8s.io/{module} {RELEASE}\n"))
        .concat();
    fs::write(
        folder.path().join("go.mod"),
        format!("module fields\n\ngo 1.26.0\n\n{requirements}"),
    )?;
    fs::write(folder.path().join("main.go"), program)?;
    let output = Command::new("go")
        .args(["run", "."])
        .env("GOFLAGS", "-mod=mod")
        .current_dir(folder.path())
        .output()?;
    if !output.status.success() {
        return Err(format!("go run failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
