//! Which fields of a custom resource a chart's schema doesn't allow, in words that name them.

use chart::schema::{Complaint, SchemaViolation, Step, field_name};

use crate::overrides::Overrides;

/// A message stays far below what an object may hold.
const MOST_COMPLAINTS: usize = 20;

/// Names each field and what is wrong with it, and whose value it is: the resource's, or one that the operator sets.
pub fn describe(violation: &SchemaViolation, overrides: &Overrides) -> String {
    let complaints: Vec<String> = violation
        .complaints()
        .map(|(path, complaint)| one(&path, complaint, overrides))
        .collect();
    if complaints.is_empty() {
        return "the chart's schema can't be used: ask who packaged the chart to mend values.schema.json"
            .to_owned();
    }
    let message = complaints[..complaints.len().min(MOST_COMPLAINTS)].join("; ");
    match complaints.len().checked_sub(MOST_COMPLAINTS) {
        None | Some(0) => message,
        Some(more) => format!("{message}; and {more} more"),
    }
}

fn one(path: &[Step], complaint: &Complaint, overrides: &Overrides) -> String {
    let value = field_name("", path);
    let is_overridden = overrides.iter().any(|(path, _)| {
        path.strip_prefix(&value)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    });
    if is_overridden {
        return format!(
            "overrideValues {value} in watches.yaml: {}",
            complaint.description
        );
    }
    // A complaint of a subchart counts from the subchart's section.
    let section = field_name("spec", &path[..path.len().saturating_sub(complaint.path.len())]);
    rules(&section, complaint).join(" or ")
}

/// The rules at the end of each branch: what is above them says only that one of them is broken.
fn rules(section: &str, complaint: &Complaint) -> Vec<String> {
    if complaint.causes.is_empty() {
        return vec![format!(
            "{}: {}",
            complaint.field_below(section),
            complaint.description
        )];
    }
    let causes = complaint.causes.iter();
    causes.flat_map(|cause| rules(section, cause)).collect()
}
