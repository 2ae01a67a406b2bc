//! What is attached to an image that is pushed: what its programs are made of, and how it was made.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ::bundle::generation::Project;
use image::Descriptor;
use image::attachment::{Attachment, Material, Provenance};
use image::digest::Digest;
use image::manifest::Manifest;
use image::materials;
use image::reference::Reference;

use crate::failure::Failure;
use crate::images::{Images, digest_of};
use crate::terminal::Terminal;

/// A document about an image, with the image or part of it that it is about.
pub(crate) type Attestation = (Descriptor, Attachment);

/// The version of this program, which is the builder.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How an image was made by this program: which recipe, told what, of what.
pub(crate) fn provenance(
    recipe: &'static str,
    parameters: serde_json::Value,
    materials: Vec<Material>,
) -> Provenance {
    Provenance {
        recipe,
        parameters,
        materials,
        version: VERSION.to_owned(),
    }
}

/// Something that an image was made of.
pub(crate) fn material(name: impl Into<String>, digest: Digest) -> Material {
    Material {
        name: name.into(),
        digest,
        annotations: BTreeMap::new(),
    }
}

/// A file that an image was made of, without the folder that it was in.
pub(crate) fn file(path: &Path) -> Result<Material, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(material(name, digest_of_file(path)?))
}

/// The programs that an image was made of, by architecture.
pub(crate) fn programs(programs: &BTreeMap<String, PathBuf>) -> Result<Vec<Material>, Failure> {
    let programs = programs.iter().map(|(architecture, path)| {
        let mut program = material("baton", digest_of_file(path)?);
        program
            .annotations
            .insert("architecture".to_owned(), architecture.clone());
        Ok(program)
    });
    programs.collect()
}

/// The charts that an operator was made of: archives by their own digest, folders by the digest of what `sha256sum` prints of
/// their files in the order of their names.
pub(crate) fn charts(project: &Project) -> Vec<Material> {
    let charts = project.watched.iter().map(|watched| {
        let digest = if let Some(archive) = &watched.archive {
            Digest::of(archive)
        } else {
            let files = watched.chart.raw.iter();
            let sums: BTreeMap<&str, String> = files
                .map(|file| (&*file.name, Digest::of(&file.data).hex()))
                .collect();
            let listed = sums.iter().fold(String::new(), |mut text, (name, sum)| {
                // Writing to a text can't fail.
                let _ = writeln!(text, "{sum}  {name}");
                text
            });
            Digest::of(listed.as_bytes())
        };
        let metadata = &watched.chart.metadata;
        let mut chart = material(format!("chart {}", metadata.name), digest);
        chart
            .annotations
            .insert("version".to_owned(), metadata.version.clone());
        chart
    });
    charts.collect()
}

/// What is attached to an image: what each of its programs says that it is made of, and how the image was made.
pub(crate) fn of(
    images: &Images,
    root: &Descriptor,
    name: &Reference,
    programs: &BTreeMap<String, PathBuf>,
    provenance: &Provenance,
) -> Result<Vec<Attestation>, Failure> {
    let mut attestations = Vec::new();
    for (architecture, path) in programs {
        let list = materials::of_program(path)
            .map_err(|error| Failure::new(format!("cannot read binary {}: {error}", path.display())))?;
        if let Some(list) = list {
            let part = part_for(images, root, architecture)?;
            attestations.push((part, Attachment::bill_of_materials(list)));
        }
    }
    let statement = provenance.attachment(&name.without_version().to_string(), &digest_of(root)?);
    attestations.push((root.clone(), statement));
    Ok(attestations)
}

/// The part of an image that is for an architecture; the image itself where it is for one alone.
fn part_for(images: &Images, root: &Descriptor, architecture: &str) -> Result<Descriptor, Failure> {
    Ok(match Manifest::read(images.store()?, root)? {
        Manifest::Image(_) => root.clone(),
        Manifest::Index(index) => image::manifest::select_platform(&index, architecture)?,
    })
}

/// Attaches documents to an image that is uploaded. A registry that takes none doesn't keep an image from being published.
pub(crate) async fn attach(
    images: &Images,
    reference: &Reference,
    attestations: &[Attestation],
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    for (subject, attachment) in attestations {
        let attached = images
            .remote()?
            .attach(images.store()?, attachment, subject, reference);
        if let Err(error) = attached.await {
            terminal.remark(format!(
                "{reference} is published without its {}: {error}",
                attachment.media_type
            ));
        }
    }
    Ok(())
}

fn digest_of_file(path: &Path) -> Result<Digest, Failure> {
    Digest::of_file(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}
