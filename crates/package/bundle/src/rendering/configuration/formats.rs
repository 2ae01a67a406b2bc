//! The formats that a schema may ask of text, and what is wrong with text that hasn't its format.

use chart::go_expression::Expression;
use chart::go_url::Url;
use gotemplate::format::quoted;
use serde_json::Value;

use super::{addresses, times};

/// The format of the namespace that an operator watches when it can only watch its own.
pub(super) const OWN_NAMESPACE: &str = "ownNamespaceInstallMode";

/// The format of the namespace that an operator watches when it can only watch one other than its own.
pub(super) const SINGLE_NAMESPACE: &str = "singleNamespaceInstallMode";

/// What is wrong with a value that should have a format. Formats that nobody knows are not asked for.
pub(super) fn fault(format: &str, value: &Value, install_namespace: &str) -> Option<String> {
    if matches!(format, OWN_NAMESPACE | SINGLE_NAMESPACE) {
        return namespace_fault(format, value, install_namespace);
    }
    let text = value.as_str()?;
    match format {
        "regex" => Expression::new(text.as_bytes())
            .err()
            .map(|error| error.to_string()),
        "json-pointer" => json_pointer_fault(text),
        "relative-json-pointer" => relative_json_pointer_fault(text),
        "uuid" => uuid_fault(text),
        "duration" => times::duration_fault(text),
        "period" => times::period_fault(text),
        "date" => times::date_fault(text),
        "time" => times::time_fault(text),
        "date-time" => times::date_time_fault(text),
        "ipv4" => ipv4_fault(text),
        "ipv6" => ipv6_fault(text),
        "hostname" => hostname_fault(text),
        "email" => email_fault(text),
        "uri" | "iri" => uri_fault(text),
        "uri-reference" | "iri-reference" => uri_reference_fault(text),
        "uri-template" => uri_template_fault(text),
        "semver" => semver_fault(text),
        _ => None,
    }
}

fn namespace_fault(format: &str, value: &Value, install_namespace: &str) -> Option<String> {
    // Where the operator will run isn't known yet, so nothing can be said.
    if install_namespace.is_empty() {
        return None;
    }
    let Some(text) = value.as_str() else {
        return Some("value must be a string".to_owned());
    };
    let (value, namespace) = (quoted(text), quoted(install_namespace));
    match (format, text == install_namespace) {
        (OWN_NAMESPACE, false) => Some(format!(
            "invalid value {value}: must be {namespace} (the namespace where the operator is installed) because this operator only supports OwnNamespace install mode"
        )),
        (SINGLE_NAMESPACE, true) => Some(format!(
            "invalid value {value}: must be different from {namespace} (the install namespace) because this operator uses SingleNamespace install mode to watch a different namespace"
        )),
        _ => None,
    }
}

/// A character as Go prints it in quotes.
pub(super) fn character(character: char) -> String {
    match character {
        '\'' => "'\\''".to_owned(),
        '"' => "'\"'".to_owned(),
        other => {
            let text = quoted(other.to_string());
            format!("'{}'", text.trim_matches('"'))
        }
    }
}

fn json_pointer_fault(text: &str) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let Some(rest) = text.strip_prefix('/') else {
        return Some("not starting with /".to_owned());
    };
    let badly_escaped = rest
        .split('/')
        .flat_map(|token| token.split('~').skip(1))
        .any(|after| !after.starts_with(['0', '1']));
    badly_escaped.then(|| "~ must be followed by 0 or 1".to_owned())
}

fn relative_json_pointer_fault(text: &str) -> Option<String> {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = text.len() - rest.len();
    if digits == 0 {
        Some("must start with non-negative integer".to_owned())
    } else if digits > 1 && text.starts_with('0') {
        Some("starts with zero".to_owned())
    } else if rest == "#" {
        None
    } else {
        json_pointer_fault(rest)
    }
}

fn uuid_fault(text: &str) -> Option<String> {
    let lengths = [8, 4, 4, 4, 12];
    let groups: Vec<_> = text.split('-').collect();
    if groups.len() != lengths.len() {
        return Some(format!("must have {} elements", lengths.len()));
    }
    groups
        .iter()
        .zip(lengths)
        .enumerate()
        .find_map(|(place, (group, length))| {
            if group.len() != length {
                return Some(format!("element {} must be {length} characters long", place + 1));
            }
            let foreign = group.chars().find(|digit| !digit.is_ascii_hexdigit())?;
            Some(format!("non-hex character {}", character(foreign)))
        })
}

fn ipv4_fault(text: &str) -> Option<String> {
    let groups: Vec<_> = text.split('.').collect();
    if groups.len() != 4 {
        return Some("expected four decimals".to_owned());
    }
    groups.into_iter().find_map(|group| {
        if group.len() > 1 && group.starts_with('0') {
            return Some("leading zeros".to_owned());
        }
        match times::integer(group) {
            Err(cause) => Some(format!("strconv.Atoi: parsing {}: {cause}", quoted(group))),
            Ok(0..=255) => None,
            Ok(_) => Some("decimal must be between 0 and 255".to_owned()),
        }
    })
}

fn ipv6_fault(text: &str) -> Option<String> {
    if !text.contains(':') {
        return Some("missing colon".to_owned());
    }
    addresses::fault(text).or_else(|| {
        text.contains('%')
            .then(|| "zone id is not a part of ipv6 address".to_owned())
    })
}

