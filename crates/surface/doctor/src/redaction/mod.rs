//! Objects and texts without passwords, tokens and keys.
//!
//! Three nets, one behind the other: [`object`] knows where Kubernetes keeps secrets and which names mean one, [`text`]
//! knows what secrets look like, and [`Redactor`] remembers the values that the first two found, so that a password of a
//! Secret is cut out of a log, too. Rather too much is cut than too little; names of Secrets and of their keys stay.

pub mod object;
pub mod secret_names;
pub mod text;

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

/// The shortest value that is cut wherever it stands: a shorter one stands in too many words.
const SHORTEST_KNOWN: usize = 6;

/// The longest value that is looked for; what is longer is recognised by its lines.
const LONGEST_KNOWN: usize = 4096;

/// The longest run of letters that counts as a word.
const LONGEST_WORD: usize = 16;

/// How many values are remembered; what comes later is still cut by its place or its look.
const MOST_KNOWN: usize = 20_000;

/// How many values are looked for at once: a pattern of more would be too large.
const AT_ONCE: usize = 500;

/// What stands in the place of a secret.
pub(crate) const CUT: &str = "[redacted]";

/// Cuts secrets out of objects and texts, and remembers them.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    known: BTreeSet<String>,
}

impl Redactor {
    /// Learns the secrets of an object, so that they are cut out of everything else.
    ///
    /// All objects are to be learned before the first is redacted.
    pub fn learn(&mut self, object: &Value) {
        let mut found = Vec::new();
        object::secrets(object, &mut found);
        for value in found {
            self.remember(&value);
        }
    }

    fn remember(&mut self, value: &str) {
        // A value of several lines is often printed line by line, or indented.
        for line in value.lines().map(str::trim).chain([value.trim()]) {
            let is_of_use = (SHORTEST_KNOWN..=LONGEST_KNOWN).contains(&line.len()) && !is_everyday(line);
            if is_of_use && self.known.len() < MOST_KNOWN {
                self.known.insert(line.to_owned());
            }
        }
    }

    /// Makes what cuts: after this, nothing more is learned.
    pub fn finish(self) -> Scissors {
        let mut values: Vec<String> = self.known.into_iter().collect();
        // The longest first, so that nothing is left of one that contains another.
        values.sort_by(|left, right| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
        let known = values
            .chunks(AT_ONCE)
            .filter_map(|values| {
                let values: Vec<String> = values.iter().map(|value| regex::escape(value)).collect();
                Regex::new(&values.join("|")).ok()
            })
            .collect();
        Scissors { known }
    }
}

/// Returns whether a value is an ordinary word: it would be cut out of half of all texts.
fn is_everyday(value: &str) -> bool {
    let is_word = value.len() < LONGEST_WORD && value.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_word
        || value.starts_with("-----")
        || value.starts_with("sha256:")
        || value.bytes().all(|byte| !byte.is_ascii_alphanumeric())
}

/// Cuts what is known to be secret, and what looks like it.
#[derive(Debug, Clone, Default)]
pub struct Scissors {
    known: Vec<Regex>,
}

impl Scissors {
    /// Returns an object that may be shown.
    pub fn object(&self, object: &Value) -> Value {
        let mut object = object::redacted(object);
        self.known_out_of(&mut object, 0);
        object
    }

    /// Returns a text that may be shown, such as a log.
    pub fn text(&self, text: &str) -> String {
        self.known_out(&text::redacted(text))
    }

    fn known_out(&self, text: &str) -> String {
        self.known.iter().fold(text.to_owned(), |text, known| {
            known.replace_all(&text, CUT).into_owned()
        })
    }

    fn known_out_of(&self, value: &mut Value, depth: usize) {
        match value {
            Value::String(text) => *text = self.known_out(text),
            Value::Array(values) => {
                for value in values {
                    self.known_out_of(value, depth + 1);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    // What names an object is no secret, and without it nobody finds anything.
                    let is_name =
                        depth <= 1 && matches!(key.as_str(), "apiVersion" | "kind" | "name" | "namespace");
                    if !is_name {
                        self.known_out_of(value, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_password_of_a_secret_is_cut_out_of_logs_and_other_objects() {
        let secret = json!({"kind": "Secret", "metadata": {"name": "db", "namespace": "apps"},
            "stringData": {"user": "postgres-admin"}, "data": {"pin": "Y29ycmVjdCBob3JzZQ=="}});
        let mut redactor = Redactor::default();
        redactor.learn(&secret);
        let scissors = redactor.finish();
        assert_eq!(
            scissors.text("connecting as postgres-admin with correct horse"),
            "connecting as [redacted] with [redacted]"
        );
        let other = json!({"kind": "ConfigMap", "metadata": {"name": "postgres-admin"}, "data": {"note": "use correct horse"}});
        let shown = scissors.object(&other);
        assert_eq!(shown["metadata"]["name"], "postgres-admin");
        assert_eq!(shown["data"]["note"], "use [redacted]");
        let shown = scissors.object(&secret);
        assert_eq!(shown["data"], json!({"pin": "13 bytes"}));
        assert_eq!(shown["metadata"]["name"], "db");
    }

    #[test]
    fn words_of_every_day_stay_readable() {
        let mut redactor = Redactor::default();
        redactor.learn(&json!({"kind": "Secret", "stringData": {"a": "default", "b": "on", "c": "======"}}));
        assert_eq!(
            redactor.finish().text("default is on ======"),
            "default is on ======"
        );
    }
}
