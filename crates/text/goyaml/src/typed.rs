//! JSON data as a Go type, by the rules of encoding/json and with its words for what does not fit.
//!
//! Keys match field names whatever their case, unknown keys are dropped, null leaves what is there, and a value that
//! does not fit is remembered while the rest is read: the first one is the error. Only a type that reads itself, as
//! versions do, ends the reading at once.
//!
//! ```
//! use goyaml::typed::{GoType, decode};
//!
//! #[derive(Default)]
//! struct Link {
//!     name: String,
//! }
//! goyaml::go_struct!(Link, "v1alpha1.AppLink", { "name" => name });
//!
//! let link: Link = decode(&serde_json::json!({"Name": "docs"})).unwrap();
//! assert_eq!(link.name, "docs");
//! let error = decode::<Link>(&serde_json::json!({"name": 7})).err().unwrap();
//! assert_eq!(error.to_string(), "json: cannot unmarshal number into Go struct field AppLink.name of type string");
//! ```

mod bytes;
mod skim;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Number, Value};

use crate::error::{Error, Stage};
use crate::go_syntax;
use crate::json::kind_word;
use crate::numbers;
pub use bytes::Bytes;
pub use skim::{Skimmer, resembles};

/// A type that is read from JSON data as Go reads its counterpart.
pub trait GoType: Default {
    /// How Go's errors call the type, such as `[]v1alpha1.AppLink`.
    fn go_name() -> Cow<'static, str>;

    /// Reads `value` into what is there already, as Go does.
    ///
    /// # Errors
    ///
    /// Only what ends the reading at once; see [`Reader::mismatch`] for the rest.
    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error>;

    /// Passes over a value that certainly can be read without an error; `None` if that is not certain.
    fn skim(_: &mut Skimmer<'_>) -> Option<()> {
        None
    }
}

/// Returns whether well-formed JSON text certainly can be read as `T`, so that [`decode`] would find no error.
///
/// It copies nothing, which makes it many times faster than decoding. `false` means that decoding has to tell.
pub fn fits<T: GoType>(text: &[u8]) -> bool {
    let mut skimmer = Skimmer::new(text);
    T::skim(&mut skimmer).is_some() && skimmer.peek().is_none()
}

/// Looks at well-formed JSON text with `look`; `None` if that stops early, or leaves something over.
pub fn skim<'a, T>(text: &'a [u8], look: impl FnOnce(&mut Skimmer<'a>) -> Option<T>) -> Option<T> {
    let mut skimmer = Skimmer::new(text);
    let found = look(&mut skimmer)?;
    skimmer.peek().is_none().then_some(found)
}

/// How strictly data is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decoding {
    /// Whether a key that no field has is an error.
    pub known_fields_only: bool,
    /// Whether numbers and booleans become text where text is wanted: so does YAML whose reader knows its target.
    pub scalars_as_text: bool,
}

/// Reads data as `json.Unmarshal` does.
///
/// # Errors
///
/// The first value that does not fit, in Go's words.
pub fn decode<T: GoType>(value: &Value) -> Result<T, Error> {
    decode_with(value, Decoding::default())
}

/// Reads data as a JSON decoder with these options does.
///
/// # Errors
///
/// The first value that does not fit, in Go's words.
pub fn decode_with<T: GoType>(value: &Value, decoding: Decoding) -> Result<T, Error> {
    let mut target = T::default();
    let mut reader = Reader {
        decoding,
        structure: None,
        path: Vec::new(),
        alias: None,
        first: None,
    };
    target.read(value, &mut reader)?;
    reader.first.map_or(Ok(target), Err)
}

/// Where reading is, and the first value that did not fit.
pub struct Reader {
    decoding: Decoding,
    structure: Option<&'static str>,
    path: Vec<&'static str>,
    alias: Option<&'static str>,
    first: Option<Error>,
}

impl Reader {
    /// Remembers that `value` does not fit the Go type `expected`, unless an earlier one did not either.
    pub fn mismatch(&mut self, value: &Value, expected: &str) {
        if self.first.is_none() {
            self.first = Some(self.mismatch_of(kind_word(value), expected));
        }
    }

    /// The error that a value, described as Go does, does not fit the Go type `expected`.
    #[must_use]
    pub fn mismatch_of(&self, given: &str, expected: &str) -> Error {
        let text = match self.structure {
            Some(structure) => format!(
                "json: cannot unmarshal {given} into Go struct field {structure}.{} of type {expected}",
                self.path.join(".")
            ),
            None => format!("json: cannot unmarshal {given} into Go value of type {expected}"),
        };
        Error::new(Stage::Unmarshal, text)
    }

