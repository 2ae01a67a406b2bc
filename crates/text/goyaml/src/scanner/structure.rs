//! What opens and closes block collections: indentation, and keys that only a later colon reveals.

use super::{Scanner, SimpleKey, TokenKind};
use crate::error::{Error, Mark};
use crate::limits::{MAX_BLOCK_INDENTS, MAX_SIMPLE_KEY_CHARS};

impl Scanner<'_> {
    pub(super) fn simple_key_is_valid(&mut self, index: usize) -> Result<bool, Error> {
        let mark = self.mark;
        let Some(key) = self.simple_keys.get_mut(index).filter(|key| key.possible) else {
            return Ok(false);
        };
        let too_far = key.mark.column + MAX_SIMPLE_KEY_CHARS < mark.column;
        if key.mark.line < mark.line || too_far {
            if key.required {
                return Err(Error::scanner("could not find expected ':'", mark));
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn save_simple_key(&mut self) -> Result<(), Error> {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let required = self.flow_level == 0 && self.indent == self.mark.column as i32;
        let key = SimpleKey {
            possible: true,
            awaited: true,
            required,
            token_number: self.next_token_number(),
            mark: self.mark,
        };
        self.remove_simple_key()?;
        if let Some(last) = self.simple_keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    pub(super) fn remove_simple_key(&mut self) -> Result<(), Error> {
        let mark = self.mark;
        if let Some(key) = self.simple_keys.last_mut().filter(|key| key.possible) {
            if key.required {
                return Err(Error::scanner("could not find expected ':'", mark));
            }
            key.possible = false;
        }
        Ok(())
    }

    pub(super) fn roll_indent(
        &mut self,
        column: u32,
        at: Option<usize>,
        kind: TokenKind,
        mark: Mark,
    ) -> Result<(), Error> {
        if self.flow_level > 0 || self.indent >= column as i32 {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column as i32;
        if self.indents.len() > MAX_BLOCK_INDENTS {
            return self.error(&format!("exceeded max depth of {MAX_BLOCK_INDENTS}"));
        }
        self.insert(at.unwrap_or_else(|| self.next_token_number()), kind, mark);
        Ok(())
    }

    pub(super) fn unroll_indent(&mut self, column: i32) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(TokenKind::BlockEnd, self.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }
}
