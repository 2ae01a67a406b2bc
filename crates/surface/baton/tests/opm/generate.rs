//! `opm generate dockerfile`.

use std::fs;

use insta::assert_snapshot;

use crate::program::{opm, refused, see, text};
use crate::world::World;

#[test]
fn a_dockerfile_is_written_beside_the_catalog_and_never_replaced() {
    let world = World::new().file("configs/a.yaml", "").file("file", "");
    let written = |arguments: &[&str]| {
        let output = opm(&world, &[&["generate", "dockerfile"], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let path = world.path("configs.Dockerfile");
        let content = fs::read_to_string(&path).expect("a Dockerfile");
        fs::remove_file(path).expect("removed");
        content
    };
    assert_snapshot!("opm_dockerfile", written(&["configs"]));
    assert_snapshot!(
        "opm_dockerfile_scratch",
        written(&[
            "./configs/",
            "-i",
            "scratch",
            "-b",
            "my/opm:1",
            "-l",
            "b=2,a=1",
            "-l",
            "b=x=y"
        ])
    );
    assert_eq!(
        written(&["configs", "--binary-image=x"]).matches(" x").count(),
        2,
        "the old flag is for both stages"
    );
    for (line, error) in [
        (["configs", "-b", "scratch"], "invalid builder image: \"scratch\""),
        (["none", "-l", "a=b"], "stat none: no such file or directory"),
        (
            ["file", "-l", "a=b"],
            "provided root path \"file\" is not a directory",
        ),
        (["configs", "-l", "a"], "invalid label \"a\""),
    ] {
        let output = opm(&world, &[&["generate", "dockerfile"], &line[..]].concat());
        assert_eq!(refused(&output), error);
    }
    let world = world.file("configs.Dockerfile", "mine");
    assert_snapshot!(
        "opm_dockerfile_exists",
        see(&world, &["generate", "dockerfile", "configs"])
    );
    assert_eq!(
        fs::read(world.path("configs.Dockerfile")).expect("a file"),
        b"mine"
    );
}
