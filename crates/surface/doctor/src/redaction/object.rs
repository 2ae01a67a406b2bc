//! Secrets in objects, found by their place: data of Secrets, variables of containers, values behind secret names.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use classic::keys::LAST_APPLIED;
use serde_json::{Map, Value};

use super::CUT;
use super::secret_names::is_secret;
use super::text;

/// How deep texts within texts are read: a manifest in a plan in a backup is deep already.
const DEEPEST: usize = 4;

/// Entries of Secrets that everybody may know: were they cut out of everything, no namespace could be read any more.
const PUBLIC: [&str; 5] = [
    "namespace",
    "ca.crt",
    "service-ca.crt",
    "tls.crt",
    "ca-bundle.crt",
];

/// What an object is taken through: to be shown, or to learn its secrets.
struct Walk<'a> {
    /// The secrets that were found on the way, if somebody wants to know.
    found: Option<&'a mut Vec<String>>,
}

/// Returns an object that may be shown.
pub fn redacted(object: &Value) -> Value {
    let mut object = object.clone();
    Walk { found: None }.object(&mut object, 0);
    object
}

/// Collects the secrets of an object.
pub fn secrets(object: &Value, found: &mut Vec<String>) {
    let mut object = object.clone();
    Walk { found: Some(found) }.object(&mut object, 0);
}

