//! The moment at which a step of a flow was done, which the recordings tell in words.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::recording::Subject;

/// The phases in which the recordings wait for a version.
const PHASES: [&str; 3] = ["Pending", "Succeeded", "Failed"];

/// When a step is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    signs: Vec<Sign>,
    /// Whether nothing moves any more.
    pub(crate) is_quiet: bool,
}

/// Something that can be seen in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sign {
    /// Every catalog can be asked.
    CatalogsReady,
    /// A version is in a phase, and for a reason where one is told. The name is a part between dots, or nothing.
    Version {
        name: String,
        phase: String,
        reason: Option<String>,
    },
    /// Other namespaces have copies of a version, or have none.
    Copies(bool),
    /// A plan is in a phase.
    PlanIs(&'static str),
    /// The message of a plan says something.
    PlanSays(&'static str),
    /// A Subscription says that nothing was found for it.
    ResolutionFailed,
    /// There is no Subscription.
    NoSubscription,
    /// An operator's word about itself is in the status of its OperatorCondition.
    ConditionAccepted,
    /// The custom resource of the step before is there; that step waited for it.
    ResourceMade,
}

impl Moment {
    /// Reads the words of a recording; none if they say something else than any recording said so far.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (told, is_quiet) = match text {
            "at once" | "before the CatalogSource" => ("", false),
            // Something was expected that upstream didn't do.
            "30 s later, nothing happened" | "45 s after the CRD was created: nothing had happened" => {
                ("", true)
            }
            _ => {
                // What follows a colon says what is done then.
                let text = text.split(':').next()?;
                let text = ["after ", "once ", "while "]
                    .iter()
                    .find_map(|word| text.strip_prefix(word))
                    .unwrap_or(text);
                let rested = text
                    .split_once(" and quiet")
                    .or_else(|| text.split_once(" and nothing moves"));
                match rested {
                    Some((told, _)) => (told, true),
                    None if text.starts_with("quiet") => ("", true),
                    None => (text, false),
                }
            }
        };
        let told = told.split(", ").filter(|sign| !sign.is_empty());
        Some(Self {
            signs: told.map(Sign::parse).collect::<Option<_>>()?,
            is_quiet,
        })
    }

    /// Returns whether nothing is waited for.
    pub(crate) fn is_now(&self) -> bool {
        self.signs.is_empty() && !self.is_quiet
    }

    /// Returns whether everything is seen that is waited for.
    pub(crate) fn is_seen(&self, objects: &BTreeMap<Subject, Value>) -> bool {
        self.signs.iter().all(|sign| sign.is_seen(objects))
    }
}

impl Sign {
    fn parse(told: &str) -> Option<Self> {
        Some(match told {
            "the CatalogSource is READY" => Self::CatalogsReady,
            "copies exist" | "copy recreated" => Self::Copies(true),
            "copies gone" => Self::Copies(false),
            "first plan is RequiresApproval" | "the plan is RequiresApproval" => {
                Self::PlanIs("RequiresApproval")
            }
            "plan shows Forbidden" => Self::PlanSays("is forbidden"),
            "the plan is retrying" => Self::PlanSays("retrying execution due to error"),
            "ResolutionFailed" => Self::ResolutionFailed,
            "Subscription gone" => Self::NoSubscription,
            "condition is in status" => Self::ConditionAccepted,
            "CR exists" => Self::ResourceMade,
            _ => {
                let (name, state) = told.rsplit_once(' ').unwrap_or(("", told));
                let (phase, reason) = match state.split_once('/') {
                    Some((phase, reason)) => (phase, Some(reason.to_owned())),
                    None => (state, None),
                };
                let name = match name {
                    "CSV" | "the CSV is" => "",
                    name if name.contains(' ') => return None,
                    name => name,
                };
                if !PHASES.contains(&phase) {
                    return None;
                }
                Self::Version {
                    name: name.to_owned(),
                    phase: phase.to_owned(),
                    reason,
                }
            }
        })
    }

    fn is_seen(&self, objects: &BTreeMap<Subject, Value>) -> bool {
        let mut all = objects.iter();
        let is_copy = |object: &Value| object.pointer("/metadata/labels/olm.copiedFrom").is_some();
        match self {
            Self::CatalogsReady => all.all(|((kind, ..), object)| {
                kind != "CatalogSource" || object["status"]["connectionState"]["lastObservedState"] == "READY"
            }),
            Self::Version { name, phase, reason } => all.any(|((kind, _, found), object)| {
                let status = &object["status"];
                kind == "ClusterServiceVersion"
                    && !is_copy(object)
                    && (name.is_empty() || found.split('.').any(|part| part == name))
                    && status["phase"] == *phase
                    && reason.as_ref().is_none_or(|reason| status["reason"] == *reason)
            }),
            Self::Copies(are_there) => {
                *are_there
                    == all.any(|((kind, ..), object)| kind == "ClusterServiceVersion" && is_copy(object))
            }
            Self::PlanIs(phase) => {
                all.any(|((kind, ..), object)| kind == "InstallPlan" && object["status"]["phase"] == *phase)
            }
            Self::PlanSays(words) => all.any(|((kind, ..), object)| {
                let message = object["status"]["message"].as_str().unwrap_or_default();
                kind == "InstallPlan" && message.contains(words)
            }),
            Self::ResolutionFailed => all.any(|((kind, ..), object)| {
                let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
                kind == "Subscription"
                    && conditions.any(|condition| {
                        condition["type"] == "ResolutionFailed" && condition["status"] == "True"
                    })
            }),
            Self::NoSubscription => all.all(|((kind, ..), _)| kind != "Subscription"),
            Self::ConditionAccepted => all.any(|((kind, ..), object)| {
                kind == "OperatorCondition" && object["status"]["conditions"].is_array()
            }),
            Self::ResourceMade => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_no_recording_has_are_no_moment() {
        for text in [
            "when it suits",
            "v1 Sleeping and quiet",
            "the second plan is Complete",
            "after a while",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_moment_is_what_is_seen_and_whether_it_rests() {
        let version = |name: &str, phase: &str, reason: Option<&str>| Sign::Version {
            name: name.to_owned(),
            phase: phase.to_owned(),
            reason: reason.map(str::to_owned),
        };
        for (text, signs, is_quiet) in [
            ("at once", vec![], false),
            ("quiet 4 s later", vec![], true),
            ("quiet 4 s: delete the CSV", vec![], true),
            (
                "plan shows Forbidden",
                vec![Sign::PlanSays("is forbidden")],
                false,
            ),
            (
                "v1 Succeeded and quiet",
                vec![version("v1", "Succeeded", None)],
                true,
            ),
            ("a Succeeded", vec![version("a", "Succeeded", None)], false),
            (
                "v1 Succeeded, CR exists and quiet",
                vec![version("v1", "Succeeded", None), Sign::ResourceMade],
                true,
            ),
            (
                "after the CSV is Failed/NoOperatorGroup and quiet 4 s",
                vec![version("", "Failed", Some("NoOperatorGroup"))],
                true,
            ),
            (
                "once the plan is RequiresApproval and nothing moves for 3 s",
                vec![Sign::PlanIs("RequiresApproval")],
                true,
            ),
        ] {
            assert_eq!(Moment::parse(text), Some(Moment { signs, is_quiet }), "{text}");
        }
    }
}
