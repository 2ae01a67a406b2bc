//! Templates with slips, and what is said of them.

use super::*;

/// What is said, each with its place.
fn said(template: &str, kind: Option<TemplateType>) -> Vec<String> {
    slips(template.as_bytes(), kind)
        .iter()
        .chain(&syntax(template.as_bytes()))
        .map(|slip| format!("{}:{} {slip}", slip.line, slip.column))
        .collect()
}

#[test]
fn a_slip_in_a_semver_template_has_a_place_and_what_was_meant() {
    let whole = "Schema: olm.semver\nGenerateMajorChannels: true\nDefaultChannelTypePreference: major\nStable:\n  Bundles:\n  - Image: a/b:1\n";
    assert_eq!(said(whole, None), Vec::<String>::new());
    for (from, to, expected) in [
        (
            "Stable:",
            "Stabel:",
            "4:1 there is no such field here; did you mean \"Stable\"?",
        ),
        (
            "GenerateMajorChannels",
            "generateMajorChanels",
            "2:1 there is no such field here; did you mean \"generateMajorChannels\" or \"generateMinorChannels\"?",
        ),
        (
            "Bundles:",
            "Bundels:",
            "5:3 there is no such field here; did you mean \"Bundles\"?",
        ),
        (
            "- Image",
            "- Imaeg",
            "6:5 there is no such field here; did you mean \"Image\"?",
        ),
        ("- Image", "- Zzzzzzzzz", "6:5 there is no such field here"),
        (
            "  - Image: a/b:1",
            "    Image: a/b:1",
            "6:5 this must be a list, each item behind a hyphen",
        ),
        (
            "- Image: a/b:1",
            "- a/b:1",
            "6:5 this must be a map of fields, which may be image",
        ),
        ("- Image: a/b:1", "- Image: [a/b:1]", "6:12 this must be a text"),
        (
            "Channels: true",
            "Channels: ture",
            "2:24 this must be true or false; did you mean \"true\"?",
        ),
        (
            "Preference: major",
            "Preference: Majr",
            "3:31 this must be major or minor; did you mean \"Major\"?",
        ),
        (
            "olm.semver",
            "olm.semvre",
            "1:9 no template has this schema: there are olm.template.basic, olm.semver, olm.template.substitutes; did you mean \"olm.semver\"?",
        ),
        (
            "Schema:",
            "Shcema:",
            "1:1 the template has no schema; did you mean \"Schema\"?",
        ),
        (
            "Stable:",
            "Schema: olm.semver\nStable:",
            "4:1 this field is here already",
        ),
        (
            "  - Image",
            "\t- Image",
            "6:1 found character that cannot start any token",
        ),
    ] {
        assert!(whole.contains(from), "{from}");
        assert_eq!(said(&whole.replacen(from, to, 1), None), [expected], "{to}");
    }
}

#[test]
fn a_slip_in_an_object_of_a_catalog_is_told_though_opm_passes_over_it() {
    let whole = "schema: olm.template.basic\nentries:\n- schema: olm.channel\n  package: p\n  name: stable\n  entries:\n  - name: p.v2\n    skips: [p.v1]\n- schema: olm.bundle\n  image: a/b:1\n- schema: custom.thing\n  whatever: 1\n";
    assert_eq!(said(whole, None), Vec::<String>::new());
    for (from, to, expected) in [
        (
            "  entries:",
            "  entires:",
            "6:3 there is no such field here; did you mean \"entries\"?",
        ),
        (
            "    skips",
            "    skip",
            "8:5 there is no such field here; did you mean \"skips\"?",
        ),
        (
            "skips: [p.v1]",
            "skips: p.v1",
            "8:12 this must be a list, each item behind a hyphen",
        ),
        (
            "olm.channel",
            "olm.chanel",
            "3:11 nothing reads objects of this schema; did you mean \"olm.channel\"?",
        ),
        (
            "- schema: olm.bundle",
            "- shema: olm.bundle",
            "9:3 the object has no schema; did you mean \"schema\"?",
        ),
    ] {
        assert!(whole.contains(from), "{from}");
        assert_eq!(said(&whole.replacen(from, to, 1), None), [expected], "{to}");
    }
}

#[test]
fn a_kind_that_is_given_counts_more_than_the_schema() {
    let template = "schema: olm.semver\nsubstitutions:\n- nam: a\n  base: b\n";
    assert_eq!(
        said(template, Some(TemplateType::Substitutes)),
        ["3:3 there is no such field here; did you mean \"name\"?"]
    );
}

#[test]
fn a_value_is_found_wherever_it_stands() {
    let template =
        "stable:\n  bundles:\n  - image: a/b:1\n  - image: 'a/b:2'\nfast: {bundles: [{image: a/b:1}]}\n";
    assert_eq!(places(template.as_bytes(), "a/b:1"), [(3, 12), (5, 26)]);
    assert_eq!(places(template.as_bytes(), "a/b:2"), [(4, 12)]);
    assert_eq!(places(b"\t", "a"), []);
}

proptest::proptest! {
    #[test]
    fn any_text_can_be_looked_at(text in "[ \\n\\-:a-c\\[\\]{}\"'&*#]{0,60}") {
        let template = format!("schema: olm.template.basic\n{text}");
        for kind in [None, Some(TemplateType::Semver), Some(TemplateType::Substitutes)] {
            for slip in slips(template.as_bytes(), kind) {
                proptest::prop_assert!(slip.line >= 1 && slip.column >= 1);
            }
        }
    }
}
