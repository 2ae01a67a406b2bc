//! Mail addresses as Go's `net/mail` reads them, with its words for what is none.

use std::net::IpAddr;

use gotemplate::format::quoted;

/// Why text is not exactly one address, such as `a@example.com` or `Someone <a@example.com>`.
pub fn fault(text: &str) -> Option<String> {
    let mut parser = Parser { rest: text };
    parser.single().err()
}

type Step<T> = Result<T, String>;

struct Parser<'a> {
    rest: &'a str,
}

fn failed<T>(problem: &str) -> Step<T> {
    Err(format!("mail: {problem}"))
}

/// What Go's `%q` makes of one character.
fn quoted_character(character: char) -> String {
    let quoted = quoted(character.to_string());
    let inner = quoted.trim_start_matches('"').trim_end_matches('"');
    match character {
        '\'' => "'\\''".to_owned(),
        '"' => "'\"'".to_owned(),
        _ => format!("'{inner}'"),
    }
}

fn is_visible(character: char) -> bool {
    ('!'..='~').contains(&character) || !character.is_ascii()
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

fn is_atom_text(character: char) -> bool {
    is_visible(character) && !"()<>[]:;@\\,\"".contains(character)
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(is_blank);
    }

    fn consume(&mut self, expected: char) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn single(&mut self) -> Step<()> {
        let count = self.address(true)?;
        self.skip_comments()?;
        if !self.rest.is_empty() {
            return failed(&format!("expected single address, got {}", quoted(self.rest)));
        }
        match count {
            0 => failed("empty group"),
            1 => Ok(()),
            _ => failed("group with multiple addresses"),
        }
    }

    /// Reads an address or a group, and returns how many addresses that were.
    fn address(&mut self, may_be_group: bool) -> Step<usize> {
        self.skip_space();
        if self.rest.is_empty() {
            return failed("no address");
        }
        if self.specification().is_ok() {
            self.skip_space();
            if self.consume('(') {
                self.comment()?;
            }
            return Ok(1);
        }
        let name = if self.rest.starts_with('<') {
            String::new()
        } else {
            self.phrase()?
        };
        self.skip_space();
        if may_be_group && self.consume(':') {
            return self.group();
        }
        if !self.consume('<') {
            return failed(if name.chars().all(is_atom_text) {
                "missing '@' or angle-addr"
            } else {
                "no angle-addr"
            });
        }
        self.specification()?;
        if !self.consume('>') {
            return failed("unclosed angle-addr");
        }
        Ok(1)
    }

    fn group(&mut self) -> Step<usize> {
        self.skip_space();
        if self.consume(';') {
            self.skip_comments()?;
            return Ok(0);
        }
        let mut count = 0;
        loop {
            self.skip_space();
            count += self.address(false)?;
            self.skip_comments()?;
            if self.consume(';') {
                self.skip_comments()?;
                return Ok(count);
            }
            if !self.consume(',') {
                return failed("expected comma");
            }
        }
    }

    /// Reads `local@domain`; leaves everything as it was when it isn't that.
    fn specification(&mut self) -> Step<()> {
        let before = self.rest;
        let result = self.local_and_domain();
        if result.is_err() {
            self.rest = before;
        }
        result
    }

    fn local_and_domain(&mut self) -> Step<()> {
        self.skip_space();
        if self.rest.is_empty() {
            return failed("no addr-spec");
        }
        if self.rest.starts_with('"') {
            // An unreadable text is reported as an empty one.
            if self.quoted_string().unwrap_or_default().is_empty() {
                return failed("empty quoted string in addr-spec");
            }
        } else {
            self.dotted_atom()?;
        }
        if !self.consume('@') {
            return failed("missing @ in addr-spec");
        }
        self.skip_space();
        if self.rest.is_empty() {
            return failed("no domain in addr-spec");
        }
        if self.consume('[') {
            return self.domain_literal();
        }
        self.dotted_atom()
    }

    fn phrase(&mut self) -> Step<String> {
        let mut words: Vec<String> = Vec::new();
        let mut problem = None;
        loop {
            if !words.is_empty() {
                self.skip_comments()?;
            }
            self.skip_space();
            if self.rest.is_empty() {
                break;
            }
            let word = if self.rest.starts_with('"') {
                self.quoted_string()
            } else {
                self.atom().map(str::to_owned)
            };
            match word {
                Ok(word) => words.push(word),
                Err(error) => {
                    problem = Some(error);
                    break;
                }
            }
        }
        match problem {
            Some(problem) if words.is_empty() => failed(&format!("missing word in phrase: {problem}")),
            _ => Ok(words.join(" ")),
        }
    }

    fn quoted_string(&mut self) -> Step<String> {
        let mut text = String::new();
        let mut is_escaped = false;
        for (at, character) in self.rest.char_indices().skip(1) {
            let is_text = is_visible(character) || is_blank(character);
            if is_escaped && is_text {
                text.push(character);
                is_escaped = false;
            } else if !is_escaped && character == '"' {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                return Ok(text);
            } else if !is_escaped && character == '\\' {
                is_escaped = true;
            } else if !is_escaped && is_text {
                text.push(character);
            } else {
                return failed(&format!(
                    "bad character in quoted-string: {}",
                    quoted_character(character)
                ));
            }
        }
        failed("unclosed quoted-string")
    }

    fn atom(&mut self) -> Step<&str> {
        let end = self
            .rest
            .find(|character| !is_atom_text(character))
            .unwrap_or(self.rest.len());
        if end == 0 {
            return failed("invalid string");
        }
        let (atom, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(atom)
    }

    fn dotted_atom(&mut self) -> Step<()> {
        let atom = self.atom()?;
        if atom.starts_with('.') {
            failed("leading dot in atom")
        } else if atom.contains("..") {
            failed("double dot in atom")
        } else if atom.ends_with('.') {
            failed("trailing dot in atom")
        } else {
            Ok(())
        }
    }

    fn domain_literal(&mut self) -> Step<()> {
        let Some(end) = self
            .rest
            .find(|character| matches!(character, ']' | '[' | '\\') || !is_visible(character))
        else {
            return failed("unclosed domain-literal");
        };
        let (literal, rest) = self.rest.split_at(end);
        match rest.chars().next() {
            Some(']') => self.rest = rest.get(1..).unwrap_or_default(),
            Some(character) => {
                return failed(&format!(
                    "bad character in domain-literal: {}",
                    quoted_character(character)
                ));
            }
            None => return failed("unclosed domain-literal"),
        }
        if literal.parse::<IpAddr>().is_err() {
            return failed(&format!(
                "invalid IP address in domain-literal: {}",
                quoted(literal)
            ));
        }
        Ok(())
    }

    fn skip_comments(&mut self) -> Step<()> {
        self.skip_space();
        while self.consume('(') {
            self.comment()?;
            self.skip_space();
        }
        Ok(())
    }

    /// Reads to the end of a comment whose opening parenthesis is behind.
    fn comment(&mut self) -> Step<()> {
        let mut depth = 1_usize;
        let mut is_escaped = false;
        for (at, character) in self.rest.char_indices() {
            if is_escaped {
                is_escaped = false;
                continue;
            }
            match character {
                '\\' => is_escaped = at + 1 < self.rest.len(),
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                return Ok(());
            }
        }
        self.rest = "";
        failed("misformatted parenthetical comment")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_judged_as_go_judges_them() {
        for good in [
            "a@example.com",
            "Some One <a@example.com>",
            "\"Some, One\" <a@b>",
            "a@[127.0.0.1]",
            "a@b (comment)",
            "group: a@b;",
        ] {
            assert_eq!(fault(good), None, "{good}");
        }
        for (bad, expected) in [
            ("", "no address"),
            ("nope", "missing '@' or angle-addr"),
            ("Full Name", "no angle-addr"),
            ("a@", "missing '@' or angle-addr"),
            ("<a@b", "unclosed angle-addr"),
            ("a@b c", "expected single address, got \"c\""),
            ("a@b, c@d", "expected single address, got \", c@d\""),
            ("g: a@b, c@d;", "group with multiple addresses"),
            ("g:;", "empty group"),
            ("@b", "missing word in phrase: mail: invalid string"),
            ("<.a@b>", "leading dot in atom"),
        ] {
            assert_eq!(fault(bad), Some(format!("mail: {expected}")), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fall(text in any::<String>()) {
            let _ = fault(&text);
        }
    }
}
