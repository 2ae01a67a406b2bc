//! Chores of this repository that are programs: `cargo run -p xtask -- protobuf` writes the gRPC code anew,
//! `cargo run -p xtask -- protobuf-table` writes the protobuf form of the built-in kinds from Kubernetes' Go types,
//! `cargo run -p xtask -- clients` gets the clients that stage must serve: Helm 3, Helm 4 and Go programs of our own,
//! `cargo run -p xtask -- deploy` writes the folder `deploy/` anew,
//! `cargo run -p xtask -- materials` writes the list of what the program is made of anew,
//! `cargo run -p xtask -- realkube` builds the real Kubernetes that stage is compared with (`--where` prints the folder it lies in),
//! `cargo run -p xtask -- reference` writes the pages of the book about all commands and all kinds,
//! `cargo run -p xtask -- soak [NAME]` does what is long by nature,
//! `cargo run -p xtask -- static` builds the binary that operator images are made of,
//! `cargo run -p xtask -- suites [NAME…]` plays the tests that want programs which not every machine has;
//! `cargo run -p xtask -- schemas [definitions.json [fields.txt]]` writes the definitions of the built-in kinds anew.

mod deploy_folder;
mod kind_pages;
mod materials;
mod protobuf;
mod protobuf_table;
mod reference;
mod schemas;
mod soak;
mod static_binary;
mod suites;

use std::process::ExitCode;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    let outcome = match chore.as_deref() {
        Some("protobuf") => protobuf::write(),
        Some("protobuf-table") => protobuf_table::write(),
        Some("schemas") => schemas::write(
            std::env::args().nth(2).as_deref(),
            std::env::args().nth(3).as_deref(),
        ),
        Some("soak") => soak::run(std::env::args().nth(2).as_deref()),
        Some("static") => static_binary::build(),
        Some("suites") => match suites::play(std::env::args().skip(2)) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Some("clients") => clients(),
        Some("deploy") => deploy_folder::write(),
        Some("materials") => materials::write(),
        Some("reference") => reference::write(),
        Some("realkube") => real_kubernetes(std::env::args().nth(2).as_deref()),
        _ => {
            eprintln!(
                "usage: xtask clients|deploy|materials|protobuf|protobuf-table|realkube|reference|schemas|soak|static|suites"
            );
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn real_kubernetes(argument: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    match argument {
        Some("--where") => println!("{}", contract::real::folder().display()),
        Some(other) => return Err(format!("realkube knows no `{other}`; there is `--where`").into()),
        None => drop(contract::real::Binaries::build(|step| eprintln!("{step}"))?),
    }
    Ok(())
}

fn clients() -> Result<(), Box<dyn std::error::Error>> {
    contract::clients::Clients::build(|step| eprintln!("{step}"))?;
    Ok(())
}
