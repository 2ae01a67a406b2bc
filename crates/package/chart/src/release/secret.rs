//! The Secret that a record is kept in.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::codec::DecodeError;
use super::{Release, Status};

/// The type of the Secrets that records are kept in.
pub const SECRET_TYPE: &str = "helm.sh/release.v1";

/// The labels that Helm sets itself and users must not.
pub const SYSTEM_LABELS: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];

/// When a record was written, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// For the first time.
    Created(i64),
    /// Over an earlier state of the same revision.
    Modified(i64),
}

/// The name of the Secret of a revision.
pub fn object_name(release: &str, version: i64) -> String {
    format!("sh.helm.release.v1.{release}.v{version}")
}

impl Release {
    /// The labels of the record's Secret; those of the user first, Helm's own over them.
    pub fn labels(&self, user: &BTreeMap<String, String>, stored: Stored) -> BTreeMap<String, String> {
        let mut labels = user.clone();
        let (key, seconds) = match stored {
            Stored::Created(seconds) => ("createdAt", seconds),
            Stored::Modified(seconds) => ("modifiedAt", seconds),
        };
        labels.extend(
            [
                (key, seconds.to_string()),
                ("name", self.name.clone()),
                ("owner", "helm".to_owned()),
                ("status", self.info.status.to_string()),
                ("version", self.version.to_string()),
            ]
            .map(|(key, value)| (key.to_owned(), value)),
        );
        labels
    }

    /// The Secret that Helm would write for the record.
    pub fn to_secret(&self, user_labels: &BTreeMap<String, String>, stored: Stored) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": object_name(&self.name, self.version),
                "namespace": self.namespace,
                "labels": self.labels(user_labels, stored),
            },
            "type": SECRET_TYPE,
            "data": {"release": STANDARD.encode(self.encode())},
        })
    }

    /// Reads the record in a Secret as the API gives it.
    pub fn from_secret(secret: &Value) -> Result<Self, DecodeError> {
        let data = secret
            .pointer("/data/release")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Self::decode(&STANDARD.decode(data)?)
    }

    /// Puts the record into a state, with a word on why.
    pub fn set_status(&mut self, status: Status, description: impl Into<String>) {
        self.info.status = status;
        self.info.description = description.into();
    }
}
