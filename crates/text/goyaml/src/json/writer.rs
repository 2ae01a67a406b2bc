//! The text of JSON.

use super::Escape;
use crate::error::{Error, Stage};
use crate::numbers;
use crate::write::entries::WrittenEntries;
use crate::write::key_order::by_bytes;
use crate::write::source::Sink;

enum Frame {
    Sequence { empty: bool },
    Mapping { entries: WrittenEntries, sorted: bool },
}

pub(crate) struct JsonWriter<'i> {
    output: String,
    indent: Option<&'i str>,
    escape: Escape,
    frames: Vec<Frame>,
}

/// Refuses the numbers that JSON does not have.
pub(crate) fn check_finite(value: f64) -> Result<(), Error> {
    if value.is_finite() {
        return Ok(());
    }
    let name = match (value.is_nan(), value > 0.0) {
        (true, _) => "NaN",
        (false, true) => "+Inf",
        (false, false) => "-Inf",
    };
    Err(Error::new(
        Stage::Marshal,
        format!("json: unsupported value: {name}"),
    ))
}

impl<'i> JsonWriter<'i> {
    pub(super) fn new(indent: Option<&'i str>, escape: Escape) -> Self {
        Self {
            output: String::new(),
            indent,
            escape,
            frames: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> String {
        self.output
    }

    /// Writes what stands before a member of the innermost collection.
    fn separate(&mut self, first: bool) {
        if !first {
            self.output.push(',');
        }
        self.new_line(self.frames.len());
    }

    fn new_line(&mut self, level: usize) {
        if let Some(indent) = self.indent {
            self.output.push('\n');
            for _ in 0..level {
                self.output.push_str(indent);
            }
        }
    }

    fn end_value(&mut self) {
        if let Some(Frame::Mapping { entries, .. }) = self.frames.last_mut() {
            entries.end(self.output.len());
        }
    }

    fn put(&mut self, text: &str) -> Result<(), Error> {
        self.output.push_str(text);
        self.end_value();
        Ok(())
    }

    fn write_text(&mut self, text: &str) {
        self.output.push('"');
        let mut written = 0;
        for (index, character) in text.char_indices() {
            let code;
            let escape = match character {
                '"' => "\\\"",
                '\\' => "\\\\",
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                '\x08' => "\\b",
                '\x0C' => "\\f",
                '\u{2028}' => "\\u2028",
                '\u{2029}' => "\\u2029",
                '<' | '>' | '&' if self.escape == Escape::None => continue,
                '\0'..='\x1F' | '<' | '>' | '&' => {
                    code = format!("\\u{:04x}", u32::from(character));
                    &code
                }
                _ => continue,
            };
            self.output.push_str(text.get(written..index).unwrap_or_default());
            self.output.push_str(escape);
            written = index + character.len_utf8();
        }
        self.output.push_str(text.get(written..).unwrap_or_default());
        self.output.push('"');
    }
}

impl Sink for JsonWriter<'_> {
    fn null(&mut self) -> Result<(), Error> {
        self.put("null")
    }

    fn bool(&mut self, value: bool) -> Result<(), Error> {
        self.put(if value { "true" } else { "false" })
    }

    fn int(&mut self, value: i64) -> Result<(), Error> {
        self.put(&value.to_string())
    }

    fn uint(&mut self, value: u64) -> Result<(), Error> {
        self.put(&value.to_string())
    }

    fn float(&mut self, value: f64) -> Result<(), Error> {
        check_finite(value)?;
        self.put(&numbers::format_json(value))
    }

    fn float_32(&mut self, value: f32) -> Result<(), Error> {
        check_finite(f64::from(value))?;
        self.put(&numbers::format_json_32(value))
    }

    fn text(&mut self, value: &str) -> Result<(), Error> {
        self.write_text(value);
        self.end_value();
        Ok(())
    }

    fn begin_sequence(&mut self) -> Result<(), Error> {
        self.output.push('[');
        self.frames.push(Frame::Sequence { empty: true });
        Ok(())
    }

    fn item(&mut self) -> Result<(), Error> {
        if let Some(Frame::Sequence { empty }) = self.frames.last_mut() {
            let first = std::mem::take(empty);
            self.separate(first);
        }
        Ok(())
    }

    fn end_sequence(&mut self) -> Result<(), Error> {
        if let Some(Frame::Sequence { empty: false }) = self.frames.pop() {
            self.new_line(self.frames.len());
        }
        self.put("]")
    }

    fn begin_mapping(&mut self, sorted: bool) -> Result<(), Error> {
        self.output.push('{');
        self.frames.push(Frame::Mapping {
            entries: WrittenEntries::default(),
            sorted,
        });
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), Error> {
        if let Some(Frame::Mapping { entries, .. }) = self.frames.last() {
            let first = entries.is_empty();
            self.separate(first);
        }
        let start = self.output.len();
        if let Some(Frame::Mapping { entries, .. }) = self.frames.last_mut() {
            entries.begin(key, start);
        }
        self.write_text(key);
        self.output
            .push_str(if self.indent.is_some() { ": " } else { ":" });
        Ok(())
    }

    fn end_mapping(&mut self) -> Result<(), Error> {
        let level = self.frames.len();
        if let Some(Frame::Mapping { entries, sorted }) = self.frames.pop() {
            if sorted {
                let between = match self.indent {
                    Some(indent) => format!(",\n{}", indent.repeat(level)),
                    None => ",".to_owned(),
                };
                entries.sort(&mut self.output, &between, by_bytes);
            }
            if !entries.is_empty() {
                self.new_line(self.frames.len());
            }
        }
        self.put("}")
    }
}
