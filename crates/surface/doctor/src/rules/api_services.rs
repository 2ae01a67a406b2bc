//! APIServices whose server doesn't answer: besides their own kinds, namespaces can't be deleted then.

use apply::object::{is_terminating, text};

use crate::conditions::{Said, condition};
use crate::finding::Finding;
use crate::finding::Severity::Broken;
use crate::kinds;
use crate::picture::Picture;
use crate::subject::Subject;

/// Looks at all APIServices that others serve.
pub fn look(picture: &Picture) -> Vec<Finding> {
    picture
        .all(kinds::API_SERVICE)
        .filter(|service| !is_terminating(service))
        .filter_map(|service| {
            let namespace = text(service, "/spec/service/namespace");
            if namespace.is_empty() {
                return None;
            }
            let said = condition(service, "Available").filter(Said::is_false)?;
            let deployments = picture.in_namespace(kinds::DEPLOYMENT, namespace).map(Subject::of);
            Some(
                Finding::new(Broken, "api-not-available", service)
                    .at_condition("Available")
                    .because(format!(
                        "its server doesn't answer, and no namespace can be deleted meanwhile: {}",
                        said.words()
                    ))
                    .next(format!(
                        "see what serves it: kubectl get pods -n {namespace}; if that is gone for good: kubectl delete {}",
                        Subject::of(service).for_kubectl()
                    ))
                    .suspecting(deployments),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::rules::testing::{conditions, object, picture, told};

    #[test]
    fn an_api_of_others_is_available() {
        let service = |spec: Value, available: &str| {
            let mut rest = conditions(&[("Available", available, "MissingEndpoints", "no endpoints")]);
            rest["spec"] = spec;
            object(
                "apiregistration.k8s.io/v1",
                "APIService",
                "",
                "v1.packages.example.com",
                rest,
            )
        };
        let served = || json!({"service": {"namespace": "olm", "name": "packages"}});
        assert!(look(&picture([service(served(), "True")])).is_empty());
        assert!(look(&picture([service(json!({}), "False")])).is_empty());
        assert_eq!(
            told(&look(&picture([service(served(), "False")]))),
            [
                "broken api-not-available APIService v1.packages.example.com: its server doesn't answer, and no namespace can be deleted meanwhile: no endpoints"
            ]
        );
    }
}
