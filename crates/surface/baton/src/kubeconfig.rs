//! Kubeconfigs as files: the namespace that one names, because Helm renders for it, and those that baton writes itself.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::Failure;

/// The name of the kubeconfig that is written where no other is given.
pub(crate) const OWN_FILE: &str = "baton.kubeconfig";

/// The largest kubeconfig that is read; real ones have some kilobytes for each cluster.
const MAX_BYTES: u64 = 16 << 20;

/// The namespace of the chosen or current context, looked for where kubectl looks.
pub(crate) fn namespace(file: Option<&str>, context: Option<&str>) -> Option<String> {
    namespace_in(&read_all(file), context.filter(|name| !name.is_empty()))
}

fn read_all(file: Option<&str>) -> Vec<Value> {
    let files = match file.filter(|file| !file.is_empty()) {
        Some(file) => vec![file.into()],
        None => usual_files(),
    };
    files
        .iter()
        .filter(|file| std::fs::metadata(file).is_ok_and(|metadata| metadata.len() <= MAX_BYTES))
        .filter_map(|file| std::fs::read(file).ok())
        .filter_map(|data| goyaml::to_value(&data).ok())
        .collect()
}

/// The files that kubectl reads where nothing is said.
fn usual_files() -> Vec<PathBuf> {
    named_files().unwrap_or_else(|| {
        let home = std::env::home_dir();
        home.map(|home| home.join(".kube/config")).into_iter().collect()
    })
}

/// The files that the environment names.
fn named_files() -> Option<Vec<PathBuf>> {
    let list = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty())?;
    Some(std::env::split_paths(&list).collect())
}

/// The data folders whose own kubeconfig the environment names.
pub(crate) fn named_data_folders() -> Vec<PathBuf> {
    let files = named_files().unwrap_or_default().into_iter();
    files
        .filter(|file| file.file_name().is_some_and(|name| name == OWN_FILE))
        .filter_map(|file| file.parent().map(Path::to_owned))
        .collect()
}

/// Returns whether nobody named a kubeconfig, and none lies where kubectl looks.
pub(crate) fn is_nowhere() -> bool {
    named_files().is_none() && !usual_files().iter().any(|file| file.exists())
}

/// Of several files the first one that knows the answer counts.
fn namespace_in(files: &[Value], context: Option<&str>) -> Option<String> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let context = context.map(str::to_owned).or_else(|| {
        files
            .iter()
            .find_map(|file| file.get("current-context").and_then(text))
    })?;
    files
        .iter()
        .filter_map(|file| file.get("contexts")?.as_array())
        .flatten()
        .find(|entry| entry.get("name").and_then(Value::as_str) == Some(context.as_str()))
        .and_then(|entry| entry.get("context")?.get("namespace").and_then(text))
}

/// Fails where a file is there that has more in it than a kubeconfig of baton's own clusters.
pub(crate) fn refuse_foreign(path: &Path) -> Result<(), Failure> {
    let metadata = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        metadata => {
            metadata.map_err(|error| Failure::new(format!("cannot look at {}: {error}", path.display())))?
        }
    };
    let own = metadata.is_file()
        && metadata.len() <= MAX_BYTES
        && std::fs::read(path)
            .ok()
            .and_then(|bytes| goyaml::to_value(&bytes).ok())
            .is_some_and(|config| {
                ["clusters", "contexts", "users"].iter().all(|list| {
                    config[*list].as_array().is_some_and(|all| {
                        all.iter()
                            .all(|one| one.get("name").and_then(Value::as_str) == Some("baton"))
                    })
                })
            });
    if own {
        return Ok(());
    }
    Err(Failure::new(format!(
        "cannot write the kubeconfig {}: the file is there and has other things in it; give another file with --kubeconfig",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_file_that_knows_a_context_counts() {
        let files = [
            json!({"current-context": "", "contexts": [{"name": "a", "context": {"namespace": "first"}}]}),
            json!({"current-context": "b", "contexts": [
                {"name": "a", "context": {"namespace": "second"}},
                {"name": "b", "context": {"namespace": "other"}},
                {"name": "c", "context": {}},
            ]}),
        ];
        assert_eq!(namespace_in(&files, None).as_deref(), Some("other"));
        assert_eq!(namespace_in(&files, Some("a")).as_deref(), Some("first"));
        assert_eq!(namespace_in(&files, Some("c")), None);
        assert_eq!(namespace_in(&files, Some("none")), None);
        assert_eq!(namespace_in(&[], None), None);
    }
}