impl Walk<'_> {
    fn note(&mut self, secret: &str) {
        if let Some(found) = self.found.as_deref_mut() {
            found.push(secret.to_owned());
        }
    }

    fn object(&mut self, object: &mut Value, depth: usize) {
        let Some(fields) = object.as_object_mut() else {
            self.value(object, depth);
            return;
        };
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            if let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
                && annotations.remove(LAST_APPLIED).is_some()
            {
                annotations.insert(LAST_APPLIED.to_owned(), Value::from(CUT));
            }
        }
        match fields.get("kind").and_then(Value::as_str) {
            Some("Secret") => {
                self.contents(fields, "data", true);
                self.contents(fields, "stringData", false);
            }
            Some("ConfigMap") => self.contents(fields, "binaryData", true),
            // Its schema describes fields of any name and holds no value of them.
            Some("CustomResourceDefinition") => return,
            _ => {}
        }
        self.fields(fields, depth);
    }

    /// Leaves of each entry its name and its size.
    fn contents(&mut self, fields: &mut Map<String, Value>, field: &str, is_encoded: bool) {
        let Some(entries) = fields.get_mut(field).and_then(Value::as_object_mut) else {
            return;
        };
        for (key, value) in entries {
            let text = value.as_str().unwrap_or_default().to_owned();
            let decoded = STANDARD.decode(&text).ok().filter(|_| is_encoded);
            let size = decoded.as_ref().map_or(text.len(), Vec::len);
            if !PUBLIC.contains(&key.as_str()) {
                self.note(&text);
                if let Some(Ok(plain)) = decoded.map(String::from_utf8) {
                    self.note(&plain);
                }
            }
            *value = Value::from(format!("{size} bytes"));
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, depth: usize) {
        let is_secret_data = fields.get("kind").and_then(Value::as_str) == Some("Secret");
        for (key, value) in fields {
            if is_secret_data && matches!(key.as_str(), "data" | "stringData") {
                continue;
            }
            let is_cut = is_secret(key) && !is_schema(value);
            match (key.as_str(), &mut *value) {
                ("env", Value::Array(variables)) => {
                    for variable in variables {
                        self.variable(variable, depth);
                    }
                }
                ("args" | "command", Value::Array(words)) => self.words(words, depth),
                // Labels pick objects: a selector without them means nothing.
                ("labels" | "matchLabels", Value::Object(_)) => {}
                // A list of Secrets has their names; a map of secrets has what they are.
                ("secrets", value @ Value::Object(_)) => self.cut(value),
                (_, value) if is_cut => self.cut(value),
                (_, value) => self.value(value, depth),
            }
        }
    }

    fn value(&mut self, value: &mut Value, depth: usize) {
        match value {
            Value::Object(fields) if fields.contains_key("kind") && fields.contains_key("metadata") => {
                self.object(value, depth);
            }
            Value::Object(fields) => self.fields(fields, depth),
            Value::Array(values) => values.iter_mut().for_each(|one| self.value(one, depth)),
            Value::String(text) => *text = self.text(text, depth),
            _ => {}
        }
    }

    /// A variable of a container: its value may be anything, so that it goes whatever its name is.
    fn variable(&mut self, variable: &mut Value, depth: usize) {
        let is_named_secret = variable
            .get("name")
            .and_then(Value::as_str)
            .is_some_and(is_secret);
        if let Some(value) = variable.get_mut("value") {
            if is_named_secret && let Some(text) = value.as_str() {
                let text = text.to_owned();
                self.note(&text);
            }
            let size = value.as_str().map_or(0, str::len);
            *value = Value::from(format!("[redacted: {size} characters]"));
        }
        if let Some(from) = variable.get_mut("valueFrom") {
            self.value(from, depth);
        }
    }

    /// Words of a command: the one behind a flag with a secret name is the secret.
    fn words(&mut self, words: &mut [Value], depth: usize) {
        let mut is_next_secret = false;
        for word in words {
            let Some(text) = word.as_str().map(str::to_owned) else {
                continue;
            };
            let is_flag = text.starts_with('-');
            if is_next_secret && !is_flag {
                self.note(&text);
                *word = Value::from(CUT);
            } else if let Some((name, value)) = text
                .split_once('=')
                .filter(|(name, _)| is_flag && is_secret(name))
            {
                self.note(value);
                *word = Value::from(format!("{name}={CUT}"));
            } else {
                *word = Value::from(self.text(&text, depth));
            }
            is_next_secret = is_flag && !text.contains('=') && is_secret(&text);
        }
    }

    /// Cuts a value and everything in it; switches stay, since they hide nothing.
    fn cut(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => {
                let secret = std::mem::take(text);
                self.note(&secret);
                *text = format!("[redacted: {} characters]", secret.chars().count());
            }
            Value::Number(_) => *value = Value::from(CUT),
            Value::Array(values) => values.iter_mut().for_each(|one| self.cut(one)),
            Value::Object(fields) => {
                let is_reference = is_reference(fields);
                for (key, value) in fields {
                    if !is_reference && !NAMES.contains(&key.as_str()) {
                        self.cut(value);
                    }
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// A text within an object: JSON and YAML are looked at as what they are, everything by what it looks like.
    fn text(&mut self, text: &str, depth: usize) -> String {
        let text = match self.inner(text, depth) {
            Some(shown) => shown,
            None => text.to_owned(),
        };
        text::redacted(&text)
    }

    fn inner(&mut self, text: &str, depth: usize) -> Option<String> {
        if depth >= DEEPEST {
            return None;
        }
        if text.starts_with(['{', '[']) {
            let mut inner: Value = serde_json::from_str(text).ok()?;
            self.object(&mut inner, depth + 1);
            return serde_json::to_string(&inner).ok();
        }
        if !text.contains('\n') || !text.contains(':') {
            return None;
        }
        let documents: Vec<&str> = text.split("\n---").collect();
        let mut shown = Vec::with_capacity(documents.len());
        for document in documents {
            let mut inner: Value = goyaml::from_str(document).ok()?;
            if !inner.is_object() && !inner.is_null() {
                return None;
            }
            self.object(&mut inner, depth + 1);
            shown.push(goyaml::to_string(&inner).ok()?);
        }
        Some(shown.join("---\n"))
    }
}

/// Fields that say which Secret is meant.
const NAMES: [&str; 3] = ["name", "namespace", "secretName"];

/// Returns whether a value says where a secret is and nothing else: which Secret, and which of its entries.
fn is_reference(fields: &Map<String, Value>) -> bool {
    const OTHERS: [&str; 6] = ["key", "optional", "kind", "group", "apiVersion", "defaultMode"];
    let is_named = ["name", "secretName"]
        .iter()
        .any(|name| fields.contains_key(*name));
    let is_known = |key: &String| NAMES.contains(&key.as_str()) || OTHERS.contains(&key.as_str());
    is_named && fields.keys().all(is_known)
}

/// Returns whether a value describes a field rather than holding one: schemas have fields of any name.
fn is_schema(value: &Value) -> bool {
    const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];
    const WORDS: [&str; 19] = [
        "type",
        "description",
        "format",
        "default",
        "enum",
        "items",
        "properties",
        "additionalProperties",
        "required",
        "nullable",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "title",
        "example",
    ];
    value.as_object().is_some_and(|fields| {
        let kind = fields.get("type").and_then(Value::as_str);
        let is_word = |key: &String| WORDS.contains(&key.as_str()) || key.starts_with("x-");
        kind.is_some_and(|kind| TYPES.contains(&kind)) && fields.keys().all(is_word)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_keeps_the_names_and_sizes_of_its_entries() {
        let secret = json!({"kind": "Secret", "metadata": {"name": "a", "managedFields": [1],
            "annotations": {LAST_APPLIED: "{\"data\":{\"a\":\"aHVudGVyMg==\"}}"}},
            "data": {"password": "aHVudGVyMg==", "raw": "/////w=="}, "stringData": {"b": "four"}});
        assert_eq!(
            redacted(&secret),
            json!({"kind": "Secret", "metadata": {"name": "a", "annotations": {LAST_APPLIED: "[redacted]"}},
                "data": {"password": "7 bytes", "raw": "4 bytes"}, "stringData": {"b": "4 bytes"}})
        );
        let mut found = Vec::new();
        secrets(&secret, &mut found);
        assert_eq!(found, ["aHVudGVyMg==", "hunter2", "/////w==", "four"]);
    }

    #[test]
    fn variables_and_flags_of_containers_lose_their_values() {
        let pod = json!({"kind": "Pod", "spec": {"containers": [{
            "env": [{"name": "MODE", "value": "fast"}, {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}],
            "args": ["--token", "hunter2", "--password=hunter2", "--replicas=2", "--verbose"]}]}});
        assert_eq!(
            redacted(&pod)["spec"]["containers"][0],
            json!({
                "env": [{"name": "MODE", "value": "[redacted: 4 characters]"},
                    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}],
                "args": ["--token", "[redacted]", "--password=[redacted]", "--replicas=2", "--verbose"]})
        );
    }

    #[test]
    fn values_behind_secret_names_go_and_references_stay() {
        let resource = json!({"kind": "InferenceStack", "spec": {
            "adminPassword": "hunter2", "pin": 1234, "auth": {"enabled": true, "users": ["bob"], "name": "shown"},
            "secretName": "shown", "imagePullSecrets": [{"name": "shown"}], "replicas": 2,
            "secrets": {"a": "hunter2"}, "tokenSecret": {"name": "shown", "key": "shown"}, "credentials": {"key": "hunter2"},
            "config": "user: bob\npassword: hunter2\n", "template": "{\"token\":\"hunter2\"}"}});
        assert_eq!(
            redacted(&resource)["spec"],
            json!({
                "adminPassword": "[redacted: 7 characters]", "pin": "[redacted]",
                "auth": {"enabled": true, "users": ["[redacted: 3 characters]"], "name": "shown"},
                "secretName": "shown", "imagePullSecrets": [{"name": "shown"}], "replicas": 2,
                "secrets": {"a": "[redacted: 7 characters]"}, "tokenSecret": {"name": "shown", "key": "shown"},
                "credentials": {"key": "[redacted: 7 characters]"},
                "config": "password: '[redacted]'\nuser: bob\n",
                "template": "{\"token\":\"[redacted]\"}"})
        );
    }

    #[test]
    fn a_manifest_in_a_plan_is_looked_at_as_what_it_is() {
        let manifest =
            json!({"kind": "Secret", "metadata": {"name": "a"}, "data": {"x": "aHVudGVyMg=="}}).to_string();
        let plan = json!({"kind": "InstallPlan", "status": {"plan": [{"resource": {"manifest": manifest}}]}});
        let shown = redacted(&plan).to_string();
        assert!(
            !shown.contains("aHVudGVyMg==") && shown.contains("7 bytes"),
            "{shown}"
        );
    }

    #[test]
    fn schemas_stay() {
        let whole = json!({"kind": "CustomResourceDefinition", "metadata": {"name": "a"},
            "spec": {"versions": [{"schema": {"properties": {"secret": {"oneOf": [{"type": "string"}]}}}}]}});
        let mut found = Vec::new();
        secrets(&whole, &mut found);
        assert_eq!((found, redacted(&whole)), (Vec::new(), whole));
        let definition = json!({"kind": "JSONSchema", "metadata": {"name": "a"},
            "spec": {"properties": {"password": {"type": "string", "description": "The password."}, "token": {"type": "string"}}}});
        assert_eq!(redacted(&definition)["spec"], definition["spec"]);
        let resource = json!({"kind": "Stack", "spec": {"password": {"type": "string", "value": "hunter2"}}});
        assert!(!redacted(&resource).to_string().contains("hunter2"));
    }

    #[test]
    fn what_everybody_may_know_is_not_learned() {
        let mut found = Vec::new();
        secrets(
            &json!({"kind": "Secret", "stringData": {"namespace": "operators", "token": "hunter2"}}),
            &mut found,
        );
        assert_eq!(found, ["hunter2"]);
    }
}
