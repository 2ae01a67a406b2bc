//! YAML as go-yaml v2 and v3 write it.

use serde::Serialize;

use super::entries::WrittenEntries;
use super::key_order::{natural_v2, natural_v3};
use super::layout::Layout;
use super::source::{Sink, tell};
use super::style::{Style, analyze};
use crate::error::Error;
use crate::resolve::{needs_quotes_v2, needs_quotes_v3};
use crate::{build, json, numbers};

/// A key that is longer, in bytes, is written after `?`.
const MAX_SIMPLE_KEY_BYTES: usize = 128;

/// What distinguishes the two versions of go-yaml.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// sigs.k8s.io/yaml: the value goes through JSON, and v2 writes it.
    V2ThroughJson,
    /// v3 writes the value as it is, with an indentation of two.
    V3,
}

impl Dialect {
    fn width(self) -> usize {
        match self {
            Self::V2ThroughJson => 80,
            Self::V3 => usize::MAX,
        }
    }
}

/// What the next value is to its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Root,
    Item,
    Value,
}

enum Frame {
    Sequence {
        outer_indent: Option<usize>,
        role: Role,
        begun: bool,
    },
    Mapping {
        outer_indent: Option<usize>,
        entries: WrittenEntries,
        sorted: bool,
    },
}

pub(crate) struct YamlWriter {
    layout: Layout,
    dialect: Dialect,
    /// The indentation of the innermost collection that has begun.
    indent: Option<usize>,
    frames: Vec<Frame>,
    role: Role,
    /// Whether the value has been JSON already.
    survived_json: bool,
    /// Whether writing stopped because the value must become JSON first.
    needs_detour: bool,
}

impl YamlWriter {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            layout: Layout::new(dialect.width()),
            dialect,
            indent: None,
            frames: Vec::new(),
            role: Role::Root,
            survived_json: false,
            needs_detour: false,
        }
    }

    pub(crate) fn finish(self) -> String {
        self.layout.output
    }

    fn scalar_indent(&self) -> usize {
        self.indent.map_or(2, |indent| indent + 2)
    }

    fn deeper(&self) -> usize {
        self.indent.map_or(0, |indent| indent + 2)
    }

    fn plain(&mut self, text: &str) {
        let indent = self.scalar_indent();
        self.layout.write_scalar(text, Style::Plain, indent, true);
        self.end_value();
    }

    fn style_of(&self, text: &str, simple_key: bool) -> (Style, bool) {
        let tabs_in_blocks = self.dialect == Dialect::V3;
        let analysis = analyze(text, tabs_in_blocks);
        let needs_quotes = match self.dialect {
            Dialect::V2ThroughJson => needs_quotes_v2(text),
            Dialect::V3 => needs_quotes_v3(text),
        };
        let style = if text.contains('\n') {
            if analysis.block_allowed && !simple_key {
                Style::Literal
            } else {
                Style::DoubleQuoted
            }
        } else if needs_quotes || (simple_key && analysis.multiline) {
            Style::DoubleQuoted
        } else if analysis.plain_allowed {
            Style::Plain
        } else if analysis.single_quoted_allowed {
            Style::SingleQuoted
        } else {
            Style::DoubleQuoted
        };
        (style, analysis.multiline)
    }

    /// A value is complete: its line ends, and so does the entry it belongs to.
    fn end_value(&mut self) {
        self.layout.end_line();
        self.end_entry();
    }

    fn end_entry(&mut self) {
        if let Some(Frame::Mapping { entries, .. }) = self.frames.last_mut() {
            entries.end(self.layout.output.len());
        }
    }

    /// Stops at a string that does not survive being written as JSON by Go and read as YAML by go-yaml.
    fn check_survives_json(&mut self, text: &str) -> Result<(), Error> {
        if self.dialect == Dialect::V2ThroughJson
            && !self.survived_json
            && text.chars().any(json_may_not_survive)
        {
            return self.stop();
        }
        Ok(())
    }

    /// Stops at a key that is too long, as JSON, for go-yaml to find its colon.
    fn check_key_survives_json(&mut self, key: &str) -> Result<(), Error> {
        let limit = crate::limits::MAX_SIMPLE_KEY_CHARS as usize;
        // An escape has six characters, and there are two quotes.
        if self.dialect == Dialect::V2ThroughJson && !self.survived_json && key.len() * 6 + 2 > limit {
            let written = json::to_string(key, json::Escape::Html)?;
            if written.chars().count() > limit {
                return self.stop();
            }
        }
        self.check_survives_json(key)
    }

    fn stop(&mut self) -> Result<(), Error> {
        self.needs_detour = true;
        Err(Error::yaml("the value does not survive JSON").while_writing())
    }
}

/// Writes a value as sigs.k8s.io/yaml does: as JSON, which go-yaml v2 reads and writes again.
pub(crate) fn write_v2<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let mut writer = YamlWriter::new(Dialect::V2ThroughJson);
    match tell(value, &mut writer) {
        // Nearly always the JSON would change nothing, so it is not written. Where it would, do as Go does.
        Err(_) if writer.needs_detour => {
            let written = json::to_string(value, json::Escape::Html)?;
            let value = crate::to_value(written.as_bytes()).map_err(Error::while_writing)?;
            let mut writer = YamlWriter::new(Dialect::V2ThroughJson);
            writer.survived_json = true;
            tell(&value, &mut writer)?;
            Ok(writer.finish())
        }
        Err(error) => Err(error),
        Ok(()) => Ok(writer.finish()),
    }
}

