use resolve::package::Releases;
use serde_json::{Value, json};

use super::*;

/// A package with one channel of these entries.
fn package(entries: &[Value]) -> Package {
    let mut package = Package {
        name: "web".to_owned(),
        ..Package::default()
    };
    let mut add = |schema: &str, name: &str, object: &Value| {
        let blob = object.to_string();
        package
            .add(schema, name, blob.as_bytes(), Releases::Stated)
            .expect("an object");
    };
    for entry in entries {
        let name = entry["name"].as_str().expect("a name");
        let version = name.strip_prefix("web.v").expect("a version");
        let properties =
            json!([{"type": "olm.package", "value": {"packageName": "web", "version": version}}]);
        add(
            "olm.bundle",
            name,
            &json!({"package": "web", "name": name, "properties": properties}),
        );
    }
    let channel = json!({"package": "web", "name": "stable", "entries": entries});
    add("olm.channel", "stable", &channel);
    package
}

fn graph(entries: &[Value], installed: &[(&str, &str)]) -> Graph {
    let package = package(entries);
    let holdings: Vec<Holding> = installed
        .iter()
        .map(|(extension, version)| Holding {
            extension: (*extension).to_owned(),
            bundle: Installed {
                name: format!("web.v{version}"),
                version: (*version).to_owned(),
                release: None,
            },
        })
        .collect();
    Graph::of(&package, &package.channels[0], &holdings)
}

#[test]
fn the_installed_version_and_the_road_to_the_head_are_marked() {
    let graph = graph(
        &[
            json!({"name": "web.v1.0.0"}),
            json!({"name": "web.v1.1.0", "replaces": "web.v1.0.0"}),
            json!({"name": "web.v1.2.0", "replaces": "web.v1.1.0", "skips": ["web.v1.0.0"]}),
            json!({"name": "web.v2.0.0", "replaces": "web.v1.2.0", "skipRange": ">=1.1.0 <1.2.0"}),
        ],
        &[("web", "1.0.0")],
    );
    assert_eq!(
        graph.words(),
        "Channel stable: 4 versions, head 2.0.0; 1.0.0 is installed, and the road from it leads to 1.2.0, then 2.0.0"
    );
    let drawing = draw(&graph);
    assert_eq!(drawing.left_out, 0);
    insta::assert_snapshot!(drawing.svg);
}

#[test]
fn every_extension_is_marked_with_its_own_road() {
    let graph = graph(
        &[
            json!({"name": "web.v1.0.0"}),
            json!({"name": "web.v1.1.0", "replaces": "web.v1.0.0"}),
            json!({"name": "web.v1.2.0", "replaces": "web.v1.1.0", "skips": ["web.v1.0.0"]}),
        ],
        &[
            ("blog", "1.0.0"),
            ("shop-of-a-customer-with-a-long-name", "1.1.0"),
            ("web", "1.0.0"),
            ("gone", "0.9.0"),
        ],
    );
    assert_eq!(
        graph.words(),
        "Channel stable: 3 versions, head 1.2.0; 1.0.0 is installed by blog and web, and the road from it leads to 1.2.0; \
         1.1.0 is installed by shop-of-a-customer-with-a-long-name, and the road from it leads to 1.2.0"
    );
    let svg = draw(&graph).svg;
    assert_eq!(svg.matches("class=\"way road").count(), 2, "{svg}");
    for text in [
        "<title>web.v1.0.0, installed by blog, web</title>",
        ">installed by 2 extensions<",
        "<title>web.v1.1.0, installed by shop-of-a-customer-with-a-long-name</title>",
        ">installed by shop-of-a-custome…<",
    ] {
        assert!(svg.contains(text), "no {text} in {svg}");
    }
}

#[test]
fn a_channel_is_drawn_without_anything_installed() {
    let graph = graph(
        &[
            json!({"name": "web.v1.0.0"}),
            json!({"name": "web.v1.1.0", "replaces": "web.v1.0.0"}),
        ],
        &[],
    );
    insta::assert_snapshot!(draw(&graph).svg);
}

#[test]
fn a_long_channel_shows_what_matters_and_counts_the_rest() {
    let entries: Vec<Value> = (0..200)
        .map(|minor| {
            let mut entry =
                json!({"name": format!("web.v1.{minor}.0"), "skipRange": format!("<1.{minor}.0")});
            if minor > 0 {
                entry["replaces"] = json!(format!("web.v1.{}.0", minor - 1));
            }
            entry
        })
        .collect();
    let graph = graph(&entries, &[("web", "1.3.0")]);
    assert_eq!((graph.nodes.len(), graph.hidden), (MOST_NODES, 160));
    assert!(
        graph.nodes.iter().any(|node| node.installed_by == ["web"]),
        "the installed one is always there"
    );
    assert!(
        graph.nodes[0].is_head && graph.nodes[0].is_on_road,
        "one step leads to the head"
    );
    let drawing = draw(&graph);
    assert!(drawing.left_out > 0 && drawing.svg.contains("way road"));
}

#[test]
fn a_circle_is_drawn_too() {
    let graph = graph(
        &[
            json!({"name": "web.v1.0.0", "replaces": "web.v2.0.0"}),
            json!({"name": "web.v2.0.0", "replaces": "web.v1.0.0"}),
        ],
        &[("web", "2.0.0")],
    );
    assert_eq!(graph.spans.len(), 2);
    assert!(draw(&graph).svg.contains("<path"));
}

#[test]
fn names_can_not_break_out_of_the_drawing() {
    let graph = Graph {
        channel: "<script>\"&\u{1}".to_owned(),
        nodes: vec![Node {
            name: "</svg>".to_owned(),
            version: "<b>".to_owned(),
            is_head: true,
            installed_by: Vec::new(),
            is_on_road: false,
            is_deprecated: true,
        }],
        ..Graph::default()
    };
    let svg = draw(&graph).svg;
    assert!(
        svg.contains("&lt;script&gt;&quot;&amp; ")
            && svg.contains("&lt;/svg&gt;")
            && svg.contains("&lt;b&gt;")
    );
    assert_eq!(svg.matches("</svg>").count(), 1);
}
