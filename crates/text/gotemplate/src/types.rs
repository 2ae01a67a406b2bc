//! Go's types and kinds, as far as templates can tell them apart.

use std::fmt;

use crate::function::Function;

/// One of Go's integer types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerKind {
    /// `int`
    Int,
    /// `int8`
    Int8,
    /// `int16`
    Int16,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint`
    Uint,
    /// `uint8`
    Uint8,
    /// `uint16`
    Uint16,
    /// `uint32`
    Uint32,
    /// `uint64`
    Uint64,
}

impl IntegerKind {
    /// Returns the type's name.
    pub fn name(self) -> &'static str {
        match self {
            IntegerKind::Int => "int",
            IntegerKind::Int8 => "int8",
            IntegerKind::Int16 => "int16",
            IntegerKind::Int32 => "int32",
            IntegerKind::Int64 => "int64",
            IntegerKind::Uint => "uint",
            IntegerKind::Uint8 => "uint8",
            IntegerKind::Uint16 => "uint16",
            IntegerKind::Uint32 => "uint32",
            IntegerKind::Uint64 => "uint64",
        }
    }

    /// Returns whether values of this type have no sign.
    pub fn is_unsigned(self) -> bool {
        matches!(
            self,
            IntegerKind::Uint
                | IntegerKind::Uint8
                | IntegerKind::Uint16
                | IntegerKind::Uint32
                | IntegerKind::Uint64
        )
    }
}

/// Go's reflection kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value at all.
    Invalid,
    /// A bool.
    Bool,
    /// Any integer.
    Integer(IntegerKind),
    /// A float64.
    Float64,
    /// A complex128.
    Complex128,
    /// A string.
    String,
    /// A slice.
    Slice,
    /// A map.
    Map,
    /// A struct.
    Struct,
    /// A pointer.
    Pointer,
    /// A function.
    Function,
    /// An interface.
    Interface,
}

impl Kind {
    /// Returns the name that Go's `Kind.String` gives, as `kindOf` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Invalid => "invalid",
            Kind::Bool => "bool",
            Kind::Integer(kind) => kind.name(),
            Kind::Float64 => "float64",
            Kind::Complex128 => "complex128",
            Kind::String => "string",
            Kind::Slice => "slice",
            Kind::Map => "map",
            Kind::Struct => "struct",
            Kind::Pointer => "ptr",
            Kind::Function => "func",
            Kind::Interface => "interface",
        }
    }
}

/// A Go type, as a function's signature or a container's element names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `interface {}`: anything.
    Any,
    /// `reflect.Value`: anything, as Go's own built-in functions take it.
    Reflect,
    /// `bool`
    Bool,
    /// Any integer type.
    Integer(IntegerKind),
    /// `float64`
    Float64,
    /// `string`
    String,
    /// `[]uint8`
    Bytes,
    /// `[]interface {}`
    List,
    /// `[]string`
    Strings,
    /// `map[string]interface {}`
    Map,
    /// Any other type, by the name that Go prints for it, with the kind that it has.
    Named(&'static str, Kind),
}

impl Type {
    /// `int`, the type of most counts.
    pub const INT: Type = Type::Integer(IntegerKind::Int);
    /// `int64`.
    pub const INT64: Type = Type::Integer(IntegerKind::Int64);

    /// Returns the kind of a value of this type.
    pub fn kind(self) -> Kind {
        match self {
            Type::Any => Kind::Interface,
            Type::Reflect => Kind::Struct,
            Type::Bool => Kind::Bool,
            Type::Integer(kind) => Kind::Integer(kind),
            Type::Float64 => Kind::Float64,
            Type::String => Kind::String,
            Type::Bytes | Type::List | Type::Strings => Kind::Slice,
            Type::Map => Kind::Map,
            Type::Named(_, kind) => kind,
        }
    }

    /// Returns whether nil is a value of this type.
    pub fn can_be_nil(self) -> bool {
        self == Type::Reflect
            || matches!(
                self.kind(),
                Kind::Interface | Kind::Slice | Kind::Map | Kind::Pointer | Kind::Function
            )
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Type::Any => "interface {}",
            Type::Reflect => "reflect.Value",
            Type::Bool => "bool",
            Type::Integer(kind) => kind.name(),
            Type::Float64 => "float64",
            Type::String => "string",
            Type::Bytes => "[]uint8",
            Type::List => "[]interface {}",
            Type::Strings => "[]string",
            Type::Map => "map[string]interface {}",
            Type::Named(name, _) => name,
        })
    }
}

/// A named slice or map type, which may have methods: `chartutil.Values`, `chartutil.VersionSet`.
#[derive(Debug)]
pub struct NamedType {
    /// The name that Go prints.
    pub name: &'static str,
    /// Finds a method by name; it gets the value as [`crate::Call::receiver`].
    pub method: fn(&str) -> Option<&'static Function>,
}
