//! Which quotes a string needs, by libyaml's analysis of its characters.

/// How a scalar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// What a string's characters allow.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent answer about the text"
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Analysis {
    pub(crate) multiline: bool,
    pub(crate) plain_allowed: bool,
    pub(crate) single_quoted_allowed: bool,
    pub(crate) block_allowed: bool,
}

/// Looks at a string's characters; `tabs_in_blocks` is v3's kindness to tabs.
pub(crate) fn analyze(text: &str, tabs_in_blocks: bool) -> Analysis {
    if text.is_empty() {
        return Analysis {
            multiline: false,
            plain_allowed: true,
            single_quoted_allowed: true,
            block_allowed: false,
        };
    }
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let mut line_breaks = false;
    let mut tabs = false;
    let mut special = false;
    let mut break_space = false;
    let mut space_break = false;
    let mut after_whitespace = true;
    let mut previous = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let before_whitespace = characters.peek().is_none_or(|&next| is_blank(next));
        indicators |= match character {
            '#' => after_whitespace,
            ':' => before_whitespace,
            '?' | '-' => previous.is_none() && before_whitespace,
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                previous.is_none()
            }
            _ => false,
        };
        if character == '\t' && tabs_in_blocks {
            tabs = true;
        } else if !is_printable(character) {
            special = true;
        }
        if character == ' ' {
            break_space |= previous.is_some_and(is_break);
        } else if is_break(character) {
            line_breaks = true;
            space_break |= previous == Some(' ');
        }
        after_whitespace = is_blank(character) || is_break(character) || character == '\0';
        previous = Some(character);
    }
    let edge = |character: char| character == ' ' || is_break(character);
    let trailing_space = text.ends_with(' ');
    let inconvenient = space_break || special;
    Analysis {
        multiline: line_breaks,
        plain_allowed: !(indicators
            || line_breaks
            || break_space
            || inconvenient
            || tabs
            || text.starts_with(edge)
            || text.ends_with(edge)),
        single_quoted_allowed: !(break_space || inconvenient || tabs),
        block_allowed: !(trailing_space || inconvenient),
    }
}

pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

pub(crate) fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// libyaml prints no character beyond the basic plane, nor a byte order mark.
pub(crate) fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{A0}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFD}')
}
