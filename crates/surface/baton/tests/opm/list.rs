//! `opm alpha list`.

use insta::assert_snapshot;

use crate::program::see;
use crate::small_catalog::catalog;

#[test]
fn a_catalog_is_listed() {
    let world = catalog();
    for (name, arguments) in [
        ("packages", &["packages", "catalog"][..]),
        ("channels", &["channels", "catalog", "demo"]),
        ("bundles", &["bundles", "catalog"]),
        ("unknown", &["bundles", "catalog", "nope"]),
        ("invalid", &["packages", "broken"]),
        ("file", &["packages", "catalog/demo.yaml"]),
    ] {
        let arguments = [&["alpha", "list"], arguments].concat();
        assert_snapshot!(format!("opm_list_{name}"), see(&world, &arguments));
    }
}
