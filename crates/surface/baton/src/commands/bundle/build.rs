//! `baton bundle build`: the operator's and the bundle's image.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bundle::generation::GeneratedBundle;
use bundle::generation::chart_check::ChartCheck;
use bundle::generation::operator_image::{OperatorImage, bundle_image};
use clap::builder::ArgPredicate;
use clap::{Arg, Args};
use image::attachment::Material;
use image::build::BuiltImage;
use image::policy::PolicySource;
use image::reference::Reference;
use serde_json::{Value, json};

use super::charts::ChartCheckFlags;
use super::plain;
use super::project::ProjectFlags;
use crate::attestations::{self, Attestation};
use crate::binaries::{Binaries, Reach};
use crate::built_images::BuiltImagesFlags;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images, digest_of};
use crate::terminal::Terminal;

/// Builds the operator's image (the baton binary, the charts and watches.yaml) and the bundle's, without a container tool.
#[derive(Args)]
#[command(
    mut_arg("version", |version| of_tree(version)),
    mut_arg("image", |image| of_tree(image))
)]
pub(crate) struct Build {
    /// A bundle that is there already, with manifests/ and metadata/: its image alone is built, of nothing else
    #[arg(
        value_name = "BUNDLE",
        conflicts_with_all = ["image", "charts", "binaries", "for_this_machine", "allow"]
    )]
    source: Option<PathBuf>,
    #[command(flatten)]
    project: ProjectFlags,
    /// The bundle's image
    #[arg(long, value_name = "IMAGE")]
    bundle_image: String,
    /// A static baton binary for the operator's image, one for each architecture: [ARCHITECTURE=]FILE; this program
    /// itself when none is given
    #[arg(long = "binary", value_name = "FILE")]
    binaries: Vec<String>,
    /// Let the program need libraries of this machine; the image then runs on a stage of this machine and nowhere else. Not
    /// needed where the image goes to a registry of this machine and no binary is given
    #[arg(long)]
    for_this_machine: bool,
    #[command(flatten)]
    chart: ChartCheckFlags,
    #[command(flatten)]
    built: BuiltImagesFlags,
    #[command(flatten)]
    images: ImageFlags,
}

/// A flag that is needed to make a bundle of a tree, and not for a bundle that is there.
fn of_tree(flag: Arg) -> Arg {
    flag.required(false)
        .required_unless_present("source")
        .default_value_if("source", ArgPredicate::IsPresent, "")
}

impl Build {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        if let Some(directory) = &self.source {
            let name = Reference::parse(&self.bundle_image)?;
            let images = Images::open(&self.images, PolicySource::Optional, None)?;
            let built = plain::build(directory, &name, &images, terminal)?;
            return terminal.print(self.built.keep(&images, &built, &name)?.as_bytes());
        }
        let (operator, bundle) = (
            Reference::parse(&self.project.image)?,
            Reference::parse(&self.bundle_image)?,
        );
        let images = Images::open(&self.images, PolicySource::Optional, None)?;
        let built = OperatorImages::build(
            &self.project,
            &self.binaries,
            Reach::of(self.for_this_machine, &operator),
            self.chart.allowed()?,
            &images,
            terminal,
        )?;
        self.project.write_if_changed(&built.generated)?;
        terminal.print(self.built.keep(&images, &built.operator, &operator)?.as_bytes())?;
        terminal.print(self.built.keep(&images, &built.bundle, &bundle)?.as_bytes())
    }
}

/// The two images of a version.
pub(crate) struct OperatorImages {
    pub(crate) operator: BuiltImage,
    pub(crate) bundle: BuiltImage,
    /// The bundle that they were made of; it isn't written to the tree yet.
    pub(crate) generated: GeneratedBundle,
    /// The operator's programs, by architecture.
    programs: BTreeMap<String, PathBuf>,
    /// The charts that the operator has.
    charts: Vec<Material>,
    /// The checks of the charts that were allowed to fail, and did.
    allowed: Vec<ChartCheck>,
}

impl OperatorImages {
    /// Builds the images of what the tree makes now, and writes nothing to it.
    pub(crate) fn build(
        project: &ProjectFlags,
        binaries: &[String],
        reach: Reach,
        allowed: Vec<ChartCheck>,
        images: &Images,
        terminal: &mut Terminal,
    ) -> Result<Self, Failure> {
        let binaries = Binaries::parse_or_own(binaries, reach)?;
        if let Some(remark) = binaries.remark() {
            terminal.remark(remark);
        }
        let architectures = binaries
            .iter()
            .map(|(architecture, _)| architecture.to_owned())
            .collect();
        let generated = project.generate(architectures, allowed, terminal)?;
        let paths: BTreeMap<String, PathBuf> = binaries
            .iter()
            .map(|(architecture, path)| (architecture.to_owned(), path.to_owned()))
            .collect();
        let charts = attestations::charts(&generated.project);
        let operator = OperatorImage::new(&generated.project, &generated.bundle, paths.clone())?
            .build(images.store()?)?;
        let bundle = bundle_image(&generated.bundle.files, &generated.bundle.labels, images.store()?)?;
        Ok(Self {
            operator,
            bundle,
            generated: generated.bundle,
            programs: paths,
            charts,
            allowed: generated.allowed,
        })
    }

    /// What is said about the operator's image: what its program is made of, and of which program and charts it was made.
    pub(crate) fn about_operator(
        &self,
        images: &Images,
        name: &Reference,
    ) -> Result<Vec<Attestation>, Failure> {
        let mut materials = attestations::programs(&self.programs)?;
        materials.extend(self.charts.iter().cloned());
        let provenance = attestations::provenance("operator-image", self.parameters(), materials);
        attestations::of(
            images,
            &self.operator.descriptor,
            name,
            &self.programs,
            &provenance,
        )
    }

    /// What is said about the bundle's image: of which charts it was made, and for which operator.
    pub(crate) fn about_bundle(
        &self,
        images: &Images,
        name: &Reference,
        operator: &Reference,
    ) -> Result<Vec<Attestation>, Failure> {
        let mut materials = self.charts.clone();
        materials.push(attestations::material(
            operator.without_version().to_string(),
            digest_of(&self.operator.descriptor)?,
        ));
        let provenance = attestations::provenance("bundle-image", self.parameters(), materials);
        let programs = BTreeMap::new();
        attestations::of(images, &self.bundle.descriptor, name, &programs, &provenance)
    }

    fn parameters(&self) -> Value {
        let mut parameters = json!({"bundle": self.generated.name, "package": self.generated.package});
        if !self.allowed.is_empty() {
            let names: Vec<&str> = self.allowed.iter().map(|check| check.name()).collect();
            parameters["allowed"] = json!(names);
        }
        parameters
    }
}
