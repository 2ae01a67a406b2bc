//! How values look under each verb: scalars by their own rules, lists, maps and objects by those of their parts.

use super::layout::Layout;
use super::scalar::{Notation, Signed};
use crate::object::{Json, Object};
use crate::stack;
use crate::types::{IntegerKind, Kind, Type};
use crate::value::{Integer, List, Map, Value};

/// Values nested deeper are not printed, so that no value can exhaust the memory; Go's YAML and JSON decoders
/// refuse documents that are nested deeper.
const MAX_DEPTH: usize = 10_000;

/// How much is printed of containers before the rest is left out: lists that hold the same list many times print far
/// more than they store.
const MAX_CONTAINER_BYTES: usize = 64 << 20;
/// The address that every map, slice, pointer and function has in print: Go's differ from run to run.
const ADDRESS: u64 = 0xc0_0000_0000;

/// One operand's way to the output.
pub(super) struct Printer<'out> {
    pub(super) out: &'out mut Vec<u8>,
    pub(super) layout: Layout,
    /// Whether a complaint is being written: then methods of objects are not asked.
    complaining: bool,
    /// The maps that contain what is being printed, by identity.
    path: Vec<usize>,
    depth: usize,
    /// Where this printer's own output starts.
    start: usize,
    /// Whether a map that contains itself was met, or more was printed than is sensible. Go's program ends there, so nothing compares with what
    /// follows: it is kept short, because ways through such maps can be without number.
    endless: bool,
}

