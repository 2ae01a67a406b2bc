//! Which values must not be shown: those that end up in Secrets, and those whose names say that they are secret.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::UsedValue;
use crate::provenance::Origin;

/// What stands in place of a secret.
pub(crate) const HIDDEN: &str = "…";

/// Parts of names that say that a value is secret; names are compared in lower case and without `-` and `_`.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "credential",
    "apikey",
    "privatekey",
    "accesskey",
    "secretkey",
    "authkey",
    "connectionstring",
];

/// Names that say so only as a whole.
const SECRET_NAMES: &[&str] = &["pass", "pwd", "key", "auth", "dsn"];

/// Tells whether a name says that its value is secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name: String = name
        .chars()
        .filter(|character| !matches!(character, '-' | '_'))
        .collect();
    let name = name.to_lowercase();
    SECRET_NAMES.contains(&name.as_str()) || SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// The values that end up in the data of a Secret.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    paths: BTreeSet<Vec<String>>,
}

impl Secrets {
    /// Collects them from the Secrets of a render and the values that each used.
    pub(super) fn of<'a>(documents: impl Iterator<Item = (&'a [u8], &'a [UsedValue])>) -> Self {
        let mut paths = BTreeSet::new();
        for (content, used) in documents {
            let data = secret_texts(content);
            let reaches_data =
                |used: &&UsedValue| used.value.as_ref().is_some_and(|value| is_in(value, &data));
            paths.extend(used.iter().filter(reaches_data).map(|used| used.path.clone()));
        }
        Self { paths }
    }

    /// Tells whether a value must not be shown. Switches and nothing are never secret.
    pub(super) fn hide(&self, used: &UsedValue, in_secret: bool) -> bool {
        match &used.value {
            None | Some(Value::Null | Value::Bool(_)) => false,
            Some(_) => {
                in_secret
                    || self.paths.contains(&used.path)
                    || used.path.iter().any(|name| is_secret_name(name))
            }
        }
    }
}

/// Tells whether a text contains the value, or something inside it.
fn is_in(value: &Value, texts: &[String]) -> bool {
    let contains = |part: &str| !part.is_empty() && texts.iter().any(|text| text.contains(part));
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => contains(text),
        Value::Number(number) => contains(number.to_string().trim_end_matches(".0")),
        Value::Array(items) => items.iter().any(|item| is_in(item, texts)),
        Value::Object(table) => table.values().any(|item| is_in(item, texts)),
    }
}

/// The texts in a Secret, decoded. A document that cannot be read gives its whole text.
fn secret_texts(content: &[u8]) -> Vec<String> {
    let Ok(document) = crate::document::read(content) else {
        return vec![String::from_utf8_lossy(content).into_owned()];
    };
    let entries = |field: &str| {
        document
            .get(field)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(_, value)| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
    };
    let decoded = entries("data").map(|text| {
        let compact: String = text.split_whitespace().collect();
        STANDARD
            .decode(compact)
            .map_or(text, |bytes| String::from_utf8_lossy(&bytes).into_owned())
    });
    decoded.chain(entries("stringData")).collect()
}

/// A value for a reader, without what is secret inside it.
pub(super) fn shown_value(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let entries = table.iter().map(|(key, value)| {
                let harmless = matches!(value, Value::Null | Value::Bool(_));
                let value = if is_secret_name(key) && !harmless {
                    HIDDEN.to_owned()
                } else {
                    shown_value(value)
                };
                format!("{}:{value}", Value::from(key.as_str()))
            });
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(shown_value).collect::<Vec<_>>().join(",")
        ),
        Value::String(text) => Value::from(without_user_information(text)).to_string(),
        Value::Number(number) => {
            let text = number.to_string();
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
        other => other.to_string(),
    }
}

/// Takes the password out of addresses such as `postgres://user:password@host`.
fn without_user_information(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown.push_str(before);
        shown.push_str("://");
        let end = after.find(['/', '?', '#', ' ', '"', '\'']).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => {
                shown.push_str(HIDDEN);
                shown.push('@');
                shown.push_str(host);
            }
            None => shown.push_str(authority),
        }
        rest = tail;
    }
    shown.push_str(rest);
    shown
}

/// The origin of a value for a reader. A flag that sets something secret, perhaps beside other things, is shown without
/// its expression.
pub(crate) fn shown_origin(origin: &Origin) -> String {
    match origin {
        Origin::Flag { flag, expression } => {
            let names = expression.split(['=', ',', '.', '[', ']', '{', '}', '"', ':', ' ']);
            let is_secret =
                names.into_iter().any(is_secret_name) || without_user_information(expression) != *expression;
            if is_secret {
                format!("{flag} {HIDDEN}")
            } else {
                origin.to_string()
            }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Setter;
    use super::*;

    #[test]
    fn names_tell_what_is_secret() {
        for name in [
            "password",
            "adminPassword",
            "API_KEY",
            "api-key",
            "existingSecret",
            "key",
            "AUTH",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["image", "monkey", "keys", "authenticated", "passive"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn secrets_inside_tables_and_addresses_are_left_out() {
        let value = json!({"user": "me", "password": "x", "tokens": {"a": "b"}, "enabled": true, "n": 2.0});
        assert_eq!(
            shown_value(&value),
            r#"{"enabled":true,"n":2,"password":…,"tokens":…,"user":"me"}"#
        );
        assert_eq!(
            shown_value(&json!("postgres://me:pw@db/x?a=b")),
            r#""postgres://…@db/x?a=b""#
        );
        assert_eq!(
            shown_value(&json!("https://example.com/a@b")),
            r#""https://example.com/a@b""#
        );
    }

    #[test]
    fn a_flag_that_sets_a_secret_is_shown_without_its_expression() {
        let flag = |expression: &str| Origin::Flag {
            flag: "--set",
            expression: expression.to_owned(),
        };
        assert_eq!(shown_origin(&flag("a.b=1")), "--set a.b=1");
        assert_eq!(shown_origin(&flag("a=1,b.password=x")), "--set …");
        assert_eq!(shown_origin(&flag("url=redis://:x@host")), "--set …");
        assert_eq!(
            shown_origin(&Origin::File("secret.yaml".to_owned())),
            "-f secret.yaml"
        );
    }

    #[test]
    fn a_value_in_the_data_of_a_secret_is_hidden_everywhere() {
        let used = |name: &str, value: Value| UsedValue {
            path: vec![name.to_owned()],
            value: Some(value),
            setter: Setter::Unknown,
        };
        let (inside, outside) = (used("license", json!("abc")), used("nameOverride", json!("web")));
        let content = b"kind: Secret\nmetadata: {name: web}\ndata: {license: YWJj}\n";
        let both = [inside.clone(), outside.clone()];
        let secrets = Secrets::of(std::iter::once((&content[..], &both[..])));
        assert!(secrets.hide(&inside, false));
        assert!(!secrets.hide(&outside, false));
        assert!(secrets.hide(&outside, true));
        assert!(!secrets.hide(&used("password", json!(true)), true));
    }
}
