//! An object's JSON, written once, with a gap where its revision goes.
//!
//! The revision of a write is known only when its turn comes, and turns are taken one after the other. So the
//! costly part is done before, by whoever writes, and only the digits are filled in at the end.

use std::io;

use bytes::Bytes;
use memchr::memchr3_iter;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use serde_json::{Map, Value};

use super::stored::Summary;

/// The characters that JavaScript takes for line ends, and Go therefore escapes.
const LINE_SEPARATORS: [(char, &[u8]); 2] = [('\u{2028}', b"\\u2028"), ('\u{2029}', b"\\u2029")];

/// How deep a field of an object or of its metadata may be nested: what the reader takes, without the two levels
/// that are around such a field.
const MAX_DEPTH: usize = goyaml::limits::MAX_VALUE_DEPTH - 2;

/// What an object says about its type.
const TYPE: [&str; 2] = ["kind", "apiVersion"];

/// Why a value can't be stored.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The value is a list, a string, a number or nothing.
    #[error("it is not an object")]
    NotAnObject,
    /// `metadata` is there and is not an object.
    #[error("its metadata is not an object")]
    MetadataNotAnObject,
    /// The JSON would have more than 4 GiB.
    #[error("it is larger than 4 GiB")]
    TooLarge,
    /// The value is nested too deep, or has a number that JSON can't express.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// An encoded object that still lacks its revision.
#[derive(Debug)]
pub(super) struct Draft {
    text: Vec<u8>,
    gap: u32,
    pub(super) summary: Summary,
}

impl Draft {
    /// Encodes an object; what it says in `metadata.resourceVersion` is left out.
    pub(super) fn encode(value: &Value) -> Result<Self, EncodeError> {
        let Value::Object(fields) = value else {
            return Err(EncodeError::NotAnObject);
        };
        let nothing = Map::new();
        let metadata = match fields.get("metadata") {
            None | Some(Value::Null) => &nothing,
            Some(Value::Object(metadata)) => metadata,
            Some(_) => return Err(EncodeError::MetadataNotAnObject),
        };
        let summary = Summary::of(metadata);
        let mut text = Vec::with_capacity(1024);
        let mut gap = 0;
        let mut members = Members::open(&mut text);
        let mut metadata_is_written = false;
        // The type comes first, so that it can be read and left out without looking at the rest.
        for name in TYPE {
            if let Some(value) = fields.get(name) {
                write_value(members.name(name)?, value)?;
            }
        }
        for (name, value) in fields.iter().filter(|(name, _)| !TYPE.contains(&name.as_str())) {
            if !metadata_is_written && name.as_str() >= "metadata" {
                gap = write_metadata(members.name("metadata")?, metadata)?;
                metadata_is_written = true;
            }
            if name != "metadata" {
                write_value(members.name(name)?, value)?;
            }
        }
        if !metadata_is_written {
            gap = write_metadata(members.name("metadata")?, metadata)?;
        }
        members.close();
        let gap = u32::try_from(gap).map_err(|_| EncodeError::TooLarge)?;
        u32::try_from(text.len()).map_err(|_| EncodeError::TooLarge)?;
        Ok(Self { text, gap, summary })
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Fills in the revision; returns the JSON and where the revision's digits begin.
    pub(super) fn finish(self, revision: u64) -> (Bytes, u32, Summary) {
        let (before, after) = self.text.split_at(self.gap as usize);
        (fill(before, revision, after), self.gap, self.summary)
    }
}

/// Puts another revision in the place of the one that begins at `at`.
pub(super) fn with_revision(bytes: &[u8], at: u32, old: u64, new: u64) -> Bytes {
    let start = (at as usize).min(bytes.len());
    let end = (start + old.to_string().len()).min(bytes.len());
    fill(&bytes[..start], new, &bytes[end..])
}

fn fill(before: &[u8], revision: u64, after: &[u8]) -> Bytes {
    let digits = revision.to_string();
    let mut text = Vec::with_capacity(before.len() + digits.len() + after.len());
    text.extend_from_slice(before);
    text.extend_from_slice(digits.as_bytes());
    text.extend_from_slice(after);
    text.into()
}

fn write_metadata(text: &mut Vec<u8>, metadata: &Map<String, Value>) -> Result<usize, serde_json::Error> {
    let mut gap = None;
    let mut members = Members::open(text);
    for (name, value) in metadata {
        if gap.is_none() && name.as_str() >= "resourceVersion" {
            gap = Some(write_gap(members.name("resourceVersion")?));
        }
        if name != "resourceVersion" {
            write_value(members.name(name)?, value)?;
        }
    }
    let gap = match gap {
        Some(gap) => gap,
        None => write_gap(members.name("resourceVersion")?),
    };
    members.close();
    Ok(gap)
}

fn write_gap(text: &mut Vec<u8>) -> usize {
    text.extend_from_slice(b"\"\"");
    text.len() - 1
}

fn write_value<T: serde::Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) -> Result<(), serde_json::Error> {
    value.serialize(&mut Serializer::with_formatter(text, AsGo { depth: 0 }))
}

