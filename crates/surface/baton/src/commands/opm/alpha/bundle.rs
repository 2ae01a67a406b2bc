//! `opm alpha bundle`: bundles made, built, checked and unpacked.

use crate::commands::opm::command::{Arguments, Command, Invocation};
use crate::commands::opm::ending::Ending;
use crate::commands::opm::flags::Flag;
use crate::terminal::Terminal;

use super::{build, generate, unpack, validate};

pub(super) fn command() -> Command {
    Command {
        line: "bundle",
        short: "Operator bundle commands",
        long: "Generate operator bundle metadata and build bundle image.".to_owned(),
        arguments: Arguments::None,
        commands: vec![
            build::command(),
            extract(),
            generate::command(),
            unpack::command(),
            validate::command(),
        ],
        ..Command::default()
    }
}

fn extract() -> Command {
    Command {
        line: "extract",
        short: "Extracts the data in a bundle directory via ConfigMap",
        long: "Extract takes as input a directory containing manifests and writes the per file contents to a ConfigMap"
            .to_owned(),
        arguments: Arguments::None,
        flags: vec![
            Flag::switch("debug", "enable debug logging"),
            Flag::text("kubeconfig", "", "absolute path to kubeconfig file").letter('k'),
            Flag::text("manifestsdir", "/", "path to directory containing manifests").letter('m'),
            Flag::text("configmapname", "", "name of configmap to write bundle data").letter('c'),
            Flag::text(
                "namespace",
                "openshift-operator-lifecycle-manager",
                "namespace to write configmap data",
            )
            .letter('n'),
            Flag::number(
                "datalimit",
                1 << 20,
                "maximum limit in bytes for total bundle data",
            )
            .letter('l'),
            Flag::switch("gzip", "enable gzip compression of configmap data").letter('z'),
        ],
        run: Some(refuse_extraction),
        ..Command::default()
    }
}

fn refuse_extraction(invocation: &Invocation<'_>, _: &mut Terminal) -> Result<(), Ending> {
    Err(Ending::Refusal(format!(
        "{} writes a ConfigMap into a cluster, as OLM v0's unpack jobs need it; it comes with baton's controllers for \
         OLM v0. To get a bundle's files use opm alpha bundle unpack",
        invocation.path()
    )))
}
