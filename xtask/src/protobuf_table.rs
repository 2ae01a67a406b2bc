//! Writes what the protobuf form of Kubernetes' built-in kinds is, and objects to test it with, from the Go types.
//!
//! The program in `wire/` reads the types themselves, so the table has what Go's own encoders do: the JSON name of a
//! field, its number, whether JSON leaves it out. It fails where a type has no word in the table.

use std::path::Path;
use std::process::Command;

/// The best that zstd does; the files are read once at the start and written once in a release of Kubernetes.
const COMPRESSION: i32 = 19;

/// The samples: round 0 has every field, round 1 none, the others some.
const SEED: &str = "1";
const ROUNDS: &str = "5";

pub(crate) fn write() -> Result<(), Box<dyn std::error::Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = here.join("../crates/cluster/schema");
    let work = tempfile::tempdir()?;
    let chores: [(&[&str], &str); 2] = [
        (&["table"], "data/protobuf-table.zst"),
        (&["samples", SEED, ROUNDS], "tests/data/protobuf-samples.zst"),
    ];
    for (arguments, target) in chores {
        let file = work.path().join("written");
        let (chore, rest) = arguments.split_first().ok_or("no chore")?;
        let status = Command::new("go")
            .args(["run", ".", chore])
            .arg(&file)
            .args(rest)
            .current_dir(here.join("wire"))
            .status()?;
        if !status.success() {
            return Err(format!("`go run . {chore}` in xtask/wire failed; its message is above").into());
        }
        let packed = zstd::encode_all(std::fs::File::open(&file)?, COMPRESSION)?;
        std::fs::write(schema.join(target), packed)?;
    }
    Ok(())
}
