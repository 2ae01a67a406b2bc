//! Webhooks: whether somebody answers, and whether the API server trusts who does.

use std::collections::BTreeSet;

use apply::object::text;
use classic::kind::Naming;
use serde_json::Value;

use crate::finding::Finding;
use crate::finding::Severity::{self, Broken, Risky};
use crate::kinds;
use crate::picture::Picture;
use crate::question::{SERVICE_NAME, endpoints};
use crate::rules::certificates::{self, Validity};
use crate::subject::Subject;

/// A Service that the API server calls.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Called {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Called {
    fn of(client_config: &Value) -> Option<Self> {
        let service = client_config.get("service")?;
        Some(Self {
            namespace: text(service, "/namespace").to_owned(),
            name: text(service, "/name").to_owned(),
        })
    }
}

const CONFIGURATIONS: [Naming; 2] = [kinds::MUTATING_WEBHOOK, kinds::VALIDATING_WEBHOOK];

/// The Services behind webhooks and conversions.
pub(crate) fn served_by(picture: &Picture) -> BTreeSet<Called> {
    let hooks = CONFIGURATIONS
        .into_iter()
        .flat_map(|kind| picture.all(kind))
        .flat_map(hooks)
        .filter_map(|hook| Called::of(hook.get("clientConfig")?));
    let conversions = picture
        .all(kinds::DEFINITION)
        .filter_map(|definition| Called::of(conversion(definition)?));
    hooks.chain(conversions).collect()
}

fn hooks(configuration: &Value) -> impl Iterator<Item = &Value> {
    let hooks = configuration.get("webhooks").and_then(Value::as_array);
    hooks.into_iter().flatten()
}

/// How the API server reaches who converts the objects of a definition.
pub(crate) fn conversion(definition: &Value) -> Option<&Value> {
    let is_webhook = text(definition, "/spec/conversion/strategy") == "Webhook";
    definition
        .pointer("/spec/conversion/webhook/clientConfig")
        .filter(|_| is_webhook)
}

/// What is wrong with who is called, and what may be the cause.
pub(crate) struct Unreached {
    pub(crate) why: String,
    pub(crate) next: String,
    pub(crate) suspects: Vec<Subject>,
}

/// Returns what is wrong with the Service that a configuration names; none where it is well or wasn't looked at.
pub(crate) fn unreached(picture: &Picture, client_config: &Value) -> Option<Unreached> {
    let Called { namespace, name } = Called::of(client_config)?;
    let suspects = || -> Vec<Subject> {
        let deployments = picture.in_namespace(kinds::DEPLOYMENT, &namespace);
        deployments.map(Subject::of).collect()
    };
    if picture.is_absent(kinds::SERVICE, &namespace, &name) {
        return Some(Unreached {
            why: format!("Service {namespace}/{name}, which it calls, isn't there"),
            next: format!(
                "bring back the operator that it belongs to, or delete it if that is gone for good: kubectl get services -n \
                 {namespace}"
            ),
            suspects: suspects(),
        });
    }
    let service = picture.get(kinds::SERVICE, &namespace, &name)?;
    if text(service, "/spec/type") == "ExternalName" || !picture.is_answered(&endpoints(&namespace, &name)) {
        return None;
    }
    let is_ready = picture
        .in_namespace(kinds::ENDPOINT_SLICE, &namespace)
        .filter(|slice| apply::object::label(slice, SERVICE_NAME) == Some(&name))
        .flat_map(|slice| {
            slice
                .get("endpoints")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        })
        .any(|endpoint| endpoint.pointer("/conditions/ready") != Some(&Value::Bool(false)));
    (!is_ready).then(|| Unreached {
        why: format!("Service {namespace}/{name}, which it calls, has no pod that is ready"),
        next: format!(
            "see the pods behind it: kubectl get pods -n {namespace}; kubectl describe service {name} -n {namespace}"
        ),
        suspects: suspects(),
    })
}

/// Looks at all webhook configurations; those with the same trouble in several webhooks are told of once.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let mut findings = Vec::new();
    for configuration in CONFIGURATIONS.into_iter().flat_map(|kind| picture.all(kind)) {
        findings.extend(hooks(configuration).find_map(|hook| silent(picture, configuration, hook)));
        findings.extend(hooks(configuration).find_map(|hook| distrusted(picture, configuration, hook)));
    }
    findings
}