/// Writes a value as go-yaml v3 does.
pub(crate) fn write_v3<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let mut writer = YamlWriter::new(Dialect::V3);
    tell(value, &mut writer)?;
    Ok(writer.finish())
}

/// JSON leaves these as they are; YAML forbids them, or takes them for line breaks.
fn json_may_not_survive(character: char) -> bool {
    matches!(character, '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}')
}

impl Sink for YamlWriter {
    fn null(&mut self) -> Result<(), Error> {
        self.plain("null");
        Ok(())
    }

    fn bool(&mut self, value: bool) -> Result<(), Error> {
        self.plain(if value { "true" } else { "false" });
        Ok(())
    }

    fn int(&mut self, value: i64) -> Result<(), Error> {
        self.plain(&value.to_string());
        Ok(())
    }

    fn uint(&mut self, value: u64) -> Result<(), Error> {
        self.plain(&value.to_string());
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Error> {
        if self.dialect == Dialect::V2ThroughJson {
            json::check_finite(value)?;
            if value == 0.0 {
                // JSON's -0 is read back as the integer 0.
                return self.int(0);
            }
            if let Some(number) = build::whole(value) {
                self.plain(&number.to_string());
                return Ok(());
            }
        }
        self.plain(&numbers::format_general(value));
        Ok(())
    }

    fn float_32(&mut self, value: f32) -> Result<(), Error> {
        if self.dialect == Dialect::V2ThroughJson && value.is_finite() {
            // JSON has the shortest digits of the 32-bit number; what reads them does not know of 32 bits.
            let read_back = numbers::format_json_32(value)
                .parse()
                .unwrap_or_else(|_| f64::from(value));
            return self.float(read_back);
        }
        if value.is_finite() {
            self.plain(&numbers::format_general_32(f64::from(value)));
            return Ok(());
        }
        self.float(f64::from(value))
    }

    fn text(&mut self, value: &str) -> Result<(), Error> {
        self.check_survives_json(value)?;
        let (style, _) = self.style_of(value, false);
        let indent = self.scalar_indent();
        self.layout.write_scalar(value, style, indent, true);
        self.end_value();
        Ok(())
    }

    fn begin_sequence(&mut self) -> Result<(), Error> {
        self.frames.push(Frame::Sequence {
            outer_indent: self.indent,
            role: self.role,
            begun: false,
        });
        Ok(())
    }

    fn item(&mut self) -> Result<(), Error> {
        if let Some(Frame::Sequence { role, begun, .. }) = self.frames.last_mut() {
            if !*begun {
                *begun = true;
                let role = *role;
                // v2 writes the items of a key's value below the key, not to the right of it.
                let indentless = self.dialect == Dialect::V2ThroughJson
                    && role == Role::Value
                    && !self.layout.in_indention();
                self.indent = if indentless {
                    self.indent
                } else {
                    Some(self.deeper())
                };
            }
            self.layout.write_indent(self.indent.unwrap_or_default());
            self.layout.write_indicator("-", true);
        }
        self.role = Role::Item;
        Ok(())
    }

    fn end_sequence(&mut self) -> Result<(), Error> {
        if let Some(Frame::Sequence {
            outer_indent, begun, ..
        }) = self.frames.pop()
        {
            self.indent = outer_indent;
            if begun {
                self.end_entry();
            } else {
                self.layout.write_indicator("[]", false);
                self.end_value();
            }
        }
        Ok(())
    }

    fn begin_mapping(&mut self, sorted: bool) -> Result<(), Error> {
        // What has gone through JSON is a map, whatever it was before.
        let sorted = sorted || self.dialect == Dialect::V2ThroughJson;
        let entries = WrittenEntries::default();
        self.frames.push(Frame::Mapping {
            outer_indent: self.indent,
            entries,
            sorted,
        });
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), Error> {
        self.check_key_survives_json(key)?;
        let deeper = self.deeper();
        if let Some(Frame::Mapping { entries, .. }) = self.frames.last_mut() {
            if entries.is_empty() {
                self.indent = Some(deeper);
            }
            self.layout.write_indent(self.indent.unwrap_or_default());
            entries.begin(key, self.layout.output.len());
        }
        let (style, multiline) = self.style_of(key, true);
        if !multiline && key.len() <= MAX_SIMPLE_KEY_BYTES {
            let indent = self.scalar_indent();
            self.layout.write_scalar(key, style, indent, false);
            self.layout.close_with(":");
            self.layout.end_indention();
        } else {
            let (style, _) = self.style_of(key, false);
            let indent = self.scalar_indent();
            self.layout.write_indicator("?", true);
            self.layout.write_scalar(key, style, indent, true);
            self.layout.write_indent(self.indent.unwrap_or_default());
            self.layout.write_indicator(":", true);
        }
        self.role = Role::Value;
        Ok(())
    }

    fn end_mapping(&mut self) -> Result<(), Error> {
        if let Some(Frame::Mapping {
            outer_indent,
            entries,
            sorted,
        }) = self.frames.pop()
        {
            if entries.is_empty() {
                self.indent = outer_indent;
                self.layout.write_indicator("{}", false);
                self.end_value();
                return Ok(());
            }
            if sorted {
                let less = match self.dialect {
                    Dialect::V2ThroughJson => natural_v2,
                    Dialect::V3 => natural_v3,
                };
                let indentation = " ".repeat(self.indent.unwrap_or_default());
                entries.sort(&mut self.layout.output, &indentation, less);
            }
            self.indent = outer_indent;
            self.end_entry();
        }
        Ok(())
    }
}
