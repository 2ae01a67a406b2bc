//! Values by dotted path.

use gotemplate::format::quoted;
use serde_json::Value;
use thiserror::Error;

use super::Table;

/// A path that leads to nothing of the kind that was asked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LookupError {
    /// There is no table of that name.
    #[error("{} is not a table", quoted(.0))]
    NoTable(String),
    /// There is no value of that name, or it is a table.
    #[error("{} is not a value", quoted(.0))]
    NoValue(String),
    /// The path is empty.
    #[error("YAML path cannot be empty")]
    EmptyPath,
}

/// Finds the table at a dotted path.
pub fn table<'a>(values: &'a Table, path: &str) -> Result<&'a Table, LookupError> {
    path.split('.')
        .try_fold(values, |table, key| match table.get(key) {
            Some(Value::Object(inner)) => Ok(inner),
            _ => Err(LookupError::NoTable(key.to_owned())),
        })
}

/// Finds the value at a dotted path; a table is no value.
pub fn path_value<'a>(values: &'a Table, path: &str) -> Result<&'a Value, LookupError> {
    if path.is_empty() {
        return Err(LookupError::EmptyPath);
    }
    let (parent, key) = path
        .rsplit_once('.')
        .map_or((None, path), |(parent, key)| (Some(parent), key));
    let parent = parent.map_or(Some(values), |parent| table(values, parent).ok());
    match parent.and_then(|parent| parent.get(key)) {
        Some(value) if !value.is_object() => Ok(value),
        _ => Err(LookupError::NoValue(key.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_values_and_tables() {
        let Value::Object(values) =
            json!({"title": "x", "chapter": {"one": {"title": "Loomings", "n": null}}})
        else {
            return;
        };
        assert_eq!(path_value(&values, "title"), Ok(&json!("x")));
        assert_eq!(path_value(&values, "chapter.one.title"), Ok(&json!("Loomings")));
        assert_eq!(path_value(&values, "chapter.one.n"), Ok(&Value::Null));
        let missing = |path: &str| path_value(&values, path).unwrap_err().to_string();
        assert_eq!(missing("chapter.one"), "\"one\" is not a value");
        assert_eq!(missing("no.such.key"), "\"key\" is not a value");
        assert_eq!(missing("title.x"), "\"x\" is not a value");
        assert_eq!(missing(""), "YAML path cannot be empty");
        assert!(table(&values, "chapter.one").is_ok());
        assert_eq!(
            table(&values, "chapter.two").unwrap_err().to_string(),
            "\"two\" is not a table"
        );
        assert_eq!(
            table(&values, "title").unwrap_err().to_string(),
            "\"title\" is not a table"
        );
    }
}
