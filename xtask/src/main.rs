//! Chores of this repository that are programs: `cargo run -p xtask -- protobuf` writes the gRPC code anew, and
//! `cargo run -p xtask -- static` builds the binary that operator images are made of;
//! `cargo run -p xtask -- schemas [definitions.json]` writes the definitions of the built-in kinds anew.

mod protobuf;
mod schemas;
mod static_binary;

use std::process::ExitCode;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    let outcome = match chore.as_deref() {
        Some("protobuf") => protobuf::write(),
        Some("schemas") => schemas::write(std::env::args().nth(2).as_deref()),
        Some("static") => static_binary::build(),
        _ => {
            eprintln!("usage: xtask protobuf|schemas|static");
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
