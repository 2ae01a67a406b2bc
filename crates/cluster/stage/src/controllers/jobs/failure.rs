//! What the failure of a Pod means for its Job.

use serde_json::Value;

use super::indexes;
use crate::controllers::pods;
use crate::object::Object;

/// What a failure policy says about a failed Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Why the whole Job fails, where it does.
    pub(super) fails_job: Option<String>,
    /// Whether the failure counts towards the limit.
    pub(super) counts: bool,
    /// Whether the Pod's index fails.
    pub(super) fails_index: bool,
    /// Whether the failure is as if it hadn't been.
    pub(super) ignored: bool,
}

impl Verdict {
    const COUNTED: Self = Self {
        fails_job: None,
        counts: true,
        fails_index: false,
        ignored: false,
    };
}

/// Returns whether new Pods wait until the old ones have ended.
pub(super) fn replaces_only_failed(job: &Value) -> bool {
    job["spec"]["podReplacementPolicy"] == "Failed" || !job["spec"]["podFailurePolicy"].is_null()
}

/// Returns whether a Pod counts as failed.
pub(super) fn is_failed(pod: &Value, job: &Value) -> bool {
    pods::phase(pod) == "Failed"
        || (!replaces_only_failed(job) && pod.is_being_deleted() && pods::phase(pod) != "Succeeded")
}

/// Judges a failed Pod by the Job's policy.
pub(super) fn judge(job: &Value, pod: &Value) -> Verdict {
    let rules = job["spec"]["podFailurePolicy"]["rules"].as_array();
    for (number, rule) in rules.into_iter().flatten().enumerate() {
        let action = rule["action"].as_str().unwrap_or_default();
        let message = match (rule.get("onExitCodes"), rule.get("onPodConditions")) {
            (Some(codes), _) if codes.is_object() => matching_exit(codes, pod).map(|(container, code)| {
                format!(
                    "Container {container} for pod {}/{} failed with exit code {code} matching {action} rule at index \
                     {number}",
                    pod.namespace(),
                    pod.name()
                )
            }),
            (_, Some(conditions)) => matching_condition(conditions, pod).map(|kind| {
                format!(
                    "Pod {}/{} has condition {kind} matching {action} rule at index {number}",
                    pod.namespace(),
                    pod.name()
                )
            }),
            _ => None,
        };
        let Some(message) = message else { continue };
        return match action {
            "Ignore" => Verdict {
                counts: false,
                ignored: true,
                ..Verdict::COUNTED
            },
            "FailIndex" => Verdict {
                fails_index: true,
                ..Verdict::COUNTED
            },
            "FailJob" => Verdict {
                fails_job: Some(message),
                ..Verdict::COUNTED
            },
            _ => Verdict::COUNTED,
        };
    }
    Verdict::COUNTED
}

fn matching_exit<'a>(codes: &Value, pod: &'a Value) -> Option<(&'a str, i64)> {
    let values: Vec<i64> = codes["values"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_i64)
        .collect();
    let negated = codes["operator"] == "NotIn";
    let wanted = codes["containerName"].as_str();
    for list in ["containerStatuses", "initContainerStatuses"] {
        for status in pod["status"][list].as_array().into_iter().flatten() {
            let name = status["name"].as_str().unwrap_or_default();
            let Some(code) = status["state"]["terminated"]["exitCode"].as_i64() else {
                continue;
            };
            if code != 0 && wanted.is_none_or(|wanted| wanted == name) && values.contains(&code) != negated {
                return Some((name, code));
            }
        }
    }
    None
}

fn matching_condition<'a>(patterns: &Value, pod: &'a Value) -> Option<&'a str> {
    let conditions = pod["status"]["conditions"].as_array()?;
    let patterns = patterns.as_array()?;
    conditions
        .iter()
        .find(|one| {
            patterns.iter().any(|pattern| {
                let status = pattern["status"].as_str().filter(|text| !text.is_empty());
                pattern["type"] == one["type"] && one["status"] == status.unwrap_or("True")
            })
        })
        .and_then(|one| one["type"].as_str())
}

/// Returns the rule of the Job's success policy that its succeeded indexes meet, as text.
pub(super) fn success_rule_met(job: &Value, succeeded: &std::collections::BTreeSet<i64>) -> Option<String> {
    if succeeded.is_empty() {
        return None;
    }
    let completions = job["spec"]["completions"].as_i64().unwrap_or(0);
    let rules = job["spec"]["successPolicy"]["rules"].as_array()?;
    let met = rules.iter().position(|rule| {
        let count = rule["succeededCount"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok());
        match rule["succeededIndexes"].as_str() {
            Some(text) => {
                let required = indexes::read(text, completions);
                let contained = required.intersection(succeeded).count();
                !required.is_empty()
                    && (contained == required.len() || count.is_some_and(|count| contained >= count))
            }
            None => count.is_some_and(|count| succeeded.len() >= count),
        }
    })?;
    Some(format!("Matched rules at index {met}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_are_tried_in_order() {
        let job = json!({"spec": {"podFailurePolicy": {"rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
            {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1], "containerName": "c"}},
        ]}}});
        let pod = |code: i64, disrupted: &str| {
            json!({"metadata": {"name": "p", "namespace": "n"}, "status": {"phase": "Failed",
                "conditions": [{"type": "DisruptionTarget", "status": disrupted}],
                "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": code}}}]}})
        };
        assert!(judge(&job, &pod(42, "True")).ignored);
        assert_eq!(
            judge(&job, &pod(42, "False")).fails_job.as_deref(),
            Some("Container c for pod n/p failed with exit code 42 matching FailJob rule at index 1")
        );
        assert!(judge(&job, &pod(7, "False")).fails_index);
        assert_eq!(judge(&job, &pod(1, "False")), Verdict::COUNTED);
    }

    #[test]
    fn a_success_policy_is_met_by_indexes_or_their_number() {
        let job = json!({"spec": {"completions": 5, "successPolicy": {"rules": [
            {"succeededIndexes": "0-2", "succeededCount": 2}, {"succeededCount": 4}]}}});
        assert_eq!(success_rule_met(&job, &indexes::read("0", 5)), None);
        assert_eq!(
            success_rule_met(&job, &indexes::read("0,2", 5)).as_deref(),
            Some("Matched rules at index 0")
        );
        assert_eq!(success_rule_met(&job, &indexes::read("3,4", 5)), None);
    }
}
