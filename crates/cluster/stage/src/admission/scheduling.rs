//! What decides where pods run and which give way: priorities, tolerations, runtime classes.

use serde_json::{Value, json};

use super::{Operation, Review};
use crate::object::{Object, map_of};
use crate::status::Status;
use crate::store::{Key, ResourceKey};

/// How long a pod stays on a node that isn't ready or can't be reached, where the pod doesn't say.
const TOLERATION_SECONDS: i64 = 300;

/// The classes that every cluster has.
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

/// Gives a pod the priority of its class.
pub fn prioritize(review: &mut Review<'_>) -> Result<(), Status> {
    if !review.is_to("", "pods") {
        return Ok(());
    }
    match review.operation {
        Operation::Update => {
            let (Some(pod), Some(old)) = (review.object.as_mut(), review.old) else {
                return Ok(());
            };
            for field in ["priority", "preemptionPolicy"] {
                if let Some(known) = old["spec"].get(field)
                    && pod["spec"].get(field).is_none_or(Value::is_null)
                {
                    map_of(&mut pod["spec"]).insert(field.into(), known.clone());
                }
            }
            Ok(())
        }
        Operation::Create => establish(review),
        _ => Ok(()),
    }
}

fn establish(review: &mut Review<'_>) -> Result<(), Status> {
    let Some(pod) = review.object.as_ref() else {
        return Ok(());
    };
    let spec = &pod["spec"];
    let named = spec["priorityClassName"].as_str().unwrap_or_default().to_owned();
    let (name, priority, policy) = if named.is_empty() {
        match default_class(review) {
            Some(class) => (class.name().to_owned(), value_of(&class), policy_of(&class)),
            None => (String::new(), 0, Some("PreemptLowerPriority".to_owned())),
        }
    } else {
        let key = Key::new(
            &ResourceKey::new("scheduling.k8s.io", "priorityclasses"),
            "",
            &named,
        );
        match review.api.store.get(&key) {
            Some(class) => {
                let class = class.value();
                (named, value_of(&class), policy_of(&class))
            }
            None => {
                if let Some((_, value)) = SYSTEM_CLASSES.iter().find(|(name, _)| *name == named) {
                    (named, *value, Some("PreemptLowerPriority".to_owned()))
                } else {
                    let why = format!("no PriorityClass with name {named} was found");
                    return Err(review.forbidden(why));
                }
            }
        }
    };
    if let Some(given) = spec["priority"].as_i64()
        && given != priority
    {
        return Err(review.forbidden(format_args!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {priority} from the given PriorityClass name"
        )));
    }
    if let (Some(given), Some(policy)) = (spec["preemptionPolicy"].as_str(), &policy)
        && given != policy
    {
        return Err(review.forbidden(format_args!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        )));
    }
    let Some(pod) = review.object.as_mut() else {
        return Ok(());
    };
    let spec = map_of(&mut pod["spec"]);
    if !name.is_empty() {
        spec.insert("priorityClassName".into(), name.into());
    }
    spec.insert("priority".into(), priority.into());
    if let Some(policy) = policy {
        spec.insert("preemptionPolicy".into(), policy.into());
    }
    Ok(())
}

fn value_of(class: &Value) -> i64 {
    class["value"].as_i64().unwrap_or(0)
}

fn policy_of(class: &Value) -> Option<String> {
    class["preemptionPolicy"].as_str().map(ToOwned::to_owned)
}

/// Returns the class of pods that name none: the lowest of those that are said to be.
fn default_class(review: &Review<'_>) -> Option<Value> {
    let resource = ResourceKey::new("scheduling.k8s.io", "priorityclasses");
    let listing = review.api.store.list(&resource, None, None, None, None).ok()?;
    let classes = listing.items.iter().map(|stored| stored.value());
    classes
        .filter(|class| class["globalDefault"] == true)
        .min_by_key(value_of)
}

/// Refuses a second class for pods that name none.
pub fn check_priority_class(review: &Review<'_>) -> Result<(), Status> {
    if !review.is_to("scheduling.k8s.io", "priorityclasses")
        || !matches!(review.operation, Operation::Create | Operation::Update)
    {
        return Ok(());
    }
    let Some(class) = review
        .object
        .as_ref()
        .filter(|class| class["globalDefault"] == true)
    else {
        return Ok(());
    };
    match default_class(review) {
        Some(known) if review.operation == Operation::Create || known.name() != class.name() => Err(review
            .forbidden(format_args!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                known.name()
            ))),
        _ => Ok(()),
    }
}