/// How bad it is if a webhook doesn't answer.
fn severity(hook: &Value) -> Severity {
    match text(hook, "/failurePolicy") {
        "Ignore" => Risky,
        _ => Broken,
    }
}

fn effect(hook: &Value) -> &'static str {
    match severity(hook) {
        Broken => "what it judges can't be written",
        _ => "what it judges is written unjudged",
    }
}

fn silent(picture: &Picture, configuration: &Value, hook: &Value) -> Option<Finding> {
    let unreached = unreached(picture, hook.get("clientConfig")?)?;
    Some(
        Finding::new(severity(hook), "webhook-silent", configuration)
            .at(format!("webhooks[{}].clientConfig.service", text(hook, "/name")))
            .because(format!("{}: {}", unreached.why, effect(hook)))
            .next(unreached.next)
            .suspecting(unreached.suspects),
    )
}

fn distrusted(picture: &Picture, configuration: &Value, hook: &Value) -> Option<Finding> {
    let authority = certificates::decoded(hook, "/clientConfig/caBundle")?;
    let validity = certificates::of_authority(&authority, picture.now);
    let (severity, said) = match validity {
        Validity::Ended(ago) => (
            severity(hook),
            format!(
                "the authority that it is trusted by ended {ago} ago: {}",
                effect(hook)
            ),
        ),
        Validity::Ending(left) => (
            Risky,
            format!("the authority that it is trusted by ends in {left}"),
        ),
        Validity::Good | Validity::Unreadable => return None,
    };
    Some(
        Finding::new(severity, "webhook-authority-ends", configuration)
            .at(format!("webhooks[{}].clientConfig.caBundle", text(hook, "/name")))
            .because(said)
            .next(format!(
                "see that the controllers that make its certificates run; what it is: kubectl describe {}",
                Subject::of(configuration).for_kubectl()
            )),
    )
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    fn webhook(policy: &str, authority: Option<&str>) -> Value {
        let authority = authority.map(|pem| STANDARD.encode(pem));
        object(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            "",
            "web",
            json!({
            "webhooks": [{"name": "a.example.com", "failurePolicy": policy, "clientConfig": {
                "service": {"namespace": "apps", "name": "web-service"}, "caBundle": authority}}]}),
        )
    }

    fn service() -> Value {
        object("v1", "Service", "apps", "web-service", json!({}))
    }

    fn slice(ready: Value) -> Value {
        object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            "apps",
            "web-1",
            json!({
            "metadata": {"labels": {SERVICE_NAME: "web-service"}},
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}]}),
        )
    }

    #[test]
    fn somebody_answers_a_webhook_or_it_is_told() {
        for (objects, expected) in [
            (
                vec![webhook("Fail", None), service(), slice(json!(true))],
                &[][..],
            ),
            (
                vec![webhook("Fail", None), service(), slice(json!(null))],
                &[][..],
            ),
            (
                vec![webhook("Fail", None), service(), slice(json!(false))],
                &[
                    "broken webhook-silent ValidatingWebhookConfiguration web: Service apps/web-service, which it calls, has no pod that is ready: what it judges can't be written",
                ][..],
            ),
            (
                vec![webhook("Ignore", None)],
                &[
                    "risky webhook-silent ValidatingWebhookConfiguration web: Service apps/web-service, which it calls, isn't there: what it judges is written unjudged",
                ][..],
            ),
        ] {
            assert_eq!(told(&look(&picture(objects))), expected);
        }
    }

    #[test]
    fn an_authority_that_ends_is_told_of() {
        for (until, expected) in [
            ((2027, 6, 1), None),
            (
                (2026, 6, 5),
                Some(
                    "risky webhook-authority-ends ValidatingWebhookConfiguration web: the authority that it is trusted by ends in 3 days",
                ),
            ),
            (
                (2026, 5, 1),
                Some(
                    "broken webhook-authority-ends ValidatingWebhookConfiguration web: the authority that it is trusted by ended 31 days ago: what it judges can't be written",
                ),
            ),
        ] {
            let pem = certificates::tests::certificate(until);
            let objects = [webhook("Fail", Some(&pem)), service(), slice(json!(true))];
            let findings = told(&look(&picture(objects)));
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
