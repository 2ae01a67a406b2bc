//! Classes that a claim or an ingress gets where it names none, and what protects volumes that are in use.

use kinds::quantity::Quantity;
use serde_json::{Value, json};

use super::{Operation, Review};
use crate::object::{Object, map_of};
use crate::status::Status;
use crate::store::{Key, ResourceKey};

/// What says that a StorageClass is the one for claims that name none; the second is what was said long ago.
const DEFAULT_STORAGE: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

/// What says that an `IngressClass` is the one for ingresses that name none.
const DEFAULT_INGRESS: [&str; 1] = ["ingressclass.kubernetes.io/is-default-class"];

/// The annotation that named a claim's class long ago.
const OLD_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The annotation that named an ingress' class long ago.
const OLD_INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// Gives a claim the default StorageClass.
pub fn default_storage_class(review: &mut Review<'_>) {
    if review.operation != Operation::Create || !review.is_to("", "persistentvolumeclaims") {
        return;
    }
    let Some(claim) = &review.object else { return };
    let named = claim["spec"]
        .get("storageClassName")
        .is_some_and(|name| !name.is_null());
    if named || claim.annotation(OLD_STORAGE_CLASS).is_some() {
        return;
    }
    let found = default_class(review, ("storage.k8s.io", "storageclasses"), &DEFAULT_STORAGE);
    if let (Some(name), Some(claim)) = (found, review.object.as_mut()) {
        map_of(&mut claim["spec"]).insert("storageClassName".into(), name.into());
    }
}

/// Gives an ingress the default `IngressClass`.
pub fn default_ingress_class(review: &mut Review<'_>) {
    if review.operation != Operation::Create || !review.is_to("networking.k8s.io", "ingresses") {
        return;
    }
    let Some(ingress) = &review.object else { return };
    let named = ingress["spec"]
        .get("ingressClassName")
        .is_some_and(|name| !name.is_null());
    if named || ingress.annotation(OLD_INGRESS_CLASS).is_some() {
        return;
    }
    let found = default_class(review, ("networking.k8s.io", "ingressclasses"), &DEFAULT_INGRESS);
    if let (Some(name), Some(ingress)) = (found, review.object.as_mut()) {
        map_of(&mut ingress["spec"]).insert("ingressClassName".into(), name.into());
    }
}

/// Returns the default class: the newest of several, and the first by name of those.
fn default_class(review: &Review<'_>, resource: (&str, &str), annotations: &[&str]) -> Option<String> {
    let key = ResourceKey::new(resource.0, resource.1);
    let listing = review.api.store.list(&key, None, None, None, None).ok()?;
    let mut classes: Vec<Value> = listing.items.iter().map(|stored| stored.value()).collect();
    classes.retain(|class| {
        annotations
            .iter()
            .any(|name| class.annotation(name) == Some("true"))
    });
    classes.sort_by(|one, other| {
        other
            .metadata_text("creationTimestamp")
            .cmp(one.metadata_text("creationTimestamp"))
            .then_with(|| one.name().cmp(other.name()))
    });
    classes.first().map(|class| class.name().to_owned())
}

/// Keeps a volume and a claim until nobody uses them.
pub fn protect(review: &mut Review<'_>) {
    if review.operation != Operation::Create {
        return;
    }
    let finalizer = if review.is_to("", "persistentvolumes") {
        "kubernetes.io/pv-protection"
    } else if review.is_to("", "persistentvolumeclaims") {
        "kubernetes.io/pvc-protection"
    } else {
        return;
    };
    let Some(object) = review.object.as_mut() else {
        return;
    };
    if object.finalizers().contains(&finalizer) {
        return;
    }
    let finalizers = object
        .metadata_mut()
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    match finalizers.as_array_mut() {
        Some(finalizers) => finalizers.push(finalizer.into()),
        None => *finalizers = json!([finalizer]),
    }
}

/// Refuses a larger claim whose class can't grow.
pub fn check_resize(review: &Review<'_>) -> Result<(), Status> {
    if review.operation != Operation::Update || !review.is_to("", "persistentvolumeclaims") {
        return Ok(());
    }
    let (Some(claim), Some(old)) = (&review.object, review.old) else {
        return Ok(());
    };
    let size = |claim: &Value| {
        let storage = &claim["spec"]["resources"]["requests"]["storage"];
        Quantity::read(storage.as_str().unwrap_or("0"))
    };
    if !size(claim).is_more_than(size(old)) {
        return Ok(());
    }
    if old["status"]["phase"] != "Bound" {
        return Err(review.forbidden("Only bound persistent volume claims can be expanded"));
    }
    let class = |claim: &Value| -> String {
        let old_way = claim.annotation(OLD_STORAGE_CLASS);
        let named = old_way.or_else(|| claim["spec"]["storageClassName"].as_str());
        named.unwrap_or_default().to_owned()
    };
    let name = class(claim);
    let key = Key::new(&ResourceKey::new("storage.k8s.io", "storageclasses"), "", &name);
    let grows = !name.is_empty()
        && name == class(old)
        && review
            .api
            .store
            .get(&key)
            .is_some_and(|class| class.value()["allowVolumeExpansion"] == true);
    if grows {
        return Ok(());
    }
    Err(review.forbidden(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    ))
}