/// The members of one JSON object while they are written.
struct Members<'a> {
    text: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> Members<'a> {
    fn open(text: &'a mut Vec<u8>) -> Self {
        text.push(b'{');
        Self { text, first: true }
    }

    fn name(&mut self, name: &str) -> Result<&mut Vec<u8>, serde_json::Error> {
        if !std::mem::take(&mut self.first) {
            self.text.push(b',');
        }
        write_value(self.text, name)?;
        self.text.push(b':');
        Ok(self.text)
    }

    fn close(self) {
        self.text.push(b'}');
    }
}

/// Numbers and strings as Go's encoder writes them, so that what is stored can be sent as it is.
struct AsGo {
    depth: usize,
}

impl AsGo {
    /// Refuses what could not be read again.
    fn descend(&mut self) -> io::Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(io::Error::other(format!(
                "it is nested deeper than {MAX_DEPTH} levels"
            )));
        }
        Ok(())
    }
}

impl Formatter for AsGo {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.descend()?;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        writer.write_all(b"]")
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.descend()?;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        writer.write_all(b"}")
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        match goyaml::json::number_text(value) {
            Some(text) => writer.write_all(text.as_bytes()),
            None => CompactFormatter.write_f64(writer, value),
        }
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        let mut taken = 0;
        for at in memchr3_iter(b'<', b'>', b'&', fragment.as_bytes()) {
            let (clean, special) = rest.split_at(at - taken);
            write_without_separators(writer, clean)?;
            let escape: &[u8] = match special.as_bytes().first() {
                Some(b'<') => b"\\u003c",
                Some(b'>') => b"\\u003e",
                _ => b"\\u0026",
            };
            writer.write_all(escape)?;
            rest = special.get(1..).unwrap_or_default();
            taken = at + 1;
        }
        write_without_separators(writer, rest)
    }
}

