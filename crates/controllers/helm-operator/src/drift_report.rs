//! What others changed, field by field, in words.

use apply::diff::{Change, What};
use apply::object::ObjectId;
use release::scaling::REPLICAS;

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
    shortened(all)
}

/// Names what is left to others, and to whom.
pub fn left(scaled: &[(ObjectId, String)]) -> Vec<String> {
    let line = |(id, by): &(ObjectId, String)| {
        format!(
            "{} {}: {REPLICAS} is left to {by}, which scales it",
            id.kind, id.name
        )
    };
    shortened(scaled.iter().map(line).collect())
}

fn shortened(mut all: Vec<String>) -> Vec<String> {
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    if more > 0 {
        all.push(format!("{more} more objects"));
    }
    all
}
