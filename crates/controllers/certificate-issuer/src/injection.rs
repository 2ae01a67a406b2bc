//! Trust in certificates, written where an annotation asks for it.

use apply::object::{annotation, text};
use serde_json::{Value, json};

/// The annotation that asks for it, with the Certificate as `namespace/name`.
pub const INJECT: &str = "cert-manager.io/inject-ca-from";

/// A kind of objects that hold whom the API server trusts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Webhooks that change objects.
    Mutating,
    /// Webhooks that refuse objects.
    Validating,
    /// A definition with a webhook that converts.
    Definition,
    /// Another server's API.
    ApiService,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Mutating,
        Self::Validating,
        Self::Definition,
        Self::ApiService,
    ];

    /// The group, version, kind and plural.
    pub fn naming(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Mutating => (
                "admissionregistration.k8s.io",
                "v1",
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
            ),
            Self::Validating => (
                "admissionregistration.k8s.io",
                "v1",
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
            ),
            Self::Definition => (
                "apiextensions.k8s.io",
                "v1",
                "CustomResourceDefinition",
                "customresourcedefinitions",
            ),
            Self::ApiService => ("apiregistration.k8s.io", "v1", "APIService", "apiservices"),
        }
    }
}

/// Returns the namespace and name of the Certificate that an object asks to be trusted; none where it asks for none.
pub fn asked(object: &Value) -> Option<(&str, &str)> {
    let (namespace, name) = annotation(object, INJECT)?.split_once('/')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains('/')).then_some((namespace, name))
}

/// Returns the JSON patch by which an object trusts an authority; none where it does, or has nothing that trusts.
pub fn patch(target: Target, object: &Value, authority: &str) -> Option<Value> {
    let places: Vec<String> = match target {
        Target::Mutating | Target::Validating => {
            let count = object["webhooks"].as_array().map_or(0, Vec::len);
            (0..count)
                .map(|number| format!("/webhooks/{number}/clientConfig"))
                .collect()
        }
        Target::Definition => vec!["/spec/conversion/webhook/clientConfig".to_owned()],
        // One without a service is the server's own.
        Target::ApiService if object["spec"]["service"].is_object() => vec!["/spec".to_owned()],
        Target::ApiService => Vec::new(),
    };
    let lacks = |place: &&String| {
        let place = object.pointer(place);
        place.is_some_and(|place| place.is_object() && place["caBundle"] != authority)
    };
    let mut operations: Vec<Value> = places
        .iter()
        .filter(lacks)
        .map(|place| json!({"op": "add", "path": format!("{place}/caBundle"), "value": authority}))
        .collect();
    if operations.is_empty() {
        return None;
    }
    if target == Target::ApiService && object["spec"]["insecureSkipTLSVerify"] == true {
        // The server refuses both.
        operations.push(json!({"op": "remove", "path": "/spec/insecureSkipTLSVerify"}));
    }
    // Places are numbers: they may be another's by now.
    let version = text(object, "/metadata/resourceVersion");
    operations.insert(
        0,
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}),
    );
    Some(operations.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_written_wherever_a_server_is_asked() {
        let of = |fields: &Value| {
            let mut object = json!({"metadata": {"name": "x", "resourceVersion": "7"}});
            for (name, value) in fields.as_object().into_iter().flatten() {
                object[name] = value.clone();
            }
            object
        };
        let add = |paths: &[&str]| {
            let add = paths
                .iter()
                .map(|path| json!({"op": "add", "path": path, "value": "ca"}));
            let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"});
            Some(std::iter::once(test).chain(add).collect::<Value>())
        };
        let two = json!({"webhooks": [{"clientConfig": {"caBundle": "ca"}}, {"clientConfig": {"caBundle": "old"}}]});
        let conversion =
            json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {}}}}});
        for (case, target, object, expected) in [
            (
                "one of two",
                Target::Validating,
                of(&two),
                add(&["/webhooks/1/clientConfig/caBundle"]),
            ),
            ("no webhooks", Target::Mutating, of(&Value::Null), None),
            (
                "a conversion",
                Target::Definition,
                of(&conversion),
                add(&["/spec/conversion/webhook/clientConfig/caBundle"]),
            ),
            (
                "no conversion",
                Target::Definition,
                of(&json!({"spec": {"conversion": {"strategy": "None"}}})),
                None,
            ),
            (
                "another server",
                Target::ApiService,
                of(&json!({"spec": {"service": {"name": "s"}}})),
                add(&["/spec/caBundle"]),
            ),
            (
                "the server's own",
                Target::ApiService,
                of(&json!({"spec": {"service": null}})),
                None,
            ),
        ] {
            assert_eq!(patch(target, &object, "ca"), expected, "{case}");
        }
    }

    #[test]
    fn a_certificate_is_named_with_its_namespace() {
        for (text, expected) in [
            ("n/c", Some(("n", "c"))),
            ("c", None),
            ("/c", None),
            ("n/", None),
            ("n/c/d", None),
        ] {
            let object = json!({"metadata": {"annotations": {INJECT: text}}});
            assert_eq!(asked(&object), expected, "{text}");
        }
        assert_eq!(asked(&json!({"metadata": {}})), None);
    }
}
