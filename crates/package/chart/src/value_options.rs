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
        mut provenance: Option<&mut Provenance>,
    ) -> Result<Table, ValueOptionsError> {
        let mut values = Table::new();
        for file in &self.files {
            let data = read_file(file).map_err(ValueOptionsError::Unreadable)?;
            let layer = decode_values(&data)
                .map_err(|message| ValueOptionsError::Malformed {
                    file: file.clone(),
                    message,
                })?
                .unwrap_or_default();
            if let Some(provenance) = provenance.as_deref_mut() {
                provenance.record_table(&layer, Origin::File(file.clone()));
            }
            merge_tables(&mut values, layer);
        }
        let mut flag = |flag,
                        expressions: &[String],
                        reading: &mut dyn FnMut(
            &str,
            &mut Table,
            &mut dyn FnMut(&str),
        ) -> Result<(), ValueOptionsError>| {
            for expression in expressions {
                let mut paths = Vec::new();
                let recording = provenance.is_some();
                reading(expression, &mut values, &mut |path| {
                    if recording {
                        paths.push(path.to_owned());
                    }
                })?;
                if let Some(provenance) = provenance.as_deref_mut() {
                    let origin = Origin::Flag {
                        flag,
                        expression: expression.clone(),
                    };
                    provenance.record_paths(paths.iter().map(String::as_str), origin);
                }
            }
            Ok(())
        };
        let failed = |flag| {
            move |error: crate::set_expression::SetError| ValueOptionsError::Flag {
                flag,
                message: error.to_string(),
            }
        };
        flag(
            "--set-json",
            &self.set_json,
            &mut |expression, values, assigned| {
                apply(expression, Reading::Json, values, assigned)
                    .map_err(|_| ValueOptionsError::Json(expression.to_owned()))
            },
        )?;
        flag("--set", &self.set, &mut |expression, values, assigned| {
            apply(expression, Reading::Typed, values, assigned).map_err(failed("--set"))
        })?;
        flag(
            "--set-string",
            &self.set_string,
            &mut |expression, values, assigned| {
                apply(expression, Reading::Text, values, assigned).map_err(failed("--set-string"))
            },
        )?;
        flag(
            "--set-file",
            &self.set_file,
            &mut |expression, values, assigned| {
                let mut content = |name: &str| {
                    let data = read_file(name)?;
                    Ok(Value::String(String::from_utf8_lossy(&data).into_owned()))
                };
                apply(expression, Reading::File(&mut content), values, assigned).map_err(failed("--set-file"))
            },
        )?;
        flag(
            "--set-literal",
            &self.set_literal,
            &mut |expression, values, assigned| {
                apply(expression, Reading::Literal, values, assigned).map_err(failed("--set-literal"))
            },
        )?;
        Ok(values)
    }
}

/// Puts a layer over a table: tables are merged, anything else is replaced, `null` included.
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
