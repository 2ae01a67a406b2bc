//! Walks a value that serde can serialize, by Go's idea of JSON data.

use serde::ser::{self, Serialize};

use crate::error::{Error, Stage};
use crate::limits::MAX_VALUE_DEPTH;

/// What a value consists of, told in order to whoever writes it.
pub(crate) trait Sink {
    fn null(&mut self) -> Result<(), Error>;
    fn bool(&mut self, value: bool) -> Result<(), Error>;
    fn int(&mut self, value: i64) -> Result<(), Error>;
    fn uint(&mut self, value: u64) -> Result<(), Error>;
    fn float(&mut self, value: f64) -> Result<(), Error>;
    fn float_32(&mut self, value: f32) -> Result<(), Error>;
    fn text(&mut self, value: &str) -> Result<(), Error>;
    fn begin_sequence(&mut self) -> Result<(), Error>;
    /// The next value is an item of the open sequence.
    fn item(&mut self) -> Result<(), Error>;
    fn end_sequence(&mut self) -> Result<(), Error>;
    /// `sorted`: the keys are a map's, not a struct's.
    fn begin_mapping(&mut self, sorted: bool) -> Result<(), Error>;
    /// The next value belongs to this key of the open mapping.
    fn key(&mut self, key: &str) -> Result<(), Error>;
    fn end_mapping(&mut self) -> Result<(), Error>;
}

/// Tells a value to a sink.
pub(crate) fn tell<T: Serialize + ?Sized, S: Sink>(value: &T, sink: &mut S) -> Result<(), Error> {
    value.serialize(Source { sink, depth: 0 })
}

/// The name by which `serde_json` marks text that is JSON already.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

struct Source<'s, S> {
    sink: &'s mut S,
    depth: usize,
}

impl<S> Source<'_, S> {
    /// Lends the sink for a value one level deeper.
    fn inner(&mut self) -> Source<'_, S> {
        Source {
            sink: self.sink,
            depth: self.depth + 1,
        }
    }

    fn check_depth(&self) -> Result<(), Error> {
        if self.depth < MAX_VALUE_DEPTH {
            return Ok(());
        }
        let text = format!("json: unsupported value: nested deeper than {MAX_VALUE_DEPTH} levels");
        Err(Error::new(Stage::Marshal, text))
    }
}

impl<'s, S: Sink> Source<'s, S> {
    fn open_sequence(self) -> Result<Collection<'s, S>, Error> {
        self.check_depth()?;
        self.sink.begin_sequence()?;
        Ok(Collection {
            source: self,
            closing: 0,
            raw: false,
        })
    }

    fn open_mapping(self, sorted: bool) -> Result<Collection<'s, S>, Error> {
        self.check_depth()?;
        self.sink.begin_mapping(sorted)?;
        Ok(Collection {
            source: self,
            closing: 0,
            raw: false,
        })
    }

    /// Opens the object with one key that stands for an enum's variant.
    fn open_variant(self, variant: &str) -> Result<Self, Error> {
        self.check_depth()?;
        self.sink.begin_mapping(false)?;
        self.sink.key(variant)?;
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

/// An open sequence or mapping.
pub(crate) struct Collection<'s, S> {
    source: Source<'s, S>,
    /// How many mappings to close besides this collection.
    closing: usize,
    raw: bool,
}

impl<S: Sink> Collection<'_, S> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.source.sink.item()?;
        value.serialize(self.source.inner())
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        if self.raw {
            let text = value.serialize(KeyText)?;
            let value: serde_json::Value =
                crate::json::from_slice(text.as_bytes(), crate::ReadOptions::default())?;
            return value.serialize(self.source.inner());
        }
        self.source.sink.key(key)?;
        value.serialize(self.source.inner())
    }

    fn close_sequence(self) -> Result<(), Error> {
        self.source.sink.end_sequence()?;
        (0..self.closing).try_for_each(|_| self.source.sink.end_mapping())
    }

    fn close_mapping(self) -> Result<(), Error> {
        if self.raw {
            return Ok(());
        }
        (0..=self.closing).try_for_each(|_| self.source.sink.end_mapping())
    }
}

