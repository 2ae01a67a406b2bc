//! Holds the book's page of limits to what the code says.

use std::path::{Path, PathBuf};

/// A limit as the page names it: the crate, the constant or the field, and the expression that it is set to.
#[derive(Debug, PartialEq)]
struct Limit {
    package: String,
    name: String,
    expression: String,
    /// Whether it is the usual value of a field that can be set otherwise.
    is_field: bool,
}

/// Reads the limits out of cells such as `` `chart`: `MAX_FILES = 100_000` `` or `` `stage`: `ring_events: 16_384` ``.
fn limits(page: &str) -> Vec<Limit> {
    let cells = page
        .lines()
        .filter_map(|line| line.strip_suffix("` |")?.rsplit_once("| `"));
    cells
        .filter_map(|(_, cell)| {
            let (package, constant) = cell.split_once("`: `")?;
            let is_field = !constant.contains(" = ");
            let (name, expression) = constant.split_once(if is_field { ": " } else { " = " })?;
            Some(Limit {
                package: package.to_owned(),
                name: name.to_owned(),
                expression: expression.to_owned(),
                is_field,
            })
        })
        .collect()
}

/// Returns whether some line of `source` sets the constant or the field to the expression.
fn says(source: &str, limit: &Limit) -> bool {
    if limit.is_field {
        let setting = format!("{}: {},", limit.name, limit.expression);
        return source.lines().any(|line| line.trim_start() == setting);
    }
    let declaration = format!("const {}: ", limit.name);
    let value = format!(" = {};", limit.expression);
    source
        .lines()
        .any(|line| line.contains(&declaration) && line.ends_with(&value))
}

/// Returns the text of every source file below `folder`.
fn sources(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                texts.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    texts
}

fn package_folder(root: &Path, package: &str) -> Option<PathBuf> {
    let floors = std::fs::read_dir(root.join("crates")).unwrap();
    floors
        .map(|floor| floor.unwrap().path().join(package).join("src"))
        .find(|folder| folder.is_dir())
}

#[test]
fn every_limit_on_the_page_is_in_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = std::fs::read_to_string(root.join("docs/src/limits.md")).unwrap();
    let limits = limits(&page);
    assert!(
        limits.len() > 10,
        "only these limits were found on the page: {limits:?}"
    );
    let packages = ["chart", "image", "catalog", "patch", "stage"];
    let missing = packages.map(|package| {
        (
            package,
            limits.iter().filter(|limit| limit.package == package).count(),
        )
    });
    assert!(
        missing.iter().all(|(_, count)| *count > 2),
        "some crates have no limits on the page: {missing:?}"
    );
    let wrong: Vec<String> = limits
        .iter()
        .filter(|limit| {
            let folder = package_folder(root, &limit.package);
            !folder.is_some_and(|folder| sources(&folder).iter().any(|source| says(source, limit)))
        })
        .map(|limit| format!("{} has no {} = {}", limit.package, limit.name, limit.expression))
        .collect();
    assert!(
        wrong.is_empty(),
        "docs/src/limits.md is not true:\n{}\n",
        wrong.join("\n")
    );
}

#[test]
fn a_limit_is_found_only_as_it_is_set() {
    let page = "| files | many | ours | `chart`: `MAX_FILES = 1 << 4` |\n| a number | 64 bits |\n";
    let [limit] = &limits(page)[..] else {
        panic!("{:?}", limits(page))
    };
    assert_eq!(
        (&*limit.package, &*limit.name, &*limit.expression),
        ("chart", "MAX_FILES", "1 << 4")
    );
    assert!(says("/// Why.\npub const MAX_FILES: usize = 1 << 4;", limit));
    assert!(!says("pub const MAX_FILES: usize = 1 << 5;", limit));
    assert!(!says("pub const ALL_MAX_FILE: usize = 1 << 4;", limit));
    let page = "| events | many | ours | `stage`: `ring_events: 16_384` |\n";
    let [limit] = &limits(page)[..] else {
        panic!("{:?}", limits(page))
    };
    assert!(says("Self {\n    ring_events: 16_384,\n}", limit));
    assert!(!says("Self {\n    ring_events: 16_385,\n}", limit));
    assert!(!says("Self {\n    string_events: 16_384,\n}", limit));
}
