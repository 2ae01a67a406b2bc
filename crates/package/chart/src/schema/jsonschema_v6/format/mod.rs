//! The formats that text may be asked to have, and what Go says about text that has not.

mod address;
mod network;
mod pointer;
mod time;
mod uri;
mod version;

use crate::go_expression::Expression;

/// What is wrong with a text.
type Verdict = Result<(), String>;

/// A format that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    name: &'static str,
    check: fn(&str) -> Verdict,
}

const FORMATS: [Format; 19] = [
    Format::new("json-pointer", pointer::check),
    Format::new("relative-json-pointer", pointer::check_relative),
    Format::new("uuid", pointer::check_uuid),
    Format::new("duration", time::check_duration),
    Format::new("period", time::check_period),
    Format::new("ipv4", network::check_ipv4),
    Format::new("ipv6", network::check_ipv6),
    Format::new("hostname", network::check_hostname),
    Format::new("email", network::check_email),
    Format::new("date", time::check_date),
    Format::new("time", time::check_time),
    Format::new("date-time", time::check_date_time),
    Format::new("uri", uri::check),
    Format::new("iri", uri::check),
    Format::new("uri-reference", uri::check_reference),
    Format::new("iri-reference", uri::check_reference),
    Format::new("uri-template", uri::check_template),
    Format::new("semver", version::check),
    Format::new("regex", check_expression),
];

impl Format {
    const fn new(name: &'static str, check: fn(&str) -> Verdict) -> Self {
        Self { name, check }
    }

    /// Returns a format by its name; text of an unknown format is not checked.
    pub(super) fn named(name: &str) -> Option<Self> {
        FORMATS.into_iter().find(|format| format.name == name)
    }

    pub(super) fn name(self) -> &'static str {
        self.name
    }

    /// Tells what is wrong with a text.
    pub(super) fn check(self, text: &str) -> Verdict {
        (self.check)(text)
    }
}

fn check_expression(text: &str) -> Verdict {
    Expression::new(text.as_bytes())
        .map(drop)
        .map_err(|error| error.to_string())
}

fn refuse(reason: &str) -> Verdict {
    Err(reason.to_owned())
}

/// A character between single quotes, with the escapes of Go.
fn quoted_character(character: char) -> String {
    let number = gotemplate::Value::int(i64::from(u32::from(character)));
    String::from_utf8_lossy(&gotemplate::format::sprintf(b"%q", &[number])).into_owned()
}

/// Cuts the decimal digits off the start of a text; returns them and what follows.
fn digits(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Reads a whole number as Go's `strconv.Atoi` does.
fn whole_number(text: &str) -> Result<i64, String> {
    gotemplate::format::parse_int(text, 10).map_err(|mut error| {
        error.function = "Atoi";
        error.to_string()
    })
}
