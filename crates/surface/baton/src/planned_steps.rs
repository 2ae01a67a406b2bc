//! A plan as people see it before it is carried out: what becomes of which object, and why.

use crate::output::columns;

/// What becomes of one object.
pub(crate) struct PlannedStep<'a> {
    pub(crate) action: &'static str,
    /// The object, as [`object_name`] writes it.
    pub(crate) object: String,
    pub(crate) because: &'a str,
}

/// An object as people name it; one of the cluster has no namespace.
pub(crate) fn object_name(kind: &str, namespace: &str, name: &str) -> String {
    match namespace {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

/// Sets the steps of a plan in columns.
pub(crate) fn table<'a>(steps: impl Iterator<Item = PlannedStep<'a>>) -> String {
    let mut rows = vec![["ACTION", "OBJECT", "BECAUSE"].map(str::to_owned).to_vec()];
    rows.extend(steps.map(|step| vec![step.action.to_owned(), step.object, step.because.to_owned()]));
    columns(&rows)
}
