//! The order of steps: what others belong to comes first.

use super::{DEFINITION, SERVICE_VERSION, Step};

/// Returns steps in the order in which they are taken: ClusterServiceVersions, definitions, everything else; within each
/// as they came.
pub fn ordered(steps: Vec<Step>) -> Vec<Step> {
    let mut steps = steps;
    steps.sort_by_key(|step| match step.kind.as_str() {
        SERVICE_VERSION => 0,
        DEFINITION => 1,
        _ => 2,
    });
    steps
}
