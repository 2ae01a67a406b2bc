//! Path patterns of `.Files.Glob`: `*` and `?` stop at `/`, `**` does not, with `[…]` and `{a,b}`.

use regex::bytes::Regex;

/// A compiled pattern.
pub(crate) struct Glob {
    /// None matches everything, which is what Helm makes of a pattern that cannot be read.
    expression: Option<Regex>,
}

impl Glob {
    /// Reads a pattern; one that is malformed matches every path, as in Helm.
    pub(crate) fn new(pattern: &str) -> Glob {
        let expression = translate(pattern).and_then(|expression| Regex::new(&expression).ok());
        Glob { expression }
    }

    /// Returns whether a path matches as a whole.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.expression
            .as_ref()
            .is_none_or(|expression| expression.is_match(path))
    }
}

/// Writes the pattern as a regular expression; none where it is malformed.
fn translate(pattern: &str) -> Option<String> {
    let mut expression = String::from("(?s-u)^(?:");
    let mut depth = 0_usize;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => push_literal(&mut expression, characters.next()?),
            '*' => {
                if characters.next_if_eq(&'*').is_some() {
                    expression.push_str(".*");
                } else {
                    expression.push_str("[^/]*");
                }
            }
            '?' => expression.push_str("(?u:[^/])"),
            '[' => push_class(&mut expression, &mut characters)?,
            '{' => {
                depth += 1;
                expression.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                expression.push(')');
            }
            ',' if depth > 0 => expression.push('|'),
            other => push_literal(&mut expression, other),
        }
    }
    if depth > 0 {
        return None;
    }
    expression.push_str(")$");
    Some(expression)
}

fn push_literal(expression: &mut String, character: char) {
    expression.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
}

/// Reads `a-z]`, `!a-z]`, `abc]` or `!abc]`; a range and a list do not mix.
fn push_class(
    expression: &mut String,
    characters: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> Option<()> {
    let negated = characters.next_if_eq(&'!').is_some();
    let first = characters.next()?;
    let mut class = String::new();
    if characters.next_if_eq(&'-').is_some() {
        let last = characters.next()?;
        if characters.next()? != ']' || last < first {
            return None;
        }
        push_literal(&mut class, first);
        class.push('-');
        push_literal(&mut class, last);
    } else {
        let mut next = Some(first);
        loop {
            match next? {
                ']' => break,
                '\\' => push_class_member(&mut class, characters.next()?),
                other => push_class_member(&mut class, other),
            }
            next = characters.next();
        }
        if class.is_empty() {
            return None;
        }
    }
    expression.push_str(if negated { "(?u:[^" } else { "(?u:[" });
    expression.push_str(&class);
    expression.push_str("])");
    Some(())
}

fn push_class_member(class: &mut String, character: char) {
    if matches!(character, '-' | '^' | '&' | '~') {
        class.push('\\');
        class.push(character);
    } else {
        push_literal(class, character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_helm_does() {
        for (pattern, path, expected) in [
            ("conf/*", "conf/a.yaml", true),
            ("conf/*", "conf/sub/a.yaml", false),
            ("conf/**", "conf/sub/a.yaml", true),
            ("**.yaml", "conf/sub/a.yaml", true),
            ("*.yaml", "conf/a.yaml", false),
            ("conf/?.yaml", "conf/a.yaml", true),
            ("conf/?.yaml", "conf//.yaml", false),
            ("conf/[ab].yaml", "conf/b.yaml", true),
            ("conf/[!ab].yaml", "conf/b.yaml", false),
            ("conf/[a-c].yaml", "conf/b.yaml", true),
            ("conf/[a-c0-9].yaml", "anything", true),
            ("{a,b/*}.txt", "b/c.txt", true),
            ("{a,b/*}.txt", "c.txt", false),
            ("a.b", "axb", false),
            ("{unclosed", "anything at all", true),
            ("é?", "éü", true),
        ] {
            assert_eq!(
                Glob::new(pattern).matches(path.as_bytes()),
                expected,
                "{pattern} against {path}"
            );
        }
    }
}