fn write_without_separators<W: ?Sized + io::Write>(writer: &mut W, text: &str) -> io::Result<()> {
    // Both are E2 80 A8/A9 in UTF-8: text without that first byte, nearly all text, is written at once.
    if memchr::memchr(0xE2, text.as_bytes()).is_none() {
        return writer.write_all(text.as_bytes());
    }
    let mut buffer = [0; 4];
    for character in text.chars() {
        match LINE_SEPARATORS
            .iter()
            .find(|(separator, _)| *separator == character)
        {
            Some((_, escape)) => writer.write_all(escape)?,
            None => writer.write_all(character.encode_utf8(&mut buffer).as_bytes())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn finished(value: &Value, revision: u64) -> String {
        let (bytes, at, _) = Draft::encode(value).unwrap().finish(revision);
        assert!(bytes[at as usize..].starts_with(revision.to_string().as_bytes()));
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn the_revision_goes_where_sorted_keys_put_it() {
        let cases = [
            (json!({}), r#"{"metadata":{"resourceVersion":"7"}}"#),
            (
                json!({"metadata": null}),
                r#"{"metadata":{"resourceVersion":"7"}}"#,
            ),
            (
                json!({"spec": 1}),
                r#"{"metadata":{"resourceVersion":"7"},"spec":1}"#,
            ),
            (
                json!({"kind": "A"}),
                r#"{"kind":"A","metadata":{"resourceVersion":"7"}}"#,
            ),
            (
                json!({"kind": "A", "metadata": {"name": "n", "uid": "u", "resourceVersion": "12345"}, "z": []}),
                r#"{"kind":"A","metadata":{"name":"n","resourceVersion":"7","uid":"u"},"z":[]}"#,
            ),
            (
                json!({"metadata": {"resourceVersion": {"odd": 1}}}),
                r#"{"metadata":{"resourceVersion":"7"}}"#,
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(finished(&value, 7), expected);
        }
    }

    #[test]
    fn strings_and_numbers_are_written_as_go_writes_them() {
        let value = json!({"a": "<b>&\u{2028}é€\n\"", "n": [1.0, 1e21, -3, 0.1]});
        assert_eq!(
            finished(&value, 1),
            r#"{"a":"\u003cb\u003e\u0026\u2028é€\n\"","metadata":{"resourceVersion":"1"},"n":[1,1e+21,-3,0.1]}"#
        );
    }

    #[test]
    fn only_objects_with_metadata_objects_can_be_stored() {
        assert!(matches!(Draft::encode(&json!([])), Err(EncodeError::NotAnObject)));
        assert!(matches!(
            Draft::encode(&json!({"metadata": "m"})),
            Err(EncodeError::MetadataNotAnObject)
        ));
    }

    #[test]
    fn what_is_nested_too_deep_is_refused_and_everything_else_can_be_read_again() {
        let nested = |depth| (0..depth).fold(Value::Null, |value, _| json!([value]));
        let stored = |value: &Value| {
            let draft = Draft::encode(value)?;
            let key = crate::store::Key::new(&crate::store::ResourceKey::new("", "pods"), "", "deep");
            Ok::<_, EncodeError>(crate::store::Stored::finish(key, 1, draft).value())
        };
        for value in [
            json!({"spec": nested(MAX_DEPTH)}),
            json!({"metadata": {"odd": nested(MAX_DEPTH)}}),
        ] {
            let mut expected = value.clone();
            expected["metadata"]["resourceVersion"] = "1".into();
            assert_eq!(stored(&value).unwrap(), expected);
        }
        let error = stored(&json!({"spec": nested(MAX_DEPTH + 1)})).unwrap_err();
        assert_eq!(error.to_string(), "it is nested deeper than 998 levels");
    }

    #[test]
    fn another_revision_takes_the_place_of_the_first() {
        let (bytes, at, _) = Draft::encode(&json!({"metadata": {"uid": "u"}}))
            .unwrap()
            .finish(99);
        assert_eq!(
            &with_revision(&bytes, at, 99, 100)[..],
            br#"{"metadata":{"resourceVersion":"100","uid":"u"}}"#
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,6}", inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back_with_only_the_revision_changed(
            fields in prop::collection::btree_map("[a-z<]{0,3}|[n-z]{4,9}", any_json(), 0..5),
            metadata in prop::collection::btree_map("[a-z]{0,9}|resourceVersion", any_json(), 0..5),
            revision in any::<u64>(),
        ) {
            let mut value = Value::Object(fields.into_iter().collect());
            value["metadata"] = Value::Object(metadata.into_iter().collect());
            let text = finished(&value, revision);
            value["metadata"]["resourceVersion"] = revision.to_string().into();
            prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
            prop_assert_eq!(text, goyaml::json::to_string(&value, goyaml::json::Escape::Html).unwrap());
        }
    }
}
