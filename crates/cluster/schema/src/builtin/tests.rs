use serde_json::json;

use super::{Descriptions, definition, document, kind, kind_of, names, schema_of};
use crate::{ListType, MapType, Reference, Type};

#[test]
fn every_definition_reads_and_every_reference_leads_to_one() {
    let mut count = 0;
    for name in names() {
        count += 1;
        assert!(
            document(name).is_some_and(|document| document.is_object()),
            "{name}"
        );
        let schema = definition(name).expect(name);
        let inner = schema
            .properties
            .values()
            .chain(&schema.additional_properties)
            .chain(&schema.items);
        for reference in inner {
            let mut at = reference;
            loop {
                match at {
                    Reference::Definition { name: target, .. } => {
                        assert!(definition(target).is_some(), "{name} refers to {target}");
                        break;
                    }
                    Reference::Inline(schema) => {
                        match schema.items.as_ref().or(schema.additional_properties.as_ref()) {
                            Some(next) => at = next,
                            None => break,
                        }
                    }
                }
            }
        }
    }
    assert_eq!(count, 771);
}

#[test]
fn every_definition_has_its_line_of_descriptions() {
    let descriptions = Descriptions::unpack();
    let lines = descriptions.by_definition();
    assert_eq!(lines.len(), names().count());
    for (name, line) in lines {
        assert!(
            serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn a_kind_leads_to_its_definition_and_back() {
    let name = kind("apps", "v1", "Deployment").expect("a definition");
    assert_eq!(name, "io.k8s.api.apps.v1.Deployment");
    assert_eq!(
        kind_of(name).map(|found| (found.group, found.version, found.kind)),
        Some(("apps", "v1", "Deployment"))
    );
    assert_eq!(kind("", "v1", "Pod"), Some("io.k8s.api.core.v1.Pod"));
    assert_eq!(
        kind("autoscaling", "v1", "Scale"),
        Some("io.k8s.api.autoscaling.v1.Scale")
    );
    assert_eq!(kind("", "v1", "Deployment"), None);
    assert!(schema_of("", "v1", "Pod").is_some_and(|schema| schema.properties.contains_key("spec")));
    assert_eq!(definition("io.k8s.api.core.v1.Nothing"), None);
}

#[test]
fn lists_and_maps_say_how_they_merge() {
    let container = definition("io.k8s.api.core.v1.Container").expect("a definition");
    let ports = container.field("ports").expect("a field");
    assert_eq!(
        ports.list_type,
        ListType::Map(vec!["containerPort".into(), "protocol".into()])
    );
    let strategy = ports.patch_strategy.as_deref().expect("a strategy");
    assert!(strategy.merge && !strategy.retain_keys);
    assert_eq!(strategy.merge_key.as_deref(), Some("containerPort"));
    assert_eq!(
        container.field("command").expect("a field").list_type,
        ListType::Atomic
    );
    let selector = definition("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector").expect("a definition");
    assert_eq!(selector.map_type, MapType::Atomic);
    let meta = definition(super::OBJECT_META).expect("a definition");
    assert_eq!(
        meta.field("finalizers").expect("a field").list_type,
        ListType::Set
    );
    let Some(Reference::Definition { beside, .. }) =
        definition("io.k8s.api.apps.v1.DeploymentSpec").and_then(|schema| schema.properties.get("strategy"))
    else {
        panic!("a reference")
    };
    assert!(
        beside
            .patch_strategy
            .as_deref()
            .is_some_and(|strategy| strategy.retain_keys && !strategy.merge)
    );
    assert_eq!(beside.default, Some(json!({})));
}

#[test]
fn what_reads_itself_is_marked() {
    let types = [
        (super::QUANTITY, Type::Any, Some("quantity"), false),
        (
            super::INT_OR_STRING,
            Type::IntegerOrString,
            Some("int-or-string"),
            false,
        ),
        (super::TIME, Type::String, Some("date-time"), false),
        (super::MICRO_TIME, Type::String, Some("date-time"), false),
        (super::RAW_EXTENSION, Type::Object, None, true),
        (super::FIELDS_V1, Type::Object, None, true),
        (
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
            Type::Any,
            None,
            true,
        ),
    ];
    for (name, value_type, format, preserves) in types {
        let schema = definition(name).expect(name);
        assert_eq!(
            (schema.value_type, schema.format.as_deref()),
            (value_type, format),
            "{name}"
        );
        assert_eq!(schema.preserve_unknown_fields, preserves, "{name}");
    }
}
