//! Charts that don't work: nothing is made or published of them, unless every fault is allowed by name.

use crate::registries::{Embedded, Registry as _};
use crate::tree::{Author, tags};

/// A way to break the chart of the example, and the name that lets it through.
struct Fault {
    name: &'static str,
    inflict: fn(&Author),
    allow: &'static str,
}

const FAULTS: [Fault; 3] = [
    Fault {
        name: "broken_template",
        inflict: |author| {
            author.write(
                "chart/templates/extra.yaml",
                "# Nothing yet.\n{{ if }}\nkind: ConfigMap\n{{ end }}\n",
            );
        },
        allow: "chart-templates",
    },
    Fault {
        name: "broken_schema",
        inflict: |author| author.write("chart/values.schema.json", "{\n  \"type\": \"object\",\n}\n"),
        allow: "chart-schema",
    },
    Fault {
        name: "refused_defaults",
        inflict: |author| author.replace("chart/values.yaml", "replicaCount: 2\n", "replicaCount: two\n"),
        allow: "chart-defaults",
    },
];

/// The commands that make something of the tree, each of which must look at the chart.
fn roads(author: &Author) -> [Vec<String>; 3] {
    let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
    [
        [words(["bundle", "generate"]), author.version_flags("2.0.0")].concat(),
        [words(["bundle", "build"]), author.build_flags("2.0.0")].concat(),
        author.publishing("2.0.0", "latest"),
    ]
}

fn validation() -> Vec<String> {
    ["bundle", "validate", "./bundle", "--output", "json-alpha1"]
        .map(str::to_owned)
        .to_vec()
}

fn allowing(road: &[String], allow: &str) -> Vec<String> {
    [road, &["--allow".to_owned(), allow.to_owned()]].concat()
}

#[test]
fn a_chart_that_does_not_work_stops_every_road() {
    for fault in FAULTS {
        let registry = Embedded::start();
        let author = Author::new(registry.address());
        author.template(&[("Stable", &["2.0.0"])]);
        (fault.inflict)(&author);
        let mut told = String::new();
        for road in roads(&author) {
            // What is wrong is the same on each road; which road it was isn't for the snapshot.
            let said = author.fails(&road);
            let (_, said) = said.split_once('\n').expect("lines");
            told = told + &road[..2].join(" ").replace(" --yes", "") + "\n" + said + "\n";
        }
        assert!(!author.path("bundle").exists(), "nothing was written");
        assert!(!author.path("dist").exists(), "nothing was built");
        assert!(tags(&registry).is_empty(), "nothing was published");

        // A bundle that was made before is looked at together with what its chart has become.
        let [generating, ..] = roads(&author);
        author.succeeds(&allowing(&generating, fault.allow));
        told += &author.fails(&validation());
        insta::assert_snapshot!(fault.name, told);

        for road in roads(&author).iter().chain([&validation()]) {
            author.succeeds(&allowing(road, fault.allow));
            let other = author.fails(&allowing(road, "chart-lint"));
            assert!(
                other.contains(fault.allow) || other.contains("take it out of --allow"),
                "{other}"
            );
        }
        assert_eq!(tags(&registry).len(), 3, "allowed, it is published");
    }
}

#[test]
fn a_chart_that_works_needs_nothing_allowed() {
    let author = Author::new("registry.example.com");
    let [generating, building, _] = roads(&author);
    author.succeeds(&generating);
    for road in [generating, building, validation()] {
        let told = author.fails(&allowing(&road, "chart-defaults"));
        assert!(
            told.contains("chart-defaults is allowed, but that check of the chart finds nothing"),
            "{told}"
        );
    }
    insta::assert_snapshot!(
        "unknown_check",
        author.fails(&["bundle", "validate", "./bundle", "--allow", "charts"])
    );
}

#[test]
fn a_bundle_outside_of_a_tree_is_validated_by_itself() {
    let author = Author::new("registry.example.com");
    let [generating, ..] = roads(&author);
    author.succeeds(&generating);
    (FAULTS[0].inflict)(&author);
    author.fails(&validation());
    std::fs::rename(author.path("bundle"), author.beside("bundle")).expect("moved");
    author.succeeds(&["bundle", "validate", "../bundle"]);
    // A chart that was copied into the tree to make the bundle, and is gone.
    std::fs::rename(author.beside("bundle"), author.path("bundle")).expect("moved");
    std::fs::rename(author.path("chart"), author.beside("chart")).expect("moved");
    author.succeeds(&validation());
    author.fails(&[validation(), vec!["--chart".to_owned(), "../chart".to_owned()]].concat());
}
