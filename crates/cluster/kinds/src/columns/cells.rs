//! An object as rows look at it: by paths, with what Go has for what isn't there.

use std::fmt::Write as _;

use bundle::rendering::quantity;
use jiff::Timestamp;
use serde_json::{Map, Value};

/// An object, and the time at which it is looked at.
pub(super) struct Cells<'a> {
    object: &'a Value,
    now: Timestamp,
}

/// Returns what is at a path of field names; null counts as nothing.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(value, |value, part| value.get(part))
        .filter(|value| !value.is_null())
}

/// Returns the text at a path; empty if there is none.
pub(super) fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the number at a path; 0 if there is none.
pub(super) fn number_at(value: &Value, path: &str) -> i64 {
    at(value, path).and_then(Value::as_i64).unwrap_or_default()
}

/// Returns the items of a list at a path; none if there is none.
pub(super) fn items_at<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Returns a text, or another where it is empty.
pub(super) fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

impl<'a> Cells<'a> {
    /// Looks at an object at a time.
    pub(super) fn new(object: &'a Value, now: Timestamp) -> Self {
        Self { object, now }
    }

    /// Returns the object.
    pub(super) fn object(&self) -> &'a Value {
        self.object
    }

    /// Returns the time at which the object is looked at.
    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the object's name.
    pub(super) fn name(&self) -> Value {
        self.text("metadata.name")
    }

    /// Returns how long the object has been there.
    pub(super) fn age(&self) -> Value {
        self.since("metadata.creationTimestamp").into()
    }

    /// Returns when the object was created.
    pub(super) fn created_at(&self) -> Value {
        let text = text_at(self.object, "metadata.creationTimestamp");
        Value::from(if text.is_empty() {
            "0001-01-01T00:00:00Z"
        } else {
            text
        })
    }

    /// Returns whether the object is being deleted.
    pub(super) fn is_deleted(&self) -> bool {
        at(self.object, "metadata.deletionTimestamp").is_some()
    }

    /// Returns how long ago a time at a path was.
    pub(super) fn since(&self, path: &str) -> String {
        self.since_text(text_at(self.object, path))
    }

    /// Returns how long ago a time was.
    pub(super) fn since_text(&self, time: &str) -> String {
        match time.parse::<Timestamp>() {
            Ok(time) => human_duration(self.now.as_second() - time.as_second()),
            Err(_) => "<unknown>".to_owned(),
        }
    }

    /// Returns the text at a path.
    pub(super) fn text(&self, path: &str) -> Value {
        text_at(self.object, path).into()
    }

    /// Returns the text at a path, or another where it is empty.
    pub(super) fn text_or(&self, path: &str, otherwise: &str) -> Value {
        or(text_at(self.object, path), otherwise).into()
    }

    /// Returns the number at a path; 0 if there is none.
    pub(super) fn number(&self, path: &str) -> Value {
        number_at(self.object, path).into()
    }

    /// Returns whether something is true at a path, or what it is when it isn't written.
    pub(super) fn boolean(&self, path: &str, otherwise: bool) -> Value {
        at(self.object, path)
            .and_then(Value::as_bool)
            .unwrap_or(otherwise)
            .into()
    }

    /// Returns how many items or fields are at a path.
    pub(super) fn count(&self, path: &str) -> Value {
        match at(self.object, path) {
            Some(Value::Array(items)) => items.len().into(),
            Some(Value::Object(fields)) => fields.len().into(),
            _ => 0.into(),
        }
    }

    /// Returns the names and the images of containers.
    pub(super) fn containers(&self, path: &str) -> [Value; 2] {
        let containers = items_at(self.object, path);
        let joined = |field: &str| -> Value {
            let texts: Vec<&str> = containers
                .iter()
                .map(|container| text_at(container, field))
                .collect();
            texts.join(",").into()
        };
        [joined("name"), joined("image")]
    }

    /// Returns the labels of a map at a path.
    pub(super) fn labels(&self, path: &str) -> Value {
        let labels = at(self.object, path).and_then(Value::as_object);
        or(&labels.map(printed_labels).unwrap_or_default(), "<none>").into()
    }

    /// Returns the selector at a path, or `<none>` if it selects by nothing.
    pub(super) fn selector(&self, path: &str) -> Value {
        let selector = at(self.object, path).and_then(printed_selector);
        let text = match &selector {
            None if at(self.object, path).is_some() => "<error>",
            None => "<none>",
            Some(text) => or(text, "<none>"),
        };
        text.into()
    }
}

fn printed_labels(labels: &Map<String, Value>) -> String {
    let labels: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    labels.join(",")
}

/// Returns a selector object in the language of selectors; `None` if an operator is unknown.
pub(super) fn printed_selector(selector: &Value) -> Option<String> {
    let mut requirements: Vec<(&str, String)> = Vec::new();
    if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
        for (key, value) in labels {
            requirements.push((key, format!("{key}={}", value.as_str().unwrap_or_default())));
        }
    }
    for expression in items_at(selector, "matchExpressions") {
        let key = text_at(expression, "key");
        let mut values: Vec<&str> = items_at(expression, "values")
            .iter()
            .map(|value| value.as_str().unwrap_or_default())
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match text_at(expression, "operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        };
        requirements.push((key, text));
    }
    requirements.sort_by_key(|(key, _)| *key);
    let texts: Vec<String> = requirements.into_iter().map(|(_, text)| text).collect();
    Some(texts.join(","))
}

/// Returns a quantity as Kubernetes writes it; `0` if there is none.
pub(super) fn quantity_text(value: Option<&Value>) -> String {
    let text = match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => return "0".to_owned(),
    };
    quantity::canonical(&text).unwrap_or(text)
}

/// Returns the first three of some texts and how many more there are; `none` if there are none.
pub(super) fn first_three(texts: &[String], none: &str) -> String {
    const SHOWN: usize = 3;
    let shown = texts.get(..SHOWN).unwrap_or(texts).join(",");
    if texts.len() > SHOWN {
        return format!("{shown} + {} more...", texts.len() - SHOWN);
    }
    or(&shown, none).to_owned()
}

/// Returns a number of seconds as people like to read it: the longer, the rougher.
pub fn human_duration(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    if seconds < 0 {
        return "0s".to_owned();
    }
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |large: i64, large_unit: char, small: i64, small_unit: char| {
        let mut out = format!("{large}{large_unit}");
        if small != 0 {
            // Writing to a string can't fail.
            let _ = write!(out, "{small}{small_unit}");
        }
        out
    };
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        two(minutes, 'm', seconds % 60, 's')
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, 'h', minutes % 60, 'm')
    } else if hours < 48 {
        format!("{hours}h")
    } else if hours < 24 * 8 {
        two(days, 'd', hours % 24, 'h')
    } else if hours < 24 * 365 * 2 {
        format!("{days}d")
    } else if hours < 24 * 365 * 8 {
        two(years, 'y', days % 365, 'd')
    } else {
        format!("{years}y")
    }
}
