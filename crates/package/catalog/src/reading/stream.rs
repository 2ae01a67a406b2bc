//! The objects of one file: JSON objects behind each other, or YAML documents.

use std::io::{self, Read};

use super::window::Window;
use crate::canonical::scan::Scan;
use crate::canonical::{self, Head, MAX_OBJECT_BYTES, Malformed};

/// How far into a file the decision between JSON and YAML looks.
const SNIFFED_BYTES: usize = 4096;

/// What is used again from file to file, to save allocations.
#[derive(Default)]
pub(super) struct Scratch {
    buffer: Vec<u8>,
    scan: Scan,
    document: Vec<u8>,
}

/// One object as it was found.
pub(crate) struct Found<'a> {
    /// JSON text of the object, well-formed but not canonical; empty for a YAML document without content.
    pub(crate) text: &'a [u8],
    /// The structure of the text.
    pub(crate) scan: &'a Scan,
    /// The fields that the object is found by.
    pub(crate) head: Head<'a>,
}

impl Found<'_> {
    /// Appends the object's canonical form.
    pub(crate) fn write_blob(&self, out: &mut Vec<u8>) {
        if !self.text.is_empty() {
            self.scan.write(self.text, out);
        }
    }
}

/// Why reading a stream ended early.
pub(super) enum Interruption<E> {
    /// The stream could not be read.
    Io(io::Error),
    /// The stream holds something that is no object; the text is upstream's.
    Refused(String),
    /// The receiver of the objects returned an error.
    Receiver(E),
}