fn hostname_fault(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > 253 {
        return Some("more than 253 characters long".to_owned());
    }
    text.split('.').find_map(|label| {
        if label.is_empty() || label.len() > 63 {
            return Some("label must be 1 to 63 characters long".to_owned());
        }
        if label.starts_with('-') {
            return Some("label starts with hyphen".to_owned());
        }
        if label.ends_with('-') {
            return Some("label ends with hyphen".to_owned());
        }
        foreign_character(label, "-").map(|foreign| format!("invalid character {}", character(foreign)))
    })
}

/// The first character that is neither an ASCII letter or digit nor one of `others`.
fn foreign_character(text: &str, others: &str) -> Option<char> {
    text.chars()
        .find(|character| !character.is_ascii_alphanumeric() && !others.contains(*character))
}

fn email_fault(text: &str) -> Option<String> {
    if text.len() > 254 {
        return Some("more than 255 characters long".to_owned());
    }
    let Some((local, domain)) = text.rsplit_once('@') else {
        return Some("missing @".to_owned());
    };
    local_part_fault(local).or_else(|| {
        let bracketed = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match bracketed.map(|address| address.strip_prefix("IPv6:").ok_or(address)) {
            Some(Ok(address)) => ipv6_fault(address).map(|cause| format!("invalid ipv6 address: {cause}")),
            Some(Err(address)) => ipv4_fault(address).map(|cause| format!("invalid ipv4 address: {cause}")),
            None => hostname_fault(domain).map(|cause| format!("invalid domain: {cause}")),
        }
    })
}

fn local_part_fault(local: &str) -> Option<String> {
    if local.len() > 64 {
        return Some("local part more than 64 characters long".to_owned());
    }
    let in_quotes = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if let Some(inner) = in_quotes {
        return inner
            .contains(['\\', '"'])
            .then(|| "backslash and quote are not allowed within quoted local part".to_owned());
    }
    if local.starts_with('.') {
        Some("starts with dot".to_owned())
    } else if local.ends_with('.') {
        Some("ends with dot".to_owned())
    } else if local.contains("..") {
        Some("consecutive dots".to_owned())
    } else {
        foreign_character(local, ".!#$%&'*+-/=?^_`{|}~")
            .map(|foreign| format!("invalid character {}", character(foreign)))
    }
}

fn address_of(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)?;
    let host = String::from_utf8_lossy(&url.host).into_owned();
    // A port is split off only behind brackets, or behind the only colon.
    let name = host.rsplit_once(']').map_or_else(
        || {
            host.split_once(':').map_or(
                host.as_str(),
                |(name, port)| if port.contains(':') { &host } else { name },
            )
        },
        |(name, _)| name.trim_start_matches('['),
    );
    if name.contains(':') {
        if !host.contains('[') || !host.contains(']') {
            return Err("ipv6 address not enclosed in brackets".to_owned());
        }
        if let Some(cause) = ipv6_fault(name) {
            return Err(format!("invalid ipv6 address: {cause}"));
        }
    }
    Ok(url)
}

fn uri_fault(text: &str) -> Option<String> {
    match address_of(text) {
        Ok(url) => url.scheme.is_empty().then(|| "relative url".to_owned()),
        Err(cause) => Some(cause),
    }
}

fn uri_reference_fault(text: &str) -> Option<String> {
    if text.contains('\\') {
        return Some("contains \\".to_owned());
    }
    address_of(text).err()
}

fn uri_template_fault(text: &str) -> Option<String> {
    let url = match address_of(text) {
        Ok(url) => url,
        Err(cause) => return Some(cause),
    };
    let path = String::from_utf8_lossy(&url.path).into_owned();
    path.split('/').find_map(|part| {
        let mut open = false;
        for character in part.chars().filter(|character| matches!(character, '{' | '}')) {
            if open == (character == '{') {
                return Some("nested curly braces".to_owned());
            }
            open = !open;
        }
        open.then(|| "no matching closing brace".to_owned())
    })
}

fn semver_fault(text: &str) -> Option<String> {
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    if build == Some("") {
        return Some("build is empty".to_owned());
    }
    if let Some(fault) = build.and_then(|build| {
        build
            .split('.')
            .find_map(|identifier| identifier_fault(identifier, "build"))
    }) {
        return Some(fault);
    }
    let (core, release) = match text.split_once('-') {
        Some((core, release)) => (core, Some(release)),
        None => (text, None),
    };
    let release_fault = |identifier: &str| {
        identifier_fault(identifier, "pre-release").or_else(|| {
            let numeric = identifier.bytes().all(|digit| digit.is_ascii_digit());
            (numeric && identifier.len() > 1 && identifier.starts_with('0'))
                .then(|| "pre-release numeric identifier starts with zero".to_owned())
        })
    };
    if let Some(fault) = release.and_then(|release| release.split('.').find_map(release_fault)) {
        return Some(fault);
    }
    let numbers: Vec<_> = core.split('.').collect();
    if numbers.len() != 3 {
        return Some("versionCore must have 3 numbers separated by dot".to_owned());
    }
    numbers
        .iter()
        .zip(["major", "minor", "patch"])
        .find_map(|(number, name)| {
            if number.is_empty() {
                Some(format!("{name} is empty"))
            } else if number.len() > 1 && number.starts_with('0') {
                Some(format!("{name} starts with zero"))
            } else if number.bytes().any(|digit| !digit.is_ascii_digit()) {
                Some(format!("{name} contains non-digit"))
            } else {
                None
            }
        })
}

fn identifier_fault(identifier: &str, part: &str) -> Option<String> {
    if identifier.is_empty() {
        return Some(format!("{part} identifier is empty"));
    }
    foreign_character(identifier, "-")
        .map(|foreign| format!("invalid character {} in {part} identifier", character(foreign)))
}