    /// Remembers an error of other words, unless there was an earlier one.
    pub fn report(&mut self, message: String) {
        self.first
            .get_or_insert_with(|| Error::new(Stage::Unmarshal, message));
    }

    /// An error that ends the reading at once, as one from a type that reads itself does.
    #[must_use]
    pub fn stop(&self, message: String) -> Error {
        Error::new(Stage::Unmarshal, message)
    }

    /// Reads an object: `field` is called with the declared name of every key that has one.
    ///
    /// # Errors
    ///
    /// What `field` returns.
    pub fn structure(
        &mut self,
        value: &Value,
        go_name: &'static str,
        names: &[&'static str],
        mut field: impl FnMut(&mut Self, &'static str, &Value) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let entries = match value {
            Value::Null => return Ok(()),
            Value::Object(entries) => entries,
            _ => {
                self.mismatch(value, go_name);
                return Ok(());
            }
        };
        let short = go_name.rsplit_once('.').map_or(go_name, |(_, short)| short);
        for (key, item) in entries {
            let Some(declared) = declared_name(names, key) else {
                if self.decoding.known_fields_only {
                    self.report(format!("json: unknown field {}", go_syntax::quote(key)));
                }
                continue;
            };
            let outer = self.structure.replace(short);
            self.path.push(declared);
            field(self, declared, item)?;
            self.path.pop();
            self.structure = outer;
        }
        Ok(())
    }
}

impl Reader {
    /// Reads a field whose type has another name in Go, or that stands in an embedded struct.
    ///
    /// # Errors
    ///
    /// What `read` returns.
    pub fn field(
        &mut self,
        alias: Option<&'static str>,
        embedded: Option<&'static str>,
        read: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let outer = std::mem::replace(&mut self.alias, alias);
        let place = self.path.len().saturating_sub(1);
        if let Some(embedded) = embedded {
            self.path.insert(place, embedded);
        }
        read(self)?;
        if embedded.is_some() {
            self.path.remove(place);
        }
        self.alias = outer;
        Ok(())
    }

    /// The name that Go has for the type of the field that is being read, where it differs from the type's own.
    #[must_use]
    pub fn alias(&self) -> Option<&'static str> {
        self.alias
    }

    /// The Go name of a type, or of a list of it, in which the alias stands for the element.
    fn named<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match self.alias {
            Some(alias) => {
                let element = name.trim_start_matches(['[', ']', '*']);
                Cow::Owned(name.replace(element, alias))
            }
            None => Cow::Borrowed(name),
        }
    }
}

/// The field that Go's JSON fills from `key`: the one of that very name, else the first that matches without case.
fn declared_name(names: &[&'static str], key: &str) -> Option<&'static str> {
    names
        .iter()
        .find(|name| **name == key)
        .or_else(|| names.iter().find(|name| equal_ignoring_case(name, key)))
        .copied()
}

/// Compares as Go's encoding/json does; besides ASCII, two letters have a relative there.
fn equal_ignoring_case(name: &str, key: &str) -> bool {
    let fold = |character: char| match character {
        '\u{212A}' => 'k',
        '\u{17F}' => 's',
        _ => character.to_ascii_lowercase(),
    };
    name.chars().map(fold).eq(key.chars().map(fold))
}

impl GoType for String {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("string")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        match value {
            Value::Null => {}
            Value::String(text) => self.clone_from(text),
            Value::Bool(flag) if reader.decoding.scalars_as_text => *self = flag.to_string(),
            Value::Number(number) if reader.decoding.scalars_as_text => {
                *self = match number.as_f64() {
                    Some(float) if number.is_f64() => numbers::format_general_32(float),
                    _ => number.to_string(),
                };
            }
            _ => reader.mismatch(value, &reader.named("string")),
        }
        Ok(())
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        (skimmer.null() || skimmer.string().is_some()).then_some(())
    }
}

impl GoType for bool {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("bool")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        match value {
            Value::Null => {}
            Value::Bool(flag) => *self = *flag,
            _ => reader.mismatch(value, "bool"),
        }
        Ok(())
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        matches!(skimmer.scalar()?, b"true" | b"false" | b"null").then_some(())
    }
}

impl GoType for f64 {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("float64")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        match value {
            Value::Null => {}
            Value::Number(number) => *self = number.as_f64().unwrap_or_default(),
            _ => reader.mismatch(value, "float64"),
        }
        Ok(())
    }
}

