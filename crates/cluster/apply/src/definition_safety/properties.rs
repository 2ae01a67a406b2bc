//! What may break resources when the schema of one property changes.

use std::collections::BTreeSet;

use gotemplate::format::quoted;

use super::checks::Check;
use super::definition::Properties;
use super::difference::difference;
use super::go_text::{described, number};
use super::kind::SCHEMA;
use super::typed::{Schema, Typed, part};

/// What a check found at a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    /// The property.
    pub(crate) path: String,
    /// The check.
    pub(crate) check: Check,
    /// What it found.
    pub(crate) message: String,
}

/// What every unhandled change is called.
pub(crate) const UNHANDLED: &str = "unhandled changes found";

/// Fields that are schemas of their own, at paths of their own.
const CHILDREN: [&str; 2] = ["Properties", "Items"];
/// Fields that a check looks at; what they say of each other isn't an unhandled change.
const CHECKED: [&str; 16] = [
    "Default",
    // Nobody's resources depend on it.
    "Description",
    "Enum",
    "MaxItems",
    "MaxLength",
    "MaxProperties",
    "Maximum",
    "MinItems",
    "MinLength",
    "MinProperties",
    "Minimum",
    "Nullable",
    "OneOf",
    "Pattern",
    "Required",
    "Type",
];
/// Fields of an alternative that don't change what it accepts.
const DECORATION: [&str; 4] = ["Description", "Title", "Example", "ExternalDocs"];

/// Compares what two versions say about each property that the old one has.
pub(crate) fn compare(old: &Properties<'_>, new: &Properties<'_>) -> Vec<Issue> {
    let Schema(nothing) = Schema::empty();
    let mut issues = Vec::new();
    for (path, old) in old {
        let new = new.get(path).copied();
        let changed = new.is_none_or(|new| !means_the_same_alone(old, new));
        if changed {
            compare_property(path, old, new.unwrap_or(&nothing), &mut issues);
        }
    }
    issues
}

/// Returns whether two schemas mean the same apart from those that have paths of their own.
fn means_the_same_alone(old: &Typed, new: &Typed) -> bool {
    let (Typed::Structure(old), Typed::Structure(new)) = (old, new) else {
        return old.means(new);
    };
    let mut fields = SCHEMA.fields.iter().zip(old.iter().zip(new));
    fields.all(|(field, (old, new))| CHILDREN.contains(&field.name) || old.means(new))
}

fn without(schema: &Typed, names: &[&str]) -> Typed {
    let Typed::Structure(fields) = schema else {
        return schema.clone();
    };
    let fields = SCHEMA.fields.iter().zip(fields).map(|(field, value)| {
        if names.contains(&field.name) {
            Typed::zero(field.kind)
        } else {
            value.clone()
        }
    });
    Typed::Structure(fields.collect())
}

fn compare_property(path: &str, old: &Typed, new: &Typed, issues: &mut Vec<Issue>) {
    let mut found = |check, message: Option<String>| {
        issues.extend(message.map(|message| Issue {
            path: path.to_owned(),
            check,
            message,
        }));
    };
    let both = |name: &str| (part(old, &SCHEMA, name), part(new, &SCHEMA, name));
    let texts = |name: &str| {
        let (old, new) = both(name);
        (old.map_or("", Typed::text), new.map_or("", Typed::text))
    };
    let numbers = |name: &str| {
        let (old, new) = both(name);
        (old.and_then(Typed::pointed), new.and_then(Typed::pointed))
    };
    found(Check::Default, default(numbers("Default")));
    found(Check::Enum, enumeration(both("Enum")));
    for (check, name) in [
        (Check::MaxItems, "MaxItems"),
        (Check::MaxLength, "MaxLength"),
        (Check::MaxProperties, "MaxProperties"),
        (Check::Maximum, "Maximum"),
    ] {
        found(
            check,
            bound(numbers(name), "maximum", "decreased", |old, new| new < old),
        );
    }
    for (check, name) in [
        (Check::MinItems, "MinItems"),
        (Check::MinLength, "MinLength"),
        (Check::MinProperties, "MinProperties"),
        (Check::Minimum, "Minimum"),
    ] {
        found(
            check,
            bound(numbers(name), "minimum", "increased", |old, new| new > old),
        );
    }
    let truth = |value: Option<&Typed>| value == Some(&Typed::Bool(true));
    let (old_nullable, new_nullable) = both("Nullable");
    found(
        Check::Nullable,
        match (truth(old_nullable), truth(new_nullable)) {
            (false, true) => Some("nullable added : false -> true".into()),
            (true, false) => Some("nullable removed : true -> false".into()),
            _ => None,
        },
    );
    found(Check::OneOf, alternatives(both("OneOf")));
    let change =
        |what: &str, (old, new): (&str, &str)| format!("{what} : {} -> {}", quoted(old), quoted(new));
    let pattern = texts("Pattern");
    found(
        Check::Pattern,
        match pattern {
            (old, new) if old == new => None,
            ("", _) => Some(change("pattern added", pattern)),
            (_, "") => Some(change("pattern removed", pattern)),
            _ => Some(change("pattern changed", pattern)),
        },
    );
    found(Check::Required, required(both("Required")));
    let types = texts("Type");
    found(
        Check::Type,
        (types.0 != types.1).then(|| change("type changed", types)),
    );
    let ignored = [&CHECKED[..], &CHILDREN[..]].concat();
    let (old, new) = (without(old, &ignored), without(new, &ignored));
    let unhandled = (!old.means(&new)).then(|| format!("{UNHANDLED} :\n{}", difference(&old, &new)));
    found(Check::Unhandled, unhandled);
}

