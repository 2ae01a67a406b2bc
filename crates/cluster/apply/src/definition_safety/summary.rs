//! A change that no check knows, in few words.

use super::properties::UNHANDLED;

/// What a line of a difference says of a field, before and after.
#[derive(Default)]
struct Change<'a> {
    field: &'a str,
    old: Option<&'a str>,
    new: Option<&'a str>,
}

/// Returns what changed in which field, from the lines that tell a difference.
pub(crate) fn summary(message: &str) -> String {
    if !message.contains(UNHANDLED) {
        return message.to_owned();
    }
    let mut changes: Vec<Change<'_>> = Vec::new();
    for line in message.lines() {
        let line = line.trim();
        let Some((old, rest)) = side(line) else { continue };
        let rest = rest.trim();
        let rest = rest.strip_suffix(',').unwrap_or(rest);
        let Some((field, value)) = rest.split_once(':') else {
            continue;
        };
        let (field, value) = (field.trim(), value.trim());
        if field.is_empty() {
            continue;
        }
        let index = changes
            .iter()
            .position(|change| change.field == field)
            .unwrap_or_else(|| {
                changes.push(Change {
                    field,
                    ..Change::default()
                });
                changes.len() - 1
            });
        if let Some(change) = changes.get_mut(index) {
            if old {
                change.old = Some(value);
            } else {
                change.new = Some(value);
            }
        }
    }
    let details: Vec<String> = changes.iter().filter_map(Change::detail).collect();
    if details.is_empty() {
        UNHANDLED.to_owned()
    } else {
        format!("{UNHANDLED} ({})", details.join("; "))
    }
}

/// Returns whether a line is of the old side, and what it says.
fn side(line: &str) -> Option<(bool, &str)> {
    let (old, rest) = match line.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix('+')?),
    };
    (!rest.is_empty()).then_some((old, rest))
}

impl Change<'_> {
    fn detail(&self) -> Option<String> {
        if self.old == self.new {
            return None;
        }
        let (old, new) = (self.old.map(readable), self.new.map(readable));
        let same = old == new;
        let shown = |text: Option<String>| text.unwrap_or_else(|| "<empty>".into());
        let suffix = if same { " (changed)" } else { "" };
        Some(format!("{} {} -> {}{suffix}", self.field, shown(old), shown(new)))
    }
}

fn readable(value: &str) -> String {
    let value = value.strip_suffix(',').unwrap_or(value).trim();
    if value.is_empty() {
        return "<empty>".into();
    }
    let value = value.replace("v1.", "");
    if value.contains("JSONSchemaProps") {
        return "<complex value>".into();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_differences_are_summed_up_as_upstream_does() {
        let Some(folder) = corpus::open("olmv1") else {
            return;
        };
        let cases =
            std::fs::read(folder.join("olmv1-corpus/crd-upgrade-safety/cases.json")).expect("the cases");
        let cases: serde_json::Value = serde_json::from_slice(&cases).expect("JSON");
        let rows = cases["unhandledMessages"].as_array().expect("rows");
        assert_eq!(rows.len(), 4);
        for row in rows {
            let raw = row["raw"].as_str().expect("a text");
            assert_eq!(summary(raw), row["concise"], "{}", row["id"]);
        }
    }
}
