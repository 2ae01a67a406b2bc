//! Names of fields as expressions spell them.
//!
//! A field may be called `my-field` or `namespace`, which no expression can say; it is spelled `my__dash__field` or
//! `__namespace__` there.

use std::borrow::Cow;

use schema::structural::name_rules::is_reserved_word;

/// Returns how expressions spell the name; `None` when they can't.
pub(crate) fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if is_reserved_word(name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    if name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.contains("__")
    {
        return Some(Cow::Borrowed(name));
    }
    let mut escaped = String::with_capacity(name.len() + 8);
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '_' if characters.peek() == Some(&'_') => {
                characters.next();
                escaped.push_str("__underscores__");
            }
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            '_' => escaped.push('_'),
            plain if plain.is_ascii_alphanumeric() => escaped.push(plain),
            _ => return None,
        }
    }
    Some(Cow::Owned(escaped))
}

/// Returns the name that expressions spell this way; `None` when no name is spelled so.
pub(crate) fn unescape(escaped: &str) -> Option<Cow<'_, str>> {
    if !escaped.contains("__") {
        return Some(Cow::Borrowed(escaped));
    }
    let mut name = String::with_capacity(escaped.len());
    let mut left = escaped;
    while let Some(start) = left.find("__") {
        let Some((before, rest)) = left.split_at_checked(start) else {
            break;
        };
        let after = rest.get(2..).unwrap_or_default();
        // What stands between two pairs of underscores contains none itself.
        let end = after.find('_').unwrap_or(after.len());
        let (word, tail) = after.split_at_checked(end)?;
        if word.is_empty() || !tail.starts_with("__") {
            // Not an escape: one underscore is plain, and the search goes on behind it.
            name.push_str(before);
            name.push('_');
            left = rest.get(1..).unwrap_or_default();
            continue;
        }
        name.push_str(before);
        match word {
            "underscores" => name.push_str("__"),
            "dot" => name.push('.'),
            "dash" => name.push('-'),
            "slash" => name.push('/'),
            word if is_reserved_word(word) && escaped.len() == word.len() + 4 => name.push_str(word),
            _ => return None,
        }
        left = tail.get(2..).unwrap_or_default();
    }
    name.push_str(left);
    Some(Cow::Owned(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_spelled_as_upstream_spells_them() {
        let table = [
            ("a", Some("a")),
            ("my-field", Some("my__dash__field")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("namespace", Some("__namespace__")),
            ("a__b", Some("a__underscores__b")),
            ("a___b", Some("a__underscores___b")),
            ("_x", Some("_x")),
            ("1a", None),
            ("", None),
            ("a$b", None),
        ];
        for (name, spelled) in table {
            assert_eq!(escape(name).as_deref(), spelled, "{name}");
        }
    }

    proptest! {
        #[test]
        fn what_is_escaped_can_be_read_back(name in "[a-z_.-][a-z0-9_./-]{0,12}") {
            let escaped = escape(&name).expect("the name is of characters that can be escaped");
            let read = unescape(&escaped).map(Cow::into_owned);
            prop_assert_eq!(read, Some(name));
        }
    }
}
