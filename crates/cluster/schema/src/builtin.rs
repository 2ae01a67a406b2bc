//! The definitions of the built-in kinds.
//!
//! They are the ones that Kubernetes publishes, made by `cargo run -p xtask -- schemas` and kept compressed in the
//! binary. The first question unpacks the text of all of them (a millisecond, half a megabyte) and indexes its lines; a
//! definition is parsed when it is asked for, once. Descriptions are apart and unpacked only to write documents.
//!
//! What isn't plain in a definition's [`Schema`]: a quantity is [`Type::Any`](crate::Type::Any) with the format
//! `quantity`, since it may be written as a number or as a string; fields that hold any JSON keep unknown fields.

mod reading;
pub(crate) mod record;

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, OnceLock};

use serde_json::Value;

use self::record::Record;
use crate::Schema;

static DEFINITIONS: &[u8] = include_bytes!("../data/definitions.zst");
static DESCRIPTIONS: &[u8] = include_bytes!("../data/descriptions.zst");

/// The definition of quantities, which Go reads and writes in a form of their own.
pub const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
/// The definition of whole numbers that may also be strings.
pub const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
/// The definition of times with whole seconds.
pub const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
/// The definition of times with microseconds.
pub const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
/// The definition of objects that are kept as they are written.
pub const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
/// The definition of sets of fields in `metadata.managedFields`.
pub const FIELDS_V1: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
/// The definition of the schemas in a CustomResourceDefinition.
pub const JSON_SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
pub(crate) const JSON_SCHEMA_OR_BOOLEAN: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool";
pub(crate) const JSON_SCHEMA_OR_LIST: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray";
pub(crate) const JSON_SCHEMA_OR_NAMES: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray";
/// The definition of `metadata`.
pub const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// One definition: the text it is read from, and what was read.
struct Entry {
    name: &'static str,
    group_version_kind: Option<GroupVersionKind>,
    /// How Go holds the fields.
    fields: &'static str,
    text: &'static str,
    schema: OnceLock<Schema>,
    record: OnceLock<Record>,
}

/// The kind that a definition defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version in the group.
    pub version: &'static str,
    /// The kind's name.
    pub kind: &'static str,
}

struct Index {
    /// Sorted by name, as the data is.
    entries: Vec<Entry>,
    /// By name. Writes ask for dozens of definitions each, and names differ only in their ends, so that a search by
    /// comparison takes several times as long.
    places: HashMap<&'static str, usize>,
    kinds: BTreeMap<(&'static str, &'static str, &'static str), usize>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let text: &'static str = Box::leak(unpack(DEFINITIONS).into_boxed_str());
    let mut entries = Vec::new();
    let mut places = HashMap::new();
    let mut kinds = BTreeMap::new();
    for line in text.lines() {
        let mut columns = line.splitn(4, '\t');
        let (Some(name), Some(kind), Some(fields), Some(text)) =
            (columns.next(), columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let mut parts = kind.split('/');
        let group_version_kind = match (parts.next(), parts.next(), parts.next()) {
            (Some(group), Some(version), Some(kind)) => Some(GroupVersionKind { group, version, kind }),
            _ => None,
        };
        if let Some(GroupVersionKind { group, version, kind }) = group_version_kind {
            kinds.insert((group, version, kind), entries.len());
        }
        places.insert(name, entries.len());
        entries.push(Entry {
            name,
            group_version_kind,
            fields,
            text,
            schema: OnceLock::new(),
            record: OnceLock::new(),
        });
    }
    Index {
        entries,
        places,
        kinds,
    }
});

/// The data is part of the program and a test reads all of it, so it can't fail to unpack at run time.
fn unpack(packed: &[u8]) -> String {
    zstd::decode_all(packed)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or_default()
}

impl Index {
    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.get(*self.places.get(name)?)
    }
}

/// Returns the definition with this name, such as `io.k8s.api.core.v1.Container`.
pub fn definition(name: &str) -> Option<&'static Schema> {
    let entry = INDEX.entry(name)?;
    Some(entry.schema.get_or_init(|| reading::read(entry.name, entry.text)))
}

/// Returns how Go holds the values of a definition.
pub(crate) fn record(name: &str) -> Option<&'static Record> {
    let entry = INDEX.entry(name)?;
    Some(
        entry
            .record
            .get_or_init(|| Record::read(entry.name, entry.fields)),
    )
}

/// Returns the name of the definition of a kind; the core group is empty.
pub fn kind(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    let at = *INDEX.kinds.get(&(group, version, kind))?;
    INDEX.entries.get(at).map(|entry| entry.name)
}

/// Returns the definition of a kind; the core group is empty.
pub fn schema_of(group: &str, version: &str, kind: &str) -> Option<&'static Schema> {
    self::kind(group, version, kind).and_then(definition)
}

/// Returns the kind that a definition defines; `None` for definitions of parts, and for those that every group shares.
pub fn kind_of(name: &str) -> Option<GroupVersionKind> {
    INDEX.entry(name)?.group_version_kind
}

/// Returns the names of all definitions, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    INDEX.entries.iter().map(|entry| entry.name)
}

/// Returns a definition as `/openapi/v3` has it, without descriptions and kinds.
pub(crate) fn document(name: &str) -> Option<Value> {
    serde_json::from_str(INDEX.entry(name)?.text).ok()
}

/// The descriptions of all definitions: unpacked for as long as documents are written, then forgotten.
pub(crate) struct Descriptions(String);

impl Descriptions {
    /// Unpacks the descriptions.
    pub(crate) fn unpack() -> Self {
        Self(unpack(DESCRIPTIONS))
    }

    /// Returns the lines by the name of their definition.
    pub(crate) fn by_definition(&self) -> BTreeMap<&str, &str> {
        self.0.lines().filter_map(|line| line.split_once('\t')).collect()
    }
}

/// Returns the descriptions of fields, each named by its definition and itself; empty for what has none.
///
/// This unpacks all descriptions: ask for many at once, and keep them.
pub fn field_descriptions(fields: &[(&str, &str)]) -> Vec<String> {
    let descriptions = Descriptions::unpack();
    let by_definition = descriptions.by_definition();
    let mut read: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    fields
        .iter()
        .map(|&(definition, field)| {
            let texts = read.entry(definition).or_insert_with(|| {
                by_definition
                    .get(definition)
                    .and_then(|line| serde_json::from_str(line).ok())
                    .unwrap_or_default()
            });
            texts.get(field).cloned().unwrap_or_default()
        })
        .collect()
}

#[cfg(test)]
mod tests;
