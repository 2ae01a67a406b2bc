//! `opm alpha bundle build`: a bundle's image, made without a container tool.

use std::path::{Path, PathBuf};

use bundle::generation::operator_image::bundle_image;
use image::reference::Reference;

use crate::built_images::BuiltImagesFlags;
use crate::commands::opm::command::{Arguments, Command, Invocation};
use crate::commands::opm::ending::Ending;
use crate::commands::opm::flags::Flag;
use crate::commands::opm::registries::Registries;
use crate::failure::Failure;
use crate::terminal::Terminal;

use super::bundle_dockerfile::BundleDockerfile;
use super::generate::{DOCKERFILE, Generation, info, shared_flags};

/// The container tools that opm knows. None of them is needed here.
const BUILDERS: [&str; 3] = ["docker", "podman", "buildah"];

/// The OCI layout in the working directory that takes the place of a container tool's images.
const IMAGES: &str = "dist";

const LONG: &str = r#"The "opm alpha bundle build" command will generate operator
bundle metadata if needed and build bundle image with operator manifest
and metadata for a specific version.

For example: The command will generate annotations.yaml metadata plus
Dockerfile for bundle image and then build a container image from
provided operator bundle manifests generated metadata
e.g. "quay.io/example/operator:v0.0.1".

After the build process is completed, the image is in the OCI layout dist
in the working directory and available to push to a container registry.

$ opm alpha bundle build --directory /test/0.1.0/ --tag quay.io/example/operator:v0.1.0 \
	--package test-operator --channels stable,beta --default stable --overwrite

Note:
* Bundle image is not runnable.
* All manifests yaml must be in the same directory. "#;

pub(super) fn command() -> Command {
    let mut flags = vec![
        Flag::text(
            "directory",
            "",
            "The directory where bundle manifests and metadata for a specific version are located",
        )
        .letter('d')
        .required(),
        Flag::text("tag", "", "The image tag applied to the bundle image")
            .letter('t')
            .required(),
        Flag::text(
            "image-builder",
            "docker",
            "Tool used to manage container images. One of: [docker, podman, buildah]",
        )
        .letter('b'),
        Flag::switch(
            "overwrite",
            "To overwrite annotations.yaml locally if existed. By default, overwrite is set to `false`.",
        )
        .letter('o'),
    ];
    flags.extend(shared_flags());
    Command {
        line: "build",
        short: "Build operator bundle image",
        long: LONG.to_owned(),
        arguments: Arguments::None,
        flags,
        run: Some(run),
        ..Command::default()
    }
}

fn run(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Ending> {
    build(invocation, terminal).map_err(Ending::usage)
}

fn build(invocation: &Invocation<'_>, terminal: &mut Terminal) -> Result<(), Failure> {
    let generated = Generation::of(invocation, invocation.is_on("overwrite"))?.run(terminal)?;
    info(terminal, "Building bundle image");
    let builder = invocation.text("image-builder");
    if !BUILDERS.contains(&builder) {
        return Err(Failure::new(format!("{builder} is not supported image builder")));
    }
    let name = Reference::parse(invocation.text("tag"))?;
    let path = Path::new(DOCKERFILE);
    let mut dockerfile = BundleDockerfile::read(path)?;
    let own = BundleDockerfile::parse(&generated)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    if !dockerfile.is_of_the_bundle_of(&own) {
        info(
            terminal,
            &format!(
                "{DOCKERFILE} in the working directory is of another bundle, so it is left as it is and the image is built without it; \
                 --overwrite writes it anew"
            ),
        );
        dockerfile = own;
    }
    let images = Registries::of(invocation)?.open(false, terminal)?;
    let image = bundle_image(&dockerfile.files()?, &dockerfile.labels, images.store()?)?;
    let built = BuiltImagesFlags {
        dist: PathBuf::from(IMAGES),
    };
    let kept = built.keep(&images, &image, &name)?;
    info(
        terminal,
        &format!(
            "Built {name} without a container tool into the OCI layout {IMAGES}; publish it with: baton bundle push {name}"
        ),
    );
    terminal.print(kept.as_bytes())
}
