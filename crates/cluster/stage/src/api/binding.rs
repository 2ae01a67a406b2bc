//! A pod is given to a node.

use jiff::Timestamp;
use schema::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::{Answered, Api, Call, MOST_ATTEMPTS, Outcome, Place, Written};
use crate::admission::{Operation, Review};
use crate::object::{Object, map_of, timestamp};
use crate::options::WriteOptions;
use crate::status::{GroupResource, Status};
use crate::store::{Change, Expect, Write, WriteError};

const BINDING: GroupResource<'static> = GroupResource {
    group: "",
    resource: "pods/binding",
};

impl Api {
    /// Gives a pod to the node that a binding names; its annotations go to the pod.
    pub async fn bind(
        &self,
        call: &Call,
        place: &Place,
        binding: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        if binding.name() != place.name {
            return Err(Status::bad_request(
                "name in URL does not match name in Binding object",
            ));
        }
        let target = &binding["target"];
        let kind = target["kind"].as_str().unwrap_or_default();
        let node = target["name"].as_str().unwrap_or_default().to_owned();
        let mut errors = Vec::new();
        if !matches!(kind, "" | "Node") {
            let path = FieldPath::new("target").child("kind");
            errors.push(FieldError::not_supported(
                path,
                &json!(kind),
                &["Node", "<empty>"],
            ));
        }
        if node.is_empty() {
            errors.push(FieldError::required(FieldPath::new("target").child("name"), ""));
        }
        if let Some(error) = errors.first() {
            // The real server aggregates these without a code of their own, which makes them internal errors.
            return Err(Status::refusal(
                http::StatusCode::INTERNAL_SERVER_ERROR,
                "",
                error.to_string(),
            ));
        }
        let review = Review::new(
            self,
            call,
            place,
            Operation::Create,
            Some(binding),
            None,
            options.dry_run,
        );
        self.admission.validate(&review).await?;
        let binding = review.into_object();
        for _ in 0..MOST_ATTEMPTS {
            let stored = self.get(place)?;
            let mut pod = stored.value();
            let refuse = |why: String| Status::conflict(BINDING, &place.name, why);
            if !binding.uid().is_empty() && binding.uid() != &*stored.uid {
                let why = format!(
                    "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                    binding.uid(),
                    stored.uid
                );
                return Err(refuse(why));
            }
            if pod.is_being_deleted() {
                return Err(refuse(format!(
                    "pod {} is being deleted, cannot be assigned to a host",
                    place.name
                )));
            }
            let assigned = pod["spec"]["nodeName"].as_str().unwrap_or_default();
            if !assigned.is_empty() {
                return Err(refuse(format!(
                    "pod {} is already assigned to node \"{assigned}\"",
                    place.name
                )));
            }
            if pod["spec"]["schedulingGates"]
                .as_array()
                .is_some_and(|gates| !gates.is_empty())
            {
                return Err(refuse(format!(
                    "pod {} has non-empty .spec.schedulingGates",
                    place.name
                )));
            }
            assign(&mut pod, &binding, &node, Timestamp::now());
            if options.dry_run {
                break;
            }
            let write = Write {
                key: place.key(),
                expect: Expect::Revision(stored.revision),
                change: Change::Put(pod),
            };
            match self.store.write(write).await {
                Ok(_) => break,
                Err(WriteError::Conflict { .. }) => {}
                Err(error) => return Err(Self::write_failure(place, error)),
            }
        }
        let done =
            json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
        Ok(Written {
            outcome: Outcome::Created,
            answer: Answered::Value(done),
        })
    }
}

fn assign(pod: &mut Value, binding: &Value, node: &str, now: Timestamp) {
    map_of(&mut pod["spec"]).insert("nodeName".into(), node.into());
    for field in ["annotations", "labels"] {
        let Some(given) = binding["metadata"][field]
            .as_object()
            .filter(|given| !given.is_empty())
        else {
            continue;
        };
        let there = map_of(pod.metadata_mut().entry(field).or_insert(Value::Null));
        for (name, value) in given {
            there.insert(name.clone(), value.clone());
        }
    }
    let status = map_of(map_of(pod).entry("status").or_insert(Value::Null));
    status.remove("nominatedNodeName");
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let scheduled = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": timestamp(now),
    });
    match conditions.iter_mut().find(|one| one["type"] == "PodScheduled") {
        Some(there) if there["status"] == "True" => {}
        Some(there) => *there = scheduled,
        None => conditions.push(scheduled),
    }
}