/// Lets a pod stay for a while on a node that has problems, unless it says otherwise.
pub fn tolerate(review: &mut Review<'_>) {
    if !review.is_to("", "pods") || !matches!(review.operation, Operation::Create | Operation::Update) {
        return;
    }
    let Some(pod) = review.object.as_mut() else { return };
    let spec = map_of(&mut pod["spec"]);
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if tolerations.is_null() {
        *tolerations = json!([]);
    }
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = tolerations.iter().any(|one| {
            let text = |field: &str| one[field].as_str().unwrap_or_default();
            matches!(text("effect"), "" | "NoExecute") && (text("key").is_empty() || text("key") == key)
        });
        if !tolerated {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS,
            }));
        }
    }
}

/// Gives a pod what its RuntimeClass costs and where it runs.
pub fn apply_runtime_class(review: &mut Review<'_>) -> Result<(), Status> {
    let Some(class) = runtime_class(review)? else {
        return Ok(());
    };
    let overhead = &class["overhead"]["podFixed"];
    let Some(pod) = review.object.as_ref() else {
        return Ok(());
    };
    let own = &pod["spec"]["overhead"];
    if class["overhead"].is_object() && own.as_object().is_some_and(|own| !own.is_empty()) && own != overhead
    {
        return Err(review.forbidden(WRONG_OVERHEAD));
    }
    let selector = class["scheduling"]["nodeSelector"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    for (key, wanted) in &selector {
        let own = &pod["spec"]["nodeSelector"][key];
        if own.is_string() && own != wanted {
            let (wanted, own) = (
                wanted.as_str().unwrap_or_default(),
                own.as_str().unwrap_or_default(),
            );
            return Err(review.forbidden(format_args!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {own}"
            )));
        }
    }
    let Some(pod) = review.object.as_mut() else {
        return Ok(());
    };
    let spec = map_of(&mut pod["spec"]);
    if overhead.is_object() {
        spec.insert("overhead".into(), overhead.clone());
    }
    if !selector.is_empty() {
        let own = map_of(spec.entry("nodeSelector").or_insert_with(|| json!({})));
        own.extend(selector);
    }
    let tolerations = class["scheduling"]["tolerations"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if !tolerations.is_empty() {
        let own = spec.entry("tolerations").or_insert_with(|| json!([]));
        if let Some(own) = own.as_array_mut() {
            for toleration in tolerations {
                if !own.contains(&toleration) {
                    own.push(toleration);
                }
            }
        }
    }
    Ok(())
}

const WRONG_OVERHEAD: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/// Refuses a pod whose overhead isn't its RuntimeClass's.
pub fn check_overhead(review: &Review<'_>) -> Result<(), Status> {
    if review.operation != Operation::Create || !review.is_to("", "pods") {
        return Ok(());
    }
    let class = runtime_class(review)?;
    let Some(pod) = review.object.as_ref() else {
        return Ok(());
    };
    let own = pod["spec"].get("overhead").filter(|own| !own.is_null());
    let defined = class.as_ref().and_then(|class| class["overhead"].get("podFixed"));
    match (defined, own) {
        (Some(defined), own) if own != Some(defined) => Err(review.forbidden(WRONG_OVERHEAD)),
        (None, Some(_)) => Err(review
            .forbidden("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")),
        _ => Ok(()),
    }
}

fn runtime_class(review: &Review<'_>) -> Result<Option<Value>, Status> {
    if review.operation != Operation::Create || !review.is_to("", "pods") {
        return Ok(None);
    }
    let spec = review.object.as_ref().map(|pod| &pod["spec"]);
    let Some(name) = spec.and_then(|spec| spec["runtimeClassName"].as_str()) else {
        return Ok(None);
    };
    let key = Key::new(&ResourceKey::new("node.k8s.io", "runtimeclasses"), "", name);
    match review.api.store.get(&key) {
        Some(class) => Ok(Some(class.value())),
        None => Err(review.forbidden(format_args!("pod rejected: RuntimeClass \"{name}\" not found"))),
    }
}
