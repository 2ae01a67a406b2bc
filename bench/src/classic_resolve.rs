//! Resolves Subscriptions of OLM v0: in a catalog of the size of a public one, and the problem of upstream's benchmark.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use resolve::classic::solver::{Constraint, Rule, Variable, solve};
use resolve::classic::{
    Api, Catalog, CatalogKey, Existing, Isolation, RegistryBundle, RegistryPackage, Request, Snapshot,
    Subscription, resolve,
};
use serde_json::Value;

/// How often each question is asked.
const ROUNDS: usize = 51;
/// How many packages the made-up catalog has, as OperatorHub does.
const PACKAGES: usize = 450;
/// How many versions each of them has.
const VERSIONS: usize = 14;
/// How many of them are subscribed to.
const SUBSCRIPTIONS: usize = 10;

/// Prints how long it takes to index a catalog, to resolve a namespace, and to solve the largest of the recorded
/// problems in a file.
pub(crate) fn measure(problems: &Path) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    let key = CatalogKey::new("olm", "catalog");
    let (snapshot, left_out) = catalog(&key);
    println!("entries: {}", snapshot.entries().len() - left_out.len());
    println!("index: {:.3} ms", milliseconds(begin));
    let catalogs = [Catalog {
        key: key.clone(),
        priority: 0,
        content: Ok(Arc::new(snapshot)),
    }];
    let subscription = |number: usize| Subscription {
        name: format!("subscription-{number}"),
        package: package(number * PACKAGES / SUBSCRIPTIONS + 1),
        channel: "stable".into(),
        catalog: key.clone(),
        ..Subscription::default()
    };
    let subscriptions: Vec<Subscription> = (0..SUBSCRIPTIONS).map(subscription).collect();
    let request = Request {
        namespace: "operators",
        catalogs: &catalogs,
        existing: &Existing::default(),
        subscriptions: &subscriptions,
        isolation: Isolation::Subscription,
        forbid: None,
    };
    println!("installs: {}", resolve(&request).installs.len());
    println!("resolve, median: {:.3} ms", median(|| drop(resolve(&request))));

    let recorded: Value = serde_json::from_slice(&std::fs::read(problems)?)?;
    let cases = recorded["cases"].as_array().ok_or("no cases")?;
    let variables = |case: &Value| case["variables"].as_array().map_or(0, Vec::len);
    let largest = cases
        .iter()
        .max_by_key(|case| variables(case))
        .ok_or("no cases")?;
    let problem: Vec<Variable<Option<String>>> = largest["variables"]
        .as_array()
        .into_iter()
        .flatten()
        .map(variable)
        .collect();
    println!("variables: {}", problem.len());
    println!("solve, median: {:.3} ms", median(|| drop(solve(&problem))));
    Ok(())
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}

fn median(work: impl Fn()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            work();
            milliseconds(begin)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn package(number: usize) -> String {
    format!("package-{number}")
}

/// Makes a catalog in which every fiftieth package needs what the one before it provides.
fn catalog(key: &CatalogKey) -> (Snapshot, Vec<String>) {
    let api = |package: usize, kind: usize| Api {
        group: format!("package-{package}.example.com"),
        version: "v1".into(),
        kind: format!("Kind{kind}"),
        plural: format!("kind{kind}s"),
    };
    let bundles = (0..PACKAGES).flat_map(|number| {
        (0..VERSIONS).map(move |version| RegistryBundle {
            csv_name: format!("{}.v1.{version}.0", package(number)),
            package_name: package(number),
            channel_name: "stable".into(),
            bundle_path: "registry.example.com/bundle".into(),
            provided_apis: (0..5).map(|kind| api(number, kind)).collect(),
            required_apis: (number % 50 == 1)
                .then(|| api(number - 1, 0))
                .into_iter()
                .collect(),
            version: format!("1.{version}.0"),
            replaces: version
                .checked_sub(1)
                .map_or_else(String::new, |before| format!("{}.v1.{before}.0", package(number))),
            ..RegistryBundle::default()
        })
    });
    let described = |number: usize| {
        let described = RegistryPackage {
            name: package(number),
            default_channel: "stable".into(),
            ..RegistryPackage::default()
        };
        (package(number), described)
    };
    let packages: BTreeMap<String, RegistryPackage> = (0..PACKAGES).map(described).collect();
    Snapshot::from_registry(key, bundles, &packages)
}

fn variable(recorded: &Value) -> Variable<Option<String>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let constraint = |recorded: &Value| {
        let ids = || {
            let ids = recorded["ids"].as_array().into_iter().flatten();
            ids.map(|id| text(id).into()).collect()
        };
        let rule = match recorded["type"].as_str() {
            Some("mandatory") => Rule::Mandatory,
            Some("prohibited") => Rule::Prohibited,
            Some("conflict") => Rule::Conflict(text(&recorded["id"]).into()),
            Some("atMost") => Rule::AtMost(recorded["n"].as_u64().unwrap_or_default() as usize, ids()),
            _ => Rule::Dependency(ids()),
        };
        Constraint { rule, wording: None }
    };
    Variable {
        id: text(&recorded["id"]).into(),
        constraints: recorded["constraints"]
            .as_array()
            .into_iter()
            .flatten()
            .map(constraint)
            .collect(),
    }
}
