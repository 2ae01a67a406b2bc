//! Puts the example into the program, so that an installed one can show it.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What an author's tree is made of; what building it leaves there stays out.
const PARTS: [&str; 5] = ["watches.yaml", "config", "catalog", "chart", "versions"];

/// What rendering the catalog leaves below its folder.
const LEFT_BY_BUILDS: &str = "catalog/configs";

fn main() -> io::Result<()> {
    let variable = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .ok_or(io::ErrorKind::NotFound)
    };
    let example = variable("CARGO_MANIFEST_DIR")?.join("../../../examples/inference-stack");
    let example = example.canonicalize()?;
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    for part in PARTS {
        println!("cargo::rerun-if-changed={}", example.join(part).display());
        collect(&example.join(part), &mut files)?;
    }
    files.sort();
    let mut list = "[\n".to_owned();
    for file in files {
        let name = file.strip_prefix(&example).map_err(io::Error::other)?;
        if !name.starts_with(LEFT_BY_BUILDS) {
            let name = name.to_string_lossy();
            let _ = writeln!(
                list,
                "    ({name:?}, include_bytes!({:?})),",
                file.to_string_lossy()
            );
        }
    }
    list.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join("example.rs"), list)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}
