//! The comment above a document.

use std::fmt::Write as _;

use super::secrecy::{HIDDEN, Secrets, shown_value};
use super::{Explained, Setter, UsedValue};

/// How many characters of a value are shown; the rest is in the document.
const MAX_SHOWN: usize = 80;

/// Writes what is known about a document as lines of YAML comments; nothing where nothing is known.
pub(super) fn write(explained: &Explained, in_secret: bool, secrets: &Secrets) -> String {
    let mut comment = String::new();
    if let Some((file, line)) = &explained.place {
        // Writing to memory cannot fail, here and below.
        writeln!(comment, "# Template: {}:{line}", printable(file)).ok();
    }
    let mut label = "# Values:";
    for used in &explained.used {
        writeln!(
            comment,
            "{label} {}",
            describe(used, secrets.hide(used, in_secret))
        )
        .ok();
        label = "#        ";
    }
    comment
}

fn describe(used: &UsedValue, hidden: bool) -> String {
    let path = shown_path(&used.path);
    let Some(value) = &used.value else {
        return printable(&format!("{path} is not set"));
    };
    let value = if hidden {
        HIDDEN.to_owned()
    } else {
        shortened(&shown_value(value))
    };
    printable(&match &used.setter {
        Setter::Origin(origin) => format!("{path} = {value} ({})", shortened(origin)),
        Setter::Template => format!("{path} = {value} (set by a template)"),
        Setter::Unknown => format!("{path} = {value}"),
    })
}

/// Writes a path as `a.b[0].c`; keys that have a dot or a space inside are quoted.
fn shown_path(path: &[String]) -> String {
    let mut shown = String::new();
    for key in path {
        let is_index = key.starts_with('[') && key.ends_with(']');
        if !shown.is_empty() && !is_index {
            shown.push('.');
        }
        if is_index || !key.is_empty() && !key.contains(['.', ' ', '"', '[', '=']) {
            shown.push_str(key);
        } else {
            shown.push_str(&serde_json::Value::from(key.as_str()).to_string());
        }
    }
    shown
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Escapes what may not stand in a YAML comment, line ends before all.
fn printable(text: &str) -> String {
    let is_allowed = |character: char| {
        !character.is_control()
            && !matches!(
                character,
                '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            )
    };
    if text.chars().all(is_allowed) {
        return text.to_owned();
    }
    text.chars()
        .map(|character| {
            if is_allowed(character) {
                character.to_string()
            } else {
                character.escape_unicode().to_string()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_comment_names_template_values_and_origins() {
        let used = |path: &[&str], value, setter| UsedValue {
            path: path.iter().map(ToString::to_string).collect(),
            value,
            setter,
        };
        let explained = Explained {
            place: Some(("c/templates/a.yaml".to_owned(), 12)),
            used: vec![
                used(
                    &["image", "tag"],
                    Some(json!("1.2")),
                    Setter::Origin("--set image.tag=1.2".to_owned()),
                ),
                used(
                    &["env", "[0]", "name"],
                    Some(json!("a\nb")),
                    Setter::Origin("-f a\nb.yaml".to_owned()),
                ),
                used(&["labels", "a.b/c"], Some(json!(2.0)), Setter::Template),
                used(&["none"], None, Setter::Unknown),
                used(
                    &["adminPassword"],
                    Some(json!("x")),
                    Setter::Origin("-f a.yaml".to_owned()),
                ),
            ],
        };
        assert_eq!(
            write(&explained, false, &Secrets::default()),
            "# Template: c/templates/a.yaml:12\n\
             # Values: image.tag = \"1.2\" (--set image.tag=1.2)\n\
             #         env[0].name = \"a\\nb\" (-f a\\u{a}b.yaml)\n\
             #         labels.\"a.b/c\" = 2 (set by a template)\n\
             #         none is not set\n\
             #         adminPassword = … (-f a.yaml)\n"
        );
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(shortened(&"ä".repeat(81)).chars().count(), 81);
        assert_eq!(shortened(&"ä".repeat(80)).chars().count(), 80);
    }
}