impl<'s, S: Sink> ser::Serializer for Source<'s, S> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Collection<'s, S>;
    type SerializeTuple = Collection<'s, S>;
    type SerializeTupleStruct = Collection<'s, S>;
    type SerializeTupleVariant = Collection<'s, S>;
    type SerializeMap = Collection<'s, S>;
    type SerializeStruct = Collection<'s, S>;
    type SerializeStructVariant = Collection<'s, S>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.sink.bool(value)
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.sink.int(value.into())
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.sink.int(value.into())
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.sink.int(value.into())
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.sink.int(value)
    }

    fn serialize_i128(self, value: i128) -> Result<(), Error> {
        match (i64::try_from(value), u64::try_from(value)) {
            (Ok(value), _) => self.sink.int(value),
            (_, Ok(value)) => self.sink.uint(value),
            _ => self.sink.float(value as f64),
        }
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.sink.uint(value.into())
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.sink.uint(value.into())
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.sink.uint(value.into())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.sink.uint(value)
    }

    fn serialize_u128(self, value: u128) -> Result<(), Error> {
        match u64::try_from(value) {
            Ok(value) => self.sink.uint(value),
            Err(_) => self.sink.float(value as f64),
        }
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.sink.float_32(value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.sink.float(value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.sink.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.sink.text(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.sink.text(&crate::base64::encode(value))
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.sink.null()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.sink.null()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.sink.null()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.sink.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut source = self.open_variant(variant)?;
        value.serialize(source.inner())?;
        source.sink.end_mapping()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Collection<'s, S>, Error> {
        self.open_sequence()
    }

    fn serialize_tuple(self, _: usize) -> Result<Collection<'s, S>, Error> {
        self.open_sequence()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Collection<'s, S>, Error> {
        self.open_sequence()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Collection<'s, S>, Error> {
        let collection = self.open_variant(variant)?.open_sequence()?;
        Ok(Collection {
            closing: 1,
            ..collection
        })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Collection<'s, S>, Error> {
        self.open_mapping(true)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Collection<'s, S>, Error> {
        if name == RAW_VALUE {
            return Ok(Collection {
                source: self,
                closing: 0,
                raw: true,
            });
        }
        self.open_mapping(false)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Collection<'s, S>, Error> {
        let collection = self.open_variant(variant)?.open_mapping(false)?;
        Ok(Collection {
            closing: 1,
            ..collection
        })
    }
}

impl<S: Sink> ser::SerializeSeq for Collection<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close_sequence()
    }
}

impl<S: Sink> ser::SerializeTuple for Collection<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close_sequence()
    }
}

impl<S: Sink> ser::SerializeTupleStruct for Collection<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close_sequence()
    }
}

impl<S: Sink> ser::SerializeTupleVariant for Collection<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.item(value)
    }

    fn end(self) -> Result<(), Error> {
        self.close_sequence()
    }
}

impl<S: Sink> ser::SerializeMap for Collection<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let key = key.serialize(KeyText)?;
        self.source.sink.key(&key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(self.source.inner())
    }

    fn end(self) -> Result<(), Error> {
        self.close_mapping()
    }
}

impl<S: Sink> ser::SerializeStruct for Collection<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close_mapping()
    }
}

impl<S: Sink> ser::SerializeStructVariant for Collection<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), Error> {
        self.close_mapping()
    }
}

/// Turns a map's key into text: JSON has no other keys.
struct KeyText;

fn unsupported_key<T>() -> Result<T, Error> {
    Err(Error::new(
        Stage::Marshal,
        "json: unsupported type: a map key must be text or an integer",
    ))
}

macro_rules! keys_from_display {
    ($($method:ident $type:ty)*) => {
        $(fn $method(self, value: $type) -> Result<String, Error> {
            Ok(value.to_string())
        })*
    };
}

macro_rules! no_keys {
    ($($method:ident($($type:ty),*) $(-> $result:ident)?;)*) => {
        $(no_keys!(@one $method($($type),*) $(-> $result)?);)*
    };
    (@one $method:ident($($type:ty),*) -> $result:ident) => {
        fn $method(self, $(_: $type),*) -> Result<Self::$result, Error> {
            unsupported_key()
        }
    };
    (@one $method:ident($($type:ty),*)) => {
        fn $method(self, $(_: $type),*) -> Result<String, Error> {
            unsupported_key()
        }
    };
}

impl ser::Serializer for KeyText {
    type Ok = String;
    type Error = Error;
    type SerializeSeq = ser::Impossible<String, Error>;
    type SerializeTuple = ser::Impossible<String, Error>;
    type SerializeTupleStruct = ser::Impossible<String, Error>;
    type SerializeTupleVariant = ser::Impossible<String, Error>;
    type SerializeMap = ser::Impossible<String, Error>;
    type SerializeStruct = ser::Impossible<String, Error>;
    type SerializeStructVariant = ser::Impossible<String, Error>;

    keys_from_display! {
        serialize_bool bool serialize_char char serialize_str &str
        serialize_i8 i8 serialize_i16 i16 serialize_i32 i32 serialize_i64 i64 serialize_i128 i128
        serialize_u8 u8 serialize_u16 u16 serialize_u32 u32 serialize_u64 u64 serialize_u128 u128
    }

    no_keys! {
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_seq(Option<usize>) -> SerializeSeq;
        serialize_tuple(usize) -> SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant;
        serialize_map(Option<usize>) -> SerializeMap;
        serialize_struct(&'static str, usize) -> SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant;
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<String, Error> {
        Ok(variant.to_owned())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<String, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<String, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, Error> {
        unsupported_key()
    }
}
