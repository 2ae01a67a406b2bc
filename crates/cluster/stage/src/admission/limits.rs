//! LimitRanges: what containers get where they name nothing, and what they may name at most and at least.

use kinds::quantity::Quantity;
use serde_json::{Value, json};

use super::{Operation, Review};
use crate::node::requests::{self, Amounts, amounts};
use crate::object::{Object, map_of};
use crate::status::Status;
use crate::store::ResourceKey;

/// The annotation that says what was filled in.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Fills in what the LimitRanges of a namespace give to containers.
pub fn admit(review: &mut Review<'_>) {
    if !is_of_interest(review) || !review.place.resource.is("", "pods") {
        return;
    }
    let ranges = ranges(review);
    let Some(pod) = review.object.as_mut() else { return };
    for range in ranges {
        let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
        for limit in limits_of(&range, "Container") {
            requests.extend(amounts(&limit["defaultRequest"]));
            limits.extend(amounts(&limit["default"]));
        }
        let mut told = Vec::new();
        for (list, called) in [("containers", "container"), ("initContainers", "init container")] {
            let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                fill(container, called, &requests, &limits, &mut told);
            }
        }
        if !told.is_empty() {
            let text = format!("LimitRanger plugin set: {}", told.join("; "));
            let annotations = pod
                .metadata_mut()
                .entry("annotations")
                .or_insert_with(|| json!({}));
            map_of(annotations).insert(ANNOTATION.into(), text.into());
        }
    }
}

fn fill(container: &mut Value, called: &str, requests: &Amounts, limits: &Amounts, told: &mut Vec<String>) {
    if !container.is_object() {
        return;
    }
    let name = container["name"].as_str().unwrap_or_default().to_owned();
    let set = |field: &str, word: &str, defaults: &Amounts, container: &mut Value| {
        let missing: Vec<(&String, &Quantity)> = defaults
            .iter()
            .filter(|(resource, _)| container["resources"][field].get(resource.as_str()).is_none())
            .collect();
        if missing.is_empty() {
            return None;
        }
        let names: Vec<&str> = missing.iter().map(|(resource, _)| resource.as_str()).collect();
        let text = format!("{} {word} for {called} {name}", names.join(", "));
        let resources = map_of(container).entry("resources").or_insert_with(|| json!({}));
        let wanted = map_of(map_of(resources).entry(field).or_insert_with(|| json!({})));
        for (resource, amount) in missing {
            wanted.insert(resource.clone(), amount.written().into());
        }
        Some(text)
    };
    let filled_limits = set("limits", "limit", limits, container);
    let filled_requests = set("requests", "request", requests, container);
    told.extend(filled_requests);
    told.extend(filled_limits);
}

/// Refuses pods and claims that are outside the LimitRanges of their namespace.
pub fn validate(review: &Review<'_>) -> Result<(), Status> {
    if !is_of_interest(review) {
        return Ok(());
    }
    let Some(object) = &review.object else {
        return Ok(());
    };
    let is_pod = review.place.resource.is("", "pods");
    for range in ranges(review) {
        let mut problems = Vec::new();
        if is_pod {
            pod_problems(&range, &object["spec"], &mut problems);
        } else {
            let requests = amounts(&object["spec"]["resources"]["requests"]);
            for limit in limits_of(&range, "PersistentVolumeClaim") {
                for (name, enforced) in amounts(&limit["min"]) {
                    let bounds = Bounds::new("PersistentVolumeClaim", &name, enforced);
                    problems.extend(bounds.minimum(&requests, &Amounts::new()));
                }
                for (name, enforced) in amounts(&limit["max"]) {
                    let bounds = Bounds::new("PersistentVolumeClaim", &name, enforced);
                    problems.extend(bounds.maximum_request(&requests));
                }
            }
        }
        match problems.as_slice() {
            [] => {}
            [one] => return Err(review.forbidden(one)),
            several => return Err(review.forbidden(format_args!("[{}]", several.join(", ")))),
        }
    }
    Ok(())
}

fn is_of_interest(review: &Review<'_>) -> bool {
    let place = review.place;
    let of_kind = match review.operation {
        Operation::Create => review.is_to("", "pods") || review.is_to("", "persistentvolumeclaims"),
        Operation::Update => {
            review.is_to("", "persistentvolumeclaims")
                || (place.resource.is("", "pods") && place.subresource == "resize")
        }
        _ => false,
    };
    of_kind && !review.old.is_some_and(Object::is_being_deleted)
}

/// Returns the LimitRanges of the review's namespace.
fn ranges(review: &Review<'_>) -> Vec<Value> {
    let resource = ResourceKey::new("", "limitranges");
    let store = &review.api.store;
    if store.count(&resource) == 0 {
        return Vec::new();
    }
    let listing = store.list(&resource, Some(&review.place.namespace), None, None, None);
    let items = listing.map(|listing| listing.items).unwrap_or_default();
    items.iter().map(|stored| stored.value()).collect()
}

fn limits_of<'a>(range: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let limits = range["spec"]["limits"].as_array().into_iter().flatten();
    limits.filter(move |limit| limit["type"] == kind)
}

