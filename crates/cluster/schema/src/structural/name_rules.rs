//! What names may look like, and the API server's words for those that don't.

/// The longest DNS label.
const LABEL_BYTES: usize = 63;
/// The longest DNS subdomain.
const SUBDOMAIN_BYTES: usize = 253;
/// The longest name part of a label key, and the longest label value.
const LABEL_KEY_BYTES: usize = 63;

const LABEL_KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
     '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

/// Upstream's words where labels are too long: it has two sets of rules for names, which count alike and say it
/// differently.
fn too_many_bytes(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

/// Returns whether text begins and ends with signs that `is_end` allows, with signs that `is_inner` allows between.
fn is_framed(text: &str, is_first: fn(u8) -> bool, is_end: fn(u8) -> bool, is_inner: fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => is_first(*only),
        [first, inner @ .., last] => {
            is_first(*first) && is_end(*last) && inner.iter().all(|byte| is_inner(*byte))
        }
    }
}

fn is_small(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_small_or_dash(byte: u8) -> bool {
    is_small(byte) || byte == b'-'
}

fn is_label(text: &str) -> bool {
    is_framed(text, is_small, is_small, is_small_or_dash)
}

fn is_label_key(text: &str) -> bool {
    let is_sign: fn(u8) -> bool = |byte| byte.is_ascii_alphanumeric();
    is_framed(text, is_sign, is_sign, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
    })
}

/// Returns what keeps text from being a DNS subdomain (RFC 1123), such as `example.com`.
pub fn dns_subdomain(text: &str) -> Vec<String> {
    subdomain_faults(text, too_long)
}

fn subdomain_faults(text: &str, too_long: fn(usize) -> String) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > SUBDOMAIN_BYTES {
        faults.push(too_long(SUBDOMAIN_BYTES));
    }
    if !text.split('.').all(is_label) {
        faults.push(SUBDOMAIN_RULE.to_owned());
    }
    faults
}

/// Returns what keeps text from being a DNS label (RFC 1123), such as `my-name`.
pub fn dns_label(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > LABEL_BYTES {
        faults.push(too_long(LABEL_BYTES));
    }
    if !is_label(text) {
        faults.push(if text.split('.').all(is_label) {
            "must not contain dots".to_owned()
        } else {
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned()
        });
    }
    faults
}

/// Returns what keeps text from being a DNS label (RFC 1035), which begins with a letter.
pub fn dns_1035_label(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > LABEL_BYTES {
        faults.push(too_long(LABEL_BYTES));
    }
    if !is_framed(text, |byte| byte.is_ascii_lowercase(), is_small, is_small_or_dash) {
        faults.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    faults
}

/// Returns what keeps text from being a label key, such as `example.com/name`: a name with or without a prefix.
pub fn label_key(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        ["", name] => {
            faults.push("prefix part must be non-empty".to_owned());
            *name
        }
        [prefix, name] => {
            faults.extend(
                subdomain_faults(prefix, too_many_bytes)
                    .iter()
                    .map(|fault| format!("prefix part {fault}")),
            );
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {LABEL_KEY_RULE} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_KEY_BYTES {
        faults.push(format!("name part {}", too_many_bytes(LABEL_KEY_BYTES)));
    }
    if !is_label_key(name) {
        faults.push(format!("name part {LABEL_KEY_RULE}"));
    }
    faults
}

/// Returns what keeps text from being the value of a label.
pub fn label_value(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > LABEL_KEY_BYTES {
        faults.push(too_many_bytes(LABEL_KEY_BYTES));
    }
    if !text.is_empty() && !is_label_key(text) {
        faults.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    faults
}

/// Returns what keeps text from being a segment of a path; `is_prefix` says that more will follow.
pub fn path_segment(text: &str, is_prefix: bool) -> Vec<String> {
    if !is_prefix && matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|part| text.contains(part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// Returns a prefix of names as it is judged: what will follow makes up for a dash at its end.
pub fn masked_prefix(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(front) if !front.is_empty() => {
            // The server replaces the last two bytes, whatever the first of them is.
            let kept = front
                .char_indices()
                .next_back()
                .map_or("", |(end, _)| front.get(..end).unwrap_or(""));
            format!("{kept}a")
        }
        _ => prefix.to_owned(),
    }
}

/// Words that mean something in expressions, so that nothing can be called so there.
const RESERVED_WORDS: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Returns whether expressions can't use a word as a name.
pub fn is_reserved_word(word: &str) -> bool {
    RESERVED_WORDS.contains(&word)
}
