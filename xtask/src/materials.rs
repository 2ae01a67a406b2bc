//! The bill of materials, written anew from what Cargo links into the program.

use std::path::PathBuf;
use std::process::Command;

use deploy::materials;

/// Asks Cargo, and writes the list.
pub(crate) fn write() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut answers = Vec::new();
    for target in materials::TARGETS {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(materials::question(target))
            .current_dir(&root)
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        answers.push(String::from_utf8(output.stdout)?);
    }
    let read = |name: &str| std::fs::read_to_string(root.join(name));
    let list = materials::list(&answers, &read("Cargo.lock")?, &read("rust-toolchain.toml")?)?;
    std::fs::write(root.join("crates/surface/deploy/materials.cdx.json"), list)?;
    Ok(())
}
