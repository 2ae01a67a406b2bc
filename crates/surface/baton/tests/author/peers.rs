//! Programs of others that tests use where they are installed.

use std::process::Command;

/// With this set to 1, a program that isn't there is a failure instead of a skipped test.
const REQUIRE_PEERS: &str = "BATON_REQUIRE_PEERS";

/// Returns whether a program can be started; says loudly that its part is skipped when it can't.
pub(crate) fn is_installed(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        assert!(
            std::env::var_os(REQUIRE_PEERS).is_none_or(|value| value != "1"),
            "{REQUIRE_PEERS}=1, but {program} is not on the PATH: install it"
        );
        eprintln!(
            "SKIPPED: {program} is not on the PATH; install it, or set {REQUIRE_PEERS}=1 to make this a failure"
        );
    }
    found
}
