//! A checked document as any type that serde can read, by Go's rules for a struct.
//!
//! As with sigs.k8s.io/yaml and encoding/json: a number or bool is welcome where text is wanted, null leaves
//! the zero value, field names match whatever their case, and of a repeated key the last one counts.

use std::borrow::Cow;
use std::vec;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::build::whole;
use crate::error::{Error, Stage};
use crate::go_syntax;
use crate::meaning::{entries, key_text, meaning};
use crate::numbers;
use crate::options::{Numbers, ReadOptions};
use crate::resolve::Scalar;
use crate::tree::{Children, Kind, NodeId, Tree};

/// Reads one node.
#[derive(Clone, Copy)]
pub(crate) struct NodeDeserializer<'t> {
    tree: &'t Tree<'t>,
    id: NodeId,
    options: ReadOptions,
}

impl<'t> NodeDeserializer<'t> {
    pub(crate) fn new(tree: &'t Tree<'t>, id: NodeId, options: ReadOptions) -> Self {
        Self {
            tree,
            id: tree.resolve_alias(id),
            options,
        }
    }

    fn kind(&self) -> Kind {
        self.tree.node(self.id).kind
    }

    fn scalar(&self) -> Result<Option<Scalar<'t>>, Error> {
        match self.kind() {
            Kind::Scalar => meaning(self.tree, self.id).map(Some),
            _ => Ok(None),
        }
    }

    fn is_null(&self) -> Result<bool, Error> {
        Ok(self.scalar()? == Some(Scalar::Null))
    }

    fn visit_scalar<'de, V: Visitor<'de>>(self, scalar: &Scalar<'_>, visitor: V) -> Result<V::Value, Error> {
        let as_float = self.options.numbers == Numbers::Float64;
        match scalar {
            Scalar::Null => visitor.visit_unit(),
            Scalar::Bool(value) => visitor.visit_bool(*value),
            Scalar::Int(value) if as_float => visitor.visit_f64(*value as f64),
            Scalar::Uint(value) if as_float => visitor.visit_f64(*value as f64),
            Scalar::Int(value) => visitor.visit_i64(*value),
            Scalar::Uint(value) => visitor.visit_u64(*value),
            Scalar::Float(value) if as_float => visitor.visit_f64(*value),
            Scalar::Float(value) => visit_whole(*value, visitor),
            Scalar::Text(text) => visitor.visit_str(text),
        }
    }

    fn sequence<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Items {
            children: self.tree.children(self.id),
            tree: self.tree,
            options: self.options,
        })
    }

    fn mapping<'de, V: Visitor<'de>>(self, fields: Fields, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(Entries::new(self, fields)?)
    }

    fn deserialize_number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let exact = Self {
            options: ReadOptions {
                numbers: Numbers::Exact,
                ..self.options
            },
            ..self
        };
        if self.is_null()? {
            visitor.visit_i64(0)
        } else {
            de::Deserializer::deserialize_any(exact, visitor)
        }
    }
}

/// A float that JSON prints like an integer is one for whoever reads the JSON.
fn visit_whole<'de, V: Visitor<'de>>(value: f64, visitor: V) -> Result<V::Value, Error> {
    match whole(value).map(|number| (number.as_i64(), number.as_u64())) {
        Some((Some(number), _)) => visitor.visit_i64(number),
        Some((None, Some(number))) => visitor.visit_u64(number),
        _ => visitor.visit_f64(value),
    }
}

macro_rules! deserialize_numbers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.deserialize_number(visitor)
        })*
    };
}

