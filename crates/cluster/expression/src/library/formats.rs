//! Named formats: `format.dns1123Label().validate(self.name)`.

use super::Function;
use super::url::Url;
use crate::value::{Failure, Value};

/// A format that text can be checked against.
#[derive(Debug)]
pub(crate) struct Format {
    /// The name by which two formats are told apart.
    pub(crate) name: &'static str,
    /// The size of the regular expression that the check amounts to; it drives the cost.
    pub(crate) expression_size: u64,
    spelled: &'static str,
    check: fn(&str) -> Vec<String>,
}

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;

static FORMATS: [Format; 13] = [
    Format {
        name: "DNS1123Label",
        expression_size: 30,
        spelled: "dns1123Label",
        check: |text| label(text, false),
    },
    Format {
        name: "DNS1123LabelPrefix",
        expression_size: 30,
        spelled: "dns1123LabelPrefix",
        check: |text| label(&without_dash(text), false),
    },
    Format {
        name: "DNS1123Subdomain",
        expression_size: 60,
        spelled: "dns1123Subdomain",
        check: subdomain,
    },
    Format {
        name: "DNS1123SubdomainPrefix",
        expression_size: 60,
        spelled: "dns1123SubdomainPrefix",
        check: |text| subdomain(&without_dash(text)),
    },
    Format {
        name: "DNS1035Label",
        expression_size: 30,
        spelled: "dns1035Label",
        check: |text| label(text, true),
    },
    Format {
        name: "DNS1035LabelPrefix",
        expression_size: 30,
        spelled: "dns1035LabelPrefix",
        check: |text| label(&without_dash(text), true),
    },
    Format {
        name: "QualifiedName",
        expression_size: 60,
        spelled: "qualifiedName",
        check: schema::structural::name_rules::label_key,
    },
    Format {
        name: "LabelValue",
        expression_size: 40,
        spelled: "labelValue",
        check: schema::structural::name_rules::label_value,
    },
    Format {
        name: "URI",
        expression_size: 1103,
        spelled: "uri",
        check: |text| Url::parse_request(text).err().into_iter().collect(),
    },
    Format {
        name: "uuid",
        expression_size: 70,
        spelled: "uuid",
        check: |text| openapi("uuid", text, "does not match the UUID format"),
    },
    Format {
        name: "byte",
        expression_size: 84,
        spelled: "byte",
        check: |text| openapi("byte", text, "invalid base64"),
    },
    Format {
        name: "date",
        expression_size: 71,
        spelled: "date",
        check: |text| openapi("date", text, "invalid date"),
    },
    Format {
        name: "datetime",
        expression_size: 71,
        spelled: "datetime",
        check: |text| openapi("datetime", text, "invalid datetime"),
    },
];

/// Returns the format of that name.
pub(crate) fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.spelled == name)
}

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "format-named" => |arguments| match arguments {
            [Value::String(name)] => {
                Ok(named(name).map_or(Value::Optional(None), |format| Value::some(Value::Format(format))))
            }
            _ => Err(Failure::no_such_overload()),
        },
        "format-validate" => |arguments| match arguments {
            [Value::Format(format), Value::String(text)] => {
                let wrong = (format.check)(text);
                Ok(if wrong.is_empty() {
                    Value::Optional(None)
                } else {
                    Value::some(Value::strings(wrong))
                })
            }
            _ => Err(Failure::no_such_overload()),
        },
        other => return constant(other.strip_prefix("format.")?),
    })
}

/// Returns the function that gives the format. It takes no argument, so each format needs its own.
fn constant(name: &str) -> Option<Function> {
    macro_rules! constants {
        ($($spelled:literal),*) => {
            match name {
                $($spelled => Some(|_| named($spelled).map(Value::Format).ok_or_else(Failure::no_such_overload)),)*
                _ => None,
            }
        };
    }
    constants!(
        "dns1123Label",
        "dns1123LabelPrefix",
        "dns1123Subdomain",
        "dns1123SubdomainPrefix",
        "dns1035Label",
        "dns1035LabelPrefix",
        "qualifiedName",
        "labelValue",
        "uri",
        "uuid",
        "byte",
        "date",
        "datetime"
    )
}

fn openapi(format: &str, text: &str, message: &str) -> Vec<String> {
    match schema::structural::formats::check(format) {
        Some(check) if !check(text) => vec![message.to_owned()],
        _ => Vec::new(),
    }
}

/// Decodes base64 as the format `byte` has it.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    use base64::Engine as _;
    // Go's decoder passes over line breaks.
    let text: String = text
        .chars()
        .filter(|character| !matches!(character, '\r' | '\n'))
        .collect();
    base64::engine::general_purpose::STANDARD
        .decode(&text)
        .map_err(|error| {
            let at = match error {
                base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                base64::DecodeError::InvalidLength(at) => at,
                base64::DecodeError::InvalidPadding => text.len(),
            };
            format!("illegal base64 data at input byte {at}")
        })
}

/// A prefix of a name may end with a dash, since something is put behind it.
fn without_dash(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if text.len() > 1 => {
            // Upstream cuts off one byte more, and puts a letter in its place.
            let mut bytes = rest.as_bytes().to_vec();
            bytes.pop();
            bytes.push(b'a');
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => text.to_owned(),
    }
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

fn broken(rule: &str, examples: &[&str], expression: &str) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!(
        "{rule} (e.g. {}regex used for validation is '{expression}')",
        examples.join(" or ")
    )
}

fn is_label(text: &str, first: fn(&u8) -> bool) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(first)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "it is handed on as a test of bytes in place"
)]
fn plain(byte: &u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(|part| is_label(part, plain))
}

fn label(text: &str, old: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > LABEL_LENGTH {
        wrong.push(too_long(LABEL_LENGTH));
    }
    if old {
        if !is_label(text, u8::is_ascii_lowercase) {
            wrong.push(broken(
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                 character, and end with an alphanumeric character",
                &["my-name", "abc-123"],
                "[a-z]([-a-z0-9]*[a-z0-9])?",
            ));
        }
    } else if !is_label(text, plain) {
        if is_subdomain(text) {
            wrong.push("must not contain dots".to_owned());
        } else {
            wrong.push(broken(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character",
                &["my-name", "123-abc"],
                "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
            ));
        }
    }
    wrong
}

fn subdomain(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH {
        wrong.push(too_long(SUBDOMAIN_LENGTH));
    }
    if !is_subdomain(text) {
        wrong.push(broken(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            &["example.com"],
            "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
        ));
    }
    wrong
}

/// Returns whether the text is the name of an object: labels with dots between them.
pub(crate) fn is_subdomain_name(text: &str) -> bool {
    subdomain(text).is_empty()
}

/// Returns whether the text is the name of a namespace: one label.
pub(crate) fn is_label_name(text: &str) -> bool {
    label(text, false).is_empty()
}
