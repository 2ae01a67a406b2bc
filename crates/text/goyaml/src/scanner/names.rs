//! Directives, anchors, aliases and tags.

use super::{Scanner, Span, TokenKind};
use crate::error::{Error, Mark};

impl Scanner<'_> {
    fn is_word(&self) -> bool {
        matches!(self.byte(0), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-')
    }

    fn skip_word(&mut self) -> Result<Span, Error> {
        let start = self.position as u32;
        while self.is_word() {
            self.skip_ascii(1);
            self.ensure(1)?;
        }
        Ok(Span {
            start,
            end: self.position as u32,
            in_scratch: false,
        })
    }

    fn skip_blanks(&mut self) -> Result<(), Error> {
        self.ensure(1)?;
        while self.is_blank(0) {
            self.skip_ascii(1);
            self.ensure(1)?;
        }
        Ok(())
    }

    pub(super) fn fetch_directive(&mut self) -> Result<(), Error> {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;

        let start = self.mark;
        self.skip_ascii(1);
        self.ensure(1)?;
        let name = self.skip_word()?;
        if name.start == name.end {
            return self.error("could not find expected directive name");
        }
        if !self.is_blank_or_end(0) {
            return self.error("found unexpected non-alphabetical character");
        }
        match self.text(name) {
            "YAML" => self.fetch_version_directive(start)?,
            "TAG" => self.fetch_tag_directive(start)?,
            _ => return self.error("found unknown directive name"),
        }

        self.skip_blanks()?;
        self.end_line()
    }

    fn fetch_version_directive(&mut self, start: Mark) -> Result<(), Error> {
        self.skip_blanks()?;
        let major = self.scan_version_number()?;
        if self.byte(0) != b'.' {
            return self.error("did not find expected digit or '.' character");
        }
        self.skip_ascii(1);
        let minor = self.scan_version_number()?;
        self.push(TokenKind::VersionDirective { major, minor }, start);
        Ok(())
    }

    fn scan_version_number(&mut self) -> Result<u8, Error> {
        self.ensure(1)?;
        let mut value = 0;
        let mut length = 0;
        while self.byte(0).is_ascii_digit() {
            length += 1;
            if length > 2 {
                return self.error("found extremely long version number");
            }
            value = value * 10 + (self.byte(0) - b'0');
            self.skip_ascii(1);
            self.ensure(1)?;
        }
        if length == 0 {
            return self.error("did not find expected version number");
        }
        Ok(value)
    }

    fn fetch_tag_directive(&mut self, start: Mark) -> Result<(), Error> {
        self.skip_blanks()?;
        let handle = self.scan_tag_handle(true)?;
        self.ensure(1)?;
        if !self.is_blank(0) {
            return self.error("did not find expected whitespace");
        }
        self.skip_blanks()?;
        let prefix = self.scan_tag_uri(None)?;
        self.ensure(1)?;
        if !self.is_blank_or_end(0) {
            return self.error("did not find expected whitespace or line break");
        }
        self.push_text(TokenKind::TagDirective, start, handle, prefix);
        Ok(())
    }

    pub(super) fn fetch_anchor(&mut self, kind: TokenKind) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark;
        self.skip_ascii(1);
        self.ensure(1)?;
        let name = self.skip_word()?;
        let ended = self.is_blank_or_end(0)
            || matches!(
                self.byte(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.start == name.end || !ended {
            return self.error("did not find expected alphabetic or numeric character");
        }
        self.push_text(kind, start, name, Span::default());
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> Result<(), Error> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark;
        self.ensure(2)?;
        let (handle, suffix) = if self.byte(1) == b'<' {
            self.skip_ascii(2);
            let uri = self.scan_tag_uri(None)?;
            if self.byte(0) != b'>' {
                return self.error("did not find the expected '>'");
            }
            self.skip_ascii(1);
            (Span::default(), uri)
        } else {
            let handle = self.scan_tag_handle(false)?;
            let text = self.text(handle);
            if text.len() > 1 && text.ends_with('!') {
                (handle, self.scan_tag_uri(None)?)
            } else {
                let primary = Span {
                    end: handle.start + 1,
                    ..handle
                };
                let suffix = self.scan_tag_uri(Some(handle))?;
                if suffix.start == suffix.end {
                    (Span::default(), primary)
                } else {
                    (primary, suffix)
                }
            }
        };
        self.ensure(1)?;
        if !self.is_blank_or_end(0) {
            return self.error("did not find expected whitespace or line break");
        }
        self.push_text(TokenKind::Tag, start, handle, suffix);
        Ok(())
    }

    fn scan_tag_handle(&mut self, directive: bool) -> Result<Span, Error> {
        self.ensure(1)?;
        if self.byte(0) != b'!' {
            return self.error("did not find expected '!'");
        }
        let start = self.position as u32;
        self.skip_ascii(1);
        self.ensure(1)?;
        self.skip_word()?;
        if self.byte(0) == b'!' {
            self.skip_ascii(1);
        } else if directive && self.position as u32 != start + 1 {
            return self.error("did not find expected '!'");
        }
        Ok(Span {
            start,
            end: self.position as u32,
            in_scratch: false,
        })
    }

    /// Scans a tag's URI; `head` is a handle that turned out to be its first part.
    fn scan_tag_uri(&mut self, head: Option<Span>) -> Result<Span, Error> {
        let mut uri = Vec::new();
        if let Some(head) = head {
            uri.extend_from_slice(self.text(head).as_bytes().get(1..).unwrap_or_default());
        }
        let mut found = head.is_some();
        self.ensure(1)?;
        loop {
            let byte = self.byte(0);
            if byte == b'%' {
                self.scan_uri_escapes(&mut uri)?;
            } else if self.is_word() || b";/?:@&=+$,.!~*'()[]".contains(&byte) {
                uri.push(byte);
                self.skip_ascii(1);
            } else {
                break;
            }
            self.ensure(1)?;
            found = true;
        }
        if !found {
            return self.error("did not find expected tag URI");
        }
        let start = self.scratch.len() as u32;
        self.scratch.push_str(&String::from_utf8_lossy(&uri));
        Ok(Span {
            start,
            end: self.scratch.len() as u32,
            in_scratch: true,
        })
    }

    /// Takes the escaped octets of one character.
    fn scan_uri_escapes(&mut self, uri: &mut Vec<u8>) -> Result<(), Error> {
        let mut remaining = None;
        while remaining != Some(0) {
            self.ensure(3)?;
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (b'%', Some(high), Some(low)) = (self.byte(0), digit(self.byte(1)), digit(self.byte(2)))
            else {
                return self.error("did not find URI escaped octet");
            };
            let octet = (high * 16 + low) as u8;
            remaining = Some(match remaining {
                None => match octet {
                    0..=0x7F => 0,
                    0xC0..=0xDF => 1,
                    0xE0..=0xEF => 2,
                    0xF0..=0xF7 => 3,
                    _ => return self.error("found an incorrect leading UTF-8 octet"),
                },
                Some(_) if octet & 0xC0 != 0x80 => {
                    return self.error("found an incorrect trailing UTF-8 octet");
                }
                Some(count) => count - 1,
            });
            uri.push(octet);
            self.skip_ascii(3);
        }
        Ok(())
    }
}
