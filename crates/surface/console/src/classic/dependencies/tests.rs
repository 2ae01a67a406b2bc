use serde_json::json;

use super::drawing::{MOST_NODES, draw};
use super::*;

fn version(name: &str, owned: &[&str], required: &[&str]) -> Arc<Value> {
    let described = |kinds: &[&str]| -> Vec<Value> {
        let one = |kind: &&str| json!({"name": format!("{}s.example.com", kind.to_lowercase()), "version": "v1", "kind": kind});
        kinds.iter().map(one).collect()
    };
    Arc::new(json!({
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"customresourcedefinitions": {"owned": described(owned), "required": described(required)}},
        "status": {"phase": "Succeeded"},
    }))
}

fn plan(phase: &str, version: &str, properties: &str) -> Arc<Value> {
    Arc::new(json!({
        "metadata": {"name": "install-1", "namespace": "shop"},
        "status": {
            "phase": phase,
            "plan": [{"resolving": version, "resource": {"kind": "ClusterServiceVersion", "name": version, "manifest": "{}"}}],
            "bundleLookups": [{"identifier": version, "properties": properties}],
        },
    }))
}

fn told(operators: &Operators) -> Vec<String> {
    let rows = operators.rows().into_iter();
    rows.map(|row| {
        let met_by: Vec<&str> = row.met_by.iter().map(Link::text).collect();
        format!(
            "{} ({}): {} < {}",
            row.operator.text(),
            row.pill.text,
            row.need,
            met_by.join(", ")
        )
    })
    .collect()
}

#[test]
fn operators_that_are_there_or_planned_are_shown_with_what_they_need() {
    let versions = [
        version("web.v1", &["Web"], &["Data", "Queue"]),
        version("data.v1", &["Data"], &[]),
    ];
    let needs = r#"{"properties":[{"type":"olm.gvk.required","value":{"group":"example.com","version":"v1","kind":"Web"}}]}"#;
    let plans = [
        plan("RequiresApproval", "shop.v2", needs),
        plan("Complete", "old.v1", "{}"),
    ];
    let operators = Operators::of("shop", &versions, &[], &plans);
    assert_eq!(
        told(&operators),
        [
            "data.v1 (Succeeded):  < ",
            "web.v1 (Succeeded): Data (example.com/v1) < data.v1",
            "web.v1 (Succeeded): Queue (example.com/v1) < ",
            "shop.v2 (Planned): Web (example.com/v1) < web.v1",
        ]
    );
    assert_eq!(
        operators.words(),
        "Namespace shop: 3 operators; web.v1 needs Data (example.com/v1), which data.v1 has; web.v1 needs Queue (example.com/v1), \
         which no operator here has; shop.v2 needs Web (example.com/v1), which web.v1 has"
    );
    let needed_by: Vec<String> = operators
        .needed_by("web.v1")
        .iter()
        .map(|link| link.text().to_owned())
        .collect();
    assert_eq!(needed_by, ["shop.v2"]);
    assert_eq!(operators.needs_of("web.v1").len(), 2);
    insta::assert_snapshot!(draw(&operators).svg);
}

#[test]
fn a_circle_of_needs_is_drawn_too() {
    let versions = [version("a.v1", &["A"], &["B"]), version("b.v1", &["B"], &["A"])];
    let drawing = draw(&Operators::of("shop", &versions, &[], &[]));
    assert_eq!(drawing.svg.matches("<path class=\"way").count(), 2);
}

#[test]
fn of_many_operators_those_that_need_each_other_are_drawn() {
    let mut versions: Vec<Arc<Value>> = (0..100)
        .map(|number| version(&format!("alone-{number:03}.v1"), &[], &[]))
        .collect();
    versions.push(version("web.v1", &[], &["Data"]));
    versions.push(version("data.v1", &["Data"], &[]));
    let drawing = draw(&Operators::of("shop", &versions, &[], &[]));
    assert_eq!(drawing.hidden, 102 - MOST_NODES);
    assert!(drawing.svg.contains("web.v1") && drawing.svg.contains("data.v1"));
}

#[test]
fn names_can_not_break_out_of_the_drawing() {
    let versions = [version("</svg><script>", &[], &["</title>"])];
    let svg = draw(&Operators::of("shop", &versions, &[], &[])).svg;
    assert_eq!(
        (svg.matches("</svg>").count(), svg.contains("<script>")),
        (1, false)
    );
    assert!(svg.contains("&lt;/svg&gt;&lt;script&gt;"));
}
