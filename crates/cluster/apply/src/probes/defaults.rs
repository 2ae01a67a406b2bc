//! What every revision of an extension asks of its objects.

use api::cluster_object_set::{
    Assertion, ConditionEqual, FieldValue, FieldsEqual, GroupKind, ProbeSelector, ProgressionProbe,
};

/// Returns the probes that every revision of an extension has.
pub fn default_probes() -> Vec<ProgressionProbe> {
    let ready = || condition("Ready");
    let rolled_out = || vec![updated(), condition("Available")];
    vec![
        probe(
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            vec![condition("Established")],
        ),
        probe("cert-manager.io", "Certificate", vec![ready()]),
        probe("cert-manager.io", "Issuer", vec![ready()]),
        probe("", "Namespace", vec![phase("Active")]),
        probe("", "PersistentVolumeClaim", vec![phase("Bound")]),
        probe("apps", "StatefulSet", rolled_out()),
        probe("apps", "Deployment", rolled_out()),
    ]
}

fn probe(group: &str, kind: &str, assertions: Vec<Assertion>) -> ProgressionProbe {
    ProgressionProbe {
        selector: ProbeSelector {
            kind: "GroupKind".to_owned(),
            group_kind: Some(GroupKind {
                group: group.to_owned(),
                kind: kind.to_owned(),
            }),
            label: None,
        },
        assertions,
    }
}

fn condition(kind: &str) -> Assertion {
    Assertion {
        kind: "ConditionEqual".to_owned(),
        condition_equal: Some(ConditionEqual {
            kind: kind.to_owned(),
            status: "True".to_owned(),
        }),
        ..Assertion::default()
    }
}

fn phase(value: &str) -> Assertion {
    Assertion {
        kind: "FieldValue".to_owned(),
        field_value: Some(FieldValue {
            field_path: "status.phase".to_owned(),
            value: value.to_owned(),
        }),
        ..Assertion::default()
    }
}

fn updated() -> Assertion {
    Assertion {
        kind: "FieldsEqual".to_owned(),
        fields_equal: Some(FieldsEqual {
            field_a: "status.updatedReplicas".to_owned(),
            field_b: "status.replicas".to_owned(),
        }),
        ..Assertion::default()
    }
}
