//! The solver of OLM v0: upstream's recorded problems, and what holds for every problem.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;
use resolve::classic::solver::{Constraint, Rule, SolveError, Variable, solve};
use serde_json::Value;

type Words = Option<String>;

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn constraint(recorded: &Value) -> Constraint<Words> {
    let ids = || rows(&recorded["ids"]).iter().map(|id| text(id).into()).collect();
    let rule = match text(&recorded["type"]) {
        "mandatory" => Rule::Mandatory,
        "prohibited" => Rule::Prohibited,
        "dependency" => Rule::Dependency(ids()),
        "conflict" => Rule::Conflict(text(&recorded["id"]).into()),
        "atMost" => Rule::AtMost(recorded["n"].as_u64().unwrap() as usize, ids()),
        other => panic!("unknown constraint {other}"),
    };
    Constraint {
        rule,
        wording: recorded["message"].as_str().map(str::to_owned),
    }
}

fn variable(recorded: &Value) -> Variable<Words> {
    Variable {
        id: text(&recorded["id"]).into(),
        constraints: rows(&recorded["constraints"]).iter().map(constraint).collect(),
    }
}

/// Returns a constraint as it is recorded, to compare it.
fn recorded(constraint: &Constraint<Words>) -> Value {
    let mut row = match &constraint.rule {
        Rule::Mandatory => serde_json::json!({"type": "mandatory"}),
        Rule::Prohibited => serde_json::json!({"type": "prohibited"}),
        Rule::Dependency(ids) => {
            serde_json::json!({"type": "dependency", "ids": ids.iter().map(ToString::to_string).collect::<Vec<_>>()})
        }
        Rule::Conflict(id) => serde_json::json!({"type": "conflict", "id": id.to_string()}),
        Rule::AtMost(limit, ids) => {
            serde_json::json!({"type": "atMost", "n": limit, "ids": ids.iter().map(ToString::to_string).collect::<Vec<_>>()})
        }
    };
    if let Some(message) = &constraint.wording {
        row["message"] = message.clone().into();
    }
    row
}

#[test]
fn every_recorded_problem_has_the_recorded_answer() {
    let Some(folder) = corpus::open("olmv0") else {
        return;
    };
    let cases = fs::read(folder.join("olmv0-corpus/solver/cases.json")).expect("the cases");
    let cases: Value = serde_json::from_slice(&cases).expect("JSON");
    let mut wrong = Vec::new();
    for case in rows(&cases["cases"]) {
        let variables: Vec<Variable<Words>> = rows(&case["variables"]).iter().map(variable).collect();
        let expected = &case["expected"];
        let id = text(&case["id"]);
        match solve(&variables) {
            Ok(solution) => {
                let installed: Vec<&str> = solution
                    .in_order()
                    .into_iter()
                    .map(|position| &*variables[position].id)
                    .collect();
                let recorded: Vec<&str> = rows(&expected["installed"]).iter().map(text).collect();
                if expected["installed"].is_null() || installed != recorded {
                    wrong.push(format!("{id}: installed {installed:?} instead of {expected}"));
                }
            }
            Err(error) => {
                let said = error.to_string();
                let variants: BTreeSet<&str> = rows(&expected["errorVariants"])
                    .iter()
                    .chain([&expected["error"]])
                    .map(text)
                    .collect();
                if !variants.contains(said.as_str()) {
                    wrong.push(format!("{id}: {said}\n  instead of {variants:?}"));
                }
                if let SolveError::NotSatisfiable(core) = &error
                    && said == text(&expected["error"])
                {
                    let conflicts: Vec<Value> = core
                        .core
                        .iter()
                        .map(|applied| {
                            let variable = &variables[applied.variable];
                            serde_json::json!({
                                "variable": variable.id.to_string(),
                                "text": applied.text,
                                "constraint": recorded(&variable.constraints[applied.constraint]),
                            })
                        })
                        .collect();
                    if conflicts != rows(&expected["conflicts"]) {
                        wrong.push(format!(
                            "{id}: conflicts {conflicts:?} instead of {}",
                            expected["conflicts"]
                        ));
                    }
                }
            }
        }
    }
    assert_eq!(rows(&cases["cases"]).len(), 101);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn named(id: &str, rules: Vec<Rule>) -> Variable<Words> {
    let constraint = |rule| Constraint { rule, wording: None };
    Variable {
        id: id.into(),
        constraints: rules.into_iter().map(constraint).collect(),
    }
}

#[test]
fn two_variables_of_one_name_are_refused() {
    let error = solve(&[named("a", vec![]), named("a", vec![])]).unwrap_err();
    assert_eq!(error.to_string(), "duplicate identifier \"a\" in input");
}

#[test]
fn what_is_not_there_can_not_be_asked_for() {
    let error = solve(&[named(
        "a",
        vec![Rule::Mandatory, Rule::Dependency(vec!["b".into()])],
    )])
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "1 errors encountered: variable \"b\" referenced but not provided"
    );
}

