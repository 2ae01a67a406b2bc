//! `opm validate`.

use insta::assert_snapshot;

use crate::program::{opm, refused, see};
use crate::small_catalog::catalog;

#[test]
fn a_validation_is_reported_for_programs() {
    let world = catalog();
    assert_snapshot!(
        "opm_validate",
        see(&world, &["validate", "catalog", "-o", "json"])
    );
    assert_snapshot!(
        "opm_validate_yaml",
        see(&world, &["validate", "broken", "-o", "yaml"])
    );
    assert_snapshot!("opm_validate_fatal", see(&world, &["validate", "broken"]));
    assert_eq!(
        refused(&opm(&world, &["validate", "catalog", "-o", "xml"])),
        "invalid --output value \"xml\", expected (json|yaml)"
    );
}
