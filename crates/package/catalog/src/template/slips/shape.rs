//! What each kind of template may have in it.

use super::TemplateType;

/// What is expected at a place.
pub(super) enum Shape {
    Text,
    /// True or false.
    Flag,
    OneOf(&'static [&'static str]),
    List(&'static Shape),
    Fields(&'static [(&'static str, Shape)]),
    /// An object of a catalog, whose schema tells what it has.
    Object,
    Anything,
}

/// How deep the values lie that templates name.
pub(super) const DEEPEST: usize = 6;

/// What counts as true or false in YAML 1.1.
pub(super) fn is_flag(text: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "y", "n"]
        .iter()
        .any(|flag| flag.eq_ignore_ascii_case(text))
}

pub(super) fn of(kind: TemplateType) -> &'static Shape {
    match kind {
        TemplateType::Semver => &SEMVER,
        TemplateType::Basic => &BASIC,
        TemplateType::Substitutes => &SUBSTITUTES,
    }
}

/// The schemas of objects that are read; those of other schemas are kept as they are.
pub(super) const OBJECTS: [&str; 4] = ["olm.package", "olm.channel", "olm.bundle", "olm.deprecations"];

/// What an object with one of these schemas has.
pub(super) fn of_object(schema: &str) -> Option<&'static Shape> {
    match schema {
        "olm.package" => Some(&PACKAGE),
        "olm.channel" => Some(&CHANNEL),
        "olm.bundle" => Some(&BUNDLE),
        "olm.deprecations" => Some(&DEPRECATIONS),
        _ => None,
    }
}

static SEMVER: Shape = Shape::Fields(&[
    ("schema", Shape::Text),
    ("generateMajorChannels", Shape::Flag),
    ("generateMinorChannels", Shape::Flag),
    ("defaultChannelTypePreference", Shape::OneOf(&["major", "minor"])),
    ("candidate", GRADE),
    ("fast", GRADE),
    ("stable", GRADE),
]);

const GRADE: Shape = Shape::Fields(&[("bundles", Shape::List(&Shape::Fields(&[("image", Shape::Text)])))]);

static BASIC: Shape = Shape::Fields(&[("schema", Shape::Text), ("entries", Shape::List(&Shape::Object))]);

static SUBSTITUTES: Shape = Shape::Fields(&[
    ("schema", Shape::Text),
    ("entries", Shape::List(&Shape::Object)),
    (
        "substitutions",
        Shape::List(&Shape::Fields(&[("name", Shape::Text), ("base", Shape::Text)])),
    ),
]);

static PACKAGE: Shape = Shape::Fields(&[
    ("schema", Shape::Text),
    ("name", Shape::Text),
    ("defaultChannel", Shape::Text),
    (
        "icon",
        Shape::Fields(&[("base64data", Shape::Text), ("mediatype", Shape::Text)]),
    ),
    ("description", Shape::Text),
    ("properties", Shape::Anything),
]);

static CHANNEL: Shape = Shape::Fields(&[
    ("schema", Shape::Text),
    ("name", Shape::Text),
    ("package", Shape::Text),
    (
        "entries",
        Shape::List(&Shape::Fields(&[
            ("name", Shape::Text),
            ("replaces", Shape::Text),
            ("skips", Shape::List(&Shape::Text)),
            ("skipRange", Shape::Text),
        ])),
    ),
    ("properties", Shape::Anything),
]);

static BUNDLE: Shape = Shape::Fields(&[
    ("schema", Shape::Text),
    ("name", Shape::Text),
    ("package", Shape::Text),
    ("image", Shape::Text),
    ("properties", Shape::Anything),
    ("relatedImages", Shape::Anything),
]);

static DEPRECATIONS: Shape = Shape::Fields(&[
    ("schema", Shape::Text),
    ("name", Shape::Text),
    ("package", Shape::Text),
    (
        "entries",
        Shape::List(&Shape::Fields(&[
            (
                "reference",
                Shape::Fields(&[
                    (
                        "schema",
                        Shape::OneOf(&["olm.package", "olm.channel", "olm.bundle"]),
                    ),
                    ("name", Shape::Text),
                ]),
            ),
            ("message", Shape::Text),
        ])),
    ),
]);
