//! What new definitions would do: to what is stored, and to each resource that was copied.

use apply::definition_safety::{self, Place};
use apply::object::{ObjectId, text};

use crate::gathering::Gathered;
use crate::next::Next;
use crate::report::{Break, Report};
use crate::validity;

/// Takes down what the controller would refuse of the new definitions, and which resources they don't fit.
pub(crate) fn examine(next: &Next, gathered: &Gathered, report: &mut Report) {
    let objects = next.content.objects.iter();
    for new in objects.filter(|object| text(object, "/kind") == "CustomResourceDefinition") {
        let id = ObjectId::of(new);
        let old = gathered.definitions.get(&id.name);
        if let (Some(old), Some(checks)) = (old, &next.checks) {
            match definition_safety::examine(old, new, checks) {
                Ok(None) => {}
                Ok(Some(found)) => report
                    .would_break
                    .extend(found.findings.into_iter().map(|finding| refused(&id, finding))),
                Err(unreadable) => report.would_break.push(Break {
                    object: id.clone(),
                    field: None,
                    cause: unreadable.to_string(),
                    next_step: "ask the author to mend the definition".to_owned(),
                }),
            }
        }
        let resources = gathered
            .resources
            .iter()
            .find(|resources| resources.definition == id.name);
        if let Some(resources) = resources {
            let examined = validity::examine(new, &resources.objects);
            report.would_break.extend(examined.breaks);
            report.not_rehearsed.extend(examined.unknown);
        }
    }
}

fn refused(id: &ObjectId, finding: definition_safety::Finding) -> Break {
    let check = finding.check;
    Break {
        object: id.clone(),
        field: finding
            .place
            .map(|Place { version, property }| format!("{version} {property}")),
        cause: format!("the upgrade is refused by the check {check}: {}", finding.message),
        next_step: format!(
            "ask the author for a definition that keeps what exists; if every resource is fine with it, annotate the \
             ClusterExtension with {}={check}",
            definition_safety::SKIP_ANNOTATION
        ),
    }
}
