//! `opm serve`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::program::{configured, logged, opm, without_time};
use crate::small_catalog::catalog;

#[test]
fn a_cache_is_built_and_must_fit_the_catalog_that_is_served() {
    let world = catalog();
    let prepare = |more: &[&str]| {
        let common = [
            "serve",
            "catalog",
            "--cache-dir=store",
            "--pprof-addr=",
            "-t",
            "log",
        ];
        opm(&world, &[&common, more].concat())
    };
    let output = prepare(&[]);
    let error = logged(&output);
    assert!(
        error.starts_with("time=\"[TIME]\" level=fatal msg=\"integrity check failed: "),
        "{error}"
    );
    assert_eq!(
        without_time(&fs::read_to_string(world.path("log")).expect("a log")).trim_end(),
        error,
        "Kubernetes is told too"
    );
    assert!(prepare(&["--cache-only"]).status.success());
    let world = world.file("catalog/more.yaml", "---\nschema: custom\nname: x\n");
    let output = opm(
        &world,
        &[
            "serve",
            "catalog",
            "--cache-dir=store",
            "--pprof-addr=",
            "-t",
            "log",
        ],
    );
    assert!(
        logged(&output).contains("cache requires rebuild"),
        "{}",
        logged(&output)
    );
    let output = opm(
        &world,
        &["serve", "broken", "--pprof-addr=", "--cache-only", "-t", "log"],
    );
    assert!(
        logged(&output).contains("failed to load or rebuild cache"),
        "{}",
        logged(&output)
    );
    let output = opm(
        &world,
        &[
            "serve",
            "catalog",
            "--cache-enforce-integrity",
            "--pprof-addr=",
            "-t",
            "log",
        ],
    );
    assert!(
        logged(&output).contains("--cache-dir must be specified with --cache-enforce-integrity"),
        "{}",
        logged(&output)
    );
}

/// Runs a server until it says that it serves, and then tells it to stop.
fn serve(mut command: Command, port_of: impl Fn(&str) -> Option<u16>) -> String {
    let mut server = command.stderr(Stdio::piped()).spawn().expect("the program runs");
    let mut said = String::new();
    let mut lines = BufReader::new(server.stderr.take().expect("standard error")).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        said.push_str(&line);
        said.push('\n');
        port_of(&line)
    });
    TcpStream::connect(("127.0.0.1", port.expect("it serves"))).expect("it listens");
    let stopped = Command::new("kill")
        .args(["-TERM", &server.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(stopped.success() && server.wait().expect("it ends").success());
    for line in lines.map_while(Result::ok) {
        said.push_str(&line);
        said.push('\n');
    }
    said
}

#[test]
fn a_catalog_is_served_until_it_is_told_to_stop() {
    let world = catalog();
    let free = TcpListener::bind("[::]:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let number = port.to_string();
    let command = configured(
        &world,
        &[
            "serve",
            "catalog",
            "-p",
            &number,
            "--pprof-addr",
            "127.0.0.1:0",
            "-t",
            "log",
        ],
    );
    let said = serve(command, |line| line.contains("serving registry").then_some(port));
    assert_eq!(
        without_time(&said).replace(&number, "[PORT]"),
        "time=\"[TIME]\" level=info msg=\"starting pprof endpoint\" address=\"127.0.0.1:0\"\n\
         time=\"[TIME]\" level=info msg=\"serving registry\" configs=catalog port=[PORT]\n\
         time=\"[TIME]\" level=info msg=\"shutting down server\" configs=catalog port=[PORT]\n"
    );
    let taken = TcpListener::bind("[::]:0").expect("a port");
    let number = taken.local_addr().expect("an address").port().to_string();
    let output = opm(
        &world,
        &["serve", "catalog", "-p", &number, "--pprof-addr=", "-t", "log"],
    );
    assert_eq!(
        logged(&output).replace(&number, "[PORT]"),
        "time=\"[TIME]\" level=fatal msg=\"failed to listen: listen tcp :[PORT]: bind: address already in use\""
    );

    let command = world.command(&[
        "catalog",
        "serve",
        "catalog",
        "--address",
        "127.0.0.1:0",
        "--cache-dir",
        "store",
    ]);
    let said = serve(command, |line| line.rsplit_once(':')?.1.parse().ok());
    assert!(said.ends_with("stopped\n"), "{said}");
}