fn pod_problems(range: &Value, spec: &Value, problems: &mut Vec<String>) {
    let limits = range["spec"]["limits"].as_array().into_iter().flatten();
    for limit in limits {
        let kind = limit["type"].as_str().unwrap_or_default();
        let mut judge = |requests: &Amounts, most: &Amounts| {
            for (name, enforced) in amounts(&limit["min"]) {
                problems.extend(Bounds::new(kind, &name, enforced).minimum(requests, most));
            }
            for (name, enforced) in amounts(&limit["max"]) {
                problems.extend(Bounds::new(kind, &name, enforced).maximum(requests, most));
            }
            for (name, enforced) in amounts(&limit["maxLimitRequestRatio"]) {
                problems.extend(Bounds::new(kind, &name, enforced).ratio(requests, most));
            }
        };
        match kind {
            "Container" => {
                for list in ["containers", "initContainers"] {
                    for container in spec[list].as_array().into_iter().flatten() {
                        let resources = &container["resources"];
                        judge(&amounts(&resources["requests"]), &amounts(&resources["limits"]));
                    }
                }
            }
            "Pod" => {
                // What running the pod costs beside isn't the pod's choice.
                let mut spec = spec.clone();
                map_of(&mut spec).remove("overhead");
                let pod = json!({"spec": spec});
                judge(&requests::of_pod(&pod), &requests::limits_of_pod(&pod));
            }
            _ => {}
        }
    }
}

/// A bound of one resource.
struct Bounds<'a> {
    kind: &'a str,
    name: &'a str,
    enforced: Quantity,
}

impl<'a> Bounds<'a> {
    fn new(kind: &'a str, name: &'a str, enforced: Quantity) -> Self {
        Self { kind, name, enforced }
    }

    fn beginning(&self, bound: &str) -> String {
        format!(
            "{bound} {} usage per {} is {}",
            self.name,
            self.kind,
            self.enforced.written()
        )
    }

    fn minimum(&self, requests: &Amounts, limits: &Amounts) -> Option<String> {
        let beginning = self.beginning("minimum");
        let Some(request) = requests.get(self.name) else {
            return Some(format!("{beginning}.  No request is specified"));
        };
        if self.enforced.is_more_than(*request) {
            return Some(format!("{beginning}, but request is {}", request.written()));
        }
        match limits.get(self.name) {
            Some(limit) if self.enforced.is_more_than(*limit) => {
                Some(format!("{beginning}, but limit is {}", limit.written()))
            }
            _ => None,
        }
    }

    fn maximum_request(&self, requests: &Amounts) -> Option<String> {
        let beginning = self.beginning("maximum");
        match requests.get(self.name) {
            None => Some(format!("{beginning}.  No request is specified")),
            Some(request) if request.is_more_than(self.enforced) => {
                Some(format!("{beginning}, but request is {}", request.written()))
            }
            Some(_) => None,
        }
    }

    fn maximum(&self, requests: &Amounts, limits: &Amounts) -> Option<String> {
        let beginning = self.beginning("maximum");
        let Some(limit) = limits.get(self.name) else {
            return Some(format!("{beginning}.  No limit is specified"));
        };
        if limit.is_more_than(self.enforced) {
            return Some(format!("{beginning}, but limit is {}", limit.written()));
        }
        match requests.get(self.name) {
            Some(request) if request.is_more_than(self.enforced) => {
                Some(format!("{beginning}, but request is {}", request.written()))
            }
            _ => None,
        }
    }

    fn ratio(&self, requests: &Amounts, limits: &Amounts) -> Option<String> {
        let beginning = format!(
            "{} max limit to request ratio per {} is {}",
            self.name,
            self.kind,
            self.enforced.written()
        );
        let set = |amounts: &Amounts| amounts.get(self.name).copied().filter(|amount| amount.is_set());
        let Some(request) = set(requests) else {
            return Some(format!(
                "{beginning}, but no request is specified or request is 0"
            ));
        };
        let Some(limit) = set(limits) else {
            return Some(format!("{beginning}, but no limit is specified or limit is 0"));
        };
        let ratio = limit.thousandths() as f64 / request.thousandths() as f64;
        (ratio * 1_000.0 > self.enforced.thousandths() as f64)
            .then(|| format!("{beginning}, but provided ratio is {ratio:.6}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_outside_its_bounds_is_told_which() {
        let range = json!({"spec": {"limits": [
            {"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "1", "memory": "1Gi"},
             "maxLimitRequestRatio": {"cpu": "2"}},
        ]}});
        let spec = json!({"containers": [{"name": "a", "resources": {
            "requests": {"cpu": "50m"}, "limits": {"cpu": "2"}}}]});
        let mut problems = Vec::new();
        pod_problems(&range, &spec, &mut problems);
        assert_eq!(
            problems,
            [
                "minimum cpu usage per Container is 100m, but request is 50m",
                "maximum cpu usage per Container is 1, but limit is 2",
                "maximum memory usage per Container is 1Gi.  No limit is specified",
                "cpu max limit to request ratio per Container is 2, but provided ratio is 40.000000",
            ]
        );
    }

    #[test]
    fn what_is_filled_in_is_told() {
        let mut container = json!({"name": "a", "resources": {"limits": {"cpu": "1"}}});
        let mut told = Vec::new();
        let defaults = amounts(&json!({"cpu": "100m", "memory": "64Mi"}));
        fill(&mut container, "container", &defaults, &defaults, &mut told);
        assert_eq!(
            told,
            [
                "cpu, memory request for container a",
                "memory limit for container a"
            ]
        );
        assert_eq!(container["resources"]["requests"]["memory"], "64Mi");
        assert_eq!(container["resources"]["limits"]["cpu"], "1");
    }
}
