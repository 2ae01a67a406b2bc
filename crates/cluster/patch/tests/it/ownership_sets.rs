//! Sets of fields: their algebra, and `FieldsV1`.

use std::collections::BTreeSet;

use patch::ownership::{FieldPath, Filter, PathElement, Set, Step};
use proptest::prelude::*;
use serde_json::{Value, json};

fn element() -> impl Strategy<Value = PathElement> {
    let scalar = prop_oneof![
        (-3..3_i64).prop_map(Value::from),
        "[a-c\"<]{0,2}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ];
    prop_oneof![
        4 => "[a-c.:]{1,2}".prop_map(|name| PathElement::field(&name)),
        2 => prop::collection::btree_map("[xy]", scalar.clone(), 1..3).prop_map(|fields| {
            PathElement::key(fields.into_iter().map(|(name, value)| (name.into_boxed_str(), value)))
        }),
        1 => scalar.prop_map(PathElement::Value),
        1 => (0..3_i64).prop_map(PathElement::Index),
    ]
}

fn paths() -> impl Strategy<Value = Vec<FieldPath>> {
    prop::collection::vec(prop::collection::vec(element(), 1..4).prop_map(FieldPath), 0..12)
}

fn members(set: &Set) -> BTreeSet<FieldPath> {
    set.paths().into_iter().collect()
}

fn is_below(path: &FieldPath, parent: &FieldPath) -> bool {
    path.0.len() >= parent.0.len() && path.0.iter().zip(&parent.0).all(|(left, right)| left == right)
}

proptest! {
    #[test]
    fn a_set_has_the_paths_that_were_inserted_and_no_others(paths in paths(), others in paths()) {
        let set = Set::of(&paths);
        let expected: BTreeSet<FieldPath> = paths.iter().cloned().collect();
        prop_assert_eq!(members(&set), expected.clone());
        prop_assert_eq!(set.len(), expected.len());
        prop_assert_eq!(set.is_empty(), expected.is_empty());
        for path in paths.iter().chain(&others) {
            prop_assert_eq!(set.has(path), expected.contains(path));
        }
    }

    #[test]
    fn the_algebra_is_that_of_sets_of_paths(left in paths(), right in paths()) {
        let (a, b) = (Set::of(&left), Set::of(&right));
        let (x, y) = (members(&a), members(&b));
        prop_assert_eq!(members(&a.clone().union(b.clone())), x.union(&y).cloned().collect());
        prop_assert_eq!(members(&a.intersection(&b)), x.intersection(&y).cloned().collect());
        prop_assert_eq!(members(&a.clone().difference(&b)), x.difference(&y).cloned().collect());
        let deep = x.iter().filter(|path| !y.iter().any(|parent| is_below(path, parent))).cloned().collect();
        prop_assert_eq!(members(&a.clone().difference_deeply(&b)), deep);
        let leaves = x.iter().filter(|path| !x.iter().any(|other| other != *path && is_below(other, path)));
        prop_assert_eq!(members(&a.leaves()), leaves.cloned().collect());
    }

    #[test]
    fn results_are_equal_whichever_way_they_are_made(left in paths(), right in paths()) {
        let (a, b) = (Set::of(&left), Set::of(&right));
        prop_assert_eq!(a.clone().union(b.clone()), Set::of(left.iter().chain(&right)));
        prop_assert_eq!(a.clone().union(b.clone()), b.clone().union(a.clone()));
        prop_assert_eq!(a.clone().difference(&b).union(a.intersection(&b)), a.clone());
        let mut reduced = a.clone();
        prop_assert_eq!(reduced.subtract(&b), reduced != a);
        prop_assert_eq!(reduced, Set::of(&members(&a.difference(&b))));
    }

    #[test]
    fn fields_v1_reads_back_as_the_same_set(paths in paths()) {
        let set = Set::of(&paths);
        prop_assert_eq!(&Set::from_fields_v1(&set.to_fields_v1()).unwrap(), &set);
        prop_assert_eq!(&Set::from_json(&set.to_json()).unwrap(), &set);
        let value: Value = serde_json::from_str(&set.to_json()).unwrap();
        prop_assert_eq!(value, set.to_fields_v1());
    }

    #[test]
    fn text_that_is_not_fields_v1_is_refused_without_a_panic(text in ".{0,40}", key in "[fkvix.]:?[\\[{\"a1]{0,6}") {
        drop(Set::from_json(&text));
        drop(Set::from_fields_v1(&json!({ key: {} })));
    }
}

#[test]
fn fields_v1_has_its_keys_in_the_order_of_the_elements() {
    let text = r#"{"f:a":{},"f:ports":{".":{},"k:{\"port\":80}":{".":{},"f:name":{}},"k:{\"port\":443}":{}},"v:1":{},"i:0":{}}"#;
    assert_eq!(Set::from_json(text).unwrap().to_json(), text);
}

#[test]
fn a_key_of_an_unknown_kind_is_dropped() {
    let set = Set::from_json(r#"{"x:y":{},"f:a":{"x:y":{}}}"#).unwrap();
    assert_eq!(set.to_json(), r#"{"f:a":{}}"#);
    assert!(Set::from_json(r#"{"a":{}}"#).is_err());
    assert!(Set::from_json(r#"{"f:a":1}"#).is_err());
    assert!(Set::from_json("[]").is_err());
    assert!(Set::from_json("null").unwrap().is_empty());
}

#[test]
fn a_filter_may_let_only_some_prefixes_through() {
    let field = |name| Step::Element(PathElement::field(name));
    let filter = Filter::Include(vec![
        vec![field("spec"), field("containers"), Step::Any, field("resources")],
        vec![field("metadata")],
    ]);
    let set = Set::from_json(
        r#"{"f:metadata":{"f:labels":{}},"f:spec":{".":{},"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{},"f:resources":{"f:limits":{}}}},"f:nodeName":{}},"f:status":{}}"#,
    );
    assert_eq!(
        filter.apply(set.unwrap()).to_json(),
        r#"{"f:metadata":{"f:labels":{}},"f:spec":{".":{},"f:containers":{"k:{\"name\":\"a\"}":{"f:resources":{"f:limits":{}}}}}}"#
    );
}