impl<'out> Printer<'out> {
    pub(super) fn new(out: &'out mut Vec<u8>, layout: Layout) -> Printer<'out> {
        Printer {
            start: out.len(),
            out,
            layout,
            complaining: false,
            path: Vec::new(),
            depth: 0,
            endless: false,
        }
    }

    fn write(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes an operand.
    pub(super) fn argument(&mut self, value: &Value, verb: char) {
        if is_untyped_nil(value) {
            return match verb {
                'T' | 'v' => self.padded(b"<nil>"),
                _ => self.bad_verb(value, verb),
            };
        }
        match (verb, value) {
            ('T', _) => self.text(value.type_name().as_bytes()),
            ('p', _) => self.pointer(value, verb),
            (_, Value::Bytes(bytes)) => self.bytes(bytes, verb),
            (_, Value::TypedNil(Type::Bytes)) if self.layout.go_syntax && verb == 'v' => {
                self.write("[]byte(nil)");
            }
            (_, Value::TypedNil(Type::Bytes)) => self.value(value, verb, true),
            _ => {
                if !self.by_method(value, verb) {
                    self.value(value, verb, true);
                }
            }
        }
    }

    /// Writes a value inside of another; `slot` is the type of its place there.
    fn nested(&mut self, value: &Value, verb: char, slot: Type) {
        if is_untyped_nil(value) {
            if self.layout.go_syntax {
                self.write(&format!("{slot}(nil)"));
            } else {
                self.write("<nil>");
            }
        } else if !self.by_method(value, verb) {
            self.value(value, verb, false);
        }
    }

    /// Writes a value by what its type says about itself, where it says so; returns whether it did.
    fn by_method(&mut self, value: &Value, verb: char) -> bool {
        let has_methods = matches!(
            value,
            Value::List(_) | Value::Map(_) | Value::Object(_) | Value::Function(_) | Value::TypedNil(_)
        );
        if self.complaining || !has_methods {
            return false;
        }
        if verb == 'w' {
            // Only Errorf wraps errors.
            self.bad_verb(value, verb);
            return true;
        }
        let Value::Object(object) = value else {
            return false;
        };
        if self.layout.go_syntax || !matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') {
            return false;
        }
        let Some(text) = object.text() else { return false };
        self.string(text.as_bytes(), verb)
    }

    /// Writes a value by its kind; `outermost` values show what they point at.
    fn value(&mut self, value: &Value, verb: char, outermost: bool) {
        let understood = match value {
            Value::Nil => return self.nested(value, verb, Type::Any),
            Value::Bool(truth) => self.boolean(*truth, verb),
            Value::Integer(integer) => self.integer_verb(*integer, verb),
            Value::Float(number) => self.float(*number, verb),
            Value::Complex(real, imaginary) => self.complex(*real, *imaginary, verb),
            Value::String(text) => self.string(text, verb),
            Value::Bytes(bytes) => return self.byte_slice(bytes, verb, "[]uint8"),
            Value::List(list) => return self.list(list, verb),
            Value::Map(map) => return self.map(map, verb),
            Value::Function(_) => return self.pointer(value, verb),
            Value::TypedNil(nil) => return self.typed_nil(value, *nil, verb),
            Value::Object(object) => return self.object(value, object.as_ref(), verb, outermost),
        };
        if !understood {
            self.bad_verb(value, verb);
        }
    }

    /// Says that the verb is not for this value, and shows the value.
    fn bad_verb(&mut self, value: &Value, verb: char) {
        self.complaining = true;
        self.write("%!");
        self.write(verb.encode_utf8(&mut [0; 4]));
        self.write("(");
        if is_untyped_nil(value) {
            self.write("<nil>");
        } else {
            self.write(&value.type_name());
            self.write("=");
            self.argument(value, 'v');
        }
        self.write(")");
        self.complaining = false;
    }

    fn boolean(&mut self, truth: bool, verb: char) -> bool {
        if !matches!(verb, 't' | 'v') {
            return false;
        }
        self.padded(if truth { b"true" } else { b"false" });
        true
    }

    fn integer_verb(&mut self, integer: Integer, verb: char) -> bool {
        let number = if integer.kind.is_unsigned() {
            Signed {
                negative: false,
                magnitude: integer.unsigned(),
            }
        } else {
            Signed {
                negative: integer.bits < 0,
                magnitude: integer.bits.unsigned_abs(),
            }
        };
        let plain = Notation::DECIMAL;
        match verb {
            'v' if self.layout.go_syntax && integer.kind.is_unsigned() => {
                self.hex_number(number.magnitude, true);
            }
            'v' | 'd' => self.integer(number, plain),
            'b' => self.integer(number, Notation { base: 2, ..plain }),
            'o' => self.integer(number, Notation { base: 8, ..plain }),
            'O' => self.integer(
                number,
                Notation {
                    base: 8,
                    octal_prefix: true,
                    ..plain
                },
            ),
            'x' => self.integer(number, Notation::HEX),
            'X' => self.integer(
                number,
                Notation {
                    upper: true,
                    ..Notation::HEX
                },
            ),
            'c' => self.character(integer.unsigned()),
            'q' => self.quoted_character(integer.unsigned()),
            'U' => self.unicode(integer.unsigned()),
            _ => return false,
        }
        true
    }

    fn string(&mut self, text: &[u8], verb: char) -> bool {
        match verb {
            'v' if self.layout.go_syntax => self.quoted(text),
            'v' | 's' => self.text(text),
            'x' | 'X' => self.hex_bytes(text, verb == 'X'),
            'q' => self.quoted(text),
            _ => return false,
        }
        true
    }

    /// Writes a byte slice as an operand.
    fn bytes(&mut self, bytes: &[u8], verb: char) {
        match verb {
            'v' | 'd' if self.layout.go_syntax => self.byte_slice(bytes, 'v', "[]byte"),
            _ => self.byte_slice(bytes, verb, "[]uint8"),
        }
    }

    /// Writes a byte slice: as text for the verbs of text, otherwise as a list of numbers.
    fn byte_slice(&mut self, bytes: &[u8], verb: char, type_name: &str) {
        if !matches!(verb, 's' | 'q' | 'x' | 'X') {
            let numbers = bytes.iter().map(|&byte| {
                Value::Integer(Integer {
                    kind: IntegerKind::Uint8,
                    bits: i64::from(byte),
                })
            });
            return self.sequence(type_name, numbers, |printer, number| {
                printer.value(&number, verb, false);
            });
        }
        self.string(bytes, verb);
    }

    /// Writes a slice's type or bracket, and its items.
    fn sequence<T>(
        &mut self,
        type_name: &str,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Printer<'out>, T),
    ) {
        let go_syntax = self.layout.go_syntax;
        if go_syntax {
            self.write(type_name);
        }
        self.write(if go_syntax { "{" } else { "[" });
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.write(if go_syntax { ", " } else { " " });
            }
            write(self, item);
        }
        self.write(if go_syntax { "}" } else { "]" });
    }

    /// Writes what contains other values, unless that has no end.
    fn container(&mut self, verb: char, identity: Option<usize>, write: impl FnOnce(&mut Printer<'out>)) {
        if self.endless || identity.is_some_and(|identity| self.path.contains(&identity)) {
            self.endless = true;
            return self.complain_of_nesting(verb, "(CYCLE)");
        }
        if self.depth >= MAX_DEPTH {
            return self.complain_of_nesting(verb, "(DEPTH)");
        }
        if self.out.len() - self.start > MAX_CONTAINER_BYTES {
            self.endless = true;
            return self.complain_of_nesting(verb, "(LENGTH)");
        }
        self.path.extend(identity);
        self.depth += 1;
        stack::with_room(|| write(self));
        self.depth -= 1;
        if identity.is_some() {
            self.path.pop();
        }
    }

    fn complain_of_nesting(&mut self, verb: char, complaint: &str) {
        self.write("%!");
        self.write(verb.encode_utf8(&mut [0; 4]));
        self.write(complaint);
    }

    fn list(&mut self, list: &List, verb: char) {
        let slot = list.element();
        if slot == Type::Integer(IntegerKind::Uint8) && matches!(verb, 's' | 'q' | 'x' | 'X') {
            let bytes: Vec<u8> = list
                .iter()
                .filter_map(integer_of)
                .map(|integer| integer.unsigned() as u8)
                .collect();
            return self.byte_slice(&bytes, verb, "[]uint8");
        }
        self.container(verb, None, |printer| {
            let type_name = if printer.layout.go_syntax {
                list.type_name()
            } else {
                String::new()
            };
            printer.sequence(&type_name, list.iter(), |printer, item| {
                printer.nested(item, verb, slot);
            });
        });
    }

    fn map(&mut self, map: &Map, verb: char) {
        self.container(verb, Some(map.identity()), |printer| {
            let type_name = if printer.layout.go_syntax {
                map.type_name()
            } else {
                String::new()
            };
            let entries = map.borrow();
            printer.entries(
                &type_name,
                entries.iter().map(|(key, value)| (&**key, value)),
                verb,
                map.element(),
            );
        });
    }

    /// Writes a map's type or name, and its entries.
    fn entries<'value>(
        &mut self,
        type_name: &str,
        entries: impl Iterator<Item = (&'value [u8], &'value Value)>,
        verb: char,
        slot: Type,
    ) {
        if !self.layout.go_syntax {
            self.write("map");
        }
        self.sequence(type_name, entries, |printer, (key, value)| {
            if !printer.string(key, verb) {
                printer.bad_verb(&Value::string(key), verb);
            }
            printer.write(":");
            printer.nested(value, verb, slot);
        });
    }

    fn typed_nil(&mut self, value: &Value, nil: Type, verb: char) {
        match nil.kind() {
            Kind::Map | Kind::Slice if self.layout.go_syntax => self.write(&format!("{nil}(nil)")),
            Kind::Slice if nil == Type::Bytes => self.byte_slice(b"", verb, ""),
            Kind::Slice => self.write("[]"),
            Kind::Map => self.write("map[]"),
            Kind::Pointer | Kind::Function => self.pointer(value, verb),
            _ => self.write("<nil>"),
        }
    }

    /// Writes the address of a value that has one.
    fn pointer(&mut self, value: &Value, verb: char) {
        if !matches!(
            value.kind(),
            Kind::Map | Kind::Slice | Kind::Pointer | Kind::Function
        ) {
            return self.bad_verb(value, verb);
        }
        let address = if value.is_nil() { 0 } else { ADDRESS };
        match verb {
            'v' if self.layout.go_syntax => {
                self.write(&format!("({})(", value.type_name()));
                if address == 0 {
                    self.write("nil");
                } else {
                    self.hex_number(address, true);
                }
                self.write(")");
            }
            'v' if address == 0 => self.padded(b"<nil>"),
            'v' | 'p' => self.hex_number(address, !self.layout.sharp),
            'b' | 'o' | 'd' | 'x' | 'X' => {
                let integer = Integer {
                    kind: IntegerKind::Uint64,
                    bits: address as i64,
                };
                self.integer_verb(integer, verb);
            }
            _ => self.bad_verb(value, verb),
        }
    }

    fn object(&mut self, value: &Value, object: &dyn Object, verb: char, outermost: bool) {
        match object.kind() {
            Kind::Struct => self.fields(object.type_name(), object, verb),
            Kind::Pointer if outermost => {
                self.write("&");
                let pointed_at = object.type_name();
                self.fields(pointed_at.strip_prefix('*').unwrap_or(pointed_at), object, verb);
            }
            Kind::Pointer | Kind::Function => self.pointer(value, verb),
            _ => self.named_type(value, object, verb),
        }
    }

    fn fields(&mut self, type_name: &str, object: &dyn Object, verb: char) {
        self.container(verb, None, |printer| {
            let layout = printer.layout;
            if layout.go_syntax {
                printer.write(type_name);
            }
            printer.write("{");
            for (index, (name, value)) in object.fields().iter().enumerate() {
                if index > 0 {
                    printer.write(if layout.go_syntax { ", " } else { " " });
                }
                if layout.go_syntax || layout.field_names {
                    printer.write(name);
                    printer.write(":");
                }
                printer.nested(value, verb, Type::Any);
            }
            printer.write("}");
        });
    }

    /// Writes an object of a named type that is no struct, such as `time.Duration`, as the value that it is made of.
    fn named_type(&mut self, value: &Value, object: &dyn Object, verb: char) {
        let understood = match object.json() {
            Json::Object(mut members) => {
                members.sort_by(|(left, _), (right, _)| left.cmp(right));
                return self.container(verb, None, |printer| {
                    let entries = members.iter().map(|(name, value)| (name.as_bytes(), value));
                    printer.entries(object.type_name(), entries, verb, Type::Any);
                });
            }
            Json::Value(Value::List(list)) => {
                return self.container(verb, None, |printer| {
                    printer.sequence(object.type_name(), list.iter(), |printer, item| {
                        printer.nested(item, verb, list.element());
                    });
                });
            }
            Json::Value(Value::Map(map)) => {
                return self.container(verb, Some(map.identity()), |printer| {
                    let entries = map.borrow();
                    let entries = entries.iter().map(|(key, value)| (&**key, value));
                    printer.entries(object.type_name(), entries, verb, map.element());
                });
            }
            Json::Value(Value::Bool(truth)) => self.boolean(truth, verb),
            Json::Value(Value::Integer(integer)) => self.integer_verb(integer, verb),
            Json::Value(Value::Float(number)) => self.float(number, verb),
            Json::Value(Value::String(text)) => self.string(&text, verb),
            Json::Value(Value::Bytes(bytes)) => {
                return self.byte_slice(&bytes, verb, object.type_name());
            }
            Json::Value(other) => return self.nested(&other, verb, Type::Any),
        };
        if !understood {
            self.bad_verb(value, verb);
        }
    }
}

/// Returns the integer that a value is, or is made of.
pub(super) fn integer_of(value: &Value) -> Option<Integer> {
    match value {
        Value::Integer(integer) => Some(*integer),
        Value::Object(object) if matches!(object.kind(), Kind::Integer(_)) => match object.json() {
            Json::Value(Value::Integer(integer)) => Some(integer),
            _ => None,
        },
        _ => None,
    }
}

fn is_untyped_nil(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        // An interface that holds nothing has no type of its own.
        Value::TypedNil(nil) => nil.kind() == Kind::Interface,
        _ => false,
    }
}
