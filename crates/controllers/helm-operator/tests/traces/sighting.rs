//! One thing that was seen in a cluster, in the form that recordings have.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The type of the Secrets that hold Helm's records.
const RECORD: &str = "helm.sh/release.v1";

/// Something that was seen.
#[derive(Debug, Clone)]
pub(crate) enum Sighting {
    /// An object, or that it is gone.
    Object {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// What it looked like; none if it is gone.
        value: Option<Value>,
    },
    /// An event of a custom resource.
    Event {
        /// Its kind and name.
        about: String,
        /// Type, reason, message and component.
        value: Value,
    },
}

impl Sighting {
    /// Reads a record of a trace.
    pub(crate) fn recorded(record: &Value) -> Self {
        if let Some(event) = record.get("event") {
            return Self::Event {
                about: event["object"].as_str().expect("an object").to_owned(),
                value: json!({
                    "type": event["type"], "reason": event["reason"], "message": event["message"],
                    "component": event["component"],
                }),
            };
        }
        let object = &record["object"];
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        Self::Object {
            kind: text("/kind").to_owned(),
            name: text("/metadata/name").to_owned(),
            value: (record["watch"] != "DELETED").then(|| object.clone()),
        }
    }

    /// Reads an object of a cluster; a record of Helm is decoded.
    pub(crate) fn observed(mut object: Value, is_gone: bool) -> Self {
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        if kind == "Event" {
            return Self::Event {
                about: format!(
                    "{}/{}",
                    text("/involvedObject/kind"),
                    text("/involvedObject/name")
                ),
                value: json!({
                    "type": object["type"], "reason": object["reason"], "message": object["message"],
                    "component": object["source"]["component"],
                }),
            };
        }
        if !is_gone && object["type"] == RECORD {
            let data = object["data"]["release"].as_str().expect("a record");
            let release = STANDARD.decode(data).expect("base64");
            let release = chart::release::Release::decode(&release).expect("a release");
            object["release"] = serde_json::from_str(&release.to_json()).expect("JSON");
        }
        Self::Object {
            kind,
            name,
            value: (!is_gone).then_some(object),
        }
    }
}
