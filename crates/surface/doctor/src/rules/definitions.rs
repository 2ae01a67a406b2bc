//! CustomResourceDefinitions: not accepted, not converted, or with objects stored in a version that is gone.

use std::collections::BTreeSet;

use apply::object::{is_terminating, text};
use serde_json::Value;

use crate::conditions::{Said, condition};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Risky};
use crate::kinds;
use crate::picture::Picture;
use crate::rules::webhooks::{conversion, unreached};
use crate::subject::Subject;

/// Looks at all CustomResourceDefinitions.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let all = picture.all(kinds::DEFINITION);
    let mut findings = Vec::new();
    for definition in all.filter(|definition| !is_terminating(definition)) {
        findings.extend(unaccepted(definition));
        findings.extend(unconverted(picture, definition));
        findings.extend(stranded(definition));
    }
    findings
}

fn unaccepted(definition: &Value) -> Option<Finding> {
    let describe = Subject::of(definition).describe();
    ["NamesAccepted", "Established"].into_iter().find_map(|kind| {
        let said = condition(definition, kind).filter(Said::is_false)?;
        Some(
            Finding::new(Broken, "definition-not-served", definition)
                .at_condition(kind)
                .because(format!("its kind isn't served: {}", said.words()))
                .next(format!("another definition may have its names: {describe}")),
        )
    })
}

fn unconverted(picture: &Picture, definition: &Value) -> Option<Finding> {
    let unreached = unreached(picture, conversion(definition)?)?;
    Some(
        Finding::new(Broken, "definition-not-converted", definition)
            .at("spec.conversion.webhook.clientConfig.service")
            .because(format!(
                "{}: its objects can't be read in every version, and a list of them fails",
                unreached.why
            ))
            .next(unreached.next)
            .suspecting(unreached.suspects),
    )
}

fn stranded(definition: &Value) -> Option<Finding> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array)?;
    let served: BTreeSet<&str> = versions
        .iter()
        .filter(|version| version.get("served") == Some(&Value::Bool(true)))
        .map(|version| text(version, "/name"))
        .collect();
    let stored = definition
        .pointer("/status/storedVersions")
        .and_then(Value::as_array)?;
    let gone: Vec<&str> = stored
        .iter()
        .filter_map(Value::as_str)
        .filter(|version| !served.contains(version))
        .collect();
    let name = text(definition, "/metadata/name");
    (!gone.is_empty()).then(|| {
        Finding::new(Risky, "definition-stored-version-unserved", definition)
            .at("status.storedVersions")
            .because(format!(
                "objects may be stored in version {}, which isn't served any more: a later definition without it is refused",
                gone.join(", ")
            ))
            .next(format!(
                "write every object once more, so that it is stored in a served version: kubectl get {name} -A -o json | \
                 kubectl replace -f -; then take {} out of status.storedVersions: kubectl edit crd {name} \
                 --subresource=status",
                gone.join(", ")
            ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    #[test]
    fn a_definition_is_served_converted_and_up_to_date() {
        let definition = |served: bool, status: Value, conversion: Value| {
            object(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                "",
                "webs.example.com",
                json!({
                "spec": {"versions": [{"name": "v1", "served": true}, {"name": "v1alpha1", "served": served}],
                    "conversion": conversion},
                "status": status}),
            )
        };
        let stored = json!({"storedVersions": ["v1alpha1", "v1"]});
        let webhook = json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"namespace": "apps", "name": "gone"}}}});
        for (definition, expected) in [
            (
                definition(true, stored.clone(), json!({"strategy": "None"})),
                None,
            ),
            (
                definition(false, stored.clone(), Value::Null),
                Some(
                    "risky definition-stored-version-unserved CustomResourceDefinition webs.example.com: objects may be stored in version v1alpha1, which isn't served any more: a later definition without it is refused",
                ),
            ),
            (
                definition(true, stored, webhook),
                Some(
                    "broken definition-not-converted CustomResourceDefinition webs.example.com: Service apps/gone, which it calls, isn't there: its objects can't be read in every version, and a list of them fails",
                ),
            ),
            (
                definition(
                    true,
                    json!({"conditions": [{"type": "NamesAccepted", "status": "False", "message": "taken"}]}),
                    Value::Null,
                ),
                Some(
                    "broken definition-not-served CustomResourceDefinition webs.example.com: its kind isn't served: taken",
                ),
            ),
        ] {
            let findings = told(&look(&picture([definition])));
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
