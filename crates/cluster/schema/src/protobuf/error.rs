//! Why bytes are no object, and why an object can't be written as bytes.

use bundle::rendering::quantity::QuantityError;

/// Why a body isn't an object in protobuf form. The texts are those of the API server, which wraps them in a Status.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProtobufError {
    /// There is no body.
    #[error("empty data")]
    EmptyData,
    /// The body doesn't start with the mark of Kubernetes' protobuf.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    Prefix,
    /// There is nothing after the mark.
    #[error("empty body")]
    EmptyBody,
    /// The envelope names no kind, and the caller has none to assume.
    #[error("Object 'Kind' is missing in 'runtime.TypeMeta{{APIVersion:{api_version:?}, Kind:\"\"}}'")]
    MissingKind {
        /// The version that the envelope names.
        api_version: String,
    },
    /// The envelope names no version, and the caller has none to assume.
    #[error("Object 'apiVersion' is missing in 'runtime.TypeMeta{{APIVersion:\"\", Kind:{kind:?}}}'")]
    MissingVersion {
        /// The kind that the envelope names.
        kind: String,
    },
    /// No built-in kind has this name, or it has no protobuf form.
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    UnknownKind {
        /// The version that the envelope names.
        api_version: String,
        /// The kind that the envelope names.
        kind: String,
    },
    /// The bytes end within a field.
    #[error("unexpected EOF")]
    UnexpectedEnd,
    /// A number has more bytes than 64 bits need.
    #[error("proto: integer overflow")]
    IntegerOverflow,
    /// A length doesn't fit into a signed number.
    #[error("proto: negative length found during unmarshaling")]
    NegativeLength,
    /// A group ends that didn't begin.
    #[error("proto: unexpected end of group")]
    UnexpectedEndOfGroup,
    /// A message ends as if it were a group.
    #[error("proto: {message}: wiretype end group for non-group")]
    EndOfGroup {
        /// The message's name.
        message: &'static str,
    },
    /// A field has a number that no field can have.
    #[error("proto: {message}: illegal tag {number} (wire type {tag})")]
    IllegalTag {
        /// The message's name.
        message: &'static str,
        /// The field's number as the bytes have it.
        number: i32,
        /// The whole tag.
        tag: u64,
    },
    /// A field is written in a form that protobuf doesn't have.
    #[error("proto: illegal wireType {wire}")]
    IllegalWireType {
        /// The form's number.
        wire: u8,
    },
    /// A field is written in a form that its type doesn't have.
    #[error("proto: wrong wireType = {wire} for field {field}")]
    WrongWireType {
        /// The form's number.
        wire: u8,
        /// The field's name in Go.
        field: &'static str,
    },
    /// Messages lie in each other deeper than [`MAXIMUM_DEPTH`](super::MAXIMUM_DEPTH).
    #[error("proto: messages are nested more than {limit} levels deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// There are more messages than [`MAXIMUM_OBJECTS`](super::MAXIMUM_OBJECTS).
    #[error("proto: the object has more than {limit} parts")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// A quantity can't be read.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// A value that is a number or a text says that it is neither.
    #[error("impossible IntOrString.Type")]
    IntegerOrText,
    /// A number that JSON has no form for.
    #[error("json: unsupported value: {0}")]
    UnsupportedNumber(&'static str),
    /// JSON within the message can't be read.
    #[error("field {field}: invalid JSON: {source}")]
    Json {
        /// The field's name in Go.
        field: &'static str,
        /// What the JSON reader says.
        source: serde_json::Error,
    },
}

/// Why an object can't be written as protobuf.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The value isn't an object with a kind and a version.
    #[error("cannot write a value without apiVersion and kind as protobuf")]
    NoKind,
    /// The kind has no protobuf form: it is a custom resource, or one that Kubernetes writes as JSON only.
    #[error("object {api_version}, kind {kind} has no protobuf form; ask for application/json")]
    UnknownKind {
        /// The object's version.
        api_version: String,
        /// The object's kind.
        kind: String,
    },
    /// A value doesn't have the type of its field.
    #[error("cannot write field {field} of {message} as protobuf: expected {expected}")]
    WrongType {
        /// The message that has the field.
        message: &'static str,
        /// The field's name in JSON.
        field: &'static str,
        /// What the field holds.
        expected: &'static str,
    },
    /// Objects lie in each other deeper than [`MAXIMUM_DEPTH`](super::MAXIMUM_DEPTH).
    #[error("cannot write {message} as protobuf: it is nested more than {limit} levels deep")]
    TooDeep {
        /// The message that would be one too many.
        message: &'static str,
        /// The limit.
        limit: usize,
    },
}
