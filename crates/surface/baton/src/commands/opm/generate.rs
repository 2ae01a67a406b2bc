//! `opm generate dockerfile`: the text that a container tool makes a catalog's image with.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use gotemplate::format::quoted;

use crate::terminal::Terminal;
use catalog_controller::fetch::CONFIGS_LABEL;

use super::command::{Arguments, Command, Invocation};
use super::ending::Ending;
use super::flags::Flag;
use super::paths::clean;
use super::references::cannot;

/// The image that has opm in it.
const OPM_IMAGE: &str = "quay.io/operator-framework/opm:latest";
/// The image with nothing in it.
const SCRATCH: &str = "scratch";

const LONG: &str = "Generate a Dockerfile for a file-based catalog.

This command creates a Dockerfile in the same directory as the <fbcRootDir>
(named <fbcRootDir>.Dockerfile) that can be used to build the index. If a
Dockerfile with the same name already exists, this command will fail.

When specifying extra labels, note that if duplicate keys exist, only the last
value of each duplicate key will be added to the generated Dockerfile.

A separate builder and base image can be specified. The builder image may not be \"scratch\".
";

pub(super) fn command() -> Command {
    let dockerfile = Command {
        line: "dockerfile <fbcRootDir>",
        short: "Generate a Dockerfile for a file-based catalog",
        long: LONG.to_owned(),
        arguments: Arguments::Exactly(1),
        flags: vec![
            Flag::text("binary-image", OPM_IMAGE, "Image in which to build catalog.")
                .deprecated("use --base-image instead"),
            Flag::text("base-image", OPM_IMAGE, "Image base to use to build catalog.").letter('i'),
            Flag::text("builder-image", OPM_IMAGE, "Image to use as a build stage.").letter('b'),
            Flag::list(
                "extra-labels",
                "Extra labels to include in the generated Dockerfile. Labels should be of the form 'key=value'.",
            )
            .letter('l'),
        ],
        exclusive: Some(["binary-image", "base-image"]),
        run: Some(run),
        ..Command::default()
    };
    Command {
        line: "generate",
        short: "Generate various artifacts for file-based catalogs",
        commands: vec![dockerfile],
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, _: &mut Terminal) -> Result<(), Ending> {
    let root = clean(Path::new(invocation.argument(0)));
    let has_binary = invocation.given.has("binary-image");
    let base = invocation.text(if has_binary { "binary-image" } else { "base-image" });
    let mut builder = invocation.text("builder-image");
    if builder == SCRATCH {
        return Err(Ending::Usage(format!(
            "invalid builder image: {}",
            quoted(builder)
        )));
    }
    if has_binary && !invocation.given.has("builder-image") {
        builder = base;
    }
    let labels = labels(&invocation.list("extra-labels").map_err(Ending::usage)?).map_err(Ending::Usage)?;

    let name = match root.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        // `.`, `..` and `/`: opm takes the text behind the last slash.
        None => root.to_string_lossy().trim_start_matches('/').to_owned(),
    };
    let path = root
        .parent()
        .map_or_else(PathBuf::new, Path::to_owned)
        .join(format!("{name}.Dockerfile"));
    match fs::metadata(&path) {
        Ok(_) => {
            return Err(Ending::Logger(format!(
                "path {}: file already exists",
                quoted(path.to_string_lossy().as_bytes())
            )));
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(Ending::Logger(cannot("stat", &path, &error)));
        }
        Err(_) => {}
    }
    let found = fs::metadata(&root).map_err(|error| Ending::Usage(cannot("stat", &root, &error)))?;
    if !found.is_dir() {
        return Err(Ending::Usage(format!(
            "provided root path {} is not a directory",
            quoted(root.to_string_lossy().as_bytes())
        )));
    }
    if base.is_empty() {
        return Err(Ending::Log("base image is unset".to_owned()));
    }
    if name.is_empty() {
        return Err(Ending::Log("index directory is unset".to_owned()));
    }
    let text = dockerfile(base, builder, &name, &labels);
    // Only a file that wasn't there is written, also when two do this at the same time.
    fs::File::create_new(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Ending::Logger(cannot("open", &path, &error)))
}

fn labels(texts: &[String]) -> Result<BTreeMap<String, String>, String> {
    texts
        .iter()
        .map(|text| match text.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("invalid label {}", quoted(text))),
        })
        .collect()
}

fn dockerfile(base: &str, builder: &str, directory: &str, labels: &BTreeMap<String, String>) -> String {
    let start = if base == SCRATCH {
        "# OLMv0 CatalogSources that use binary-less images must set:
# spec:
#   grpcPodConfig:
#     extractContent:
#       catalogDir: /configs
#       cacheDir: /tmp/cache"
    } else {
        "# The base image is expected to contain
# /bin/opm (with serve subcommand) and /bin/grpc_health_probe

# Configure the entrypoint and command
ENTRYPOINT [\"/bin/opm\"]
CMD [\"serve\", \"/configs\", \"--cache-dir=/tmp/cache\"]"
    };
    let mut text = format!(
        "# The builder image is expected to contain
# /bin/opm (with serve subcommand)
FROM {builder} as builder

# Copy FBC root into image at /configs and pre-populate serve cache
ADD {directory} /configs
RUN [\"/bin/opm\", \"serve\", \"/configs\", \"--cache-dir=/tmp/cache\", \"--cache-only\"]

FROM {base}
{start}

COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache

# Set FBC-specific label for the location of the FBC root directory
# in the image
LABEL {CONFIGS_LABEL}=/configs
"
    );
    if !labels.is_empty() {
        text.push_str("\n# Set other custom labels\n");
        for (key, value) in labels {
            // Writing to a String can't fail.
            let _ = writeln!(text, "LABEL \"{key}\"=\"{value}\"");
        }
    }
    text
}
