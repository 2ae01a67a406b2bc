//! Holds the workflow of hosted CI to what is in the repository.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The commands of a workflow, in the order in which they run.
fn commands(workflow: &Value) -> Vec<&str> {
    let jobs = workflow["jobs"].as_object().expect("a workflow has jobs");
    jobs.values()
        .flat_map(|job| job["steps"].as_array().expect("a job has steps"))
        .filter_map(|step| step["run"].as_str())
        .flat_map(str::lines)
        .collect()
}

/// Why a command can't be run in this repository; none if it can.
fn fault(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    let program = words.next()?;
    let path = repository().join(program);
    let Ok(script) = fs::read_to_string(&path) else {
        return Some(format!("{program} isn't in the repository"));
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        if mode & 0o111 == 0 {
            return Some(format!("{program} can't be executed"));
        }
    }
    // A script of ours names its flags as the patterns of a `case`.
    words
        .find(|flag| !script.contains(&format!("{flag})")))
        .map(|flag| format!("{program} has no flag {flag}"))
}

#[test]
fn every_command_of_the_workflow_exists() {
    let folder = repository().join(".github/workflows");
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("there are workflows") {
        let path = entry.expect("a file").path();
        let text = fs::read(&path).expect("readable");
        let workflow = goyaml::to_value(&text).expect("a workflow is YAML");
        assert!(workflow["jobs"].is_object(), "{}: no jobs", path.display());
        for command in commands(&workflow) {
            assert_eq!(fault(command), None, "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 0, "no workflow runs anything");
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    let text = b"jobs: {a: {steps: [{uses: b}, {run: '.ci/nothing'}, {run: '.ci/run --without-tests'}]}}";
    let workflow = goyaml::to_value(text).expect("YAML");
    let faults: Vec<_> = commands(&workflow).into_iter().filter_map(fault).collect();
    assert_eq!(
        faults,
        [
            ".ci/nothing isn't in the repository",
            ".ci/run has no flag --without-tests"
        ]
    );
}
