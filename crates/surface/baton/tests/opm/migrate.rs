//! `opm migrate`.

use std::fs;

use insta::assert_snapshot;

use crate::program::{opm, see, text};
use crate::small_catalog::catalog;

#[test]
fn a_catalog_is_migrated_into_an_empty_directory() {
    let world = catalog();
    assert_snapshot!(
        "opm_migrate",
        see(&world, &["migrate", "catalog", "out", "-o", "yaml"])
    );
    let written = fs::read_to_string(world.path("out/demo/catalog.yaml")).expect("a catalog");
    let rendered = opm(&world, &["render", "catalog", "-o", "yaml"]);
    assert_eq!(written, text(&rendered.stdout));
    let images: Vec<&str> = written
        .lines()
        .filter(|line| line.starts_with("- image:"))
        .take(2)
        .collect();
    assert_eq!(images, ["- image: quay.io/a:1", "- image: quay.io/z:1"]);
    assert_snapshot!("opm_migrate_again", see(&world, &["migrate", "catalog", "out"]));
    assert_snapshot!(
        "opm_migrate_level",
        see(&world, &["migrate", "catalog", "o", "--migrate-level", "x"])
    );
}
