//! What an object may not say, and which objects exclude each other; all checked before anything is asked of the server.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::content::ContentPhase;
use crate::object::ObjectId;

/// What is wrong with one phase.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PhaseProblem {
    /// The phase.
    pub phase: String,
    /// What is wrong with the phase itself.
    pub of_phase: Option<String>,
    /// What is wrong with its objects.
    pub of_objects: Vec<(ObjectId, Vec<String>)>,
    /// What somebody can do about it, where that is known.
    pub next_step: Option<&'static str>,
}

impl PhaseProblem {
    /// Returns whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.of_phase.is_none() && self.of_objects.is_empty()
    }

    /// Says what is wrong, in upstream's words, and then what can be done.
    pub fn message(&self) -> String {
        let objects = self
            .of_objects
            .iter()
            .map(|(id, problems)| format!("{id}: {}", problems.join(", ")));
        let parts: Vec<String> = self.of_phase.iter().cloned().chain(objects).collect();
        let next_step = self.next_step.map(|step| format!("; {step}")).unwrap_or_default();
        format!("phase {:?}: {}{next_step}", self.phase, parts.join(", "))
    }
}

/// Says what is wrong with the phases of a revision, in upstream's words; none if nothing is.
pub fn problem_of_revision(name: &str, revision: i64, phases: &[ContentPhase]) -> Option<String> {
    let duplicates = duplicates(phases);
    let problems: Vec<String> = phases
        .iter()
        .map(|phase| problem_of_phase(phase, &duplicates))
        .filter(|problem| !problem.is_empty())
        .map(|problem| problem.message())
        .collect();
    (!problems.is_empty()).then(|| format!("revision {name:?} ({revision}): {}", problems.join(", ")))
}

type Duplicates<'a> = BTreeMap<&'a ObjectId, Vec<&'a str>>;

fn problem_of_phase(phase: &ContentPhase, duplicates: &Duplicates<'_>) -> PhaseProblem {
    let mut problem = PhaseProblem {
        phase: phase.name.clone(),
        of_phase: problem_of_name(&phase.name),
        of_objects: Vec::new(),
        next_step: None,
    };
    for wanted in &phase.objects {
        let problems = problems_of_metadata(&wanted.object);
        if !problems.is_empty() {
            problem.of_objects.push((wanted.id.clone(), problems));
        }
    }
    for (id, phases) in duplicates {
        if phases.contains(&phase.name.as_str()) {
            let text = format!("duplicate object found in phases: {}", phases.join(", "));
            problem.of_objects.push(((*id).clone(), vec![text]));
        }
    }
    problem
}

/// Returns the objects that are wanted more than once, with the phases that want them.
fn duplicates(phases: &[ContentPhase]) -> Duplicates<'_> {
    let mut wanted: BTreeMap<&ObjectId, (usize, Vec<&str>)> = BTreeMap::new();
    for phase in phases {
        for object in &phase.objects {
            let (count, names) = wanted.entry(&object.id).or_default();
            *count += 1;
            names.push(&phase.name);
        }
    }
    wanted
        .into_iter()
        .filter(|(_, (count, _))| *count > 1)
        .map(|(id, (_, mut names))| {
            names.sort_unstable();
            names.dedup();
            (id, names)
        })
        .collect()
}

/// The longest label that DNS allows.
const LONGEST_LABEL: usize = 63;

/// Says what is wrong with the name of a phase. A name may begin with a digit upstream's definition says, and may not
/// says its engine: the engine counts.
fn problem_of_name(name: &str) -> Option<String> {
    let mut problems = Vec::new();
    if name.len() > LONGEST_LABEL {
        problems.push(format!("must be no more than {LONGEST_LABEL} characters"));
    }
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = name.bytes().all(inside)
        && name
            .bytes()
            .next()
            .is_some_and(|first| first.is_ascii_lowercase())
        && name.bytes().last().is_some_and(|last| last != b'-');
    if !is_label {
        problems.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    (!problems.is_empty()).then(|| format!("phase name invalid: {}", problems.join(", ")))
}

fn problems_of_metadata(object: &Value) -> Vec<String> {
    let id = ObjectId::of(object);
    let mut problems = Vec::new();
    let mut require = |is_there: bool, field: &str| {
        if !is_there {
            problems.push(format!("{field}: Required value: must not be empty"));
        }
    };
    require(!id.version().is_empty(), "apiVersion");
    require(!id.kind.is_empty(), "kind");
    require(!id.name.is_empty(), "metadata.name");
    for (field, value) in [("name", &id.name), ("namespace", &id.namespace)] {
        // It becomes part of an address.
        if value == "."
            || value == ".."
            || value.contains(['/', '%', '?', '#'])
            || value.contains(char::is_whitespace)
        {
            problems.push(format!(
                "metadata.{field}: Invalid value: {value:?}: must be a segment of a path"
            ));
        }
    }
    for field in [
        "uid",
        "generation",
        "generateName",
        "finalizers",
        "ownerReferences",
        "resourceVersion",
    ] {
        let said = match object.pointer(&format!("/metadata/{field}")) {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::Number(number)) => number.as_i64().is_none_or(|number| number > 0),
            Some(_) => true,
        };
        if said {
            problems.push(format!("metadata.{field}: Forbidden: must be empty"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use api::cluster_object_set::CollisionProtection;
    use serde_json::json;

    use super::*;
    use crate::content::Wanted;

    fn phase(name: &str, objects: &[Value]) -> ContentPhase {
        ContentPhase {
            name: name.to_owned(),
            objects: objects
                .iter()
                .map(|object| Wanted {
                    id: ObjectId::of(object),
                    object: object.clone(),
                    protection: CollisionProtection::default(),
                })
                .collect(),
        }
    }

    #[test]
    fn what_only_the_server_says_is_refused() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "1", "finalizers": ["b"]}});
        let problem = problem_of_revision("x-1", 1, &[phase("deploy", &[object])]).expect("a problem");
        assert_eq!(
            problem,
            "revision \"x-1\" (1): phase \"deploy\": /v1, Kind=ConfigMap /a: metadata.uid: Forbidden: must be empty, metadata.finalizers: Forbidden: must be empty"
        );
    }

    #[test]
    fn an_object_is_wanted_once() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let phases = [
            phase("one", std::slice::from_ref(&object)),
            phase("two", std::slice::from_ref(&object)),
        ];
        assert_eq!(
            problem_of_revision("x-1", 1, &phases).expect("a problem"),
            "revision \"x-1\" (1): phase \"one\": /v1, Kind=ConfigMap /a: duplicate object found in phases: one, two, phase \"two\": /v1, Kind=ConfigMap /a: duplicate object found in phases: one, two"
        );
    }

    #[test]
    fn a_phase_is_a_label() {
        assert!(problem_of_name("deploy-2").is_none());
        for name in ["", "1a", "a-", "A", &"a".repeat(64)] {
            assert!(problem_of_name(name).is_some(), "{name}");
        }
    }
}
