//! Plays the suites: what wants programs that not every machine has, or more time than tests get.
//!
//! ```text
//! words ─ choice ─► suites ─ what they want is there? ─► built together ─► listed ─► run, one after the other ─► table
//! ```

mod choice;
mod list;
mod running;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use choice::Choice;
use list::{SUITES, Suite, Want};
use running::Ran;
use suite::Summary;

const USAGE: &str = "usage: xtask suites [NAME…] [--list]
  NAME    a suite, or the beginning of titles in it (suite::group::case), or a part of titles in whatever suite
  --list  names suites, what they want and, where a NAME is given, their cases";

/// Does what the arguments ask for.
pub(crate) fn play(arguments: impl Iterator<Item = String>) -> Result<ExitCode, Box<dyn Error>> {
    let mut words = Vec::new();
    let mut lists = false;
    for argument in arguments {
        match argument.as_str() {
            "--list" => lists = true,
            option if option.starts_with('-') => {
                eprintln!("{USAGE}");
                return Ok(ExitCode::from(2));
            }
            _ => words.push(argument),
        }
    }
    if lists && words.is_empty() {
        print!("{}", overview());
        return Ok(ExitCode::SUCCESS);
    }
    let choice = Choice::new(words);
    let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let candidates: Vec<&Suite> = {
        let may = choice.candidates(&names);
        SUITES.iter().filter(|suite| may.contains(&suite.name)).collect()
    };
    if !lists {
        // Before minutes of building.
        let meant = candidates.iter().copied();
        everything_is_there(meant.filter(|suite| choice.means(suite.name)))?;
    }
    build(&candidates)?;
    let mut titles = Vec::new();
    for suite in candidates {
        titles.push((suite.name, cases_of(suite)?));
    }
    let chosen = choice.narrowed(&names, &titles)?;
    let of_name = |name: &str| SUITES.iter().find(|suite| suite.name == name);
    let chosen: Vec<(&Suite, Vec<String>)> = chosen
        .into_iter()
        .filter_map(|(name, words)| Some((of_name(name)?, words)))
        .collect();
    if lists {
        for (suite, words) in &chosen {
            let selection = suite::Selection::new(words);
            let titles = titles.iter().filter(|(name, _)| *name == suite.name);
            for title in titles
                .flat_map(|(_, titles)| titles)
                .filter(|title| selection.picks(title))
            {
                println!("{title}");
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    everything_is_there(chosen.iter().map(|(suite, _)| *suite))?;
    let mut results = Vec::new();
    for (suite, words) in &chosen {
        println!("\n== {}", suite.name);
        let limit = Duration::from_secs(suite.minutes * 60);
        let ran = running::run(&run_command(suite, words), limit, &log_of(suite))?;
        results.push(judged(suite, &ran));
    }
    print!("{}", table(&results));
    let is_green = results.iter().all(|result| result.fault.is_none());
    Ok(if is_green {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The suites and what they want.
fn overview() -> String {
    let mut text = String::new();
    for suite in SUITES {
        let _ = writeln!(
            text,
            "{:<24}{} (at most {} minutes)",
            suite.name, suite.about, suite.minutes
        );
        for missing in suite.wants.iter().filter_map(|want| want.missing()) {
            let _ = writeln!(text, "{:<24}missing: {missing}", "");
        }
    }
    text
}

/// Fails with what these suites want and what isn't there, and how to get it.
fn everything_is_there<'s>(suites: impl Iterator<Item = &'s Suite>) -> Result<(), String> {
    let mut missing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut known: Vec<(Want, Option<String>)> = Vec::new();
    for suite in suites {
        for want in suite.wants {
            let found = known.iter().find(|(known, _)| known == want);
            let reason = if let Some((_, reason)) = found {
                reason.clone()
            } else {
                let reason = want.missing();
                known.push((*want, reason.clone()));
                reason
            };
            if let Some(reason) = reason {
                missing.entry(reason).or_default().push(suite.name);
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let reasons = missing
        .iter()
        .map(|(reason, suites)| format!("{} wants what isn't there: {reason}", suites.join(", ")));
    Err(reasons.collect::<Vec<_>>().join("\n"))
}

/// Cargo, in the root of the repository. All packages are meant, so that what they use is compiled as `cargo test --workspace`
/// does it, and not once more with other features.
fn cargo(arguments: &[&str], targets: &[&Suite]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(arguments)
        .arg("--workspace")
        .current_dir(contract::real::workspace())
        // A suite is played as a whole or not at all.
        .env("BATON_REQUIRE_CORPUS", "1")
        .env("INSTA_UPDATE", "no");
    for suite in targets {
        command.args(["--test", &suite.target()]);
    }
    command
}

fn build(suites: &[&Suite]) -> Result<(), Box<dyn Error>> {
    if suites.is_empty() {
        return Ok(());
    }
    let status = cargo(&["test", "--no-run"], suites).status()?;
    if status.success() {
        Ok(())
    } else {
        Err("the suites can't be built".into())
    }
}

/// The titles of a suite's cases.
fn cases_of(suite: &Suite) -> Result<Vec<String>, Box<dyn Error>> {
    let mut command = cargo(&["test", "--quiet"], &[suite]);
    let output = command.args(["--", "--list"]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{} doesn't list its cases", suite.name).into());
    }
    let listed = String::from_utf8(output.stdout)?;
    Ok(listed.lines().map(str::to_owned).collect())
}

fn run_command(suite: &Suite, words: &[String]) -> Command {
    let mut command = cargo(&["test", "--quiet"], &[suite]);
    command.arg("--").args(words);
    command
}

/// Where everything that a suite printed is kept, beside the folder of its cases' logs.
fn log_of(suite: &Suite) -> PathBuf {
    contract::real::workspace()
        .join("target/suites")
        .join(format!("{}.log", suite.name))
}

/// What became of a suite.
#[derive(Debug)]
struct Played {
    name: &'static str,
    seconds: u64,
    summary: Summary,
    /// Why it isn't green.
    fault: Option<String>,
}

fn judged(suite: &Suite, ran: &Ran) -> Played {
    let summary = Summary::read(&ran.printed);
    let fault = if ran.is_late {
        Some(format!("not done after its {} minutes", suite.minutes))
    } else if summary.is_none() {
        Some("it ended before its time".to_owned())
    } else if ran.is_success {
        None
    } else {
        Some("failed".to_owned())
    };
    Played {
        name: suite.name,
        seconds: ran.elapsed.as_secs(),
        summary: summary.unwrap_or_default(),
        fault,
    }
}

/// The end of a run: a line for each suite, and one for all.
fn table(results: &[Played]) -> String {
    let mut text = String::from("\n== suites\n   passed  failed   flaky  seconds\n");
    let mut all = Summary::default();
    for result in results {
        let Summary {
            passed,
            failed,
            flaky,
        } = result.summary;
        all.passed += passed;
        // One that didn't come to its end says of none of its cases that it failed.
        all.failed += if result.fault.is_some() {
            failed.max(1)
        } else {
            failed
        };
        let _ = writeln!(
            text,
            "{passed:>9}{failed:>8}{flaky:>8}{:>9}  {}{}",
            result.seconds,
            result.name,
            result
                .fault
                .as_ref()
                .map_or_else(String::new, |fault| format!(": {fault}"))
        );
    }
    let _ = writeln!(
        text,
        "what they said, and each of their cases: target/suites\n{all}"
    );
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;
    use std::time::Duration;

    use serde_json::Value;

    use super::list::{SUITES, TARGET_SUFFIX};
    use super::running::Ran;
    use super::{Suite, judged, table};

    const SUITE: Suite = Suite {
        name: "small",
        about: "",
        wants: &[],
        minutes: 3,
    };

    fn ran(printed: &str, is_success: bool, is_late: bool) -> Ran {
        Ran {
            printed: printed.to_owned(),
            is_success,
            is_late,
            elapsed: Duration::from_secs(7),
        }
    }

    #[test]
    fn a_suite_is_green_where_it_came_to_its_end_and_nothing_failed() {
        let flaky = "FLAKY small::a: …\n\n2 passed, 0 failed\n";
        for (ran, line) in [
            (
                ran("2 passed, 0 failed\n", true, false),
                "        2       0       0        7  small",
            ),
            (
                ran(flaky, true, false),
                "        2       0       1        7  small",
            ),
            (
                ran("2 passed, 3 failed\n", false, false),
                "        2       3       0        7  small: failed",
            ),
            (
                ran("test a ... ok\n", false, true),
                "        0       0       0        7  small: not done after its 3 minutes",
            ),
            (
                ran("test a ... ok\n", true, false),
                "        0       0       0        7  small: it ended before its time",
            ),
            (
                ran("2 passed, 0 failed\n", false, false),
                "        2       0       0        7  small: failed",
            ),
        ] {
            let played = judged(&SUITE, &ran);
            assert_eq!(played.fault.is_some(), line.contains(": "), "{played:?}");
            assert_eq!(table(&[played]).lines().nth(3), Some(line));
        }
    }

    #[test]
    fn the_last_line_counts_all_cases_and_a_suite_without_an_end_as_one_that_failed() {
        let results = [
            judged(&SUITE, &ran("2 passed, 3 failed\n", false, false)),
            judged(&SUITE, &ran("", false, true)),
        ];
        assert_eq!(table(&results).lines().last(), Some("2 passed, 4 failed"));
    }

    /// The names of the suites among the test targets of the workspace.
    fn targets() -> BTreeSet<String> {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
            .output()
            .expect("cargo runs");
        let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata");
        let packages = metadata["packages"].as_array().expect("packages");
        let targets = packages
            .iter()
            .flat_map(|package| package["targets"].as_array().expect("targets"));
        let is_suite = |target: &&Value| {
            target["kind"] == serde_json::json!(["test"]) && target["test"] == Value::Bool(false)
        };
        let names = targets.filter(is_suite).map(|target| target["name"].as_str());
        names.map(|name| name.expect("a name").to_owned()).collect()
    }

    #[test]
    fn every_suite_of_the_workspace_is_played() {
        let listed: BTreeSet<String> = SUITES.iter().map(Suite::target).collect();
        assert_eq!(listed.len(), SUITES.len(), "two suites have one name");
        assert_eq!(targets(), listed);
        for target in targets() {
            assert!(
                target.ends_with(TARGET_SUFFIX),
                "{target}: the lints of suites find them by how their names end"
            );
        }
    }
}
