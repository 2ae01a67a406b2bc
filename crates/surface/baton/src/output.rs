//! The forms in which commands print objects: a table or a text for people, JSON and YAML for programs.

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// The form of what is printed.
#[derive(Args, Clone, Copy, Default)]
pub(crate) struct OutputFlag {
    /// Print for programs, in this form
    #[arg(short, long, value_enum, value_name = "FORM")]
    output: Option<Form>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Json,
    Yaml,
}

impl OutputFlag {
    /// Whether a program reads what is printed.
    pub(crate) fn is_for_programs(self) -> bool {
        self.output.is_some()
    }

    /// Whether YAML was asked for.
    pub(crate) fn is_yaml(self) -> bool {
        self.output == Some(Form::Yaml)
    }

    /// Prints a value in the form that was asked for, or as the text that is made of it for people.
    pub(crate) fn print<T: Serialize + ?Sized>(
        self,
        terminal: &mut Terminal,
        value: &T,
        for_people: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        let text = match self.output {
            None => for_people(value),
            Some(Form::Json) => {
                let mut text = serde_json::to_string_pretty(&for_programs(value)?)?;
                text.push('\n');
                text
            }
            Some(Form::Yaml) => yaml(value)?,
        };
        terminal.print(text.as_bytes())
    }
}

/// A value as YAML, as programs get to see it.
pub(crate) fn yaml<T: Serialize + ?Sized>(value: &T) -> Result<String, Failure> {
    Ok(goyaml::to_string(&for_programs(value)?)?)
}

/// What programs get to see: objects without the book that the API server keeps of who wrote which field, as kubectl
/// prints them.
fn for_programs<T: Serialize + ?Sized>(value: &T) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(value)?;
    let forget = |object: &mut Value| {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    };
    forget(&mut value);
    let items = value.get_mut("items").and_then(Value::as_array_mut);
    items.into_iter().flatten().for_each(forget);
    Ok(value)
}

/// Sets rows in columns, three spaces apart, as kubectl does.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            line.push_str(cell);
            let missing = width - cell.chars().count();
            line.extend(std::iter::repeat_n(' ', missing + 3));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nobody_is_told_who_wrote_which_field() {
        let object =
            json!({"metadata": {"name": "a", "managedFields": [1]}, "spec": {"managedFields": "kept"}});
        let without = json!({"metadata": {"name": "a"}, "spec": {"managedFields": "kept"}});
        assert_eq!(for_programs(&object).expect("a value"), without);
        let list = for_programs(&json!({"items": [object], "metadata": {}}));
        assert_eq!(
            list.expect("a value"),
            json!({"items": [without], "metadata": {}})
        );
        assert_eq!(for_programs(&["text"]).expect("a value"), json!(["text"]));
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec!["NAME".to_owned(), "VERSION".to_owned()],
            vec!["größer-als".to_owned(), String::new()],
            vec!["b".to_owned(), "1.0.0".to_owned()],
        ];
        assert_eq!(
            columns(&rows),
            "NAME         VERSION\ngrößer-als\nb            1.0.0\n"
        );
        assert_eq!(columns(&[]), "");
    }
}
