//! Questions about who is who and who may do what, which are answered and not stored.

use jiff::Timestamp;
use schema::FieldError;
use schema::field_error::FieldPath;
use serde_json::{Map, Value, json};

use super::attributes::Attributes;
use super::rbac::rules::Rule;
use super::tokens::ISSUER;
use crate::admission::{Operation, Review};
use crate::api::{Answered, Api, Call, Outcome, Place, Written};
use crate::caller::Caller;
use crate::object::{Object as _, map_of, timestamp};
use crate::options::WriteOptions;
use crate::selectors::{FieldSelector, LabelSelector};
use crate::status::Status;

/// The group of questions about what someone may do.
const AUTHORIZATION: &str = "authorization.k8s.io";

/// What only the server sets in metadata, and so doesn't count as given.
const SYSTEM_FIELDS: [&str; 6] = [
    "managedFields",
    "uid",
    "creationTimestamp",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

impl Api {
    /// Answers a question.
    pub(crate) async fn answer_review(
        &self,
        call: &Call,
        place: &Place,
        question: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let mut question = question;
        crate::api::create::match_namespace(place, &mut question)?;
        let metadata = question.metadata_mut();
        for field in SYSTEM_FIELDS {
            metadata.remove(field);
        }
        let question = self.note_fields(call, place, None, question, options)?;
        let mut review = Review::new(
            self,
            call,
            place,
            Operation::Create,
            Some(question),
            None,
            options.dry_run,
        );
        self.admission.mutate(&mut review).await?;
        if let Some(question) = &review.object {
            check(place, question)?;
        }
        self.admission.validate(&review).await?;
        let question = review.into_object();
        let answer = match &*place.resource.kind {
            "SelfSubjectReview" => who(call),
            "TokenReview" => self.whose_token(question),
            "SelfSubjectRulesReview" => self.which_rules(call, &question),
            "SelfSubjectAccessReview" => self.may(&call.caller, question),
            _ => {
                let caller = subject(&question["spec"]);
                self.may(&caller, question)
            }
        };
        let mut answer = answer;
        let object = map_of(&mut answer);
        object.insert("kind".into(), (*place.resource.kind).into());
        object.insert("apiVersion".into(), place.resource.api_version().into());
        Ok(Written {
            outcome: Outcome::Created,
            answer: Answered::Value(answer),
        })
    }

    fn may(&self, caller: &Caller, mut question: Value) -> Value {
        let spec = &question["spec"];
        let attributes = attributes(spec);
        let decision = self.access.allowed(caller, &attributes);
        let mut status = Map::new();
        status.insert("allowed".into(), decision.allowed.into());
        if !decision.reason.is_empty() {
            status.insert("reason".into(), decision.reason.into());
        }
        let failures = selector_failures(&spec["resourceAttributes"]);
        if !failures.is_empty() {
            status.insert("evaluationError".into(), failures.join("; ").into());
        }
        map_of(&mut question).insert("status".into(), Value::Object(status));
        question
    }

    fn which_rules(&self, call: &Call, question: &Value) -> Value {
        let namespace = question["spec"]["namespace"].as_str().unwrap_or_default();
        let (rules, failure) = self.access.rules_for(&call.caller, namespace);
        let mut status = json!({
            "resourceRules": rules.iter().filter_map(Rule::resource_rule).collect::<Vec<_>>(),
            "nonResourceRules": rules.iter().filter_map(Rule::path_rule).collect::<Vec<_>>(),
            "incomplete": false,
        });
        if let Some(failure) = failure {
            status["evaluationError"] = failure.into();
        }
        json!({"metadata": {}, "spec": {}, "status": status})
    }

    fn whose_token(&self, mut question: Value) -> Value {
        let spec = &question["spec"];
        let token = spec["token"].as_str().unwrap_or_default();
        let given: Vec<String> = spec["audiences"]
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default();
        let wanted = if given.is_empty() {
            vec![ISSUER.to_owned()]
        } else {
            given
        };
        let status = match self.access.token(self, token, &wanted) {
            Ok((caller, audiences)) => json!({
                "authenticated": true, "user": user_info(&caller), "audiences": audiences,
            }),
            Err(why) => json!({"error": why, "user": {}}),
        };
        map_of(&mut question).insert("status".into(), status);
        question
    }
}

/// Returns a caller as reviews show it.
fn user_info(caller: &Caller) -> Value {
    let mut info = Map::new();
    if !caller.user.is_empty() {
        info.insert("username".into(), caller.user.as_str().into());
    }
    if !caller.uid.is_empty() {
        info.insert("uid".into(), caller.uid.as_str().into());
    }
    if !caller.groups.is_empty() {
        info.insert("groups".into(), json!(caller.groups));
    }
    if !caller.extra.is_empty() {
        info.insert("extra".into(), json!(caller.extra));
    }
    Value::Object(info)
}

fn who(call: &Call) -> Value {
    json!({
        "metadata": {"creationTimestamp": timestamp(Timestamp::now())},
        "status": {"userInfo": user_info(&call.caller)},
    })
}

/// Returns whom a question is about.
fn subject(spec: &Value) -> Caller {
    let texts = |value: &Value| -> Vec<String> {
        let all = value.as_array();
        all.map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default()
    };
    let extra = spec["extra"].as_object();
    Caller {
        user: spec["user"].as_str().unwrap_or_default().to_owned(),
        uid: spec["uid"].as_str().unwrap_or_default().to_owned(),
        groups: texts(&spec["groups"]),
        extra: extra
            .map(|extra| {
                extra
                    .iter()
                    .map(|(key, values)| (key.clone(), texts(values)))
                    .collect()
            })
            .unwrap_or_default(),
    }
}

fn attributes(spec: &Value) -> Attributes {
    let wanted = &spec["resourceAttributes"];
    if wanted.is_object() {
        let text = |field: &str| wanted[field].as_str().unwrap_or_default();
        return Attributes::resource(
            text("verb"),
            text("namespace"),
            text("group"),
            text("resource"),
            text("name"),
        )
        .below(text("subresource"));
    }
    let wanted = &spec["nonResourceAttributes"];
    let text = |field: &str| wanted[field].as_str().unwrap_or_default();
    Attributes::path(text("verb"), text("path"))
}

/// Returns what is said about selectors that can't be read; they don't count then.
fn selector_failures(attributes: &Value) -> Vec<String> {
    let mut failures = Vec::new();
    let raw = |kind: &str| attributes[kind]["rawSelector"].as_str().unwrap_or_default();
    let ignored = |kind: &str| format!("spec.resourceAttributes.{kind} ignored due to parse error");
    if !raw("fieldSelector").is_empty() && FieldSelector::parse(raw("fieldSelector")).is_err() {
        failures.push(ignored("fieldSelector"));
    }
    if !raw("labelSelector").is_empty() && LabelSelector::parse(raw("labelSelector")).is_err() {
        failures.push(ignored("labelSelector"));
    }
    failures
}

/// Refuses questions that make no sense.
fn check(place: &Place, question: &Value) -> Result<(), Status> {
    let spec = &question["spec"];
    let kind = &*place.resource.kind;
    match kind {
        "SelfSubjectReview" => return Ok(()),
        "TokenReview" => {
            return match spec["token"].as_str().unwrap_or_default() {
                "" => Err(Status::bad_request(
                    "token is required for TokenReview in authentication",
                )),
                _ => Ok(()),
            };
        }
        "SelfSubjectRulesReview" => {
            return match spec["namespace"].as_str().unwrap_or_default() {
                "" => Err(Status::bad_request("no namespace on request")),
                _ => Ok(()),
            };
        }
        _ => {}
    }
    let errors = access_review_errors(kind, &place.namespace, question);
    if errors.is_empty() {
        Ok(())
    } else {
        // The real server doesn't know the kind any more when it says this.
        Err(Status::invalid(AUTHORIZATION, "", "", &errors))
    }
}

fn access_review_errors(kind: &str, namespace: &str, question: &Value) -> Vec<FieldError> {
    let spec = &question["spec"];
    let path = FieldPath::new("spec");
    let mut errors = Vec::new();
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let shown = json!({
        "Path": other["path"].as_str().unwrap_or_default(), "Verb": other["verb"].as_str().unwrap_or_default(),
    });
    match (resource.is_object(), other.is_object()) {
        (true, true) => errors.push(FieldError::invalid(
            path.child("nonResourceAttributes"),
            &shown,
            "cannot be specified in combination with resourceAttributes",
        )),
        (false, false) => errors.push(FieldError::invalid(
            path.child("resourceAttributes"),
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        _ => {}
    }
    if kind != "SelfSubjectAccessReview" {
        let groups = spec["groups"].as_array().is_some_and(|groups| !groups.is_empty());
        if spec["user"].as_str().unwrap_or_default().is_empty() && !groups {
            errors.push(FieldError::invalid(
                path.child("user"),
                &json!(""),
                "at least one of user or group must be specified",
            ));
        }
    }
    for selector in ["fieldSelector", "labelSelector"] {
        selector_errors(resource, selector, &mut errors);
    }
    let local = kind == "LocalSubjectAccessReview";
    let given = question.metadata().is_some_and(|metadata| {
        metadata
            .keys()
            .any(|field| field != "managedFields" && !(local && field == "namespace"))
    });
    if given {
        let detail = if local {
            "must be empty except for namespace"
        } else {
            "must be empty"
        };
        errors.push(FieldError::invalid(
            FieldPath::new("metadata"),
            &question["metadata"],
            detail,
        ));
    }
    if local {
        let wanted = resource["namespace"].as_str().unwrap_or_default();
        if resource.is_object() && wanted != namespace {
            errors.push(FieldError::invalid(
                FieldPath::new("spec.resourceAttributes.namespace"),
                &json!(wanted),
                "must match metadata.namespace",
            ));
        }
        if other.is_object() {
            errors.push(FieldError::invalid(
                FieldPath::new("spec.nonResourceAttributes"),
                &shown,
                "disallowed on this kind of request",
            ));
        }
    }
    errors
}

fn selector_errors(attributes: &Value, kind: &str, errors: &mut Vec<FieldError>) {
    let selector = &attributes[kind];
    if !selector.is_object() {
        return;
    }
    let path = FieldPath::new("spec.resourceAttributes").child(kind);
    let raw = selector["rawSelector"].as_str().unwrap_or_default();
    let requirements = selector["requirements"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if !raw.is_empty() && !requirements.is_empty() {
        errors.push(FieldError::invalid(
            path.child("rawSelector"),
            &json!(raw),
            "may not specified at the same time as requirements",
        ));
    }
    if raw.is_empty() && requirements.is_empty() {
        errors.push(FieldError::required(
            path.child("requirements"),
            format!("when {path} is specified, requirements or rawSelector is required"),
        ));
    }
    for (index, requirement) in requirements.iter().enumerate() {
        let path = path.child("requirements").index(index);
        let values = requirement["values"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        match requirement["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                path.child("values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
                path.child("values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            _ => {}
        }
        if kind == "fieldSelector" && requirement["key"].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(path.child("key"), "must be specified"));
        }
    }
}
