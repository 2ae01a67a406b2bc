//! Chores of this repository that are programs: `cargo run -p xtask -- protobuf` writes the gRPC code anew.

mod protobuf;

use std::process::ExitCode;

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    let outcome = match chore.as_deref() {
        Some("protobuf") => protobuf::write(),
        _ => {
            eprintln!("usage: xtask protobuf");
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
