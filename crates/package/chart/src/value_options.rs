//! The user's values: files given with `-f`, then flags, in Helm's order.

use std::io::Read as _;

use serde_json::Value;
use thiserror::Error;

use crate::go_error::system_text;
use crate::loader::decode_values;
use crate::provenance::{Origin, Provenance};
use crate::set_expression::{Reading, apply};
use crate::values::Table;

/// The largest file of values that is read, to stop at `/dev/zero` and its like.
const MAX_FILE_SIZE: u64 = 100 * 1024 * 1024;

/// What the user gave, each list in the order of the command line.
#[derive(Clone, Debug, Default)]
pub struct ValueOptions {
    /// `-f`, `--values`.
    pub files: Vec<String>,
    /// `--set-json`.
    pub set_json: Vec<String>,
    /// `--set`.
    pub set: Vec<String>,
    /// `--set-string`.
    pub set_string: Vec<String>,
    /// `--set-file`.
    pub set_file: Vec<String>,
    /// `--set-literal`.
    pub set_literal: Vec<String>,
}

/// Values that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ValueOptionsError {
    /// A file cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// A file is no table of values.
    #[error("failed to parse {file}: {message}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong with it, in Go's words.
        message: String,
    },
    /// The right side of a `--set-json` is no JSON.
    #[error("failed parsing --set-json data {0}")]
    Json(String),
    /// Another flag cannot be understood.
    #[error("failed parsing {flag} data: {message}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// What is wrong with it.
        message: String,
    },
}

/// Gives the content of a file by its name on the command line, or Go's words for why not.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;

impl ValueOptions {
    /// Puts all options together; later ones win. `provenance` learns who set what, if asked for.
    pub fn merge(
        &self,
        read_file: ReadFile<'_>,
        provenance: Option<&mut Provenance>,
    ) -> Result<Table, ValueOptionsError> {
        let mut merging = Merging {
            values: Table::new(),
            provenance,
        };
        for file in &self.files {
            let data = read_file(file).map_err(ValueOptionsError::Unreadable)?;
            merging.file(file, &data)?;
        }
        for expression in &self.set_json {
            merging
                .flag("--set-json", expression, Reading::Json)
                .map_err(|_| ValueOptionsError::Json(expression.clone()))?;
        }
        for expression in &self.set {
            merging.flag("--set", expression, Reading::Typed)?;
        }
        for expression in &self.set_string {
            merging.flag("--set-string", expression, Reading::Text)?;
        }
        for expression in &self.set_file {
            let mut content = |name: &str| {
                let data = read_file(name)?;
                Ok(Value::String(String::from_utf8_lossy(&data).into_owned()))
            };
            merging.flag("--set-file", expression, Reading::File(&mut content))?;
        }
        for expression in &self.set_literal {
            merging.flag("--set-literal", expression, Reading::Literal)?;
        }
        Ok(merging.values)
    }
}

/// Values while options are applied to them.
struct Merging<'a> {
    values: Table,
    provenance: Option<&'a mut Provenance>,
}

impl Merging<'_> {
    fn file(&mut self, file: &str, data: &[u8]) -> Result<(), ValueOptionsError> {
        let layer = decode_values(data)
            .map_err(|message| ValueOptionsError::Malformed {
                file: file.to_owned(),
                message,
            })?
            .unwrap_or_default();
        if let Some(provenance) = self.provenance.as_deref_mut() {
            provenance.record_table(&layer, Origin::File(file.to_owned()));
        }
        merge_tables(&mut self.values, layer);
        Ok(())
    }

    fn flag(
        &mut self,
        flag: &'static str,
        expression: &str,
        reading: Reading<'_>,
    ) -> Result<(), ValueOptionsError> {
        let mut paths = Vec::new();
        let is_recording = self.provenance.is_some();
        let mut assigned = |path: &str| {
            if is_recording {
                paths.push(path.to_owned());
            }
        };
        apply(expression, reading, &mut self.values, &mut assigned).map_err(|error| {
            ValueOptionsError::Flag {
                flag,
                message: error.to_string(),
            }
        })?;
        if let Some(provenance) = self.provenance.as_deref_mut() {
            let origin = Origin::Flag {
                flag,
                expression: expression.to_owned(),
            };
            provenance.record_paths(paths.iter().map(String::as_str), origin);
        }
        Ok(())
    }
}

