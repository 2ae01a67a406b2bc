//! Go's slices and maps: lists are shared and never change, maps are shared and change for everyone.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

use crate::text::Text;
use crate::types::{NamedType, Type};
use crate::value::Value;

/// A Go slice of values, immutable and shared.
#[derive(Clone)]
pub struct List(Rc<ListData>);

struct ListData {
    element: Type,
    named: Option<&'static NamedType>,
    items: Vec<Value>,
}

impl List {
    /// Returns a `[]interface {}`.
    pub fn new(items: Vec<Value>) -> List {
        List::of(Type::Any, items)
    }

    /// Returns a slice whose elements have the given type.
    pub fn of(element: Type, items: Vec<Value>) -> List {
        List(Rc::new(ListData {
            element,
            named: None,
            items,
        }))
    }

    /// Returns a slice of a named type, which may have methods.
    pub fn named(named: &'static NamedType, element: Type, items: Vec<Value>) -> List {
        List(Rc::new(ListData {
            element,
            named: Some(named),
            items,
        }))
    }

    /// Returns the type of the elements.
    pub fn element(&self) -> Type {
        self.0.element
    }

    /// Returns the named type, where it has one.
    pub fn named_type(&self) -> Option<&'static NamedType> {
        self.0.named
    }

    /// Writes the name of the Go type.
    pub fn type_name(&self) -> String {
        match self.0.named {
            Some(named) => named.name.to_owned(),
            None => format!("[]{}", self.0.element),
        }
    }

    /// Returns whether two handles are the same list in memory.
    pub fn is_same(&self, other: &List) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0.items
    }
}

/// A Go map with string keys, shared and mutable; iterates in key order.
#[derive(Clone)]
pub struct Map {
    data: Rc<MapData>,
    /// The type under which this handle sees the map; Go converts between named types without copying.
    named: Option<&'static NamedType>,
}

struct MapData {
    element: Type,
    entries: RefCell<BTreeMap<Text, Value>>,
}

impl Default for Map {
    fn default() -> Map {
        Map::new()
    }
}

impl Map {
    /// Returns an empty `map[string]interface {}`.
    pub fn new() -> Map {
        Map::of(Type::Any, BTreeMap::new())
    }

    /// Returns a map of the given element type.
    pub fn of(element: Type, entries: BTreeMap<Text, Value>) -> Map {
        Map {
            data: Rc::new(MapData {
                element,
                entries: RefCell::new(entries),
            }),
            named: None,
        }
    }

    /// Returns the same map under a named type, which may have methods.
    pub fn named(&self, named: &'static NamedType) -> Map {
        Map {
            data: Rc::clone(&self.data),
            named: Some(named),
        }
    }

    /// Returns the same map without its named type.
    pub fn unnamed(&self) -> Map {
        Map {
            data: Rc::clone(&self.data),
            named: None,
        }
    }

    /// Returns the type of the values.
    pub fn element(&self) -> Type {
        self.data.element
    }

    /// Returns the named type, where it has one.
    pub fn named_type(&self) -> Option<&'static NamedType> {
        self.named
    }

    /// Writes the name of the Go type.
    pub fn type_name(&self) -> String {
        match self.named {
            Some(named) => named.name.to_owned(),
            None => format!("map[string]{}", self.data.element),
        }
    }

    /// Returns the value at `key`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<Value> {
        self.data.entries.borrow().get(key.as_ref()).cloned()
    }

    /// Returns whether there is an entry at `key`.
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> bool {
        self.data.entries.borrow().contains_key(key.as_ref())
    }

    /// Puts `value` at `key`, seen by everyone who shares this map.
    pub fn insert(&self, key: impl Into<Text>, value: Value) {
        self.data.entries.borrow_mut().insert(key.into(), value);
    }

    /// Takes the entry at `key` out, for everyone who shares this map.
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Option<Value> {
        self.data.entries.borrow_mut().remove(key.as_ref())
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.data.entries.borrow().len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.data.entries.borrow().is_empty()
    }

    /// Returns a snapshot of the entries in key order; the map may change while it is read.
    pub fn entries(&self) -> Vec<(Text, Value)> {
        self.data
            .entries
            .borrow()
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// Borrows the entries; the map must not be changed while the borrow lives.
    pub fn borrow(&self) -> Ref<'_, BTreeMap<Text, Value>> {
        self.data.entries.borrow()
    }

    /// Borrows the entries for changing; no other borrow may live meanwhile.
    pub fn borrow_mut(&self) -> RefMut<'_, BTreeMap<Text, Value>> {
        self.data.entries.borrow_mut()
    }

    /// Returns whether two handles are the same map in memory.
    pub fn is_same(&self, other: &Map) -> bool {
        Rc::ptr_eq(&self.data, &other.data)
    }

    /// Returns a number that identifies this map while it lives.
    pub fn identity(&self) -> usize {
        Rc::as_ptr(&self.data).cast::<()>() as usize
    }
}

impl FromIterator<(Text, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Text, Value)>>(entries: I) -> Map {
        Map::of(Type::Any, entries.into_iter().collect())
    }
}

/// Drops what containers hold in a loop: templates can nest lists and maps as deep as they like.
fn drop_contents(mut waiting: Vec<Value>) {
    while let Some(value) = waiting.pop() {
        match value {
            Value::List(list) => {
                if let Some(mut data) = Rc::into_inner(list.0) {
                    waiting.append(&mut data.items);
                }
            }
            Value::Map(map) => {
                if let Some(mut data) = Rc::into_inner(map.data) {
                    waiting.extend(std::mem::take(data.entries.get_mut()).into_values());
                }
            }
            _ => {}
        }
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_))
}

impl Drop for ListData {
    fn drop(&mut self) {
        if self.items.iter().any(is_container) {
            drop_contents(std::mem::take(&mut self.items));
        }
    }
}

impl Drop for MapData {
    fn drop(&mut self) {
        if self.entries.get_mut().values().any(is_container) {
            drop_contents(std::mem::take(self.entries.get_mut()).into_values().collect());
        }
    }
}