macro_rules! integers {
    ($($type:ty, $name:literal);*) => {$(
        impl GoType for $type {
            fn go_name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }

            fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
                match value {
                    Value::Null => {}
                    Value::Number(number) => match number.as_i64().and_then(|number| number.try_into().ok()) {
                        Some(number) => *self = number,
                        None => {
                            let error = reader.mismatch_of(&format!("number {}", go_number(number)), $name);
                            reader.first.get_or_insert(error);
                        }
                    },
                    _ => reader.mismatch(value, $name),
                }
                Ok(())
            }

            fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
                /// Every integer of so many digits fits into all of these types.
                const SAFE_DIGITS: usize = 9;
                let digits = skimmer.scalar()?;
                (digits == b"null" || digits.len() <= SAFE_DIGITS && digits.iter().all(u8::is_ascii_digit))
                    .then_some(())
            }
        }
    )*};
}

integers!(i32, "int32"; i64, "int64");

/// A number as it stands in the JSON that Go reads.
fn go_number(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => numbers::format_json(float),
        _ => number.to_string(),
    }
}

impl<T: GoType> GoType for Option<T> {
    fn go_name() -> Cow<'static, str> {
        Cow::Owned(format!("*{}", T::go_name()))
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        if value.is_null() {
            *self = None;
            return Ok(());
        }
        self.get_or_insert_default().read(value, reader)
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        if skimmer.null() {
            Some(())
        } else {
            T::skim(skimmer)
        }
    }
}

impl<T: GoType> GoType for Box<T> {
    fn go_name() -> Cow<'static, str> {
        T::go_name()
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        self.as_mut().read(value, reader)
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        T::skim(skimmer)
    }
}

impl<T: GoType> GoType for Vec<T> {
    fn go_name() -> Cow<'static, str> {
        Cow::Owned(format!("[]{}", T::go_name()))
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        match value {
            Value::Null => self.clear(),
            Value::Array(items) => {
                self.resize_with(items.len(), T::default);
                for (item, slot) in items.iter().zip(self.iter_mut()) {
                    slot.read(item, reader)?;
                }
            }
            _ => reader.mismatch(value, &reader.named(&Self::go_name())),
        }
        Ok(())
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        skimmer.array(T::skim)
    }
}

impl<T: GoType> GoType for BTreeMap<String, T> {
    fn go_name() -> Cow<'static, str> {
        Cow::Owned(format!("map[string]{}", T::go_name()))
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        match value {
            Value::Null => self.clear(),
            Value::Object(entries) => {
                for (key, item) in entries {
                    let mut element = T::default();
                    element.read(item, reader)?;
                    self.insert(key.clone(), element);
                }
            }
            _ => reader.mismatch(value, &Self::go_name()),
        }
        Ok(())
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        skimmer.object(|skimmer, _| T::skim(skimmer))
    }
}

/// Anything, kept as it is: Go's `json.RawMessage`.
impl GoType for Value {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("json.RawMessage")
    }

    fn read(&mut self, value: &Value, _: &mut Reader) -> Result<(), Error> {
        self.clone_from(value);
        Ok(())
    }

    fn skim(skimmer: &mut Skimmer<'_>) -> Option<()> {
        skimmer.skip().map(drop)
    }
}

/// Passes over the value of a field, whose type the way to the field tells.
#[doc(hidden)]
pub fn skim_field<S, T: GoType>(_: impl FnOnce(&S) -> &T, skimmer: &mut Skimmer<'_>) -> Option<()> {
    T::skim(skimmer)
}

