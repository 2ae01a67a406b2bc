//! Semantic versions.

use super::{Verdict, quoted_character, refuse};

pub(super) fn check(text: &str) -> Verdict {
    let mut rest = text;
    if let Some((before, build)) = rest.split_once('+') {
        if build.is_empty() {
            return refuse("build is empty");
        }
        for identifier in build.split('.') {
            check_identifier(identifier, "build")?;
        }
        rest = before;
    }
    if let Some((before, pre_release)) = rest.split_once('-') {
        for identifier in pre_release.split('.') {
            check_identifier(identifier, "pre-release")?;
            let is_number = identifier.bytes().all(|byte| byte.is_ascii_digit());
            if is_number && identifier.len() > 1 && identifier.starts_with('0') {
                return refuse("pre-release numeric identifier starts with zero");
            }
        }
        rest = before;
    }
    let numbers: Vec<&str> = rest.split('.').collect();
    if numbers.len() != 3 {
        return refuse("versionCore must have 3 numbers separated by dot");
    }
    for (number, name) in numbers.into_iter().zip(["major", "minor", "patch"]) {
        if number.is_empty() {
            return Err(format!("{name} is empty"));
        }
        if number.len() > 1 && number.starts_with('0') {
            return Err(format!("{name} starts with zero"));
        }
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("{name} contains non-digit"));
        }
    }
    Ok(())
}

fn check_identifier(identifier: &str, part: &str) -> Verdict {
    if identifier.is_empty() {
        return Err(format!("{part} identifier is empty"));
    }
    let is_allowed = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    match identifier.chars().find(|character| !is_allowed(character)) {
        None => Ok(()),
        Some(other) => Err(format!(
            "invalid character {} in {part} identifier",
            quoted_character(other)
        )),
    }
}
