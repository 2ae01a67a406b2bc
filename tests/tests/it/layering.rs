//! Holds the code to the house that ARCHITECTURE.md draws: no crate uses one that stands above it.
//!
//! The table of floors is read from the document itself, so neither the code nor the document can drift.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages outside the house that tests of its crates may use: recorded data, a real Kubernetes to compare with, and the
/// runner of what wants it.
const TEST_SUPPORT: [&str; 3] = ["corpus", "contract", "suite"];

/// The house as the document draws it, from the ground up.
#[derive(Debug)]
struct House {
    rooms: Vec<Room>,
}

/// One row of the table.
#[derive(Debug)]
struct Room {
    /// Counted from the ground.
    floor: usize,
    /// The folder of the floor, such as `crates/text`.
    folder: String,
    name: String,
    exists: bool,
}

impl House {
    /// Reads the table whose first columns are `floor` and `crate` and whose last is `today`.
    fn read(document: &str) -> Result<Self, String> {
        let mut rows = document.lines().map(cells).skip_while(|row| !is_header(row));
        rows.next()
            .ok_or("there is no table with the columns floor, crate, … and today")?;
        let mut rooms: Vec<Room> = Vec::new();
        let mut floors = 0;
        for row in rows.skip(1).take_while(|row| !row.is_empty()) {
            let [floor, name, .., today] = &row[..] else {
                return Err(format!("the row {row:?} has too few columns"));
            };
            let folder = if floor.is_empty() {
                rooms
                    .last()
                    .map(|room| room.folder.clone())
                    .ok_or("the first row names no floor")?
            } else {
                floors += 1;
                unquoted(floor)
            };
            let exists = match today.as_str() {
                "exists" => true,
                "planned" => false,
                other => return Err(format!("{name} is neither `exists` nor `planned`, but {other:?}")),
            };
            let name = unquoted(name);
            if rooms.iter().any(|room| room.name == name) {
                return Err(format!("{name} has two rows"));
            }
            rooms.push(Room {
                floor: floors,
                folder,
                name,
                exists,
            });
        }
        if rooms.is_empty() {
            Err("the table has no rows".to_owned())
        } else {
            Ok(Self { rooms })
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.rooms.iter().position(|room| room.name == name)
    }

    /// Says everything in which the workspace differs from the house.
    fn violations(&self, metadata: &Value) -> Vec<String> {
        let root = Path::new(metadata["workspace_root"].as_str().unwrap_or_default());
        let packages = metadata["packages"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut violations = Vec::new();
        let mut found = vec![false; self.rooms.len()];
        for package in packages {
            let name = package["name"].as_str().unwrap_or_default();
            let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
            let folder = manifest
                .parent()
                .and_then(|folder| folder.strip_prefix(root).ok())
                .unwrap_or(manifest);
            if !folder.starts_with("crates") {
                continue;
            }
            let Some(place) = self.place(name) else {
                violations.push(format!(
                    "{name} is in {} but not in ARCHITECTURE.md's table",
                    folder.display()
                ));
                continue;
            };
            found[place] = true;
            let expected = Path::new(&self.rooms[place].folder).join(name);
            if folder != expected {
                violations.push(format!(
                    "{name} is in {} but ARCHITECTURE.md puts it in {}",
                    folder.display(),
                    expected.display()
                ));
            }
            let dependencies = package["dependencies"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            violations.extend(dependencies.iter().filter_map(|used| self.looks_up(place, used)));
        }
        for (room, found) in self.rooms.iter().zip(found) {
            match (room.exists, found) {
                (true, false) => violations.push(format!("{} is said to exist but does not", room.name)),
                (false, true) => violations.push(format!("{} exists but is said to be planned", room.name)),
                (true, true) | (false, false) => {}
            }
        }
        violations
    }

    /// Says what is wrong with one dependency of the crate at `place`, if anything is.
    fn looks_up(&self, place: usize, dependency: &Value) -> Option<String> {
        // Only what lies in this repository has a path.
        dependency["path"].as_str()?;
        let target = dependency["name"].as_str().unwrap_or_default();
        let Room { floor, name, .. } = &self.rooms[place];
        if TEST_SUPPORT.contains(&target) && dependency["kind"] == "dev" {
            return None;
        }
        let Some(other) = self.place(target) else {
            return Some(format!("{name} uses {target}, which is not part of the house"));
        };
        let room = &self.rooms[other];
        if room.floor > *floor {
            return Some(format!(
                "{name} uses {target}, which is on a floor above: {}",
                room.folder
            ));
        }
        if room.floor == *floor && other >= place {
            return Some(format!(
                "{name} uses {target}, which does not stand before it on their floor"
            ));
        }
        None
    }
}

/// Splits a row of a Markdown table into its cells; a line that is none has no cells.
fn cells(line: &str) -> Vec<String> {
    let inner = line
        .trim()
        .strip_prefix('|')
        .and_then(|line| line.strip_suffix('|'));
    inner
        .map(|inner| inner.split('|').map(|cell| cell.trim().to_owned()).collect())
        .unwrap_or_default()
}

fn is_header(row: &[String]) -> bool {
    matches!(row, [floor, name, .., today] if floor == "floor" && name == "crate" && today == "today")
}

fn unquoted(cell: &str) -> String {
    cell.trim_matches('`').to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

#[test]
fn no_crate_uses_one_that_stands_above_it() {
    let document = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let house = House::read(&document).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let violations = house.violations(&metadata);
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

const SMALL_HOUSE: &str = "
# Some words

| floor | crate | what it knows | today |
|---|---|---|---|
| `crates/text` | `words` | words | exists |
| | `lines` | lines | exists |
| `crates/surface` | `program` | all | exists |
| | `later` | more | planned |

Other words.
";

/// A package in its folder, with what it uses as `(name, kind, is in this repository)`.
fn package(folder: &str, name: &str, uses: &[(&str, Option<&str>, bool)]) -> Value {
    let dependencies: Vec<Value> = uses
        .iter()
        .map(|(name, kind, here)| json!({"name": name, "kind": kind, "path": here.then(|| format!("/w/{name}"))}))
        .collect();
    json!({"name": name, "manifest_path": format!("/w/{folder}/Cargo.toml"), "dependencies": dependencies})
}

fn violations(packages: &[Value]) -> Vec<String> {
    let house = House::read(SMALL_HOUSE).unwrap();
    house.violations(&json!({"workspace_root": "/w", "packages": packages}))
}

fn sound() -> Vec<Value> {
    vec![
        package(
            "crates/text/words",
            "words",
            &[("serde", None, false), (TEST_SUPPORT[0], Some("dev"), true)],
        ),
        package("crates/text/lines", "lines", &[("words", None, true)]),
        package(
            "crates/surface/program",
            "program",
            &[("words", None, true), ("lines", None, true)],
        ),
        package("tests", "whole-program", &[("program", Some("dev"), true)]),
    ]
}

#[test]
fn a_sound_house_has_nothing_to_say() {
    assert_eq!(violations(&sound()), Vec::<String>::new());
}

#[test]
fn looking_up_is_found_in_every_kind_of_dependency() {
    for kind in [None, Some("dev"), Some("build")] {
        let mut packages = sound();
        packages[0] = package("crates/text/words", "words", &[("program", kind, true)]);
        assert_eq!(
            violations(&packages),
            ["words uses program, which is on a floor above: crates/surface"]
        );
        packages[0] = package("crates/text/words", "words", &[("lines", kind, true)]);
        assert_eq!(
            violations(&packages),
            ["words uses lines, which does not stand before it on their floor"]
        );
    }
}

#[test]
fn test_support_is_for_tests_only() {
    for support in TEST_SUPPORT {
        let mut packages = sound();
        packages[1] = package("crates/text/lines", "lines", &[(support, None, true)]);
        assert_eq!(
            violations(&packages),
            [format!("lines uses {support}, which is not part of the house")]
        );
    }
}

#[test]
fn a_crate_that_the_document_does_not_know_is_found() {
    let mut packages = sound();
    packages.push(package("crates/text/helpers", "helpers", &[]));
    assert_eq!(
        violations(&packages),
        ["helpers is in crates/text/helpers but not in ARCHITECTURE.md's table"]
    );
    packages.pop();
    packages[2] = package(
        "crates/surface/program",
        "program",
        &[("whole-program", None, true)],
    );
    assert_eq!(
        violations(&packages),
        ["program uses whole-program, which is not part of the house"]
    );
}

#[test]
fn a_crate_on_the_wrong_floor_is_found() {
    let mut packages = sound();
    packages[1] = package("crates/surface/lines", "lines", &[]);
    assert_eq!(
        violations(&packages),
        ["lines is in crates/surface/lines but ARCHITECTURE.md puts it in crates/text/lines"]
    );
}

#[test]
fn the_document_may_not_promise_or_hide_a_crate() {
    let mut packages = sound();
    packages.remove(1);
    packages[1] = package("crates/surface/program", "program", &[]);
    assert_eq!(violations(&packages), ["lines is said to exist but does not"]);
    let mut packages = sound();
    packages.push(package("crates/surface/later", "later", &[]));
    assert_eq!(violations(&packages), ["later exists but is said to be planned"]);
}

#[test]
fn a_document_without_a_sound_table_is_refused() {
    for (document, expected) in [
        (
            "no table",
            "there is no table with the columns floor, crate, … and today".to_owned(),
        ),
        (
            "| floor | crate | today |\n|---|---|---|\n",
            "the table has no rows".to_owned(),
        ),
        (
            "| floor | crate | today |\n|---|---|---|\n| | `a` | exists |\n",
            "the first row names no floor".to_owned(),
        ),
        (
            "| floor | crate | today |\n|---|---|---|\n| `crates/text` | `a` | soon |\n",
            "`a` is neither `exists` nor `planned`, but \"soon\"".to_owned(),
        ),
        (
            "| floor | crate | today |\n|---|---|---|\n| `crates/text` | `a` | exists |\n| | `a` | exists |\n",
            "a has two rows".to_owned(),
        ),
    ] {
        assert_eq!(House::read(document).unwrap_err(), expected);
    }
}
