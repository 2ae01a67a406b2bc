//! Says what baton's work costs in one process, to compare with the peers.
//!
//! `bench CHART [ROUNDS]` renders a chart again and again, and prints three numbers: CPU milliseconds of the first round
//! (loading, parsing and rendering), the median of the later rounds (rendering the loaded chart), and the bytes rendered.
//!
//! `bench bundle-render INDEX [--migrate]` renders bundles for a catalog, and prints CPU seconds and the peak of memory in
//! MiB.
//!
//! `bench catalog-load DIRECTORY` loads and validates a catalog, and prints CPU seconds and the peak of memory in MiB.
//!
//! `bench catalog-store DIRECTORY` builds the store of a catalog, opens it and serves it to itself, and prints a line for
//! each figure.
//!
//! `bench catalog-http DIRECTORY` serves a catalog over HTTP to itself, exchanges it under its readers, and prints a line
//! for each figure.
//!
//! `bench extension-resolve DIRECTORY` resolves every package of a catalog, and prints how long one takes.
//!
//! `bench classic-resolve PROBLEMS` resolves Subscriptions of OLM v0 in a made-up catalog, solves the largest problem of a
//! file (`solver/cases.json` of the corpus `olmv0`), and prints a line for each figure.
//!
//! `bench kubernetes-load URL CA-FILE TOKEN [OBJECTS WATCHERS EVENTS]` writes, lists and watches on a Kubernetes API, and
//! prints a line for each figure.
//!
//! `bench kubernetes-growth URL CA-FILE TOKEN FEW MANY` says how many writes a second there are with few and with many
//! objects.

mod bundle_render;
mod catalog_http;
mod catalog_load;
mod catalog_store;
mod classic_resolve;
mod extension_resolve;
mod kubernetes_load;
mod watch_frames;

use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use chart::capabilities::Capabilities;
use chart::engine::{Engine, Operation, ReleaseContext};
use chart::host::{Host, NoCluster};
use chart::installation::{self, InstallationRequest};
use chart::loader;
use chart::repetition::RepeatingSource;
use chart::source::{Source, SystemSource};
use chart::values::Table;
use rustix::time::{ClockId, clock_gettime};

fn cpu_milliseconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!(
            "usage: bench CHART [ROUNDS] | bench bundle-render INDEX [--migrate] | bench catalog-load DIRECTORY | bench catalog-store DIRECTORY | bench catalog-http DIRECTORY | bench extension-resolve DIRECTORY | bench classic-resolve PROBLEMS | bench kubernetes-load URL CA-FILE TOKEN | bench kubernetes-growth URL CA-FILE TOKEN"
        );
        return ExitCode::from(2);
    };
    if path == "bundle-render" {
        let index = arguments.next().unwrap_or_default();
        let migrate = arguments.next().as_deref() == Some("--migrate");
        return report(bundle_render::measure(Path::new(&index), migrate));
    }
    if path == "kubernetes-load" || path == "kubernetes-growth" {
        let mut text = || arguments.next().unwrap_or_default();
        let (url, authority, token) = (text(), text(), text());
        let mut count = |otherwise: usize| text().parse().unwrap_or(otherwise);
        let outcome = if path == "kubernetes-load" {
            let (objects, watchers, events) = (count(10_000), count(1_000), count(10_000));
            kubernetes_load::measure(&url, &authority, &token, objects, watchers, events)
        } else {
            let (few, many) = (count(1_000), count(100_000));
            kubernetes_load::measure_growth(&url, &authority, &token, few, many)
        };
        return match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("bench: {url}: {error}");
                ExitCode::FAILURE
            }
        };
    }
    if path == "catalog-store" {
        return ending(catalog_store::measure(Path::new(
            &arguments.next().unwrap_or_default(),
        )));
    }
    if path == "catalog-serve" {
        let folder = arguments.next().unwrap_or_default();
        let digest = arguments.next().unwrap_or_default();
        return ending(catalog_store::serve(Path::new(&folder), &digest));
    }
    if path == "catalog-http" {
        return ending(catalog_http::measure(Path::new(
            &arguments.next().unwrap_or_default(),
        )));
    }
    if path == "catalog-http-serve" {
        let mut text = || arguments.next().unwrap_or_default();
        let (folder, first, second) = (text(), text(), text());
        return ending(catalog_http::serve(Path::new(&folder), &first, &second));
    }
    if path == "extension-resolve" {
        return ending(extension_resolve::measure(Path::new(
            &arguments.next().unwrap_or_default(),
        )));
    }
    if path == "classic-resolve" {
        return ending(classic_resolve::measure(Path::new(
            &arguments.next().unwrap_or_default(),
        )));
    }
    if path == "catalog-load" {
        return report_catalog_load(&arguments.next().unwrap_or_default());
    }
    let rounds: usize = arguments
        .next()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(11);
    match measure(Path::new(&path), rounds.max(2)) {
        Ok((first, later, bytes)) => {
            println!("{first:.2} {later:.2} {bytes}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn ending(outcome: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report_catalog_load(directory: &str) -> ExitCode {
    report(catalog_load::measure(Path::new(directory)))
}

fn report(cost: Result<catalog_load::Cost, Box<dyn std::error::Error>>) -> ExitCode {
    match cost {
        Ok(cost) => {
            println!("{:.2} {:.0}", cost.cpu_seconds, cost.peak_mebibytes);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(path: &Path, rounds: usize) -> Result<(f64, f64, usize), Box<dyn std::error::Error>> {
    let start = cpu_milliseconds();
    let loaded = loader::load(path, &mut |_| {})?;
    let engine = Engine::new();
    let capabilities = Capabilities::default();
    let values = Table::new();
    // As an operator renders: what is random stays as it was the first time.
    let source = Rc::new(RepeatingSource::new(Rc::new(SystemSource)));
    let render = || -> Result<usize, Box<dyn std::error::Error>> {
        source.rewind();
        let host = Host::new(Rc::clone(&source) as Rc<dyn Source>, Rc::new(NoCluster));
        let request = InstallationRequest {
            chart: &loaded,
            values: &values,
            release: ReleaseContext {
                name: "rel".into(),
                namespace: "ns1".into(),
                operation: Operation::Install,
                revision: 1,
            },
            capabilities: &capabilities,
            sub_notes: false,
            skip_schema_validation: false,
            strict: false,
        };
        let plan = installation::plan(&engine, &request, &host, None, &mut |_| {})?;
        let manifests = plan.manifests.iter().map(|manifest| manifest.content.len());
        let hooks = plan.hooks.iter().map(|hook| hook.manifest.len());
        Ok(manifests.chain(hooks).sum())
    };
    let bytes = render()?;
    let first = cpu_milliseconds() - start;
    let mut later = Vec::new();
    for _ in 1..rounds {
        let start = cpu_milliseconds();
        render()?;
        later.push(cpu_milliseconds() - start);
    }
    later.sort_by(f64::total_cmp);
    Ok((first, later[later.len() / 2], bytes))
}
