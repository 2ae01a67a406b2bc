//! Claims of persistent volumes, and templates of them.

use schema::structural::name_rules::{dns_label, dns_subdomain};
use serde_json::Value;

use super::reading::Reading;
use super::report::{Errors, Path, Raw};
use super::{difference, internal, metadata, resources, selectors, syntax};
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree, same};

/// The ways in which volumes can be used.
pub(super) const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// What an older object may still hold.
#[derive(Default, Clone, Copy)]
pub(super) struct Allows {
    selector_values: bool,
    data_groups: bool,
}

/// Checks how a volume is used.
pub(super) fn access_modes(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    let modes = path.child("accessModes");
    let (mut alone, mut shared) = (false, false);
    for mode in spec.texts("accessModes") {
        if !ACCESS_MODES.contains(&mode) {
            errors.not_supported(&modes, mode, &ACCESS_MODES);
        } else if mode == "ReadWriteOncePod" {
            alone = true;
        } else {
            shared = true;
        }
    }
    if alone && shared {
        errors.forbidden(&modes, "may not use ReadWriteOncePod with other access modes");
    }
}

/// Checks the specification of a claim.
pub(super) fn spec(errors: &mut Errors, path: &Path<'_>, spec: &Fields, allows: Allows) {
    if spec.is_zero("accessModes") {
        errors.required(&path.child("accessModes"), "at least 1 access mode is required");
    }
    selectors::check(
        errors,
        &path.child("selector"),
        spec.part("selector"),
        allows.selector_values,
    );
    access_modes(errors, path, spec);
    let storage_path = path.child("resources");
    let storage_path = storage_path.key("storage");
    match spec.at("resources").at("requests").get("storage") {
        None => errors.required(&storage_path, ""),
        Some(amount) => {
            if resources::positive(errors, &storage_path, amount) {
                resources::amount(errors, &storage_path, "storage", amount);
            }
        }
    }
    for name in ["storageClassName", "volumeAttributesClassName"] {
        if name == "volumeAttributesClassName" {
            errors.one_of_if_set(
                &path.child("volumeMode"),
                spec.set_text("volumeMode"),
                &["Block", "Filesystem"],
            );
            data_sources(errors, path, spec, allows);
        }
        let class = spec.text(name);
        if !class.is_empty() {
            errors.faults(&path.child(name), class, dns_subdomain(class));
        }
    }
}

