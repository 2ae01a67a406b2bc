//! Hears a render: which template wrote at which offset, and which values were read on the way there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use gotemplate::{Map, Observer, Template, Value};
use serde_json::Value as Json;

use crate::engine::RenderObserver;

/// How many writes and reads are kept; far more than real charts make, and little enough to fit any memory. What comes
/// after them is not explained.
const MAX_EVENTS: usize = 2_000_000;

/// How deep values are looked into.
const MAX_DEPTH: usize = 1_000;

/// Hears what a render does, and keeps it for [`explain`](super::explain).
#[derive(Default)]
pub struct Recorder {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Every map of the values by its identity; the handle keeps the identity from being used again.
    places: HashMap<usize, (Rc<[String]>, Map)>,
    /// The scalars as they were before any template could change them.
    initial: Json,
    files: Vec<FileRecord>,
    /// Where the lines of a source start, by its place in memory and its length.
    lines: HashMap<(usize, usize), Rc<[usize]>>,
    pending: Vec<Read>,
    events: usize,
}

/// What was heard about one rendered file.
#[derive(Debug, Default)]
pub(super) struct FileRecord {
    pub(super) name: String,
    /// What the template printed, before Helm takes marks of missing values out.
    pub(super) output: Vec<u8>,
    pub(super) writes: Vec<Write>,
    pub(super) reads: Vec<Read>,
}

/// Something was written at an offset of the output.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) offset: usize,
    pub(super) file: Rc<str>,
    pub(super) position: usize,
    /// Whether it is text of the template, copied as it stands there.
    pub(super) is_text: bool,
    pub(super) lines: Rc<[usize]>,
}

/// A value was read for what was written at an offset.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) offset: usize,
    pub(super) table: Rc<[String]>,
    pub(super) key: String,
    /// The value, where a template has changed it before.
    pub(super) changed: Option<Json>,
}

impl Write {
    /// The line, from 1, of what stands at an offset that this write covers.
    pub(super) fn line(&self, offset: usize) -> usize {
        let position = if self.is_text {
            self.position + offset.saturating_sub(self.offset)
        } else {
            self.position
        };
        self.lines.partition_point(|start| *start <= position).max(1)
    }
}

impl Recorder {
    pub(super) fn into_files(self) -> Vec<FileRecord> {
        self.state.into_inner().files
    }
}

impl State {
    fn add_places(&mut self, value: &Value, path: &mut Vec<String>) {
        if path.len() > MAX_DEPTH {
            return;
        }
        match value {
            Value::Map(map) => {
                self.places
                    .insert(map.identity(), (Rc::from(path.as_slice()), map.clone()));
                for (key, item) in map.entries() {
                    path.push(key.to_str().into_owned());
                    self.add_places(&item, path);
                    path.pop();
                }
            }
            Value::List(list) => {
                for (index, item) in list.iter().enumerate() {
                    path.push(format!("[{index}]"));
                    self.add_places(item, path);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    fn lines_of(&mut self, source: &[u8]) -> Rc<[usize]> {
        let key = (source.as_ptr() as usize, source.len());
        Rc::clone(self.lines.entry(key).or_insert_with(|| {
            std::iter::once(0)
                .chain(memchr::memchr_iter(b'\n', source).map(|newline| newline + 1))
                .collect()
        }))
    }

    fn is_full(&mut self) -> bool {
        self.events += 1;
        self.events > MAX_EVENTS
    }
}

impl RenderObserver for Recorder {
    fn starts(&self, values: &Map) {
        let state = &mut *self.state.borrow_mut();
        let values = Value::Map(values.clone());
        state.initial = gotemplate::serialize::to_json(&values).unwrap_or_default();
        state.add_places(&values, &mut Vec::new());
    }

    fn starts_file(&self, name: &str) {
        let state = &mut *self.state.borrow_mut();
        state.pending.clear();
        state.files.push(FileRecord {
            name: name.to_owned(),
            ..FileRecord::default()
        });
    }

    fn ends_file(&self, output: &[u8]) {
        let state = &mut *self.state.borrow_mut();
        let pending = std::mem::take(&mut state.pending);
        if let Some(file) = state.files.last_mut() {
            file.output = output.to_vec();
            file.reads.extend(pending.into_iter().map(|read| Read {
                offset: output.len(),
                ..read
            }));
        }
    }

    fn as_observer(&self) -> &dyn Observer {
        self
    }
}

impl Observer for Recorder {
    fn writes(&self, template: &Template, position: usize, written: usize, depth: usize) {
        // What is written into a deeper buffer arrives in the file by the action that asked for it.
        if depth != 1 {
            return;
        }
        let state = &mut *self.state.borrow_mut();
        if state.is_full() {
            return;
        }
        let lines = state.lines_of(template.source());
        let pending = std::mem::take(&mut state.pending);
        let Some(file) = state.files.last_mut() else {
            return;
        };
        file.reads.extend(pending.into_iter().map(|read| Read {
            offset: written,
            ..read
        }));
        let known = file.writes.last().filter(|write| &*write.file == template.file());
        let name = known.map_or_else(|| Rc::from(template.file()), |write| Rc::clone(&write.file));
        file.writes.push(Write {
            offset: written,
            file: name,
            position,
            is_text: !follows_delimiter(template.source(), position),
            lines,
        });
    }

    fn reads(&self, map: &Map, key: &[u8]) {
        let state = &mut *self.state.borrow_mut();
        let Some((table, _)) = state.places.get(&map.identity()) else {
            return;
        };
        let table = Rc::clone(table);
        if state.is_full() {
            return;
        }
        let key = String::from_utf8_lossy(key).into_owned();
        let initial = table
            .iter()
            .chain(std::iter::once(&key))
            .try_fold(&state.initial, |value, key| match value {
                Json::Array(items) => key
                    .trim_matches(['[', ']'])
                    .parse::<usize>()
                    .ok()
                    .and_then(|at| items.get(at)),
                value => value.get(key),
            });
        let changed = match map.get(&key) {
            Some(Value::Map(_) | Value::List(_)) => None,
            now => {
                let now = now.and_then(|value| gotemplate::serialize::to_json(&value).ok());
                if now.as_ref() == initial {
                    None
                } else {
                    Some(now.unwrap_or_default())
                }
            }
        };
        state.pending.push(Read {
            offset: 0,
            table,
            key,
            changed,
        });
    }
}

/// Tells whether a position stands in an action: text never follows an opening delimiter.
fn follows_delimiter(source: &[u8], position: usize) -> bool {
    let before = source.get(..position).unwrap_or(source).trim_ascii_end();
    before.ends_with(b"{{") || before.ends_with(b"{{-")
}
