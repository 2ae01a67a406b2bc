//! What a server answered, and what a case expects of it. Every expectation that fails panics with the request and the
//! whole answer.

use bytes::Bytes;
use serde_json::Value;

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The request's method and path, for messages.
    pub what: String,
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: http::HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// The body as text, however broken.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: not JSON ({error}): {}", self.what, self.text()))
    }

    /// The body as JSON, or null if it isn't.
    pub fn json_or_null(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The first value of a header, or an empty string.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// All values of the `Warning` header.
    pub fn warnings(&self) -> Vec<String> {
        self.headers
            .get_all("Warning")
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect()
    }

    /// The status code must be this.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert!(
            self.status == status,
            "{}: expected {status}, not {}: {}",
            self.what,
            self.status,
            self.text()
        );
        self
    }

    /// The answer must be a Status that refuses the request, with this code, reason and message.
    #[track_caller]
    pub fn refused(self, code: u16, reason: &str, message: &str) -> Self {
        let answer = self.expect(code);
        let status = answer.json();
        let seen = (
            status["kind"].as_str().unwrap_or_default(),
            status["status"].as_str().unwrap_or_default(),
            status["code"].as_u64().unwrap_or_default(),
            status["reason"].as_str().unwrap_or_default(),
            status["message"].as_str().unwrap_or_default(),
        );
        let wanted = ("Status", "Failure", u64::from(code), reason, message);
        assert!(
            seen == wanted,
            "{}: expected\n  {wanted:?}\nnot\n  {seen:?}",
            answer.what
        );
        answer
    }

    /// A field, by JSON pointer, must have this value.
    #[track_caller]
    pub fn has(self, pointer: &str, wanted: impl Into<Value>) -> Self {
        let wanted = wanted.into();
        let body = self.json();
        let seen = body.pointer(pointer).cloned().unwrap_or(Value::Null);
        assert!(
            seen == wanted,
            "{}: expected {wanted} in {pointer}, not {seen}; the whole: {body}",
            self.what
        );
        self
    }

    /// A field, by JSON pointer, must not be there.
    #[track_caller]
    pub fn lacks(self, pointer: &str) -> Self {
        let body = self.json();
        assert!(
            body.pointer(pointer).is_none(),
            "{}: {pointer} should not be in {body}",
            self.what
        );
        self
    }

    /// The names of a list's items or a table's rows, in order.
    #[track_caller]
    pub fn names(&self) -> Vec<String> {
        let body = self.json();
        let (items, pointer) = match (body["items"].as_array(), body["rows"].as_array()) {
            (Some(items), _) => (items, "/metadata/name"),
            (None, Some(rows)) => (rows, "/object/metadata/name"),
            (None, None) => panic!("{}: neither a list nor a table: {body}", self.what),
        };
        items
            .iter()
            .map(|item| {
                item.pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    }
}

/// The object's resourceVersion.
pub fn revision(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default()
}

/// The object's uid.
pub fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}
