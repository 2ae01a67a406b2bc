//! Native types that templates can look into: structs, pointers to structs, and types with methods.

use std::any::Any;

use crate::function::Function;
use crate::types::Kind;
use crate::value::Value;

/// A Go struct or other native type with fields, methods and a printed form.
pub trait Object: Any {
    /// Returns the name that Go prints for the type, such as `*semver.Version`.
    fn type_name(&self) -> &str;

    /// Returns Go's kind: [`Kind::Struct`], [`Kind::Pointer`] for a pointer to a struct, or the kind of a named type.
    fn kind(&self) -> Kind {
        Kind::Struct
    }

    /// Returns the exported fields in declaration order, by their Go names.
    fn fields(&self) -> Vec<(&'static str, Value)>;

    /// Returns one field; the default looks through [`Object::fields`].
    fn field(&self, name: &str) -> Option<Value> {
        self.fields()
            .into_iter()
            .find(|(field, _)| *field == name)
            .map(|(_, value)| value)
    }

    /// Finds a method; it gets the object as [`crate::Call::receiver`].
    fn method(&self, _name: &str) -> Option<&'static Function> {
        None
    }

    /// Returns what the type's own `String` or `Error` method prints, where it has one.
    fn text(&self) -> Option<String> {
        None
    }

    /// Returns what an action prints for it: also a `String` method that only the pointer has counts there.
    fn text_behind_pointer(&self) -> Option<String> {
        self.text()
    }

    /// Returns the value that `encoding/json` writes for it: a map, or text; keys in the struct's order.
    fn json(&self) -> Json {
        Json::Object(
            self.fields()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    /// Returns Go's truth; structs and non-nil pointers are true.
    fn truth(&self) -> bool {
        true
    }

    /// Returns whether two objects of the same type are equal to Go's `==` and `DeepEqual`.
    fn equals(&self, other: &dyn Object) -> bool;

    /// Returns the object as [`Any`], for looking up its Rust type.
    fn as_any(&self) -> &dyn Any;
}

/// What an [`Object`] is in JSON.
pub enum Json {
    /// An object with its members in order.
    Object(Vec<(String, Value)>),
    /// Another value.
    Value(Value),
}
