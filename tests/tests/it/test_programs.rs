//! Holds test programs to their files: one that no program declares is never compiled, and nobody sees that it tests nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folders of the workspace's crates that have tests.
fn test_folders() -> Vec<PathBuf> {
    let mut folders = vec![repository().join("tests/tests"), repository().join("xtask/tests")];
    for floor in [
        "crates/text",
        "crates/package",
        "crates/cluster",
        "crates/controllers",
        "crates/surface",
        "tests",
    ] {
        for entry in fs::read_dir(repository().join(floor)).expect("a floor") {
            folders.push(entry.expect("a crate").path().join("tests"));
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// The modules that a file declares, as the paths at which Rust looks for them.
fn declared(file: &Path, is_program: bool, text: &str) -> Vec<PathBuf> {
    let folder = file.parent().expect("a file lies in a folder");
    let stem = file.file_stem().expect("a file has a name");
    // The module of a program, and of a folder, has its children beside it; others have them in a folder of their name.
    let children = if is_program || stem == "mod" {
        folder.to_owned()
    } else {
        folder.join(stem)
    };
    let mut paths = Vec::new();
    let mut named = None;
    for line in text.lines().map(str::trim) {
        if let Some(path) = line
            .strip_prefix("#[path = \"")
            .and_then(|line| line.strip_suffix("\"]"))
        {
            named = Some(folder.join(path));
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [.., "mod", name] = words.as_slice()
            && let Some(name) = name.strip_suffix(';')
        {
            match named.take() {
                Some(path) => paths.push(path),
                None => paths.extend([
                    children.join(format!("{name}.rs")),
                    children.join(name).join("mod.rs"),
                ]),
            }
        } else if !line.starts_with("#[") {
            named = None;
        }
    }
    paths
}

/// The programs that a crate's manifest names by their paths, as it does with suites.
fn named_programs(tests: &Path) -> Vec<PathBuf> {
    let package = tests.parent().expect("a crate");
    let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap_or_default();
    let paths = manifest.lines().filter_map(|line| {
        let path = line.strip_prefix("path = \"")?.strip_suffix('"')?;
        Some(package.join(path))
    });
    paths.filter(|path| path.starts_with(tests)).collect()
}

/// The files below `folder` that no program of it is made of.
fn forgotten(folder: &Path) -> Vec<PathBuf> {
    let named = named_programs(folder);
    let mut all = BTreeSet::new();
    let mut reached: Vec<(PathBuf, bool)> = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(here) = folders.pop() {
        for entry in fs::read_dir(&here).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let is_program = here == folder
                    || named.contains(&path)
                    || (here.parent() == Some(folder)
                        && path.file_name().is_some_and(|name| name == "main.rs"));
                if is_program {
                    reached.push((path.clone(), true));
                }
                all.insert(path.canonicalize().expect("it is there"));
            }
        }
    }
    let mut seen = BTreeSet::new();
    while let Some((path, is_program)) = reached.pop() {
        let Ok(path) = path.canonicalize() else {
            continue;
        };
        if seen.insert(path.clone()) {
            let text = fs::read_to_string(&path).expect("readable");
            let modules = declared(&path, is_program, &text).into_iter();
            reached.extend(modules.map(|module| (module, false)));
        }
    }
    all.difference(&seen).cloned().collect()
}

#[test]
fn every_file_of_the_tests_is_part_of_a_program() {
    let forgotten: Vec<_> = test_folders()
        .iter()
        .flat_map(|folder| forgotten(folder))
        .collect();
    assert!(forgotten.is_empty(), "no test program declares {forgotten:#?}");
}

#[test]
fn a_forgotten_file_is_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forgotten-file/tests");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    write("alone.rs", "mod help;\n#[path = \"it/shared.rs\"]\nmod shared;\n");
    write("help/mod.rs", "mod more;\n");
    write("help/more.rs", "");
    write("it/main.rs", "pub(crate) mod part;\n");
    write("it/part.rs", "mod child;\n");
    write("it/part/child.rs", "");
    write("it/shared.rs", "");
    write(
        "../Cargo.toml",
        "[[test]]\nname = \"a-suite\"\npath = \"tests/it/suite.rs\"\n",
    );
    write("it/suite.rs", "mod part;\nmod played;\n");
    write("it/played.rs", "");
    assert_eq!(forgotten(&folder), Vec::<PathBuf>::new());
    write("it/lost.rs", "");
    let names: Vec<_> = forgotten(&folder)
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_owned()))
        .collect();
    fs::remove_dir_all(folder.parent().expect("a folder")).expect("removed");
    assert_eq!(names, ["lost.rs"]);
}

/// What the gate leaves out, as crates and their test programs.
fn left_out_by_the_gate() -> Vec<(String, String)> {
    let gate = fs::read_to_string(repository().join(".ci/gate")).expect("the gate");
    let (_, list) = gate.split_once("WITH_SERVERS=\"").expect("a list");
    let (list, _) = list.split_once('"').expect("its end");
    let named = |entry: &str| {
        let (package, program) = entry.split_once(':').expect("a crate and a program");
        (package.to_owned(), program.to_owned())
    };
    list.split_whitespace().map(named).collect()
}

#[test]
fn what_the_gate_leaves_out_is_there() {
    let folders = test_folders();
    let left_out = left_out_by_the_gate();
    assert!(left_out.len() > 10, "{left_out:?}");
    for (package, program) in left_out {
        let is_there = folders.iter().any(|folder| {
            let is_of_package = folder
                .parent()
                .is_some_and(|crate_folder| crate_folder.ends_with(&package));
            is_of_package
                && (folder.join(format!("{program}.rs")).is_file()
                    || folder.join(&program).join("main.rs").is_file())
        });
        assert!(
            is_there,
            ".ci/gate leaves out {package}:{program}, which there is not"
        );
    }
}
