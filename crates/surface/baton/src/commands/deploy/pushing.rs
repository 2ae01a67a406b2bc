//! The image that is deployed, built of this program and pushed to a registry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::deploy::program_image::{self, AUTHORITY_FILES};
use clap::Args;
use image::policy::PolicySource;
use image::program::Program;
use image::reference::Reference;
use serde_json::json;

use crate::attestations;
use crate::binaries::{Binaries, Reach};
use crate::failure::Failure;
use crate::images::{ImageFlags, Images, digest_of};
use crate::terminal::Terminal;

/// How the image gets into its registry.
#[derive(Args)]
#[command(next_help_heading = "Image")]
pub(super) struct PushFlags {
    /// Build the image of this program and push it first
    #[arg(long, requires = "image")]
    push: bool,
    /// A static baton binary for the image, one for each architecture: [ARCHITECTURE=]FILE; this program itself when none is
    /// given
    #[arg(long = "binary", value_name = "FILE", requires = "push")]
    binaries: Vec<String>,
    /// The certificates of authorities that registries are known by, as PEM; without it, those of `$SSL_CERT_FILE` or those of this
    /// machine
    #[arg(long, value_name = "FILE", requires = "push")]
    authorities: Option<PathBuf>,
}

impl PushFlags {
    /// Builds and pushes the image, if that is wanted; returns how nodes are to name it.
    ///
    /// A pushed image is named by its digest, so that pods are replaced when the same tag stands for another program.
    pub(super) async fn pushed(
        &self,
        name: String,
        flags: &ImageFlags,
        terminal: &mut Terminal,
    ) -> Result<String, Failure> {
        if !self.push {
            return Ok(name);
        }
        let reference = Reference::parse(&name)?;
        let programs = self.programs()?;
        let authorities = self.authorities()?;
        let images = Images::open(flags, PolicySource::Optional, terminal.bars())?;
        let version = env!("CARGO_PKG_VERSION");
        let built = program_image::build(&programs, &authorities, version, images.store()?)
            .map_err(|error| Failure::new(format!("cannot build image {name}: {error}")))?;
        images.upload(&built.descriptor, &reference).await?;
        let mut materials = attestations::programs(&programs)?;
        materials.push(attestations::file(&authorities)?);
        let provenance = attestations::provenance("program-image", json!({"version": version}), materials);
        let about = attestations::of(&images, &built.descriptor, &reference, &programs, &provenance)?;
        attestations::attach(&images, &reference, &about, terminal).await?;
        images.tag(&built.descriptor, &reference).await?;
        let named = format!("{name}@{}", digest_of(&built.descriptor)?);
        terminal.remark(format!("pushed {named}"));
        Ok(named)
    }

    /// The programs of the image, by architecture.
    fn programs(&self) -> Result<BTreeMap<String, PathBuf>, Failure> {
        if self.binaries.is_empty()
            && let Ok(own) = std::env::current_exe()
            && Program::read(&own)?.is_dynamic
        {
            return Err(Failure::new(format!(
                "{} needs libraries that the image does not have; give a static one with --binary FILE, made by \
                 RUSTFLAGS='-C target-feature=+crt-static' cargo build --release --target {}-unknown-linux-gnu",
                own.display(),
                std::env::consts::ARCH
            )));
        }
        let binaries = Binaries::parse_or_own(&self.binaries, Reach::Anywhere)?;
        let programs = binaries.iter();
        Ok(programs
            .map(|(architecture, path)| (architecture.to_owned(), path.to_owned()))
            .collect())
    }

    /// The file with the certificates of authorities.
    fn authorities(&self) -> Result<PathBuf, Failure> {
        let named = self.authorities.clone();
        let named = named.or_else(|| std::env::var_os("SSL_CERT_FILE").map(PathBuf::from));
        if let Some(file) = named {
            return Ok(file);
        }
        let found = AUTHORITY_FILES
            .into_iter()
            .map(Path::new)
            .find(|file| file.is_file());
        found.map(Path::to_owned).ok_or_else(|| {
            Failure::new(format!(
                "no certificates of authorities are in {}: without them the image knows no registry; name a file with \
                 --authorities",
                AUTHORITY_FILES.join(", ")
            ))
        })
    }
}
