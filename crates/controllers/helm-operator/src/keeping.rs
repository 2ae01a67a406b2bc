//! Random values of releases that somebody else made, kept as they are.
//!
//! A release without a seed – made by Helm, or by another operator – has random values that can't be made again. What is
//! random shows when the chart is rendered twice with different chance; at such places the value of the release stays if
//! it has the same form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Puts the values of `stored` into `one` wherever two renders differ by chance and the form is the same.
pub fn keep(one: &mut Value, other: &Value, stored: &Value) {
    match (one, other, stored) {
        (Value::Object(one), Value::Object(other), Value::Object(stored)) => {
            for (key, value) in one {
                if let (Some(other), Some(stored)) = (other.get(key), stored.get(key)) {
                    keep(value, other, stored);
                }
            }
        }
        (Value::Array(one), Value::Array(other), Value::Array(stored)) => {
            for ((one, other), stored) in one.iter_mut().zip(other).zip(stored) {
                keep(one, other, stored);
            }
        }
        (Value::String(one), Value::String(other), Value::String(stored)) => {
            if one != other
                && let Some(kept) = kept_text(one, other, stored)
            {
                *one = kept;
            }
        }
        (one @ Value::Number(_), other @ Value::Number(_), stored @ Value::Number(_)) if one != other => {
            *one = stored.clone();
        }
        _ => {}
    }
}

fn kept_text(one: &str, other: &str, stored: &str) -> Option<String> {
    // The data of Secrets is text in base64; its form shows only without it.
    if let (Some(one), Some(other), Some(stored)) = (decoded(one), decoded(other), decoded(stored))
        && let Some(kept) = kept_lines(&one, &other, &stored)
    {
        return Some(STANDARD.encode(kept));
    }
    kept_lines(one, other, stored)
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

/// Keeps line by line: a line that differs by chance is replaced by the stored one with the same start and end.
fn kept_lines(one: &str, other: &str, stored: &str) -> Option<String> {
    let lines: Vec<(&str, &str)> = one.split('\n').zip(other.split('\n')).collect();
    if one.split('\n').count() != other.split('\n').count() {
        // The form itself is a matter of chance: all of it is kept, if that is one value such as a certificate.
        let is_block = |text: &str| text.starts_with("-----BEGIN ");
        return (is_block(one) && is_block(stored)).then(|| stored.to_owned());
    }
    let mut left: Vec<&str> = stored.split('\n').collect();
    let mut kept = Vec::with_capacity(lines.len());
    for (one, other) in lines {
        if one == other {
            if let Some(place) = left.iter().position(|line| *line == one) {
                left.drain(..=place);
            }
            kept.push(one);
            continue;
        }
        let (start, end) = common(one, other);
        let place = left.iter().position(|line| {
            line.len() >= start.len() + end.len() && line.starts_with(start) && line.ends_with(end)
        });
        match place {
            Some(place) => {
                kept.push(left[place]);
                left.drain(..=place);
            }
            None => kept.push(one),
        }
    }
    Some(kept.join("\n"))
}

/// What two texts start and end with in common; what may be one random value never counts as its start.
fn common<'a>(one: &'a str, other: &str) -> (&'a str, &'a str) {
    let mut start = one
        .char_indices()
        .zip(other.chars())
        .find(|((_, left), right)| left != right)
        .map_or(one.len().min(other.len()), |((at, _), _)| at);
    // Two random values may begin with the same letters by chance: the common start ends where a word does.
    let is_word = |character: char| character.is_alphanumeric();
    while start > 0 && one[..start].ends_with(is_word) {
        start -= one[..start].chars().next_back().map_or(1, char::len_utf8);
    }
    let (one_rest, other_rest) = (&one[start..], other.get(start..).unwrap_or_default());
    let mut length: usize = one_rest
        .chars()
        .rev()
        .zip(other_rest.chars().rev())
        .take_while(|(left, right)| left == right)
        .map(|(left, _)| left.len_utf8())
        .sum();
    while length > 0 && one_rest[one_rest.len() - length..].starts_with(is_word) {
        let ending = &one_rest[one_rest.len() - length..];
        length -= ending.chars().next().map_or(1, char::len_utf8);
    }
    (&one[..start], &one_rest[one_rest.len() - length..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn kept(mut one: Value, other: &Value, stored: &Value) -> Value {
        keep(&mut one, other, stored);
        one
    }

    #[test]
    fn a_password_stays_and_a_change_arrives() {
        let secret = |password: &str, user: &str| {
            json!({
                "stringData": {"password": password, "user": user},
                "data": {"both": STANDARD.encode(format!("user={user}\npassword={password}\n"))},
            })
        };
        assert_eq!(
            kept(
                secret("abc1", "new"),
                &secret("abc2", "new"),
                &secret("old", "before")
            ),
            secret("old", "new")
        );
    }

    #[test]
    fn lines_are_found_again_where_others_came_between() {
        let one = json!("a: 1\nadded: 2\nkey: x1y\nlast: z");
        let other = json!("a: 1\nadded: 2\nkey: k8\nlast: z");
        let stored = json!("a: 0\nkey: secret\nlast: z");
        assert_eq!(
            kept(one, &other, &stored),
            json!("a: 1\nadded: 2\nkey: secret\nlast: z")
        );
    }

    #[test]
    fn certificates_are_kept_whatever_their_length() {
        let block = |body: &str| {
            json!(format!(
                "-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"
            ))
        };
        assert_eq!(
            kept(block("a\nb"), &block("c"), &block("old\nold\nold")),
            block("old\nold\nold")
        );
    }

    #[test]
    fn what_has_another_form_is_new() {
        assert_eq!(
            kept(json!("user-1x"), &json!("user-9z"), &json!("admin")),
            json!("user-1x")
        );
        assert_eq!(kept(json!(["r1"]), &json!(["r2"]), &json!({})), json!(["r1"]));
        assert_eq!(kept(json!("same"), &json!("same"), &json!("old")), json!("same"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(one in "\\PC{0,40}", other in "\\PC{0,40}", stored in "\\PC{0,40}") {
            let (start, end) = common(&one, &other);
            prop_assert!(one.starts_with(start) && one.ends_with(end) && start.len() + end.len() <= one.len());
            let _ = kept_text(&one, &other, &stored);
        }
    }
}
