//! JSON pointers and UUIDs.

use super::{Verdict, digits, quoted_character, refuse};

pub(super) fn check(text: &str) -> Verdict {
    if text.is_empty() {
        return Ok(());
    }
    if !text.starts_with('/') {
        return refuse("not starting with /");
    }
    // Every character may stand for itself but the tilde.
    let is_sound = text
        .split('/')
        .flat_map(|token| token.split('~').skip(1))
        .all(|rest| rest.starts_with(['0', '1']));
    if !is_sound {
        return refuse("~ must be followed by 0 or 1");
    }
    Ok(())
}

pub(super) fn check_relative(text: &str) -> Verdict {
    let (number, rest) = digits(text);
    if number.is_empty() {
        return refuse("must start with non-negative integer");
    }
    if number.len() > 1 && number.starts_with('0') {
        return refuse("starts with zero");
    }
    if rest == "#" { Ok(()) } else { check(rest) }
}

pub(super) fn check_uuid(text: &str) -> Verdict {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    if groups.len() != LENGTHS.len() {
        return Err(format!("must have {} elements", LENGTHS.len()));
    }
    for (index, (group, length)) in groups.into_iter().zip(LENGTHS).enumerate() {
        if group.len() != length {
            return Err(format!("element {} must be {length} characters long", index + 1));
        }
        if let Some(other) = group.chars().find(|character| !character.is_ascii_hexdigit()) {
            return Err(format!("non-hex character {}", quoted_character(other)));
        }
    }
    Ok(())
}
