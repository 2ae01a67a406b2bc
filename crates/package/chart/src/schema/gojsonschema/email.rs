//! Mail addresses as Go's `net/mail` accepts them: `a@b`, `"quoted"@b`, `Name <a@b>`, with comments.

/// How deep comments may be nested in an address.
const MAX_COMMENTS: usize = 100;

/// Tells whether text is one address.
pub(super) fn is_address(text: &str) -> bool {
    let mut address = Address { rest: text };
    address.single().is_some() && address.skip_comments().is_some() && address.rest.is_empty()
}

struct Address<'a> {
    rest: &'a str,
}

impl Address<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, expected: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    fn single(&mut self) -> Option<()> {
        self.skip_space();
        if self.specification().is_some() {
            self.skip_space();
            if self.rest.starts_with('(') {
                self.take('(')?;
                self.comment()?;
            }
            return Some(());
        }
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if self.take(':').is_some() {
            return self.group();
        }
        self.take('<')?;
        self.specification()?;
        self.take('>')
    }

    /// A group, which is an address only if it has exactly one member.
    fn group(&mut self) -> Option<()> {
        self.skip_space();
        let mut member = Address { rest: self.rest };
        member.skip_space();
        if member.specification().is_none() {
            if !member.rest.starts_with('<') {
                member.phrase()?;
            }
            member.skip_space();
            member.take('<')?;
            member.specification()?;
            member.take('>')?;
        }
        member.skip_comments()?;
        member.take(';')?;
        self.rest = member.rest;
        Some(())
    }

    /// `local@domain`; nothing is taken where there is none.
    fn specification(&mut self) -> Option<()> {
        let mut trial = Address { rest: self.rest };
        trial.skip_space();
        if trial.rest.starts_with('"') {
            if trial.quoted()? == 0 {
                return None;
            }
        } else {
            trial.atom(false)?;
        }
        trial.take('@')?;
        trial.skip_space();
        if trial.rest.starts_with('[') {
            trial.domain_literal()?;
        } else {
            trial.atom(false)?;
        }
        self.rest = trial.rest;
        Some(())
    }

    fn domain_literal(&mut self) -> Option<()> {
        let (literal, rest) = self.rest.strip_prefix('[')?.split_once(']')?;
        literal.parse::<std::net::IpAddr>().ok()?;
        self.rest = rest;
        Some(())
    }

    /// Words with dots; a loose one may have dots anywhere.
    fn atom(&mut self, loose: bool) -> Option<()> {
        let is_atom = |character: char| {
            !"()<>[]:;@\\,\"".contains(character)
                && (('!'..='~').contains(&character) || !character.is_ascii())
        };
        let end = self
            .rest
            .find(|character| !is_atom(character))
            .unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        if atom.is_empty() || !loose && (atom.starts_with('.') || atom.ends_with('.') || atom.contains(".."))
        {
            return None;
        }
        self.rest = rest;
        Some(())
    }

    /// A quoted string; gives how many characters it has.
    fn quoted(&mut self) -> Option<usize> {
        let mut characters = self.rest.strip_prefix('"')?.chars();
        let is_visible = |character: char| ('!'..='~').contains(&character) || !character.is_ascii();
        let mut length = 0;
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => {
                    let escaped = characters.next()?;
                    if !is_visible(escaped) && !matches!(escaped, ' ' | '\t') {
                        return None;
                    }
                }
                character if is_visible(character) || matches!(character, ' ' | '\t') => {}
                _ => return None,
            }
            length += 1;
        }
        self.rest = characters.as_str();
        Some(length)
    }

    /// The name in front of an address: words and quoted strings.
    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            self.skip_space();
            let word = if self.rest.starts_with('"') {
                self.quoted().map(|_| ())
            } else {
                self.atom(true)
            };
            if word.is_none() {
                break;
            }
            words += 1;
        }
        (words > 0).then_some(())
    }

    fn skip_comments(&mut self) -> Option<()> {
        self.skip_space();
        while self.take('(').is_some() {
            self.comment()?;
            self.skip_space();
        }
        Some(())
    }

    /// The rest of a comment, to its closing parenthesis.
    fn comment(&mut self) -> Option<()> {
        let mut depth = 1_usize;
        let mut characters = self.rest.chars();
        while depth > 0 && depth < MAX_COMMENTS {
            match characters.next()? {
                '\\' => {
                    characters.next()?;
                }
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
        }
        self.rest = characters.as_str();
        (depth == 0).then_some(())
    }
}
