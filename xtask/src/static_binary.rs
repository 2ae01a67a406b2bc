//! A baton that runs without anything else, for operator images: linked statically, C library included.

use std::path::PathBuf;
use std::process::Command;

/// Builds the binary and prints where it is.
pub(crate) fn build() -> Result<(), Box<dyn std::error::Error>> {
    // A target has to be named: without one the flag would apply to procedural macros too, which can't be static.
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let status = Command::new(cargo)
        .args([
            "build",
            "--profile",
            "dist",
            "--locked",
            "--package",
            "baton",
            "--target",
            &target,
        ])
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .current_dir(&root)
        .status()?;
    if !status.success() {
        return Err("the build failed".into());
    }
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    println!(
        "{}",
        folder.join(target).join("dist/baton").canonicalize()?.display()
    );
    Ok(())
}
