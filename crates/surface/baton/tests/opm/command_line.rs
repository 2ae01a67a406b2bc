//! The command line itself: help, mistakes, flags, and the name of the program.

use std::process::Command;

use insta::assert_snapshot;

use crate::program::{configured, opm, refused, see, text, without_time};
use crate::world::World;

#[test]
fn every_group_lists_its_commands() {
    let world = World::new();
    assert_snapshot!("opm_help", see(&world, &["--help"]));
    assert_snapshot!("opm_render_help", see(&world, &["render", "-h"]));
    assert_snapshot!(
        "opm_dockerfile_help",
        see(&world, &["help", "generate", "dockerfile"])
    );
    assert_snapshot!(
        "opm_unpack_help",
        see(&world, &["alpha", "bundle", "unpack", "--help"])
    );
    let alpha = configured(&world, &["alpha"])
        .env("HELP_ALPHA", "true")
        .output()
        .expect("the program runs");
    assert_snapshot!("opm_alpha_help", text(&alpha.stdout));
    assert_snapshot!(
        "opm_version",
        see(&world, &["version"]).replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
    );
}

#[test]
fn mistakes_on_the_command_line_are_told_with_the_usage() {
    let world = World::new();
    for (arguments, error) in [
        (&["render"][..], "requires at least 1 arg(s), only received 0"),
        (&["validate", "a", "b"], "accepts 1 arg(s), received 2"),
        (&["nope"], "unknown command \"nope\" for \"opm\""),
        (&["render", "--nope"], "unknown flag: --nope"),
        (&["render", "-x", "a"], "unknown shorthand flag: 'x' in -x"),
        (&["render", "a", "-o"], "flag needs an argument: 'o' in -o"),
        (
            &["render", "--migrate", "--migrate-level=all", "x"],
            "if any flags in the group [migrate migrate-level] are set none of the others can be; [migrate migrate-level] were all set",
        ),
        (
            &["alpha", "bundle", "build"],
            "required flag(s) \"directory\", \"tag\" not set",
        ),
        (
            &["alpha", "render-template", "nope", "x"],
            "invalid template type \"nope\", must be one of: [basic semver substitutes]",
        ),
        (
            &["alpha", "render-template", "none.yaml"],
            "unable to open \"none.yaml\": open none.yaml: no such file or directory",
        ),
        (&["validate", "none"], "stat none: no such file or directory"),
    ] {
        let output = opm(&world, arguments);
        assert_eq!(refused(&output), error, "{arguments:?}");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let world = World::new();
    for (flags, error) in [
        (
            ["--use-http", "--skip-tls"],
            "cannot use --use-http with --skip-tls",
        ),
        (
            ["--skip-tls-verify=false", "--skip-tls"],
            "cannot use --skip-tls-verify with --skip-tls",
        ),
        (
            ["--use-http", "--skip-tls-verify"],
            "--use-http and --skip-tls-verify cannot both be true",
        ),
    ] {
        let output = opm(&world, &["render", flags[0], flags[1], "x"]);
        let errors = without_time(&text(&output.stderr));
        assert!(
            errors.ends_with(&format!("[TIME] invalid flag combination: {error}\n")),
            "{errors}"
        );
    }
    let deprecated = opm(&world, &["render", "--skip-tls=false", "."]);
    assert_eq!(
        text(&deprecated.stderr),
        "Flag --skip-tls has been deprecated, use --use-http and --skip-tls-verify instead\n"
    );
}

#[test]
fn commands_for_databases_say_what_to_use_instead() {
    let world = World::new();
    assert_snapshot!(
        "opm_index_add",
        see(
            &world,
            &["index", "add", "--bundles", "a", "--tag", "b", "--mode=semver"]
        )
    );
    assert_snapshot!(
        "opm_registry_serve",
        see(&world, &["registry", "serve", "-d", "x.db"])
    );
    assert_snapshot!(
        "opm_extract",
        see(&world, &["alpha", "bundle", "extract", "-m", "/x", "-c", "y"])
    );
}

#[test]
fn a_link_called_opm_is_opm() {
    let world = World::new();
    let link = world.path("opm");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_baton"), &link).expect("a link");
    let output = Command::new(link)
        .args(["init", "demo", "-o=yaml"])
        .output()
        .expect("the program runs");
    assert_eq!(
        text(&output.stdout),
        "---\ndefaultChannel: \"\"\nname: demo\nschema: olm.package\n"
    );
}
