//! IPv6 addresses in text, with the errors of Go's `netip.ParseAddr`.

use gotemplate::format::quoted;

/// How many groups of four hexadecimal digits an address has.
const GROUPS: usize = 8;

/// What is wrong with an address that has a colon.
pub(super) fn fault(text: &str) -> Option<String> {
    match text.find(['.', ':', '%']).map(|place| text.as_bytes()[place]) {
        Some(b':') => groups(text).err().map(|fault| fault.told(text)),
        Some(b'.') => decimals(text).err().map(|fault| fault.told(text)),
        _ => Some(Fault::here("missing IPv6 address", "").told(text)),
    }
}

struct Fault<'t> {
    cause: &'static str,
    /// The rest of the text where it was noticed, if that says something.
    at: &'t str,
}

impl<'t> Fault<'t> {
    fn here(cause: &'static str, at: &'t str) -> Self {
        Self { cause, at }
    }

    fn told(&self, text: &str) -> String {
        let at = match self.at {
            "" => String::new(),
            rest => format!(" (at {})", quoted(rest)),
        };
        format!("ParseAddr({}): {}{at}", quoted(text), self.cause)
    }
}

/// Reads the groups of an address; a zone behind it may be anything but empty.
fn groups(text: &str) -> Result<(), Fault<'_>> {
    let wrong = |cause, at| Err(Fault::here(cause, at));
    let mut rest = match text.split_once('%') {
        Some((_, "")) => return wrong("zone must be a non-empty string", ""),
        Some((address, _)) => address,
        None => text,
    };
    let mut shortened = false;
    if let Some(after) = rest.strip_prefix("::") {
        shortened = true;
        rest = after;
        if rest.is_empty() {
            return Ok(());
        }
    }
    let mut read = 0;
    while read < GROUPS {
        let after = rest.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
        match rest.len() - after.len() {
            0 => return wrong("each colon-separated field must have at least one digit", rest),
            1..=4 => {}
            _ => return wrong("each group must have 4 or less digits", rest),
        }
        if after.starts_with('.') {
            if !shortened && read != GROUPS - 2 {
                return wrong(
                    "embedded IPv4 address must replace the final 2 fields of the address",
                    rest,
                );
            }
            if read + 2 > GROUPS {
                return wrong(
                    "too many hex fields to fit an embedded IPv4 at the end of the address",
                    rest,
                );
            }
            decimals(rest)?;
            rest = "";
            read += 2;
            break;
        }
        read += 1;
        rest = after;
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return wrong("unexpected character, want colon", rest);
        };
        if after.is_empty() {
            return wrong("colon must be followed by more characters", rest);
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if shortened {
                return wrong("multiple :: in address", rest);
            }
            shortened = true;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        wrong("trailing garbage after address", rest)
    } else if read < GROUPS && !shortened {
        wrong("address string too short", "")
    } else if read >= GROUPS && shortened {
        wrong("the :: must expand to at least one field of zeros", "")
    } else {
        Ok(())
    }
}

/// Reads an IPv4 address.
fn decimals(address: &str) -> Result<(), Fault<'_>> {
    let wrong = |cause, at| Err(Fault::here(cause, at));
    let (mut number, mut position, mut digits) = (0_u32, 0, 0);
    let mut previous = None;
    for (place, character) in address.char_indices() {
        let rest = &address[place..];
        match character {
            '0'..='9' => {
                if digits == 1 && number == 0 {
                    return wrong("IPv4 field has octet with leading zero", "");
                }
                number = number * 10 + character.to_digit(10).unwrap_or_default();
                digits += 1;
                if number > 255 {
                    return wrong("IPv4 field has value >255", "");
                }
            }
            '.' => {
                let ends = place == 0 || place + 1 == address.len() || previous == Some('.');
                if ends {
                    return wrong("IPv4 field must have at least one digit", rest);
                }
                if position == 3 {
                    return wrong("IPv4 address too long", "");
                }
                position += 1;
                (number, digits) = (0, 0);
            }
            _ => return wrong("unexpected character", rest),
        }
        previous = Some(character);
    }
    if position < 3 {
        return wrong("IPv4 address too short", "");
    }
    Ok(())
}
