//! What is long by nature, and therefore in no run of everything: it is done by hand, before a release and after a change of what
//! it is about.

use std::error::Error;
use std::fmt::Write as _;
use std::process::Command;

/// Something long.
struct Soak {
    name: &'static str,
    about: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// Commands for the root of the repository, one after the other; words are parted by spaces.
    commands: &'static [&'static str],
}

/// All of them.
const SOAKS: [Soak; 5] = [
    Soak {
        name: "chaos",
        about: "replicas are killed, paused and cut off for twenty minutes, otherwise each time; a failure names the \
                BATON_CHAOS_SEED that repeats it",
        environment: &[("BATON_CHAOS_MINUTES", "20")],
        commands: &["cargo test -p baton --test replicas-suite -- chaos"],
    },
    Soak {
        name: "kills",
        about: "the Helm operator and the controllers of OLM v1 and OLM v0 are killed at every single write; the last looks with kubectl",
        environment: &[("BATON_KILL_STEP", "1"), ("BATON_SCENARIOS", "kills")],
        commands: &[
            "cargo test -p helm-operator --test flow killing",
            "cargo test -p baton --test olmv1 -- --nocapture",
            "cargo test -p baton --test olmv0-suite -- stage-alone::kills",
        ],
    },
    Soak {
        name: "hour",
        about: "an hour of change on one machine: memory, files, threads, tasks, errors",
        environment: &[],
        commands: &["bench/soak"],
    },
    Soak {
        name: "resources",
        about: "the Helm operator with 10,000 resources, and beside them on the real kube-apiserver",
        environment: &[],
        commands: &["bench/operator --check"],
    },
    Soak {
        name: "charts",
        about: "Helm 3 and Helm 4 install every chart of the recorded data on stage, and upgrade and uninstall it",
        environment: &[("CONTRACT_CHARTS", "all")],
        commands: &["cargo test -p contract --test clients-suite -- helm3-on-stage helm4-on-stage"],
    },
];

/// Does what is asked for by name; without one, names what there is.
pub(crate) fn run(name: Option<&str>) -> Result<(), Box<dyn Error>> {
    let Some(name) = name else {
        print!("{}", overview());
        return Ok(());
    };
    let Some(soak) = SOAKS.iter().find(|soak| soak.name == name) else {
        return Err(format!("there is no soak {name}; there are:\n{}", overview()).into());
    };
    for command in soak.commands {
        println!("== {command}");
        let mut words = command.split_whitespace();
        let program = words.next().unwrap_or_default();
        let status = Command::new(program)
            .args(words)
            .envs(soak.environment.iter().copied())
            .current_dir(contract::real::workspace())
            .status()
            .map_err(|error| format!("{program}: {error}"))?;
        if !status.success() {
            return Err(format!("{command}: {status}").into());
        }
    }
    Ok(())
}

fn overview() -> String {
    let mut text = String::new();
    for soak in &SOAKS {
        let _ = writeln!(text, "{:<12}{}", soak.name, soak.about);
        for (name, value) in soak.environment {
            let _ = writeln!(text, "{:<12}  {name}={value}", "");
        }
        for command in soak.commands {
            let _ = writeln!(text, "{:<12}  $ {command}", "");
        }
    }
    text
}
