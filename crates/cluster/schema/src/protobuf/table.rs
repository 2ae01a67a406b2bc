//! The fields of every message, and the message of every kind.

use std::sync::LazyLock;

/// Facts that `cargo run -p xtask -- protobuf-table` takes from Kubernetes' Go types.
const PACKED: &[u8] = include_bytes!("../../data/protobuf-table.zst");

/// The kinds that belong to every group and version; the table has them in `v1` only.
const EVERYWHERE: [&str; 7] = [
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "WatchEvent",
];

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let unpacked = zstd::decode_all(PACKED)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    // The program is built with the table, so it is either whole in every copy of the program or in none.
    let text: &'static str = unpacked.expect("the table is zstd of text").leak();
    Table::read(text).expect("the table is what xtask writes")
});

/// What a field's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Boolean,
    Integer32,
    Integer64,
    Double,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntegerOrText,
    /// An object of any kind.
    Raw,
    /// Any JSON.
    Json,
    /// A list of texts that is a message of its own.
    Texts,
    /// A message of the table.
    Message(usize),
}

/// How often a field's value is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Always: what isn't written is zero.
    Always,
    /// At most once: a pointer in Go.
    Optional,
    List,
    /// By a text.
    Map,
}

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    /// The name in JSON.
    pub(super) name: &'static str,
    /// The name in Go, which errors give.
    pub(super) go_name: &'static str,
    pub(super) value: Type,
    pub(super) shape: Shape,
    /// JSON leaves the field out when it is empty, as Go sees it: structs never are.
    pub(super) omit_empty: bool,
    /// JSON leaves the field out when it is zero.
    pub(super) omit_zero: bool,
    /// The fields of the value are fields of this message in JSON.
    pub(super) inlined: bool,
}

/// What a message is in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// An object of its fields.
    Struct,
    /// The same, with `kind` and `apiVersion` where it stands alone.
    Object,
    /// Its field that is a list, or else the other one.
    ListOrValue,
    /// Its field that is a message, or else the other one, which is a boolean.
    ValueOrBoolean,
}

/// A message.
#[derive(Debug)]
pub(super) struct Message {
    /// The name of its Go type.
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// In the order of their numbers.
    pub(super) fields: Vec<Field>,
}

impl Message {
    /// Returns the field with this number.
    pub(super) fn field(&'static self, number: u32) -> Option<&'static Field> {
        // Most messages number their fields without gaps.
        let likely = self.fields.get((number as usize).wrapping_sub(1));
        if let Some(field) = likely
            && field.number == number
        {
            return Some(field);
        }
        let found = self
            .fields
            .binary_search_by_key(&number, |field| field.number)
            .ok()?;
        self.fields.get(found)
    }
}

/// A kind that has a protobuf form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    api_version: &'static str,
    name: &'static str,
    message: usize,
}

/// The messages and kinds.
#[derive(Debug)]
pub(super) struct Table {
    messages: Vec<Message>,
    kinds: Vec<Kind>,
}

impl Table {
    /// Returns the table of the kinds that this program knows.
    pub(super) fn get() -> &'static Self {
        &TABLE
    }

    /// Returns the message of a kind.
    pub(super) fn of_kind(&'static self, api_version: &str, kind: &str) -> Option<&'static Message> {
        let find = |api_version: &str| {
            let place = self
                .kinds
                .binary_search_by(|one| (one.api_version, one.name).cmp(&(api_version, kind)));
            place
                .ok()
                .and_then(|place| self.kinds.get(place))
                .map(|found| &self.messages[found.message])
        };
        let shared = || {
            (!api_version.is_empty() && EVERYWHERE.contains(&kind))
                .then(|| find("v1"))
                .flatten()
        };
        find(api_version).or_else(shared)
    }

    /// Returns the message that a field refers to.
    pub(super) fn message(&'static self, number: usize) -> &'static Message {
        // `read` refuses a table that refers to a message it doesn't have.
        &self.messages[number]
    }

    /// Returns every kind with its version, in order.
    pub(super) fn kinds(&'static self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.kinds.iter().map(|kind| (kind.api_version, kind.name))
    }

    /// Reads the lines that xtask writes; `None` if one is no such line or a message is missing.
    fn read(text: &'static str) -> Option<Self> {
        let mut table = Self {
            messages: Vec::new(),
            kinds: Vec::new(),
        };
        for line in text.lines() {
            let mut words = line.split(' ');
            match words.next()? {
                "kind" => table.kinds.push(Kind {
                    api_version: words.next()?,
                    name: words.next()?,
                    message: words.next()?.parse().ok()?,
                }),
                "message" => table.messages.push(Message {
                    name: words.next()?,
                    form: match words.next()? {
                        "struct" => Form::Struct,
                        "object" => Form::Object,
                        "array" => Form::ListOrValue,
                        "bool" => Form::ValueOrBoolean,
                        _ => return None,
                    },
                    fields: Vec::new(),
                }),
                number => {
                    let field = read_field(number, words)?;
                    table.messages.last_mut()?.fields.push(field);
                }
            }
        }
        table.kinds.sort_unstable();
        for message in &mut table.messages {
            message.fields.sort_unstable_by_key(|field| field.number);
        }
        let known = |number: usize| number < table.messages.len();
        let all_there = table.kinds.iter().all(|kind| known(kind.message))
            && table
                .messages
                .iter()
                .flat_map(|message| &message.fields)
                .all(|field| match field.value {
                    Type::Message(number) => known(number),
                    _ => !field.inlined,
                });
        all_there.then_some(table)
    }
}

fn read_field(number: &'static str, mut words: std::str::Split<'static, char>) -> Option<Field> {
    let name = words.next()?;
    let go_name = words.next()?;
    let value = match words.next()? {
        "string" => Type::Text,
        "bool" => Type::Boolean,
        "int32" => Type::Integer32,
        "int64" => Type::Integer64,
        "double" => Type::Double,
        "bytes" => Type::Bytes,
        "time" => Type::Time,
        "microtime" => Type::MicroTime,
        "quantity" => Type::Quantity,
        "intorstring" => Type::IntegerOrText,
        "raw" => Type::Raw,
        "json" => Type::Json,
        "strings" => Type::Texts,
        message => Type::Message(message.strip_prefix('@')?.parse().ok()?),
    };
    let flags = words.next()?;
    let shape = match flags {
        flags if flags.contains('p') => Shape::Optional,
        flags if flags.contains('l') => Shape::List,
        flags if flags.contains('m') => Shape::Map,
        _ => Shape::Always,
    };
    Some(Field {
        number: number.parse().ok()?,
        name,
        go_name,
        value,
        shape,
        omit_empty: flags.contains('e'),
        omit_zero: flags.contains('z'),
        inlined: flags.contains('i'),
    })
}
