use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::{FieldSelector, SelectableFields};

/// A selector, and what upstream makes of it.
#[derive(Deserialize)]
struct Case {
    selector: String,
    #[serde(default)]
    printed: String,
    error: Option<String>,
}

#[test]
fn selectors_are_read_and_printed_as_upstream_does() {
    for line in include_str!("upstream.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        match FieldSelector::parse(&case.selector) {
            Ok(selector) => {
                assert_eq!(None, case.error, "{}", case.selector);
                assert_eq!(selector.to_string(), case.printed, "{}", case.selector);
            }
            Err(error) => assert_eq!(Some(error.to_string()), case.error, "{}", case.selector),
        }
    }
}

#[test]
fn a_field_that_the_kind_does_not_have_is_refused_with_upstreams_words() {
    let cases = [
        (
            SelectableFields::of_kind("apps", "v1", "Deployment"),
            "spec.foo",
            "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        (
            SelectableFields::of_kind("", "v1", "Pod"),
            "spec.foo",
            "field label not supported: spec.foo",
        ),
        (
            SelectableFields::of_kind("", "v1", "Node"),
            "metadata.namespace",
            "field label not supported: metadata.namespace",
        ),
        (
            SelectableFields::of_kind("batch", "v1", "Job"),
            "spec.foo",
            "field label \"spec.foo\" not supported for Job",
        ),
        (
            SelectableFields::of_custom_resource(true, [".spec.color"]),
            "spec.foo",
            "field label not supported: spec.foo",
        ),
        (
            SelectableFields::of_custom_resource(false, []),
            "metadata.namespace",
            "field label not supported: metadata.namespace",
        ),
    ];
    for (selectable, field, expected) in cases {
        let selector = FieldSelector::parse(&format!("{field}=x")).unwrap();
        assert_eq!(selector.for_kind(&selectable).unwrap_err().to_string(), expected);
    }
}

#[test]
fn objects_are_selected_by_what_they_have_at_the_field() {
    let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n"}, "status": {"podIPs": [{"ip": "10.0.0.1"}]}});
    let event = json!({"regarding": {"kind": "Pod"}, "reportingController": "me"});
    let job = json!({"status": {"succeeded": 2}});
    let thing = json!({"spec": {"color": "red", "size": 3}});
    let pods = SelectableFields::of_kind("", "v1", "Pod");
    let events = SelectableFields::of_kind("", "v1", "Event");
    let things = SelectableFields::of_custom_resource(true, [".spec.color", ".spec.size"]);
    let cases = [
        (
            &pod,
            &pods,
            "metadata.name=p,spec.host=n,status.podIP=10.0.0.1,spec.hostNetwork=false",
            true,
        ),
        (&pod, &pods, "spec.nodeName!=n", false),
        (&pod, &pods, "status.phase=", true),
        (
            &event,
            &events,
            "involvedObject.kind=Pod,source=me,reportingComponent=me",
            true,
        ),
        (
            &event,
            &SelectableFields::of_kind("events.k8s.io", "v1", "Event"),
            "regarding.kind=Pod",
            true,
        ),
        (
            &job,
            &SelectableFields::of_kind("batch", "v1", "Job"),
            "status.successful=2",
            true,
        ),
        (&thing, &things, "spec.color=red,spec.size=3", true),
        (&thing, &things, "spec.color!=red", false),
    ];
    for (object, selectable, text, expected) in cases {
        let selector = FieldSelector::parse(text).unwrap().for_kind(selectable).unwrap();
        assert_eq!(selector.matches(object, selectable), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = FieldSelector::parse(&text);
    }

    #[test]
    fn a_value_that_is_printed_reads_back(value in any::<String>()) {
        let escaped = value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
        let selector = FieldSelector::parse(&format!("metadata.name={escaped}")).unwrap();
        prop_assert_eq!(selector.required_value("metadata.name"), Some(value.as_str()));
    }
}