#[test]
fn an_earlier_choice_does_not_cost_a_later_one_its_preference() {
    // Upstream forgets the order of y's candidates once it had to turn back over x's: it may take y2.
    let dependency = |ids: &[&str]| Rule::Dependency(ids.iter().map(|id| (*id).into()).collect());
    let variables = [
        named("x", vec![Rule::Mandatory, dependency(&["x1", "x2"])]),
        named("y", vec![Rule::Mandatory, dependency(&["y1", "y2"])]),
        named(
            "x1",
            vec![Rule::Conflict("y1".into()), Rule::Conflict("y2".into())],
        ),
        named("x2", vec![]),
        named("y1", vec![]),
        named("y2", vec![]),
    ];
    let chosen: Vec<&str> = solve(&variables)
        .unwrap()
        .chosen
        .into_iter()
        .map(|at| &*variables[at].id)
        .collect();
    assert_eq!(chosen, ["x", "y", "x2", "y1"]);
}

const NAMES: [&str; 9] = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];

fn some_rule() -> impl Strategy<Value = Rule> {
    let name = || prop::sample::select(&NAMES[..]).prop_map(Into::into);
    prop_oneof![
        2 => Just(Rule::Mandatory),
        1 => Just(Rule::Prohibited),
        6 => prop::collection::vec(name(), 1..4).prop_map(Rule::Dependency),
        3 => name().prop_map(Rule::Conflict),
        2 => (0..3_usize, prop::collection::vec(name(), 0..5)).prop_map(|(limit, ids)| Rule::AtMost(limit, ids)),
    ]
}

fn some_problem() -> impl Strategy<Value = Vec<Variable<Words>>> {
    prop::collection::vec(prop::collection::vec(some_rule(), 0..3), NAMES.len()).prop_map(|rules| {
        NAMES
            .iter()
            .zip(rules)
            .map(|(name, rules)| named(name, rules))
            .collect()
    })
}

/// Returns whether a choice, as a set of bits, obeys a rule.
fn holds(subject: usize, rule: &Rule, chosen: u32) -> bool {
    let at = |id: &str| NAMES.iter().position(|name| *name == id).unwrap();
    let has = |position: usize| chosen >> position & 1 == 1;
    match rule {
        Rule::Mandatory => has(subject),
        Rule::Prohibited => !has(subject),
        Rule::Dependency(ids) => !has(subject) || ids.iter().any(|id| has(at(id))),
        Rule::Conflict(id) => !(has(subject) && has(at(id))),
        Rule::AtMost(limit, ids) => ids.iter().filter(|id| has(at(id))).count() <= *limit,
    }
}

/// Returns whether the rules that `counts` picks can hold together.
fn satisfiable(variables: &[Variable<Words>], counts: &dyn Fn(usize, usize) -> bool) -> bool {
    (0..1_u32 << NAMES.len()).any(|chosen| {
        variables.iter().enumerate().all(|(subject, variable)| {
            let mut rules = variable.constraints.iter().enumerate();
            rules.all(|(rule, constraint)| !counts(subject, rule) || holds(subject, &constraint.rule, chosen))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_answer_obeys_every_rule_and_no_answer_means_that_none_does(variables in some_problem()) {
        match solve(&variables) {
            Ok(solution) => {
                let chosen = solution.chosen.iter().fold(0, |bits, position| bits | 1 << position);
                for (subject, variable) in variables.iter().enumerate() {
                    for constraint in &variable.constraints {
                        prop_assert!(holds(subject, &constraint.rule, chosen), "{constraint:?} of {}", variable.id);
                    }
                }
            }
            Err(SolveError::NotSatisfiable(core)) => {
                let in_core = |subject, rule| {
                    core.core.iter().any(|applied| (applied.variable, applied.constraint) == (subject, rule))
                };
                prop_assert!(!satisfiable(&variables, &in_core), "{core}");
                for left_out in &core.core {
                    let without = |subject, rule| {
                        in_core(subject, rule) && (left_out.variable, left_out.constraint) != (subject, rule)
                    };
                    prop_assert!(satisfiable(&variables, &without), "{} isn't needed in {core}", left_out.text);
                }
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn the_same_question_has_the_same_answer(variables in some_problem()) {
        prop_assert_eq!(solve(&variables), solve(&variables));
    }

    #[test]
    fn the_first_candidate_that_can_be_had_is_taken(variables in some_problem()) {
        // The first mandatory variable with a dependency has the first choice.
        let Ok(solution) = solve(&variables) else { return Ok(()) };
        let mandatory = |variable: &&Variable<Words>| variable.constraints.iter().any(|found| found.rule == Rule::Mandatory);
        let anchors: Vec<&str> = variables.iter().filter(mandatory).map(|variable| &*variable.id).collect();
        let first = variables.iter().filter(mandatory).find_map(|variable| variable.constraints.iter().find_map(|found| match &found.rule {
            Rule::Dependency(ids) => Some(ids.clone()),
            _ => None,
        }));
        let Some(candidates) = first else { return Ok(()) };
        if candidates.iter().any(|id| anchors.contains(&&**id)) { return Ok(()) }
        let chosen: Vec<&str> = solution.chosen.iter().map(|&at| &*variables[at].id).collect();
        for candidate in &candidates {
            let mut forced = variables.clone();
            let at = NAMES.iter().position(|name| **name == **candidate).unwrap();
            forced[at].constraints.push(Constraint { rule: Rule::Mandatory, wording: None });
            if solve(&forced).is_ok() {
                prop_assert!(chosen.contains(&&**candidate), "{candidate} could be had, and {chosen:?} was chosen");
                break;
            }
        }
    }
}
