//! Bytes in JSON.

use std::borrow::Cow;

use serde_json::Value;

use super::{GoType, Reader, Skimmer, go_number};
use crate::error::Error;

/// Go's `[]byte`, which is base64 text in JSON; `None` is a nil slice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Option<Vec<u8>>);

impl GoType for Bytes {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("[]uint8")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        match value {
            Value::Null => self.0 = None,
            Value::String(text) => match crate::base64::decode(text) {
                Some(bytes) => self.0 = Some(bytes),
                None => reader.report(format!(
                    "illegal base64 data at input byte {}",
                    crate::base64::corrupt_at(text)
                )),
            },
            // An array of numbers is a slice of bytes, too.
            Value::Array(items) => {
                let mut bytes = std::mem::take(&mut self.0).unwrap_or_default();
                bytes.resize(items.len(), 0);
                for (item, byte) in items.iter().zip(&mut bytes) {
                    match item {
                        Value::Null => {}
                        Value::Number(number) => {
                            if let Some(number) = number.as_u64().and_then(|number| number.try_into().ok()) {
                                *byte = number;
                            } else {
                                let error =
                                    reader.mismatch_of(&format!("number {}", go_number(number)), "uint8");
                                reader.first.get_or_insert(error);
                            }
                        }
                        _ => reader.mismatch(item, "uint8"),
                    }
                }
                self.0 = Some(bytes);
            }
            _ => reader.mismatch(value, "[]uint8"),
        }
        Ok(())
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        if skimmer.null() {
            return Some(());
        }
        let text = skimmer.string()?;
        let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
        let symbols = text.get(..text.len() - padding)?;
        let is_symbol = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        (padding <= 2 && text.len() % 4 == 0 && symbols.iter().all(is_symbol)).then_some(())
    }
}

impl Bytes {
    /// The bytes as base64 text, as Go writes them; `None` is written as null.
    #[must_use]
    pub fn to_base64(&self) -> Option<String> {
        self.0.as_deref().map(crate::base64::encode)
    }
}
