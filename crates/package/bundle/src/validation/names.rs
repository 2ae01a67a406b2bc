//! Names, labels and their values as Kubernetes accepts them, with its words for those it doesn't.

use std::sync::LazyLock;

use regex::Regex;

/// The longest label, and the longest value of one.
const MAXIMUM_LABEL_BYTES: usize = 63;
/// The longest DNS subdomain.
const MAXIMUM_SUBDOMAIN_BYTES: usize = 253;

const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

/// What is said of a key's name part.
const QUALIFIED_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character";
const QUALIFIED_EXAMPLES: &[&str] = &["MyName", "my.name", "123-abc"];

/// A pattern that must match the whole text.
struct Pattern {
    text: &'static str,
    expression: LazyLock<Option<Regex>>,
}

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        // Go's `$` without flags is the end of the text, which is `\z` here.
        self.expression
            .as_ref()
            .is_some_and(|expression| expression.is_match(text))
    }

    fn refusal(&self, rule: &str, examples: &[&str]) -> String {
        let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
        format!(
            "{rule} (e.g. {}regex used for validation is '{}')",
            examples.join(" or "),
            self.text
        )
    }
}

macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: Pattern = Pattern {
            text: $text,
            expression: LazyLock::new(|| Regex::new(&format!(r"\A(?:{})\z", $text)).ok()),
        };
    };
}
pattern!(SUBDOMAIN_PATTERN, SUBDOMAIN);
pattern!(DNS_1035_PATTERN, DNS_1035);
pattern!(QUALIFIED_PATTERN, QUALIFIED);
pattern!(LABEL_VALUE_PATTERN, LABEL_VALUE);

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

/// Why text is not a DNS subdomain (RFC 1123).
pub(super) fn dns_subdomain(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > MAXIMUM_SUBDOMAIN_BYTES {
        faults.push(too_long(MAXIMUM_SUBDOMAIN_BYTES));
    }
    if !SUBDOMAIN_PATTERN.matches(text) {
        faults.push(SUBDOMAIN_PATTERN.refusal(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            &["example.com"],
        ));
    }
    faults
}

/// Why text is not a DNS label (RFC 1035).
pub(super) fn dns_1035_label(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > MAXIMUM_LABEL_BYTES {
        faults.push(too_long(MAXIMUM_LABEL_BYTES));
    }
    if !DNS_1035_PATTERN.matches(text) {
        faults.push(DNS_1035_PATTERN.refusal(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            &["my-name", "abc-123"],
        ));
    }
    faults
}

/// Why text is not the key of a label: a name, maybe after a DNS subdomain and a slash.
pub(super) fn label_key(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                faults.extend(
                    dns_subdomain(prefix)
                        .into_iter()
                        .map(|fault| format!("prefix part {fault}")),
                );
            }
            name
        }
        _ => {
            faults.push(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                QUALIFIED_PATTERN.refusal(QUALIFIED_RULE, QUALIFIED_EXAMPLES)
            ));
            return faults;
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > MAXIMUM_LABEL_BYTES {
        faults.push(format!("name part {}", too_long(MAXIMUM_LABEL_BYTES)));
    }
    if !QUALIFIED_PATTERN.matches(name) {
        faults.push(format!(
            "name part {}",
            QUALIFIED_PATTERN.refusal(QUALIFIED_RULE, QUALIFIED_EXAMPLES)
        ));
    }
    faults
}

/// Why text is not the value of a label.
pub(super) fn label_value(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > MAXIMUM_LABEL_BYTES {
        faults.push(too_long(MAXIMUM_LABEL_BYTES));
    }
    if !LABEL_VALUE_PATTERN.matches(text) {
        faults.push(LABEL_VALUE_PATTERN.refusal(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            &["MyValue", "my_value", "12345"],
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_refused_in_the_words_of_kubernetes() {
        assert!(dns_subdomain("a.b-c.d").is_empty());
        assert_eq!(
            dns_subdomain("A"),
            [
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                 and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ]
        );
        assert!(dns_1035_label("a-1").is_empty());
        assert!(!dns_1035_label("1a").is_empty());
        assert!(
            !dns_1035_label("a\n").is_empty(),
            "the end is the end of the text"
        );
        assert_eq!(label_value(&"x".repeat(64)), ["must be no more than 63 bytes"]);
        assert_eq!(label_key("/x"), ["prefix part must be non-empty"]);
        assert_eq!(label_key("a/b/c").len(), 1);
        assert_eq!(label_key("").len(), 2);
    }
}
