//! The types of `request` and `namespaceObject`.

use std::sync::Arc;

use crate::check::types::ObjectType;
use crate::check::{Declared, Type};

fn object<const N: usize>(name: &str, fields: [(&'static str, Type); N]) -> Type {
    let fields = fields.map(|(name, of)| (name, Declared::of(of)));
    Type::Struct(Arc::new(ObjectType {
        name: name.into(),
        declared: Some(Declared::object(fields)),
    }))
}

fn strings() -> Type {
    Type::list(Type::String)
}

/// Returns the type of `request`.
pub(super) fn request() -> Type {
    let text = || Type::String;
    let kind = object(
        "kubernetes.GroupVersionKind",
        [("group", text()), ("version", text()), ("kind", text())],
    );
    let resource = object(
        "kubernetes.GroupVersionResource",
        [("group", text()), ("version", text()), ("resource", text())],
    );
    let extra = Type::map(Type::String, strings());
    let user = object(
        "kubernetes.UserInfo",
        [
            ("username", text()),
            ("uid", text()),
            ("groups", strings()),
            ("extra", extra),
        ],
    );
    object(
        "kubernetes.AdmissionRequest",
        [
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", text()),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", text()),
            ("name", text()),
            ("namespace", text()),
            ("operation", text()),
            ("userInfo", user),
            ("dryRun", Type::Bool),
            ("options", Type::Dyn),
        ],
    )
}

/// Returns the type of `namespaceObject`.
pub(super) fn namespace() -> Type {
    let text = || Type::String;
    let texts = || Type::map(Type::String, Type::String);
    let metadata = object(
        "kubernetes.NamespaceMetadata",
        [
            ("name", text()),
            ("generateName", text()),
            ("namespace", text()),
            ("labels", texts()),
            ("annotations", texts()),
            ("UID", text()),
            ("creationTimestamp", Type::Timestamp),
            ("deletionGracePeriodSeconds", Type::Int),
            ("deletionTimestamp", Type::Timestamp),
            ("generation", Type::Int),
            ("resourceVersion", text()),
            ("finalizers", strings()),
        ],
    );
    let condition = object(
        "kubernetes.NamespaceCondition",
        [
            ("status", text()),
            ("type", text()),
            ("lastTransitionTime", Type::Timestamp),
            ("message", text()),
            ("reason", text()),
        ],
    );
    let status = object(
        "kubernetes.NamespaceStatus",
        [("conditions", Type::list(condition)), ("phase", text())],
    );
    let spec = object("kubernetes.NamespaceSpec", [("finalizers", strings())]);
    object(
        "kubernetes.Namespace",
        [("metadata", metadata), ("spec", spec), ("status", status)],
    )
}
