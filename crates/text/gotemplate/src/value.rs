//! The values that templates compute with: Go's kinds, shared by reference where Go shares them.

use std::borrow::Borrow;
use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use crate::function::Function;
use crate::object::Object;
use crate::types::{IntegerKind, Kind, NamedType, Type};

/// A value of the template language.
///
/// Lists are immutable (no template function changes one in place); maps are shared and mutable, because
/// `set`, `unset` and `merge` must be seen through every other reference to the same map.
#[derive(Clone, Default)]
pub enum Value {
    /// The untyped nil: an interface that holds nothing, or the result of looking into nothing.
    #[default]
    Nil,
    /// `bool`.
    Bool(bool),
    /// Any of Go's integer types.
    Integer(Integer),
    /// `float64`.
    Float(f64),
    /// `complex128`: real and imaginary part.
    Complex(f64, f64),
    /// `string`.
    String(Text),
    /// `[]uint8`.
    Bytes(Text),
    /// A slice.
    List(List),
    /// A map with string keys.
    Map(Map),
    /// A Go struct, pointer or other native type with fields and methods.
    Object(Rc<dyn Object>),
    /// A function value, as `call` takes it.
    Function(&'static Function),
    /// Nil of a known type: a nil map, slice or pointer.
    TypedNil(Type),
}

impl Value {
    /// Returns a `int`, the type of integer literals in templates.
    pub fn int(value: i64) -> Value {
        Value::Integer(Integer::signed(IntegerKind::Int, value))
    }

    /// Returns a `int64`, the type that Sprig's arithmetic gives.
    pub fn int64(value: i64) -> Value {
        Value::Integer(Integer::signed(IntegerKind::Int64, value))
    }

    /// Returns a `uint64`.
    pub fn uint64(value: u64) -> Value {
        Value::Integer(Integer {
            kind: IntegerKind::Uint64,
            bits: value as i64,
        })
    }

    /// Returns a `string`.
    pub fn string(text: impl Into<Text>) -> Value {
        Value::String(text.into())
    }

    /// Returns a `[]interface {}`.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(List::new(items))
    }

    /// Returns a `[]string`.
    pub fn strings<I>(items: I) -> Value
    where
        I: IntoIterator,
        I::Item: Into<Text>,
    {
        let items = items.into_iter().map(Value::string).collect();
        Value::List(List::of(Type::String, items))
    }

    /// Returns a fresh `map[string]interface {}`.
    pub fn map<I, K>(entries: I) -> Value
    where
        I: IntoIterator<Item = (K, Value)>,
        K: Into<Text>,
    {
        Value::Map(
            entries
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        )
    }

    /// Returns whether this is nil, typed or not.
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil | Value::TypedNil(_))
    }

    /// Returns Go's reflection kind.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Nil => Kind::Invalid,
            Value::Bool(_) => Kind::Bool,
            Value::Integer(integer) => Kind::Integer(integer.kind),
            Value::Float(_) => Kind::Float64,
            Value::Complex(..) => Kind::Complex128,
            Value::String(_) => Kind::String,
            Value::Bytes(_) | Value::List(_) => Kind::Slice,
            Value::Map(_) => Kind::Map,
            Value::Object(object) => object.kind(),
            Value::Function(_) => Kind::Function,
            Value::TypedNil(nil) => nil.kind(),
        }
    }

    /// Writes the name of the Go type, such as `map[string]interface {}`; `<nil>` for the untyped nil.
    pub fn type_name(&self) -> String {
        match self {
            Value::Nil => "<nil>".into(),
            Value::Bool(_) => "bool".into(),
            Value::Integer(integer) => integer.kind.name().into(),
            Value::Float(_) => "float64".into(),
            Value::Complex(..) => "complex128".into(),
            Value::String(_) => "string".into(),
            Value::Bytes(_) => "[]uint8".into(),
            Value::List(list) => list.type_name(),
            Value::Map(map) => map.type_name(),
            Value::Object(object) => object.type_name().into(),
            Value::Function(function) => function.type_name(),
            Value::TypedNil(nil) => nil.to_string(),
        }
    }

    /// Returns Go's truth: zero numbers, empty text, empty lists and maps, and nil are false.
    pub fn truth(&self) -> bool {
        match self {
            Value::Nil | Value::TypedNil(_) => false,
            Value::Bool(value) => *value,
            Value::Integer(integer) => integer.bits != 0,
            Value::Float(value) => *value != 0.0,
            Value::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Value::String(text) | Value::Bytes(text) => !text.is_empty(),
            Value::List(list) => !list.is_empty(),
            Value::Map(map) => !map.is_empty(),
            Value::Object(object) => object.truth(),
            Value::Function(_) => true,
        }
    }

    /// Returns the text of a string value.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the map, when it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the list, when it is one.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the native object, when it is one of type `T`.
    pub fn as_object<T: Object>(&self) -> Option<&T> {
        match self {
            Value::Object(object) => object.as_any().downcast_ref(),
            _ => None,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&crate::format::go_syntax(self)))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::string(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::string(value)
    }
}

impl From<Text> for Value {
    fn from(value: Text) -> Value {
        Value::String(value)
    }
}

/// An integer together with its Go type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// Which of Go's integer types it has.
    pub kind: IntegerKind,
    /// The value; for unsigned kinds its bits.
    pub bits: i64,
}

impl Integer {
    /// Returns a signed integer of the given type.
    pub fn signed(kind: IntegerKind, value: i64) -> Integer {
        Integer { kind, bits: value }
    }

    /// Returns the value as an unsigned number, for unsigned kinds.
    pub fn unsigned(self) -> u64 {
        self.bits as u64
    }

    /// Returns the value without its type, wide enough for every kind.
    pub fn wide(self) -> i128 {
        if self.kind.is_unsigned() {
            i128::from(self.bits as u64)
        } else {
            i128::from(self.bits)
        }
    }
}

/// A Go string: bytes that are usually, but not always, UTF-8; cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<[u8]>);

impl Text {
    /// Returns the text as UTF-8, with U+FFFD for what is not.
    pub fn to_str(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Default for Text {
    fn default() -> Text {
        Text(Arc::from(&[][..]))
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Text {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str(), formatter)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(Arc::from(text.as_bytes()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(Arc::from(text.into_bytes()))
    }
}

impl From<&[u8]> for Text {
    fn from(text: &[u8]) -> Text {
        Text(Arc::from(text))
    }
}

impl From<Vec<u8>> for Text {
    fn from(text: Vec<u8>) -> Text {
        Text(Arc::from(text))
    }
}

impl From<Arc<[u8]>> for Text {
    fn from(text: Arc<[u8]>) -> Text {
        Text(text)
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Text {
        text.clone()
    }
}

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