/// Says which Go struct a struct is read as: its name in Go's errors, and the key of every field.
///
/// `as` names the type of text that has one of its own in Go, and `in` the embedded struct that a field stands in.
///
/// See [`typed`](crate::typed) for an example. The struct must be `Default`.
#[macro_export]
macro_rules! go_struct {
    ($type:ty, $go_name:literal, {
        $($key:literal => $field:ident $(as $alias:literal)? $(in $embedded:literal)?),* $(,)?
    }) => {
        impl $crate::typed::GoType for $type {
            fn go_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed($go_name)
            }

            fn read(
                &mut self,
                value: &::serde_json::Value,
                reader: &mut $crate::typed::Reader,
            ) -> ::std::result::Result<(), $crate::Error> {
                reader.structure(value, $go_name, &[$($key),*], |reader, name, value| match name {
                    $($key => reader.field(None$(.or(Some($alias)))?, None$(.or(Some($embedded)))?, |reader| {
                        $crate::typed::GoType::read(&mut self.$field, value, reader)
                    }),)*
                    _ => ::std::result::Result::Ok(()),
                })
            }

            fn skim(skimmer: &mut $crate::typed::Skimmer<'_>) -> ::std::option::Option<()> {
                skimmer.object(|skimmer, key| {
                    $(if key == $key.as_bytes() {
                        return $crate::typed::skim_field(|target: &Self| &target.$field, skimmer);
                    })*
                    if $($crate::typed::resembles($key, key) ||)* false {
                        return ::std::option::Option::None;
                    }
                    skimmer.skip().map(|_| ())
                })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Inner {
        port: i32,
        values: BTreeMap<String, String>,
    }
    crate::go_struct!(Inner, "v1.Inner", { "port" => port, "values" => values });

    #[derive(Debug, Default, PartialEq)]
    struct Outer {
        name: String,
        inner: Vec<Inner>,
        pointer: Option<Inner>,
        enabled: bool,
        modes: Vec<String>,
        kind: String,
    }
    crate::go_struct!(Outer, "v1.Outer", {
        "name" => name, "inner" => inner, "pointer" => pointer, "enabled" => enabled,
        "modes" => modes as "v1.Mode", "kind" => kind in "TypeMeta",
    });

    fn error(value: &Value) -> String {
        decode::<Outer>(value).expect_err("a mismatch").to_string()
    }

    #[test]
    fn keys_match_without_case_and_unknown_ones_are_dropped() {
        let outer: Outer =
            decode(&json!({"NAME": "a", "more": 1, "Inner": [{"PORT": 7}, null]})).expect("it fits");
        assert_eq!(outer.name, "a");
        assert_eq!(outer.inner.len(), 2);
        assert_eq!(outer.inner[0].port, 7);
        assert_eq!(outer.pointer, None);
    }

    #[test]
    fn what_does_not_fit_is_named_by_the_innermost_struct_and_the_whole_path() {
        for (value, expected) in [
            (json!(1), "number into Go value of type v1.Outer"),
            (
                json!({"name": []}),
                "array into Go struct field Outer.name of type string",
            ),
            (
                json!({"inner": "x"}),
                "string into Go struct field Outer.inner of type []v1.Inner",
            ),
            (
                json!({"inner": [true]}),
                "bool into Go struct field Outer.inner of type v1.Inner",
            ),
            (
                json!({"inner": [{"port": "1"}]}),
                "string into Go struct field Inner.inner.port of type int32",
            ),
            (
                json!({"inner": [{"port": 1.5}]}),
                "number 1.5 into Go struct field Inner.inner.port of type int32",
            ),
            (
                json!({"inner": [{"port": 3_000_000_000_u32}]}),
                "number 3000000000 into Go struct field Inner.inner.port of type int32",
            ),
            (
                json!({"pointer": {"values": {"a": 1}}}),
                "number into Go struct field Inner.pointer.values of type string",
            ),
            (
                json!({"pointer": {"values": []}}),
                "array into Go struct field Inner.pointer.values of type map[string]string",
            ),
            (
                json!({"modes": [1]}),
                "number into Go struct field Outer.modes of type v1.Mode",
            ),
            (
                json!({"modes": 1}),
                "number into Go struct field Outer.modes of type []v1.Mode",
            ),
            (
                json!({"kind": 1}),
                "number into Go struct field Outer.TypeMeta.kind of type string",
            ),
            (
                json!({"enabled": "yes"}),
                "string into Go struct field Outer.enabled of type bool",
            ),
        ] {
            assert_eq!(
                error(&value),
                format!("json: cannot unmarshal {expected}"),
                "{value}"
            );
        }
    }

    #[test]
    fn of_several_mismatches_the_first_counts() {
        let text = error(&json!({"enabled": 1, "name": 2}));
        assert!(text.contains("Outer.enabled"), "{text}");
    }

    #[test]
    fn text_that_fits_is_found_without_decoding_it() {
        for (text, expected) in [
            (
                r#"{"name": "a\"", "inner": [{"port": 7, "values": {"a": "b"}}, null], "more": [{"x": 1}, "]"]}"#,
                true,
            ),
            (
                r#"{"name": null, "inner": null, "pointer": {}, "enabled": false}"#,
                true,
            ),
            ("null", true),
            ("[]", false),
            (r#"{"name": 1}"#, false),
            (r#"{"Name": 1}"#, false),
            (r#"{"na\u006de": 1}"#, false),
            (r#"{"inner": [{"port": 99999999999}]}"#, false),
            (r#"{"inner": [{"port": "1"}]}"#, false),
            (r#"{"enabled": "yes"}"#, false),
            (r#"{"name": "a"} x"#, false),
            (r#"{"name": "a""#, false),
        ] {
            assert_eq!(fits::<Outer>(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_strict_reader_names_the_unknown_key() {
        let decoding = Decoding {
            known_fields_only: true,
            scalars_as_text: true,
        };
        let error = decode_with::<Outer>(&json!({"x\"y": 1}), decoding).expect_err("unknown");
        assert_eq!(error.to_string(), r#"json: unknown field "x\"y""#);
        let outer: Outer = decode_with(&json!({"name": true}), decoding).expect("text");
        assert_eq!(outer.name, "true");
    }
}
