//! Streams of several documents.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::build;
use crate::check::check;
use crate::de::NodeDeserializer;
use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;
use crate::parser::Parser;
use crate::tree::{ROOT, Tree, compose};

/// One document of a stream: well-formed YAML whose values are not decided yet.
pub struct Document<'a> {
    pub(crate) tree: Tree<'a>,
}

impl Document<'_> {
    /// Returns the 1-based line on which the document starts: that of its `---`, directive or first node.
    pub fn line(&self) -> usize {
        self.tree.line as usize + 1
    }

    /// Converts the document to JSON data.
    pub fn to_value(&self, options: ReadOptions) -> Result<Value, Error> {
        check(&self.tree, options)?;
        Ok(build::value(&self.tree, ROOT, options.numbers))
    }

    /// Reads the document into a type.
    pub fn deserialize<T: DeserializeOwned>(&self, options: ReadOptions) -> Result<T, Error> {
        check(&self.tree, options)?;
        T::deserialize(NodeDeserializer::new(&self.tree, ROOT, options))
    }
}

/// The documents of a stream, as go-yaml's `Decoder` sees them; see [`documents`].
pub struct Documents<'a> {
    state: State<'a>,
}

enum State<'a> {
    Ready(Box<Parser<'a>>),
    Failed(Error),
    Done,
}

/// Iterates over the documents of a stream, as go-yaml's `Decoder` sees them.
///
/// After a syntax error nothing more can be read, so the iteration ends with it. A document that is only
/// separators and comments is none; one that is empty between two `---` is null.
pub fn documents(bytes: &[u8]) -> Documents<'_> {
    Documents {
        state: match Input::new(bytes) {
            Ok(input) => State::Ready(Box::new(Parser::new(input))),
            Err(error) => State::Failed(error),
        },
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<Document<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Done => None,
            State::Failed(error) => Some(Err(error)),
            State::Ready(mut parser) => match compose(&mut parser, None).transpose()? {
                Ok(tree) => {
                    self.state = State::Ready(parser);
                    Some(Ok(Document { tree }))
                }
                Err(error) => Some(Err(error)),
            },
        }
    }
}

/// Reads the first document; `None` if there is none.
pub(crate) fn first_document(bytes: &[u8], options: ReadOptions) -> Result<Option<Document<'_>>, Error> {
    let mut parser = Parser::new(Input::new(bytes)?);
    let tree = compose(&mut parser, options.most_values)?;
    Ok(tree.map(|tree| Document { tree }))
}

/// A document that holds null, which is what an empty stream reads as.
pub(crate) fn null() -> Document<'static> {
    Document { tree: Tree::null() }
}

/// A part of a stream that a line `---` separates from the next, before anything is parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The 1-based line on which the part starts.
    pub line: usize,
    /// The part's bytes, without separator lines.
    pub bytes: &'a [u8],
}

/// Splits a stream at its separator lines as Kubernetes' `YAMLReader` does, without parsing it.
///
/// A line separates when it starts with `---` and only spaces or a comment follow. Parts without any line
/// are left out.
pub fn chunks(bytes: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    let mut rest = bytes;
    let mut line = 1;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let mut length = 0;
            let mut lines = 0;
            let mut separator = 0;
            for text in rest.split_inclusive(|&byte| byte == b'\n') {
                if is_separator(text) {
                    separator = text.len();
                    break;
                }
                length += text.len();
                lines += 1;
            }
            let (part, after) = rest.split_at(length);
            rest = after.get(separator..).unwrap_or_default();
            let start = line;
            line += lines + usize::from(separator > 0);
            if !part.is_empty() {
                return Some(Chunk {
                    line: start,
                    bytes: part,
                });
            }
        }
    })
}

fn is_separator(line: &[u8]) -> bool {
    line.strip_prefix(b"---").is_some_and(|rest| {
        let rest = rest.trim_ascii();
        rest.is_empty() || rest.starts_with(b"#")
    })
}
