//! New tokens of ServiceAccounts, as clients ask for them.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use schema::FieldError;
use schema::field_error::FieldPath;
use serde_json::{Value, json};

use super::attributes::quoted;
use super::tokens::{Bound, Claimed, ISSUER};
use crate::admission::{Operation, Review};
use crate::api::{Answered, Api, Call, Outcome, Place, Written};
use crate::object::{Object as _, map_of, timestamp};
use crate::options::WriteOptions;
use crate::resource::{Resource, api_version, split_api_version};
use crate::status::{GroupResource, Status};
use crate::store::{Key, ResourceKey, Stored};

/// The group of token requests.
const GROUP: &str = "authentication.k8s.io";

/// The kind of token requests.
const KIND: &str = "TokenRequest";

/// For how many seconds a token is good where the request doesn't say.
const USUAL_SECONDS: i64 = 3600;

/// The shortest time for which a token can be had.
const SHORTEST_SECONDS: i64 = 600;

/// The longest time for which a token can be had.
const LONGEST_SECONDS: i64 = 1 << 32;

/// What kubelets ask for: those tokens live longer and say when a new one is due, because old clients never ask again.
const PROJECTED_SECONDS: i64 = 3607;

/// How long those tokens live.
const EXTENDED_SECONDS: i64 = 365 * 24 * 60 * 60;

