//! What the expressions of webhooks and policies see of a write.

use expression::policy::{Compiler, Evaluation, Expression, Input, MATCH_CONDITIONS_BUDGET, Output, Returns};
use expression::{Access, Authorizer, Decision, ResourceAccess, Subject};
use serde_json::{Map, Value, json};

use super::{Review, Said};
use crate::caller::Caller;
use crate::resource::Resource;
use crate::store::{Key, ResourceKey};

/// The conditions under which a webhook or a policy is asked.
#[derive(Debug)]
pub struct Conditions {
    compiler: Compiler,
    all: Vec<(String, Result<Expression, String>)>,
}

/// What conditions come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Met {
    /// All are met.
    Yes,
    /// One isn't.
    No,
    /// None is unmet, but some failed.
    Failed(String),
}

impl Conditions {
    /// Reads `matchConditions`.
    pub fn read(compiler: Compiler, conditions: &Value) -> Self {
        let all = conditions.as_array().into_iter().flatten();
        let all = all
            .map(|condition| {
                let text = |name: &str| condition[name].as_str().unwrap_or_default();
                let compiled = compiler
                    .compile(text("expression"), Returns::Bool)
                    .map_err(|fault| format!("compilation error: {fault}"));
                (text("name").to_owned(), compiled)
            })
            .collect();
        Self { compiler, all }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns whether the conditions are met by a write.
    pub fn met(&self, seen: &Seen<'_>) -> Met {
        if self.all.is_empty() {
            return Met::Yes;
        }
        let evaluation = Evaluation::new(&self.compiler, seen.input(), MATCH_CONDITIONS_BUDGET);
        let mut failures = Vec::new();
        let mut unmet = false;
        for (_, condition) in &self.all {
            match condition {
                Err(fault) => failures.push(fault.clone()),
                Ok(condition) => match evaluation.evaluate(condition) {
                    Err(spent) => return Met::Failed(spent.to_string()),
                    Ok(Ok(Output::Bool(false))) => unmet = true,
                    Ok(Ok(_)) => {}
                    Ok(Err(failure)) => failures.push(failure),
                },
            }
        }
        if unmet {
            return Met::No;
        }
        match failures.as_slice() {
            [] => Met::Yes,
            [one] => Met::Failed(one.clone()),
            several => Met::Failed(format!("[{}]", several.join(", "))),
        }
    }
}

/// A write as expressions see it: objects in the version that a rule names.
pub struct Seen<'a> {
    /// The object as it will be; null for deletions.
    pub object: Value,
    /// The object as it was; null for new ones.
    pub old: Value,
    /// The request, without its objects.
    pub request: Value,
    /// The namespace; null for objects of the whole cluster.
    pub namespace: Value,
    /// The parameters of a policy; null where it has none.
    pub params: Value,
    resource: ResourceAccess,
    authorizer: Asker<'a>,
}

impl<'a> Seen<'a> {
    /// Returns a write whose objects are in the version of `resource`.
    pub fn new(review: &'a Review<'_>, resource: &Resource, object: Value, old: Value) -> Self {
        let place = review.place;
        let namespace = review.namespace();
        let namespace_object = if namespace.is_empty() || place.resource.is("", "namespaces") {
            Value::Null
        } else {
            let key = Key::new(&ResourceKey::new("", "namespaces"), "", namespace);
            review
                .api
                .store
                .get(&key)
                .map_or(Value::Null, |stored| stored.value())
        };
        Self {
            object,
            old,
            request: request(review, resource),
            namespace: namespace_object,
            params: Value::Null,
            resource: ResourceAccess {
                group: resource.group.to_string(),
                resource: resource.plural.to_string(),
                subresource: place.subresource.clone(),
                namespace: namespace.to_owned(),
                name: place.name.clone(),
                ..ResourceAccess::default()
            },
            authorizer: Asker { review },
        }
    }

    /// Returns what an evaluation needs.
    pub fn input(&self) -> Input<'_> {
        Input {
            object: &self.object,
            old_object: &self.old,
            request: &self.request,
            namespace_object: &self.namespace,
            params: &self.params,
            authorizer: Some((&self.authorizer, &self.resource)),
        }
    }
}

/// Returns the `AdmissionRequest` of a write, without its uid and its objects.
pub fn request(review: &Review<'_>, resource: &Resource) -> Value {
    let place = review.place;
    let caller = &review.call.caller;
    let mut request = Map::new();
    request.insert("kind".into(), kind(resource, &place.subresource));
    request.insert("resource".into(), resource_value(resource));
    request.insert("requestKind".into(), kind(&place.resource, &place.subresource));
    request.insert("requestResource".into(), resource_value(&place.resource));
    for (name, text) in [
        ("subResource", place.subresource.as_str()),
        ("requestSubResource", place.subresource.as_str()),
        ("name", place.name.as_str()),
        ("namespace", review.namespace()),
    ] {
        if !text.is_empty() {
            request.insert(name.into(), text.into());
        }
    }
    request.insert("operation".into(), review.operation.name().into());
    request.insert("userInfo".into(), user(caller));
    request.insert("dryRun".into(), review.dry_run.into());
    let options = match review.options {
        Said::Nothing => Value::Null,
        Said::Write(options) => options.document(review.old.is_none()),
        Said::Delete(options) => options.document(),
    };
    request.insert("options".into(), options);
    Value::Object(request)
}

fn user(caller: &Caller) -> Value {
    let mut user = Map::new();
    user.insert("username".into(), caller.user.clone().into());
    if !caller.uid.is_empty() {
        user.insert("uid".into(), caller.uid.clone().into());
    }
    if !caller.groups.is_empty() {
        user.insert("groups".into(), json!(caller.groups));
    }
    if !caller.extra.is_empty() {
        user.insert("extra".into(), json!(caller.extra));
    }
    Value::Object(user)
}

/// Returns the kind of what is written, which below an object may be another than the object's.
fn kind(resource: &Resource, below: &str) -> Value {
    let own = |kind: &str| json!({"group": &*resource.group, "version": &*resource.version, "kind": kind});
    match resource.subresource(below).filter(|below| !below.kind.is_empty()) {
        None => own(&resource.kind),
        Some(below) if below.group.is_empty() && below.version.is_empty() => own(below.kind),
        Some(below) => json!({"group": below.group, "version": below.version, "kind": below.kind}),
    }
}

fn resource_value(resource: &Resource) -> Value {
    json!({"group": &*resource.group, "version": &*resource.version, "resource": &*resource.plural})
}

/// Asks on behalf of an expression who may do what.
struct Asker<'a> {
    review: &'a Review<'a>,
}

impl Authorizer for Asker<'_> {
    fn authorize(&self, subject: &Subject, verb: &str, access: &Access) -> Decision {
        let account;
        let caller = match subject {
            Subject::Requester => &*self.review.call.caller,
            Subject::ServiceAccount { namespace, name } => {
                account = Caller::named(
                    &format!("system:serviceaccount:{namespace}:{name}"),
                    &[
                        "system:serviceaccounts",
                        &format!("system:serviceaccounts:{namespace}"),
                        "system:authenticated",
                    ],
                );
                &account
            }
        };
        self.review.may(caller, verb, access)
    }
}
