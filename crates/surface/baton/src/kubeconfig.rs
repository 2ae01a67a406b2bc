//! The namespace that a kubeconfig names, because Helm renders for it; nothing else of the file is used.

use std::path::PathBuf;

use serde_json::Value;

/// The largest kubeconfig that is read; real ones have some kilobytes for each cluster.
const MAX_BYTES: u64 = 16 << 20;

/// The namespace of the chosen or current context, looked for where kubectl looks.
pub(crate) fn namespace(file: Option<&str>, context: Option<&str>) -> Option<String> {
    namespace_in(&read_all(file), context.filter(|name| !name.is_empty()))
}

fn read_all(file: Option<&str>) -> Vec<Value> {
    let files: Vec<PathBuf> = match file.filter(|file| !file.is_empty()) {
        Some(file) => vec![file.into()],
        None => match std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
            Some(list) => std::env::split_paths(&list).collect(),
            None => std::env::home_dir()
                .map(|home| home.join(".kube/config"))
                .into_iter()
                .collect(),
        },
    };
    files
        .iter()
        .filter(|file| std::fs::metadata(file).is_ok_and(|metadata| metadata.len() <= MAX_BYTES))
        .filter_map(|file| std::fs::read(file).ok())
        .filter_map(|data| goyaml::to_value(&data).ok())
        .collect()
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