impl Api {
    /// Makes a token of a ServiceAccount.
    pub(crate) async fn request_token(
        &self,
        call: &Call,
        place: &Place,
        mut request: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let about = GroupResource {
            group: GROUP,
            resource: KIND,
        };
        for (field, own, what) in [
            ("name", &place.name, "name"),
            ("namespace", &place.namespace, "namespace"),
        ] {
            let given = request.metadata_text(field);
            if !given.is_empty() && given != own {
                let path = FieldPath::new("metadata").child(field);
                let detail = format!("must match the service account {what} if specified");
                let errors = [FieldError::invalid(path, &json!(given), detail)];
                return Err(Status::invalid(GROUP, KIND, &place.name, &errors));
            }
        }
        let account = self.get(&Place {
            subresource: String::new(),
            ..place.clone()
        })?;
        let given = request.metadata_text("uid");
        if !given.is_empty() && given != &*account.uid {
            let why = format!(
                "the UID in the token request ({given}) does not match the UID of the service account ({})",
                account.uid
            );
            return Err(Status::conflict(about, &place.name, why));
        }

        let now = Timestamp::now();
        let object = map_of(&mut request);
        object.insert("kind".into(), KIND.into());
        object.insert("apiVersion".into(), api_version(GROUP, "v1").into());
        object.remove("status");
        let spec = map_of(object.entry("spec").or_insert(Value::Null));
        if spec.get("expirationSeconds").is_none_or(Value::is_null) {
            spec.insert("expirationSeconds".into(), USUAL_SECONDS.into());
        }
        let mut request = self.note_fields(call, &request_place(place), None, request, options)?;
        complete(&mut request, &account, now);
        let seconds = request["spec"]["expirationSeconds"]
            .as_i64()
            .unwrap_or(USUAL_SECONDS);
        let errors = validate(seconds);
        if !errors.is_empty() {
            return Err(Status::invalid(GROUP, KIND, "", &errors));
        }
        let mut review = Review::new(
            self,
            call,
            place,
            Operation::Create,
            Some(request),
            None,
            options.dry_run,
        );
        self.admission.mutate(&mut review).await?;
        self.admission.validate(&review).await?;
        let mut request = review.into_object();

        let bound = self.bound(place, &request["spec"]["boundObjectRef"])?;
        let audiences: Vec<String> = request["spec"]["audiences"]
            .as_array()
            .map(|all| all.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default();
        let extended = bound.pod.is_some()
            && seconds == PROJECTED_SECONDS
            && audiences.iter().all(|audience| audience == ISSUER);
        let claimed = Claimed {
            account: (&place.namespace, &place.name, &account.uid),
            bound,
            audiences: &audiences,
            seconds: if extended { EXTENDED_SECONDS } else { seconds },
            warn_after: extended.then_some(seconds),
        };
        let claims = claimed.claims(now, &uuid::Uuid::new_v4().to_string());
        let key = self.access.keys.signing().map_err(Status::internal)?;
        let token = key
            .sign(&claims)
            .map_err(|why| Status::internal(format_args!("failed to generate token: {why}")))?;
        let expires = now
            .checked_add(SignedDuration::from_secs(seconds))
            .unwrap_or(Timestamp::MAX);
        map_of(&mut request).insert(
            "status".into(),
            json!({"token": token, "expirationTimestamp": timestamp(expires)}),
        );
        Ok(Written {
            outcome: Outcome::Created,
            answer: Answered::Value(request),
        })
    }

    /// Returns what a token is to be bound to.
    fn bound(&self, place: &Place, reference: &Value) -> Result<Bound, Status> {
        if !reference.is_object() {
            return Ok(Bound::default());
        }
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let (group, version) = split_api_version(text("apiVersion"));
        let (kind, name) = (text("kind"), text("name"));
        let (plural, namespace) = match (group, kind) {
            ("", "Pod") => ("pods", place.namespace.as_str()),
            ("", "Secret") => ("secrets", place.namespace.as_str()),
            ("", "Node") => ("nodes", ""),
            _ => {
                return Err(Status::bad_request(format!(
                    "cannot bind token to object of type {group}/{version}, Kind={kind}"
                )));
            }
        };
        let stored = |plural: &str, namespace: &str, name: &str| {
            self.store
                .get(&Key::new(&ResourceKey::new("", plural), namespace, name))
        };
        let about = GroupResource {
            group: "",
            resource: plural,
        };
        let object = stored(plural, namespace, name).ok_or_else(|| Status::not_found(about, name))?;
        let mut bound = Bound::default();
        let named = Some((name.to_owned(), object.uid.to_string()));
        match plural {
            "pods" => {
                let pod = object.value();
                if pod["spec"]["serviceAccountName"].as_str() != Some(&place.name) {
                    return Err(Status::bad_request(format!(
                        "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                        quoted(&place.name)
                    )));
                }
                bound.pod = named;
                let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
                if !node.is_empty() {
                    let uid = stored("nodes", "", node).map(|node| node.uid.to_string());
                    bound.node = Some((node.to_owned(), uid.unwrap_or_default()));
                }
            }
            "secrets" => bound.secret = named,
            _ => bound.node = named,
        }
        let wanted = text("uid");
        if !wanted.is_empty() && wanted != &*object.uid {
            let about = GroupResource {
                group,
                resource: kind,
            };
            let why = format!(
                "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have \
                 been deleted and then recreated"
            );
            return Err(Status::conflict(about, name, why));
        }
        Ok(bound)
    }
}

/// Returns the place of a request as if requests were a resource of their own, for the owners of its fields.
fn request_place(place: &Place) -> Place {
    let account = &place.resource;
    let resource = Resource {
        group: GROUP.into(),
        version: "v1".into(),
        kind: KIND.into(),
        list_kind: "".into(),
        plural: "tokenrequests".into(),
        singular: "tokenrequest".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: &["create"],
        subresources: Vec::new(),
        storage: account.storage.clone(),
        storage_api_version: api_version(GROUP, "v1").into(),
        nature: account.nature.clone(),
    };
    Place {
        resource: Arc::new(resource),
        ..place.clone()
    }
}

/// Fills in what a request leaves open.
fn complete(request: &mut Value, account: &Stored, now: Timestamp) {
    let spec = map_of(map_of(request).entry("spec").or_insert(Value::Null));
    if spec
        .get("audiences")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        spec.insert("audiences".into(), json!([ISSUER]));
    }
    spec.entry("boundObjectRef").or_insert(Value::Null);
    let metadata = request.metadata_mut();
    metadata.insert("name".into(), (*account.key.name).into());
    metadata.insert("namespace".into(), (*account.key.namespace).into());
    metadata.insert("uid".into(), (*account.uid).into());
    metadata.insert("creationTimestamp".into(), timestamp(now).into());
}

fn validate(seconds: i64) -> Vec<FieldError> {
    let path = FieldPath::new("spec").child("expirationSeconds");
    let detail = if seconds < SHORTEST_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > LONGEST_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Vec::new();
    };
    vec![FieldError::invalid(path, &json!(seconds), detail)]
}
