//! `opm alpha bundle validate`: a bundle's image checked.

use bundle::validation::OpmChecks;

use crate::commands::opm::command::{Arguments, Command, Invocation};
use crate::commands::opm::ending::{Ending, log_line};
use crate::commands::opm::flags::Flag;
use crate::commands::opm::registries::Registries;
use crate::failure::Failure;
use crate::terminal::Terminal;

use super::unpack::{Fault, check, fetch};

// Some of these lines end in blanks; opm's do.
const LONG: &str = "The \"opm alpha bundle validate\" command will validate a bundle image
from a remote source to determine if its format and content information are accurate.\x20
Required validators. These validators will run by default on every invocation of the command.\x20
 * CSV validator - validates the CSV name and replaces fields.
 * CRD validator - validates the CRDs OpenAPI V3 schema.\x20
 * Bundle validator - validates the bundle format and annotations.yaml file as well as the optional dependencies.yaml file.\x20

Optional validators. These validators are disabled by default and can be enabled via the --optional-validators flag.\x20
 * Operatorhub validator - performs operatorhub.io validation. To validate a bundle using custom categories use with the OPERATOR_BUNDLE_CATEGORIES environmental variable to point to a json-encoded categories file.
 * Bundle objects validator - performs validation on resources like PodDisruptionBudgets and PriorityClasses.\x20

See https://olm.operatorframework.io/docs/tasks/validate-package/#validation for more info.

Note that this subcommand is deprecated and will be removed in a future release. Migrate to operator-sdk bundle validate.";

pub(super) fn command() -> Command {
    Command {
        line: "validate",
        short: "Validate bundle image",
        long: LONG.to_owned(),
        example: "$ opm alpha bundle validate --tag quay.io/test/test-operator:latest --image-builder docker",
        arguments: Arguments::None,
        deprecated: Some(
            "This subcommand is deprecated and will be removed in a future release. Migrate to operator-sdk bundle validate",
        ),
        flags: vec![
            Flag::text(
                "tag",
                "",
                "The path of a registry to pull from, image name and its tag that present the bundle image (e.g. quay.io/test/test-operator:latest)",
            )
            .letter('t')
            .required(),
            Flag::text(
                "image-builder",
                "docker",
                "Tool used to pull and unpack bundle images. One of: [none, docker, podman]",
            )
            .letter('b'),
            Flag::text(
                "optional-validators",
                "",
                "Specifies optional validations to be run. One or more of: [operatorhub, bundle-objects]",
            )
            .letter('o'),
        ],
        run: Some(run),
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    validate(invocation, terminal).map_err(Ending::usage)
}

fn validate(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Failure> {
    let fields = [("container-tool", invocation.text("image-builder"))];
    let name = invocation.text("tag");
    let images = Registries::of(invocation)?.open(true, terminal)?;
    let mut say = |level: &str, message: &str| terminal.remark(log_line(level, message, &fields));
    say("debug", "Pulling and unpacking container image");
    let files = fetch(&images, name)?;
    say(
        "info",
        "Unpacked image layers, validating bundle image format & contents",
    );
    let checks = OpmChecks::parse(invocation.text("optional-validators"));
    check(&files, name, checks).map_err(|fault: Fault| Failure::new(fault.text()))?;
    say("info", "All validation tests have been completed successfully");
    Ok(())
}