impl<'de> de::Deserializer<'de> for NodeDeserializer<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind() {
            Kind::Scalar | Kind::Alias => self.visit_scalar(&meaning(self.tree, self.id)?, visitor),
            Kind::Sequence => self.sequence(visitor),
            Kind::Mapping => self.mapping(Fields::Any, visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    deserialize_numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.scalar()? {
            Some(Scalar::Null) => visitor.visit_f64(0.0),
            Some(Scalar::Float(value)) => visitor.visit_f64(value),
            Some(scalar) => self.visit_scalar(&scalar, visitor),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null()? {
            visitor.visit_bool(false)
        } else {
            self.deserialize_any(visitor)
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.scalar()? {
            Some(Scalar::Null) => visitor.visit_str(""),
            Some(Scalar::Bool(value)) => visitor.visit_str(if value { "true" } else { "false" }),
            Some(Scalar::Int(value)) => visitor.visit_string(value.to_string()),
            Some(Scalar::Uint(value)) => visitor.visit_string(value.to_string()),
            Some(Scalar::Float(value)) => visitor.visit_string(numbers::format_general_32(value)),
            Some(Scalar::Text(text)) => visitor.visit_str(&text),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    /// Go's `[]byte` is base64 text in JSON.
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.scalar()? {
            Some(Scalar::Null) => visitor.visit_bytes(&[]),
            Some(Scalar::Text(text)) => match crate::base64::decode(&text) {
                Some(bytes) => visitor.visit_byte_buf(bytes),
                None => Err(de::Error::custom("illegal base64 data")),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null()? {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        // A scalar has no children, so null becomes an empty sequence.
        if self.is_null()? {
            self.sequence(visitor)
        } else {
            self.deserialize_any(visitor)
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_null()? {
            self.mapping(Fields::Any, visitor)
        } else {
            self.deserialize_any(visitor)
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.kind() == Kind::Mapping || self.is_null()? {
            self.mapping(Fields::Of(fields), visitor)
        } else {
            self.deserialize_any(visitor)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.scalar()? {
            Some(Scalar::Text(text)) => {
                visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(text.as_ref()))
            }
            Some(scalar) => {
                let text = key_text(&scalar).unwrap_or_default();
                visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(text.as_ref()))
            }
            None if self.kind() == Kind::Mapping => {
                let mut list = Entries::new(self, Fields::Any)?.list;
                match (list.next(), list.next()) {
                    (Some((variant, value)), None) => {
                        let content = Self::new(self.tree, value, self.options);
                        visitor.visit_enum(Variant { variant, content })
                    }
                    _ => Err(de::Error::custom(format_args!(
                        "expected one of {variants:?} as the only key of {name}"
                    ))),
                }
            }
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }
}

struct Items<'t> {
    children: Children<'t>,
    tree: &'t Tree<'t>,
    options: ReadOptions,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(child) = self.children.next() else {
            return Ok(None);
        };
        seed.deserialize(NodeDeserializer::new(self.tree, child, self.options))
            .map(Some)
    }
}

/// Which keys a mapping may have.
#[derive(Clone, Copy)]
enum Fields {
    Any,
    Of(&'static [&'static str]),
}

/// A mapping's entries in the order of Go's JSON: sorted, each key once.
struct Entries<'t> {
    tree: &'t Tree<'t>,
    options: ReadOptions,
    list: vec::IntoIter<(Cow<'t, str>, NodeId)>,
    value: Option<NodeId>,
}

impl<'t> Entries<'t> {
    fn new(mapping: NodeDeserializer<'t>, fields: Fields) -> Result<Self, Error> {
        let NodeDeserializer { tree, id, options } = mapping;
        let mut list: Vec<(Cow<'t, str>, NodeId)> = entries(tree, id)
            .into_iter()
            .filter_map(|entry| Some((key_text(&entry.key)?, entry.value)))
            .collect();
        sort_keeping_last(&mut list);
        if let Fields::Of(fields) = fields {
            let mut renamed = false;
            for (key, _) in &mut list {
                if fields.contains(&key.as_ref()) {
                    continue;
                }
                if let Some(field) = fields.iter().find(|field| equal_ignoring_case(field, key)) {
                    *key = Cow::Borrowed(field);
                    renamed = true;
                } else if options.strict {
                    return Err(Error::new(
                        Stage::Unmarshal,
                        format!("json: unknown field {}", go_syntax::quote(key)),
                    ));
                }
            }
            if renamed {
                sort_keeping_last(&mut list);
            }
        }
        Ok(Self {
            tree,
            options,
            list: list.into_iter(),
            value: None,
        })
    }
}

fn sort_keeping_last(list: &mut Vec<(Cow<'_, str>, NodeId)>) {
    list.sort_by(|(a, _), (b, _)| a.cmp(b));
    list.reverse();
    list.dedup_by(|(a, _), (b, _)| a == b);
    list.reverse();
}

/// Compares as Go's encoding/json does; besides ASCII, two letters have a relative there.
fn equal_ignoring_case(a: &str, b: &str) -> bool {
    let fold = |character: char| match character {
        '\u{212A}' => 'k',
        '\u{17F}' => 's',
        _ => character.to_ascii_lowercase(),
    };
    a.chars().map(fold).eq(b.chars().map(fold))
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.list.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(KeyDeserializer(&key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self
            .value
            .take()
            .ok_or_else(|| <Error as de::Error>::custom("value requested before its key"))?;
        seed.deserialize(NodeDeserializer::new(self.tree, value, self.options))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.list.len())
    }
}

/// A key is text, but may be wanted as a number, as for Go's `map[int]…`.
struct KeyDeserializer<'k>(&'k str);

macro_rules! deserialize_numeric_keys {
    ($($method:ident $visit:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => visitor.visit_str(self.0),
            }
        })*
    };
}

impl<'de> de::Deserializer<'de> for KeyDeserializer<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    deserialize_numeric_keys! {
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32 deserialize_i64 visit_i64
        deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32 deserialize_u64 visit_u64
        deserialize_bool visit_bool
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(self.0))
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

struct Variant<'t> {
    variant: Cow<'t, str>,
    content: NodeDeserializer<'t>,
}

impl<'de, 't> EnumAccess<'de> for Variant<'t> {
    type Error = Error;
    type Variant = Content<'t>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'t>), Error> {
        let variant = seed.deserialize(StrDeserializer::<Error>::new(&self.variant))?;
        Ok((variant, Content(self.content)))
    }
}

struct Content<'t>(NodeDeserializer<'t>);

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        de::Deserialize::deserialize(self.0)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        de::Deserializer::deserialize_tuple(self.0, length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        de::Deserializer::deserialize_struct(self.0, "", fields, visitor)
    }
}
