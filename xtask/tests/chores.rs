//! The chores as they are called.

use std::process::Command;

#[test]
fn a_chore_that_there_is_not_is_answered_with_those_that_there_are() {
    for arguments in [&["bake"][..], &[]] {
        let answer = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(arguments)
            .output()
            .expect("xtask runs");
        let told = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert_eq!(answer.status.code(), Some(2), "{told}");
        for chore in [
            "clients",
            "deploy",
            "materials",
            "realkube",
            "reference",
            "soak",
            "static",
            "suites",
        ] {
            assert!(told.contains(chore), "{chore} is not in {told}");
        }
    }
}

#[test]
fn the_real_kubernetes_lies_in_the_cache_of_the_user() {
    let answer = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["realkube", "--where"])
        .env("XDG_CACHE_HOME", "/somewhere")
        .output()
        .expect("xtask runs");
    let told = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert!(told.starts_with("/somewhere/baton/realkube/"), "{told}");
}

#[test]
fn suites_and_soaks_are_named_with_what_they_are_about() {
    for (chore, told) in [
        (&["suites", "--list"][..], "contract  "),
        (&["soak"], "$ bench/soak"),
    ] {
        let answer = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(chore)
            .output()
            .expect("xtask runs");
        let listed = String::from_utf8_lossy(&answer.stdout).into_owned();
        assert!(answer.status.success() && listed.contains(told), "{listed}");
    }
}
