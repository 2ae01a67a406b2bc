//! Files of a trace.

use std::path::Path;

use serde_json::Value;

pub(crate) use apply::object::text;

/// Returns the list at a pointer; empty where there is none.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Reads the documents of a YAML file.
pub(crate) fn yaml(path: &Path) -> Vec<Value> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let read = |document: goyaml::Document<'_>| document.to_value(goyaml::ReadOptions::default());
    goyaml::documents(&bytes)
        .map(|document| document.and_then(read).expect("YAML"))
        .filter(|document| !document.is_null())
        .collect()
}

/// Reads the objects of a folder.
pub(crate) fn objects(folder: &Path) -> Vec<Value> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| yaml(path)).collect()
}

/// Reads the records of a trace.
pub(crate) fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a trace");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect()
}
