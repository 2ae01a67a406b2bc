//! `opm init`.

use insta::assert_snapshot;

use crate::program::see;
use crate::world::World;

#[test]
fn a_package_is_started() {
    let world = World::new()
        .file("README.md", "What it does.\n")
        .file("icon.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>")
        .file("icon.txt", "none");
    assert_snapshot!(
        "opm_init",
        see(
            &world,
            &[
                "init",
                "demo",
                "-c",
                "stable",
                "-d",
                "README.md",
                "-i",
                "icon.svg"
            ]
        )
    );
    assert_snapshot!("opm_init_yaml", see(&world, &["init", "-oyaml", "demo"]));
    assert_snapshot!("opm_init_output", see(&world, &["init", "-oxml", "demo"]));
    assert_snapshot!("opm_init_icon", see(&world, &["init", "demo", "--icon=icon.txt"]));
    assert_snapshot!("opm_init_none", see(&world, &["init", "demo", "--icon=none.svg"]));
}
