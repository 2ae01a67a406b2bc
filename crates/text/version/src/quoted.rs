//! Text in quotes, as Go's `%q` writes it into error messages.

use std::fmt::{self, Display, Formatter, Write};

/// Writes a text in double quotes with Go's escapes.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' => out.write_str("\\\"")?,
                '\\' => out.write_str("\\\\")?,
                '\x07' => out.write_str("\\a")?,
                '\x08' => out.write_str("\\b")?,
                '\x0c' => out.write_str("\\f")?,
                '\n' => out.write_str("\\n")?,
                '\r' => out.write_str("\\r")?,
                '\t' => out.write_str("\\t")?,
                '\x0b' => out.write_str("\\v")?,
                ' '..='~' => out.write_char(character)?,
                _ if character.is_ascii() => write!(out, "\\x{:02x}", u32::from(character))?,
                _ if is_printable(character) => out.write_char(character)?,
                _ if u32::from(character) < 0x10000 => write!(out, "\\u{:04x}", u32::from(character))?,
                _ => write!(out, "\\U{:08x}", u32::from(character))?,
            }
        }
        out.write_char('"')
    }
}

/// Returns whether Go prints `character` as itself: letters, marks, numbers, punctuation and symbols.
///
/// The standard library knows the same classes, but tells only through what it escapes; and it escapes a
/// combining mark at the start of a text, so one letter goes before it.
fn is_printable(character: char) -> bool {
    format!("a{character}").escape_debug().nth(1) == Some(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_go() {
        for (text, expected) in [
            ("1.0", r#""1.0""#),
            ("\"\\", r#""\"\\""#),
            ("\u{7}\u{8}\u{c}\n\r\t\u{b}", r#""\a\b\f\n\r\t\v""#),
            ("\0\u{1b}\u{7f}", r#""\x00\x1b\x7f""#),
            ("é世\u{301}😀", "\"é世\u{301}😀\""),
            (
                "\u{80}\u{a0}\u{200b}\u{e000}\u{feff}",
                r#""\u0080\u00a0\u200b\ue000\ufeff""#,
            ),
            ("\u{e0001}\u{10ffff}", r#""\U000e0001\U0010ffff""#),
        ] {
            assert_eq!(Quoted(text).to_string(), expected);
        }
    }
}
