//! The committed bill of materials is what Cargo links into the program.

use std::path::Path;
use std::process::Command;

use deploy::materials;

#[test]
fn the_bill_of_materials_is_what_cargo_links() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let answers = materials::TARGETS.map(|target| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(materials::question(target))
            .current_dir(&root)
            .output()
            .expect("cargo");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("a text")
    });
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect(name);
    let list = materials::list(&answers, &read("Cargo.lock"), &read("rust-toolchain.toml")).expect("a list");
    assert!(
        list == materials::LIST,
        "what is linked has changed; write the list anew with: {}",
        materials::REGENERATE
    );
}
