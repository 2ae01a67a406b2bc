//! Why no node takes a pod: the scheduler says how many nodes fail which rule, and the pod what the rule asks for.
//!
//! ```text
//! 0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node affinity/selector. preemption: …
//!                          └ count, and the rule
//! ```

use serde_json::Value;

use super::shortened;
use crate::object::{at, text};

/// How the scheduler says that nodes lack the labels that a pod asks for.
const AFFINITY: &str = "didn't match Pod's node affinity/selector";

/// How it says that they lack what is left of a resource.
const INSUFFICIENT: &str = "Insufficient ";

/// Says why no node takes a pod, from what the scheduler said; what isn't understood stays in its words.
pub(super) fn words(pod: &Value, said: &str) -> String {
    let Some((total, rules)) = read(said) else {
        return format!("no node takes it: {}", shortened(said));
    };
    let labels = labels(pod);
    // A rule about the node's name, as every pod of a DaemonSet has one, explains nothing beside another.
    let told = rules
        .iter()
        .filter(|rule| !(rule.text.contains(AFFINITY) && labels.is_empty() && rules.len() > 1));
    let parts: Vec<String> = told.map(|rule| part(pod, rule, total, &labels)).collect();
    let is_of_all = |part: &String| part.starts_with("no node ");
    let line = parts.join(", ");
    if parts.iter().all(is_of_all) {
        shortened(&line)
    } else {
        format!("no node takes it: {}", shortened(&line))
    }
}

/// A rule that nodes fail, and how many; none where the scheduler counts none.
struct Rule<'a> {
    count: Option<usize>,
    text: &'a str,
}

/// Reads how many nodes there are, and the rules that they fail.
fn read(said: &str) -> Option<(usize, Vec<Rule<'_>>)> {
    let (counts, rest) = said.split_once(" nodes are available: ")?;
    let total = counts.strip_prefix("0/")?.parse().ok()?;
    // What follows tells of pods that could make room, and repeats the rules.
    let end = ["preemption: ", "no new claims to deallocate"]
        .into_iter()
        .filter_map(|next| rest.find(next))
        .min();
    let rest = rest.get(..end.unwrap_or(rest.len()))?;
    let rest = rest.trim().trim_end_matches('.');
    let rules = rest.split(", ").map(|rule| match rule.split_once(' ') {
        Some((count, text)) if count.parse::<usize>().is_ok() => Rule {
            count: count.parse().ok(),
            text,
        },
        _ => Rule {
            count: None,
            text: rule,
        },
    });
    Some((total, rules.collect()))
}

fn part(pod: &Value, rule: &Rule<'_>, total: usize, labels: &str) -> String {
    let Some(count) = rule.count else {
        return rule.text.to_owned();
    };
    let of_all = count == total;
    let some = |one: &str, many: &str| match count {
        1 => format!("1 of {total} nodes {one}"),
        count => format!("{count} of {total} nodes {many}"),
    };
    if rule.text.contains(AFFINITY) && !labels.is_empty() {
        return if of_all {
            format!("no node has label {labels}")
        } else {
            format!("{} no label {labels}", some("has", "have"))
        };
    }
    if let Some(resource) = rule.text.strip_prefix(INSUFFICIENT) {
        let asked = requests(pod, resource).join(" + ");
        let asked = match asked.as_str() {
            "" => String::new(),
            asked => format!(" (it asks for {asked})"),
        };
        return if of_all {
            format!("no node has enough {resource}{asked}")
        } else {
            format!("{} too little {resource}{asked}", some("has", "have"))
        };
    }
    format!("{count} {}", rule.text)
}

/// The labels that a node must have for a pod: `a=b and zone in (x, y)`; empty where it asks for none.
fn labels(pod: &Value) -> String {
    let selected = at(pod, "/spec/nodeSelector").and_then(Value::as_object);
    let mut all: Vec<String> = selected
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let required =
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let terms = at(pod, required).and_then(Value::as_array);
    let terms: Vec<String> = terms
        .into_iter()
        .flatten()
        .map(|term| {
            let expressions = at(term, "/matchExpressions").and_then(Value::as_array);
            let expressions: Vec<String> = expressions.into_iter().flatten().map(expression).collect();
            expressions.join(" and ")
        })
        .filter(|term| !term.is_empty())
        .collect();
    match terms.as_slice() {
        [] => {}
        [term] => all.push(term.clone()),
        terms if all.is_empty() => all.push(terms.join(" or ")),
        terms => all.push(format!("({})", terms.join(" or "))),
    }
    all.join(" and ")
}

fn expression(expression: &Value) -> String {
    let key = text(expression, "/key");
    let values = at(expression, "/values").and_then(Value::as_array);
    let values: Vec<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
    match (text(expression, "/operator"), values.as_slice()) {
        ("In", [value]) => format!("{key}={value}"),
        ("NotIn", [value]) => format!("{key}!={value}"),
        ("In", values) => format!("{key} in ({})", values.join(", ")),
        ("NotIn", values) => format!("{key} not in ({})", values.join(", ")),
        ("DoesNotExist", _) => format!("!{key}"),
        ("Gt", values) => format!("{key}>{}", values.join(", ")),
        ("Lt", values) => format!("{key}<{}", values.join(", ")),
        _ => key.to_owned(),
    }
}

/// The amounts of a resource that the containers of a pod ask for, as they write them.
fn requests(pod: &Value, resource: &str) -> Vec<String> {
    let containers = at(pod, "/spec/containers").and_then(Value::as_array);
    let asked = containers.into_iter().flatten().filter_map(|container| {
        let amount = container.get("resources")?.get("requests")?.get(resource)?;
        Some(amount.as_str().map_or_else(|| amount.to_string(), str::to_owned))
    });
    asked.collect()
}
