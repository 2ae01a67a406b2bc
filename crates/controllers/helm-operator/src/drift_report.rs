//! What others changed, field by field, in words.

use apply::diff::{Change, What};

/// How many fields a report names; the rest is counted.
const NAMED: usize = 20;

/// Names what was found changed.
pub fn fields(changes: &[Change]) -> Vec<String> {
    let mut all = Vec::new();
    for change in changes {
        let object = format!("{} {}", change.id.kind, change.id.name);
        match &change.what {
            What::Create => all.push(format!("{object} was deleted")),
            What::Update => {
                let names: Vec<&str> = change.fields.iter().map(|field| field.path.as_str()).collect();
                all.push(format!("{object}: {}", names.join(", ")));
            }
            What::Delete | What::Same | What::Refused(_) => {}
        }
    }
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    if more > 0 {
        all.push(format!("{more} more objects"));
    }
    all
}