fn data_sources(errors: &mut Errors, path: &Path<'_>, spec: &Fields, allows: Allows) {
    for name in ["dataSource", "dataSourceRef"] {
        if !spec.has(name) {
            continue;
        }
        let (path, source) = (path.child(name), spec.at(name));
        super::volumes::demand(errors, &path, source, &["name", "kind"]);
        let (group, kind) = (source.text("apiGroup"), source.text("kind"));
        if group.is_empty() && kind != "PersistentVolumeClaim" {
            errors.invalid(
                &path,
                kind,
                "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            );
        }
        if !group.is_empty() && !allows.data_groups {
            errors.faults(&path.child("apiGroup"), group, dns_subdomain(group));
        }
        let namespace = source.text("namespace");
        if name == "dataSourceRef" && !namespace.is_empty() {
            errors.faults(&path.child("namespace"), namespace, dns_label(namespace));
        }
    }
    let (source, reference) = (spec.at("dataSource"), spec.at("dataSourceRef"));
    if !spec.has("dataSource") || !spec.has("dataSourceRef") {
        return;
    }
    // The server shows the path of the field, which is a structure without visible fields.
    let shown = || Raw("{}".to_owned());
    if !reference.is_zero("namespace") {
        errors.invalid(
            path,
            shown(),
            "may not be specified when dataSourceRef.namespace is specified",
        );
    } else if ["apiGroup", "kind", "name"]
        .iter()
        .any(|name| source.get(*name) != reference.get(*name))
    {
        errors.invalid(path, shown(), "must match dataSourceRef");
    }
}

/// Checks a template of a claim that is made for a pod.
pub(super) fn template(errors: &mut Errors, path: &Path<'_>, template: &Fields) {
    let meta_path = path.child("metadata");
    let meta = template.at("metadata");
    metadata::annotations(errors, &meta_path.child("annotations"), meta);
    syntax::labels(errors, &meta_path.child("labels"), meta.entries("labels"));
    for name in [
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "deletionGracePeriodSeconds",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ] {
        if !meta.is_zero(name) {
            // Go's name of the field begins with more than one capital.
            let name = if name == "uid" { "uID" } else { name };
            errors.forbidden(&meta_path.child(name), "cannot be set");
        }
    }
    spec(
        errors,
        &path.child("spec"),
        template.at("spec"),
        Allows::default(),
    );
}

/// Checks a claim.
pub(super) fn check(errors: &mut Errors, object: &Fields) {
    metadata::check(errors, "", "PersistentVolumeClaim", object);
    spec(errors, &Path::new("spec"), object.at("spec"), Allows::default());
}

const STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Checks an update of a claim.
pub(super) fn check_update(errors: &mut Errors, new: &Fields, old: &Fields) {
    let (new_spec, old_spec) = (new.at("spec"), old.at("spec"));
    metadata::check_update(errors, "", new, old);
    metadata::check(errors, "", "PersistentVolumeClaim", new);
    let mut old_faults = Errors::default();
    selectors::check(
        &mut old_faults,
        &Path::new("selector"),
        old_spec.part("selector"),
        false,
    );
    let has_group = |name: &str| old_spec.at(name).has("apiGroup");
    let allows = Allows {
        selector_values: !old_faults.is_empty(),
        data_groups: has_group("dataSource") || has_group("dataSourceRef"),
    };
    spec(errors, &Path::new("spec"), new_spec, allows);

    let (mut ours, mut theirs) = (new_spec.clone(), old_spec.clone());
    if theirs.is_zero("volumeName") {
        theirs.take_from(Some(&ours), "volumeName");
    }
    let annotation = |object: &Fields| {
        let annotations = object.at("metadata").at("annotations");
        annotations.set_text(STORAGE_CLASS).map(str::to_owned)
    };
    let (new_class, old_class) = (annotation(new), annotation(old));
    let set_class = new_spec.set_text("storageClassName");
    let moves_from_annotation = old_class.is_some()
        && !old_spec.has("storageClassName")
        && set_class.is_some()
        && set_class == old_class.as_deref()
        && (new_class.is_none() || new_class == old_class);
    if moves_from_annotation {
        ours.remove("storageClassName");
    } else {
        let (new_class, old_class) = (new_class.unwrap_or_default(), old_class.clone());
        if new_class != old_class.clone().unwrap_or_default() {
            errors.invalid(
                &Path::new("metadata.annotations").child(STORAGE_CLASS),
                &new_class,
                "field is immutable",
            );
        }
        let moves_from_nothing = set_class.is_some()
            && !old_spec.has("storageClassName")
            && (old_class.is_none() || set_class == old_class.as_deref());
        if moves_from_nothing {
            ours.remove("storageClassName");
        }
    }
    let is_bound = new.at("status").text("phase") == "Bound";
    if is_bound {
        if let Some(Value::Object(requests)) = ours
            .get_mut("resources")
            .and_then(|resources| resources.get_mut("requests"))
        {
            let before = old_spec.at("resources").at("requests").get("storage");
            requests.insert(
                "storage".to_owned(),
                before.cloned().unwrap_or_else(|| "0".into()),
            );
        }
        ours.take_from(Some(&theirs), "volumeAttributesClassName");
    }
    let (ours, theirs) = (Value::Object(ours), Value::Object(theirs));
    if !same(Some(&ours), Some(&theirs)) {
        let kind = "core.PersistentVolumeClaimSpec";
        let text = difference::between(
            &internal::lines(kind, Some(&theirs)),
            &internal::lines(kind, Some(&ours)),
        );
        errors.forbidden(
            &Path::new("spec"),
            format!(
                "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
                 claims\n{text}"
            ),
        );
    }
    sizes(errors, new_spec, old);
    if !new_spec.is_same(old_spec, "volumeMode") {
        errors.invalid(
            &Path::new("volumeMode"),
            new_spec.set_value("volumeMode"),
            "field is immutable",
        );
    }
    attributes_class(errors, new_spec, old);
}

fn sizes(errors: &mut Errors, new_spec: &Fields, old: &Fields) {
    let amount = |fields: &Fields| {
        let text = fields.get("storage").map(resources::quantity_text);
        Quantity::read(text.as_deref().unwrap_or("0"))
    };
    let size = amount(new_spec.at("resources").at("requests"));
    let before = amount(old.at("spec").at("resources").at("requests"));
    let capacity = amount(old.at("status").at("capacity"));
    if before.is_more_than(size) && !size.is_more_than(capacity) {
        errors.forbidden(
            &Path::new("spec.resources.requests.storage"),
            "field can not be less than status.capacity",
        );
    }
}

fn attributes_class(errors: &mut Errors, new_spec: &Fields, old: &Fields) {
    const NAME: &str = "volumeAttributesClassName";
    if new_spec.get(NAME) == old.at("spec").get(NAME)
        || !old.at("status").has("currentVolumeAttributesClassName")
    {
        return;
    }
    let what = match new_spec.set_text(NAME) {
        None => "nil",
        Some("") => "empty string",
        Some(_) => return,
    };
    errors.forbidden(
        &Path::new("spec").child(NAME),
        format!("update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"),
    );
}

/// Checks an update of a claim's status.
pub(super) fn check_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "", new, old);
    if new.at("spec").is_zero("accessModes") {
        errors.required(&Path::new("Spec.accessModes"), "");
    }
    let status = new.at("status");
    let capacity = Path::new("status.capacity");
    for (resource, amount) in status.at("capacity") {
        basic(errors, &capacity.key(resource), amount);
    }
    let progress = Path::new("status.allocatedResourceStatuses");
    let known = [
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
    ];
    for (resource, state) in status.entries("allocatedResourceStatuses") {
        resource_key(errors, &progress, resource);
        if !known.contains(&state) {
            errors.not_supported(&progress, resource, &known);
        }
    }
    let allocated = Path::new("status.allocatedResources");
    for (resource, amount) in status.at("allocatedResources") {
        if resource_key(errors, &allocated, resource) && basic(errors, &allocated.key(resource), amount) {
            resources::amount(errors, &allocated.key(resource), "storage", amount);
        }
    }
}

fn resource_key(errors: &mut Errors, path: &Path<'_>, resource: &str) -> bool {
    let faults = schema::structural::name_rules::label_key(resource);
    if !faults.is_empty() {
        errors.faults(path, resource, faults);
        return false;
    }
    let is_native = !resource.contains('/') || resource.contains("kubernetes.io/");
    let is_right = !is_native || resource == "storage";
    if !is_right {
        errors.not_supported(path, resource, &["storage"]);
    }
    is_right
}

/// Checks that an amount isn't below 0, as the server says it of volumes.
pub(super) fn basic(errors: &mut Errors, path: &Path<'_>, amount: &Value) -> bool {
    let value = Quantity::read(&resources::quantity_text(amount)).whole();
    if value < 0 {
        errors.invalid(path, value, "must be a valid resource quantity");
    }
    value >= 0
}
