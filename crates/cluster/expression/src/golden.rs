//! What Kubernetes 1.36.3 itself says about expressions and rules: results, errors, texts, costs and estimates.
//!
//! Each line of the tables is a case; the first line of the expressions is the schema and the values they all work on.

use serde_json::Value as Json;

use crate::check::{Declared, Scope, check};
use crate::cost::PER_CALL_LIMIT;
use crate::cost::estimate::estimate;
use crate::evaluate::plan::plan;
use crate::evaluate::run;
use crate::rules::Compiled;
use crate::syntax::parse::parse;
use crate::value::{json, text};

fn lines(table: &str) -> impl Iterator<Item = Json> + '_ {
    table
        .lines()
        .map(|line| serde_json::from_str(line).expect("every line of a table is JSON"))
}

#[test]
fn expressions_come_to_what_kubernetes_makes_of_them() {
    let mut table = lines(include_str!("golden/expressions.jsonl"));
    let given = table
        .next()
        .expect("the first line says what the expressions work on");
    let schema = schema::structural::read(&given["schema"]).expect("the schema is sound");
    let declared = Declared::from_schema(&schema, false).expect("the schema is exposed");
    let of = declared.named("selfType1");
    let scope = Scope::default().with("self", of.clone()).with("oldSelf", of);
    let mut wrong = Vec::new();
    for case in table {
        let rule = case["rule"].as_str().unwrap_or_default();
        let mut found = serde_json::Map::new();
        found.insert("rule".to_owned(), case["rule"].clone());
        match parse(rule).and_then(|(tree, source)| check(tree, source, &scope)) {
            Err(issues) => {
                found.insert("compile".to_owned(), issues.to_string().into());
            }
            Ok(checked) => match plan(&checked, &["self", "oldSelf"]) {
                Err(failure) => {
                    found.insert("compile".to_owned(), format!("program: {failure}").into());
                }
                Ok(program) => {
                    let range = estimate(&checked, &declared);
                    let variable = |place: usize| {
                        let value = if place == 0 {
                            &given["self"]
                        } else {
                            &given["oldSelf"]
                        };
                        Some(json::value(value, Some(&schema), false))
                    };
                    let evaluated = run(&program, &variable, PER_CALL_LIMIT);
                    found.insert("cost".to_owned(), evaluated.cost.into());
                    found.insert("least".to_owned(), range.least.into());
                    found.insert("most".to_owned(), range.most.into());
                    match evaluated.outcome {
                        Ok(value) if case.get("result").is_some() => {
                            found.insert("result".to_owned(), text::debug(&value).into());
                        }
                        Ok(_) => {}
                        Err(failure) => {
                            found.insert("error".to_owned(), failure.to_string().into());
                        }
                    }
                }
            },
        }
        let found = Json::Object(found);
        if found != case {
            wrong.push(format!("wanted {case}\nfound  {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rules_find_what_kubernetes_finds() {
    let mut wrong = Vec::new();
    for case in lines(include_str!("golden/validations.jsonl")) {
        let schema = schema::structural::read(&case["schema"]).expect("the schema is sound");
        let compiled = Compiled::new(&schema, case["root"] == true);
        let budget = case["budget"].as_i64().unwrap_or(crate::RUNTIME_BUDGET);
        let limit = case["perCall"].as_u64().unwrap_or(PER_CALL_LIMIT);
        let path = schema::FieldPath::new("root");
        let findings = compiled.validate_within(&path, &case["self"], case.get("oldSelf"), budget, limit);
        let mut errors: Vec<String> = findings.errors.told().iter().map(ToString::to_string).collect();
        errors.sort();
        if Json::from(errors.clone()) != case["errors"] {
            wrong.push(format!("{case}\nfound {errors:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
