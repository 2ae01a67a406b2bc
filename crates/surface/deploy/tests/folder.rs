//! The folder `deploy/` is what the crate makes of it, and the chart renders to the same objects.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use deploy::files;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../deploy")
}

fn files_below(folder: &Path, found: &mut BTreeMap<String, String>, root: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, found, root);
        } else {
            let name = path.strip_prefix(root).expect("below").display().to_string();
            found.insert(name, fs::read_to_string(&path).expect("a text"));
        }
    }
}

#[test]
fn the_folder_is_what_the_crate_makes_of_it() {
    let mut there = BTreeMap::new();
    files_below(&folder(), &mut there, &folder());
    let wanted = files::all();
    let names = |files: &BTreeMap<String, String>| -> BTreeSet<String> { files.keys().cloned().collect() };
    let again = format!("write deploy/ anew with: {}", files::REGENERATE);
    assert_eq!(names(&there), names(&wanted), "{again}");
    for (name, text) in &wanted {
        assert!(there[name] == *text, "deploy/{name} has drifted; {again}");
    }
}