/// Puts a layer over a table: tables are merged, anything else is replaced, `null` included.
///
/// This is Helm's `mergeMaps`, where the layer wins. [`crate::values::merge_tables`] is the other way round: what the
/// table has stays, gaps are filled, and what does not fit is warned of.
pub fn merge_tables(target: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (target.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(layer)) => merge_tables(inner, layer),
            (_, value) => {
                target.insert(key, value);
            }
        }
    }
}

/// Reads a file as Helm does: `-` is standard input; addresses on the network are refused.
pub fn read_file(name: &str) -> Result<Vec<u8>, String> {
    let mut data = Vec::new();
    let outcome = if name.trim() == "-" {
        std::io::stdin()
            .take(MAX_FILE_SIZE + 1)
            .read_to_end(&mut data)
            .map_err(|error| ("read", error))
    } else if ["http://", "https://", "oci://"]
        .iter()
        .any(|scheme| name.starts_with(scheme))
    {
        return Err(format!(
            "cannot read {name}: values are read from this machine only; download the file first"
        ));
    } else {
        std::fs::File::open(name)
            .map_err(|error| ("open", error))
            .and_then(|file| {
                file.take(MAX_FILE_SIZE + 1)
                    .read_to_end(&mut data)
                    .map_err(|error| ("read", error))
            })
    };
    outcome.map_err(|(operation, error)| format!("{operation} {name}: {}", system_text(&error)))?;
    if data.len() as u64 > MAX_FILE_SIZE {
        return Err(format!("{name} is larger than {MAX_FILE_SIZE} bytes"));
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn files(name: &str) -> Result<Vec<u8>, String> {
        match name {
            "base.yaml" => Ok(b"a: {b: 1, c: 2}\nl: [1, 2]\nnone: null\n".to_vec()),
            "over.yaml" => Ok(b"a: {b: null, d: 3}\nl: [9]\n".to_vec()),
            "text" => Ok(b"content".to_vec()),
            "list" => Ok(b"[]".to_vec()),
            _ => Err(format!("open {name}: no such file or directory")),
        }
    }

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn later_options_win_and_flags_come_after_files() {
        let options = ValueOptions {
            files: strings(&["base.yaml", "over.yaml"]),
            set: strings(&["a.c=7,x=1"]),
            set_json: strings(&["a={\"c\": 5}"]),
            set_string: strings(&["x=2"]),
            set_file: strings(&["f=text"]),
            set_literal: strings(&["y=a,b"]),
        };
        let mut provenance = Provenance::default();
        let values = options.merge(&mut files, Some(&mut provenance)).unwrap();
        assert_eq!(
            Value::Object(values),
            json!({"a": {"c": 7}, "l": [9.0], "none": null, "x": "2", "f": "content", "y": "a,b"})
        );
        let origin = |path: &str| {
            provenance
                .origin(path)
                .map(ToString::to_string)
                .unwrap_or_default()
        };
        assert_eq!(origin("a.c"), "--set a.c=7,x=1");
        assert_eq!(origin("l"), "-f over.yaml");
        assert_eq!(origin("none"), "-f base.yaml");
        assert_eq!(origin("x"), "--set-string x=2");
        assert_eq!(origin("y"), "--set-literal y=a,b");
    }

    #[test]
    fn faults_are_told_in_helms_words() {
        let text = |options: ValueOptions| options.merge(&mut files, None).unwrap_err().to_string();
        let empty = ValueOptions::default;
        assert_eq!(
            text(ValueOptions {
                files: strings(&["gone"]),
                ..empty()
            }),
            "open gone: no such file or directory"
        );
        assert_eq!(
            text(ValueOptions {
                files: strings(&["list"]),
                ..empty()
            }),
            "failed to parse list: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go \
             value of type map[string]interface {}"
        );
        assert_eq!(
            text(ValueOptions {
                set: strings(&["a"]),
                ..empty()
            }),
            "failed parsing --set data: key \"a\" has no value"
        );
        assert_eq!(
            text(ValueOptions {
                set_json: strings(&["a=x"]),
                ..empty()
            }),
            "failed parsing --set-json data a=x"
        );
        assert_eq!(
            text(ValueOptions {
                set_file: strings(&["a=gone"]),
                ..empty()
            }),
            "failed parsing --set-file data: open gone: no such file or directory"
        );
    }
}