impl<E> From<io::Error> for Interruption<E> {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Gives every object of a stream to `receiver`.
pub(super) fn read<E>(
    reader: impl Read,
    scratch: &mut Scratch,
    mut receiver: impl FnMut(Found<'_>) -> Result<(), E>,
) -> Result<(), Interruption<E>> {
    let mut stream = Stream {
        window: Window::new(reader, std::mem::take(&mut scratch.buffer)),
        scan: &mut scratch.scan,
        document: &mut scratch.document,
    };
    let result = stream.read(&mut receiver);
    scratch.buffer = stream.window.into_buffer();
    result
}

struct Stream<'s, R> {
    window: Window<R>,
    scan: &'s mut Scan,
    document: &'s mut Vec<u8>,
}

/// What comes next in a stream of JSON values.
enum Next {
    /// A value between these indices of the window.
    Value(usize, usize),
    End,
    /// The text is refused; where it was a matter of syntax, this many bytes into the stream.
    Refused(String, Option<usize>),
}

impl<R: Read> Stream<'_, R> {
    fn read<E>(
        &mut self,
        receiver: &mut impl FnMut(Found<'_>) -> Result<(), E>,
    ) -> Result<(), Interruption<E>> {
        self.window.grow()?;
        let sniffed = self.window.bytes();
        let sniffed = sniffed.get(..SNIFFED_BYTES).unwrap_or(sniffed);
        let mut json_error = None;
        if String::from_utf8_lossy(sniffed).trim_start().starts_with('{') {
            match self.read_json(receiver)? {
                None => return Ok(()),
                Some(error) => json_error = Some(error),
            }
        }
        self.read_yaml(json_error, receiver)
    }

    /// Reads JSON values; `Some` is why the rest should be tried as YAML.
    ///
    /// A stream with two values is certainly JSON. One with fewer may be YAML that starts with a flow mapping.
    fn read_json<E>(
        &mut self,
        receiver: &mut impl FnMut(Found<'_>) -> Result<(), E>,
    ) -> Result<Option<String>, Interruption<E>> {
        let mut count = 0_usize;
        loop {
            let (error, offset) = match self.next_json(count > 1)? {
                Next::End => return Ok(None),
                Next::Refused(error, offset) => (error, offset),
                Next::Value(start, end) => {
                    let text = self.window.bytes().get(start..end).unwrap_or_default();
                    match understood(self.scan, text) {
                        Ok(head) => {
                            count += 1;
                            let scan = &*self.scan;
                            receiver(Found { text, scan, head }).map_err(Interruption::Receiver)?;
                            self.window.consume(end);
                            continue;
                        }
                        Err(error) => (error.to_string(), None),
                    }
                }
            };
            if count > 1 {
                return Err(Interruption::Refused(error));
            }
            let error = match offset {
                Some(offset) => format!("json: offset {offset}: {error}"),
                None => error,
            };
            return if self.skip_to_next_line()? {
                Ok(Some(error))
            } else {
                Err(Interruption::Refused(error))
            };
        }
    }

    /// Finds the next JSON value. White space before it stays in the window, unless it may be `forgotten`.
    fn next_json(&mut self, forgotten: bool) -> io::Result<Next> {
        let mut start = 0;
        loop {
            let bytes = self.window.bytes();
            start += bytes
                .get(start..)
                .unwrap_or_default()
                .iter()
                .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
                .count();
            if forgotten {
                self.window.consume(start);
                start = 0;
            }
            let bytes = self.window.bytes();
            let rest = bytes.get(start..).unwrap_or_default();
            if rest.len() > MAX_OBJECT_BYTES || start > MAX_OBJECT_BYTES {
                return Ok(Next::Refused(
                    canonical::Error::TooLarge(bytes.len()).to_string(),
                    None,
                ));
            }
            let at_end = self.window.is_at_end();
            match self.scan.value(rest, 0) {
                _ if rest.is_empty() && at_end => return Ok(Next::End),
                // More digits of a number may follow.
                Ok(end) if at_end || end < rest.len() || rest.ends_with(b"}") => {
                    return Ok(Next::Value(start, start + end));
                }
                Err(Malformed::Truncated) if at_end => {
                    return Ok(Next::Refused("unexpected EOF".to_owned(), None));
                }
                Err(Malformed::Syntax(at)) => {
                    let text = rest.get(..=at).unwrap_or(rest);
                    let offset = self.window.offset() + start + at + 1;
                    return Ok(Next::Refused(
                        canonical::syntax_error(text).to_string(),
                        Some(offset),
                    ));
                }
                Ok(_) | Err(Malformed::Truncated) => self.window.grow()?,
            }
        }
    }

    /// Skips white space up to and including a line break; `false` if too little follows to go on.
    fn skip_to_next_line(&mut self) -> io::Result<bool> {
        /// Upstream reads so many bytes to find one character, and gives up where fewer are left.
        const CHARACTER_BYTES: usize = 4;
        let mut skipped = 0;
        loop {
            while self.window.bytes().len() < skipped + CHARACTER_BYTES && !self.window.is_at_end() {
                self.window.grow()?;
            }
            let Some(bytes) = self.window.bytes().get(skipped..skipped + CHARACTER_BYTES) else {
                return Ok(false);
            };
            let first = bytes
                .utf8_chunks()
                .next()
                .and_then(|chunk| chunk.valid().chars().next());
            match first {
                None | Some(char::REPLACEMENT_CHARACTER) => return Ok(false),
                Some('\n') => {
                    self.window.consume(skipped + 1);
                    return Ok(true);
                }
                Some(space) if space.is_whitespace() => skipped += space.len_utf8(),
                Some(_) => {
                    self.window.consume(skipped);
                    return Ok(true);
                }
            }
        }
    }

    /// Reads YAML documents. Where the stream was tried as JSON before and the first document fails, too, the
    /// error is the one about JSON.
    fn read_yaml<E>(
        &mut self,
        mut json_error: Option<String>,
        receiver: &mut impl FnMut(Found<'_>) -> Result<(), E>,
    ) -> Result<(), Interruption<E>> {
        loop {
            let found = match self.next_document()? {
                Document::End => return Ok(()),
                Document::Refused(error) => Err(error),
                Document::Read => json_of(self.document),
            };
            let text = match found {
                Ok(text) => text,
                Err(error) => return Err(Interruption::Refused(json_error.unwrap_or(error))),
            };
            let Some(text) = text else {
                json_error = None;
                let head = Head::default();
                let scan = &*self.scan;
                receiver(Found {
                    text: &[],
                    scan,
                    head,
                })
                .map_err(Interruption::Receiver)?;
                continue;
            };
            let head = match self.scan.value(text.as_bytes(), 0) {
                Ok(_) => understood(self.scan, text.as_bytes())
                    .map_err(|error| in_html_words(&error, self.document)),
                Err(_) => Err(canonical::syntax_error(text.as_bytes()).to_string()),
            };
            let head = match head {
                Ok(head) => head,
                Err(error) => {
                    let error = format!("error unmarshaling JSON: while decoding JSON: {error}");
                    return Err(Interruption::Refused(json_error.unwrap_or(error)));
                }
            };
            json_error = None;
            let found = Found {
                text: text.as_bytes(),
                scan: self.scan,
                head,
            };
            receiver(found).map_err(Interruption::Receiver)?;
        }
    }

    /// Reads lines up to the next separator into the document.
    fn next_document(&mut self) -> io::Result<Document> {
        self.document.clear();
        loop {
            let Some(length) = self.line_length()? else {
                return Ok(if self.document.is_empty() {
                    Document::End
                } else {
                    Document::Read
                });
            };
            let line = self.window.bytes().get(..length).unwrap_or_default();
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let text = match line.len() - text.len() {
                0 => text,
                _ => text.strip_suffix(b"\r").unwrap_or(text),
            };
            if let Some(after) = text.strip_prefix(b"---") {
                let after = String::from_utf8_lossy(after);
                let after = after.trim();
                if !after.is_empty() && !after.starts_with('#') {
                    return Ok(Document::Refused(format!(
                        "invalid Yaml document separator: {after}"
                    )));
                }
                if !self.document.is_empty() {
                    self.window.consume(length);
                    return Ok(Document::Read);
                }
            }
            if self.document.len() + text.len() > MAX_OBJECT_BYTES {
                let size = self.document.len() + text.len();
                return Ok(Document::Refused(canonical::Error::TooLarge(size).to_string()));
            }
            self.document.extend_from_slice(text);
            self.document.push(b'\n');
            self.window.consume(length);
        }
    }

    /// Returns how long the next line is with its line break; `None` at the end.
    fn line_length(&mut self) -> io::Result<Option<usize>> {
        let mut searched = 0;
        loop {
            let bytes = self.window.bytes();
            if let Some(found) = memchr::memchr(b'\n', bytes.get(searched..).unwrap_or_default()) {
                return Ok(Some(searched + found + 1));
            }
            searched = bytes.len();
            if self.window.is_at_end() || searched > MAX_OBJECT_BYTES {
                return Ok((searched > 0).then_some(searched));
            }
            self.window.grow()?;
        }
    }
}

enum Document {
    Read,
    End,
    Refused(String),
}

/// Checks that a scanned value is an object, and finds its head.
fn understood<'a>(scan: &Scan, text: &'a [u8]) -> Result<Head<'a>, canonical::Error> {
    canonical::check_readable(scan, text)?;
    Ok(Head::of(scan, text)?)
}

/// Converts a YAML document to JSON text; `None` for null.
fn json_of(document: &[u8]) -> Result<Option<String>, String> {
    let value = goyaml::to_value(document).map_err(|error| error.in_sigs_words())?;
    if value.is_null() {
        return Ok(None);
    }
    goyaml::json::to_string(&value, goyaml::json::Escape::None)
        .map(Some)
        .map_err(|error| error.in_sigs_words())
}

/// The words for a document that is no object: they quote its JSON, which Go escapes for HTML here.
fn in_html_words(error: &canonical::Error, document: &[u8]) -> String {
    if let canonical::Error::Mismatch(_) = error {
        let text = goyaml::to_value(document)
            .and_then(|value| goyaml::json::to_string(&value, goyaml::json::Escape::Html));
        let mut scan = Scan::default();
        if let Ok(text) = text
            && scan.value(text.as_bytes(), 0).is_ok()
            && let Err(error) = canonical::check_readable(&scan, text.as_bytes())
        {
            return error.to_string();
        }
    }
    error.to_string()
}