fn raw(json: &Typed) -> String {
    match json {
        Typed::Structure(parts) => {
            let bytes = parts.first().map(Typed::bytes).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        _ => String::new(),
    }
}

fn default((old, new): (Option<&Typed>, Option<&Typed>)) -> Option<String> {
    let text = |value: &Typed| quoted(raw(value));
    match (old, new) {
        (None, Some(new)) => Some(format!(
            "default added when there was none previously : {}",
            text(new)
        )),
        (Some(old), None) => Some(format!("default value removed : {}", text(old))),
        (Some(old), Some(new)) if raw(old) != raw(new) => {
            Some(format!("default value changed : {} -> {}", text(old), text(new)))
        }
        _ => None,
    }
}

fn listed<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<&str> = texts.into_iter().map(String::as_str).collect();
    format!("[{}]", texts.join(" "))
}

fn enumeration((old, new): (Option<&Typed>, Option<&Typed>)) -> Option<String> {
    let values = |value: Option<&Typed>| -> BTreeSet<String> {
        value.map_or(&[][..], Typed::elements).iter().map(raw).collect()
    };
    let (old, new) = (values(old), values(new));
    if old.is_empty() && !new.is_empty() {
        return Some(format!(
            "enum constraint added when there was none previously : {}",
            listed(&new)
        ));
    }
    let removed: Vec<&String> = old.difference(&new).collect();
    (!removed.is_empty()).then(|| format!("allowed enum values removed : {}", listed(removed)))
}

fn bound(
    (old, new): (Option<&Typed>, Option<&Typed>),
    what: &str,
    how: &str,
    worse: impl Fn(f64, f64) -> bool,
) -> Option<String> {
    let text = |value: &Typed| match value {
        Typed::Integer(value) => value.to_string(),
        Typed::Float(value) => number(*value),
        _ => String::new(),
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "whole numbers are compared as such before"
    )]
    let float = |value: &Typed| match value {
        Typed::Integer(value) => *value as f64,
        Typed::Float(value) => *value,
        _ => 0.0,
    };
    match (old, new) {
        (None, Some(new)) => Some(format!(
            "{what} constraint added when there was none previously : {}",
            text(new)
        )),
        (Some(Typed::Integer(old)), Some(Typed::Integer(new))) => {
            let step = match new.cmp(old) {
                std::cmp::Ordering::Less => -1.0,
                std::cmp::Ordering::Equal => 0.0,
                std::cmp::Ordering::Greater => 1.0,
            };
            worse(0.0, step).then(|| format!("{what} {how} : {old} -> {new}"))
        }
        (Some(old), Some(new)) if worse(float(old), float(new)) => {
            Some(format!("{what} {how} : {} -> {}", text(old), text(new)))
        }
        _ => None,
    }
}

fn alternatives((old, new): (Option<&Typed>, Option<&Typed>)) -> Option<String> {
    let schemas = |value: Option<&Typed>| -> BTreeSet<String> {
        let schemas = value.map_or(&[][..], Typed::elements).iter();
        schemas
            .map(|schema| described(&without(schema, &DECORATION), &SCHEMA))
            .collect()
    };
    let (old, new) = (schemas(old), schemas(new));
    let removed: Vec<&String> = old.difference(&new).collect();
    let added: Vec<&String> = new.difference(&old).collect();
    if old.is_empty() && !new.is_empty() {
        Some(format!(
            "oneOf constraint added when there was none previously: {}",
            listed(&new)
        ))
    } else if !removed.is_empty() {
        Some(format!("allowed oneOf schemas removed: {}", listed(removed)))
    } else if !added.is_empty() {
        Some(format!("allowed oneOf schemas added: {}", listed(added)))
    } else {
        None
    }
}

fn required((old, new): (Option<&Typed>, Option<&Typed>)) -> Option<String> {
    let names = |value: Option<&Typed>| -> BTreeSet<String> {
        let names = value.map_or(&[][..], Typed::elements).iter();
        names.map(|name| name.text().to_owned()).collect()
    };
    let (old, new) = (names(old), names(new));
    let added: Vec<&String> = new.difference(&old).collect();
    (!added.is_empty()).then(|| format!("new required fields: {}", listed(added)))
}
