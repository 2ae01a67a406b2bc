//! The image of a catalog.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use catalog::objects::Catalog;
use catalog::writing::{self, Format};
use clap::Args;
use image::build::{self, ARCHITECTURES, BuiltImage, ImageSettings};
use image::content::ContentStore;
use image::layer::{Compression, LayerFiles};

use crate::binaries::Binaries;
use crate::failure::Failure;
use catalog_controller::fetch::CONFIGS_LABEL;

/// Where catalogs lie in their image.
const CONFIGS: &str = "configs";
/// What OLM v0 and its users run in a catalog's image.
const SERVER: &str = "bin/opm";

/// What a catalog's image has beside the catalog.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Image")]
pub(crate) struct CatalogImageFlags {
    /// Put a static baton binary into the image, so that it serves itself: [ARCHITECTURE=]FILE
    #[arg(long = "binary", value_name = "FILE")]
    binaries: Vec<String>,
    /// Add a label: KEY=VALUE
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = key_value)]
    labels: Vec<(String, String)>,
}

/// Reads `KEY=VALUE`.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

impl CatalogImageFlags {
    /// Builds the image; the same catalog gives the same digest.
    pub(crate) fn build(&self, store: &ContentStore, catalog: &Catalog) -> Result<BuiltImage, Failure> {
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::new(format!("cannot make a temporary folder: {error}")))?;
        writing::write_directory(catalog, folder.path(), Format::Json)?;
        let mut content = LayerFiles::new();
        content.add_directory(CONFIGS, 0o755)?;
        add_below(&mut content, folder.path(), Path::new(CONFIGS))?;
        let content = content.write(store, Compression::Gzip)?;
        let mut labels = BTreeMap::from([(CONFIGS_LABEL.to_owned(), format!("/{CONFIGS}"))]);
        labels.extend(self.labels.iter().cloned());
        let mut settings = ImageSettings {
            labels,
            ..ImageSettings::default()
        };
        let binaries = Binaries::parse(&self.binaries)?;
        if binaries.is_empty() {
            return Ok(build::for_architectures(
                store,
                &settings,
                &ARCHITECTURES,
                &[content],
            )?);
        }
        settings.entrypoint = vec![format!("/{SERVER}")];
        settings.command = vec!["serve".to_owned(), format!("/{CONFIGS}")];
        settings.exposed_ports = vec!["50051/tcp".to_owned()];
        settings.user = Some("1001".to_owned());
        let mut built = Vec::new();
        for (architecture, file) in binaries.iter() {
            let mut server = LayerFiles::new();
            server.add_file(SERVER, file, 0o755)?;
            // A writable place for the index that serving builds.
            server.add_directory("tmp", 0o1777)?;
            let server = server.write(store, Compression::Gzip)?;
            built.push(build::image(
                store,
                &settings,
                architecture,
                &[server, content.clone()],
            )?);
        }
        Ok(build::index(store, &settings, &built)?)
    }
}

fn add_below(layer: &mut LayerFiles, folder: &Path, target: &Path) -> Result<(), Failure> {
    let told = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", path.display()))
    };
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(told(folder))? {
        entries.push(entry.map_err(told(folder))?.path());
    }
    entries.sort();
    for path in entries {
        let target = target.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            add_below(layer, &path, &target)?;
        } else {
            layer.add_bytes(
                &target.to_string_lossy(),
                fs::read(&path).map_err(told(&path))?,
                0o644,
            )?;
        }
    }
    Ok(())
}
