//! The image that runs in the cluster: the program, the certificates by which it knows registries, and nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bundle::generation::operator_image::{OperatorImageError, program_layer};
use image::build::{self, BuildError, BuiltImage, ImageSettings};
use image::content::ContentStore;
use image::layer::{Compression, LayerError, LayerFiles};

/// Where the program looks for certificates of authorities.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The files in which systems keep the certificates of authorities, by how common they are.
pub const AUTHORITY_FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The user that the program runs as: nobody in particular, and not root.
const USER: &str = "65532:65532";

/// Why an image could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ProgramImageError {
    /// The program's layer couldn't be made.
    #[error(transparent)]
    Program(#[from] OperatorImageError),
    /// Another layer couldn't be made.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The image couldn't be put together.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Builds the image in a store: one for a single architecture, an index for several. `authorities` is a file with the
/// certificates of authorities, as PEM.
pub fn build(
    programs: &BTreeMap<String, PathBuf>,
    authorities: &Path,
    version: &str,
    store: &ContentStore,
) -> Result<BuiltImage, ProgramImageError> {
    let about = BTreeMap::from(
        [
            ("title", "baton"),
            ("version", version),
            ("licenses", "Apache-2.0"),
            ("description", "An Operator Lifecycle Manager for Kubernetes"),
        ]
        .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value.to_owned())),
    );
    let settings = ImageSettings {
        labels: about.clone(),
        annotations: about,
        entrypoint: vec!["/baton".to_owned()],
        environment: vec![format!("SSL_CERT_FILE={AUTHORITIES}"), "HOME=/tmp".to_owned()],
        user: Some(USER.to_owned()),
        ..ImageSettings::default()
    };
    let mut files = LayerFiles::new();
    files.add_file(AUTHORITIES, authorities, 0o644)?;
    files.add_directory("/tmp", 0o1777)?;
    let files = files.write(store, Compression::Gzip)?;
    let mut images = Vec::new();
    for (architecture, path) in programs {
        let program = program_layer(path, store, Compression::Gzip)?;
        images.push(build::image(
            store,
            &settings,
            architecture,
            &[files.clone(), program],
        )?);
    }
    match images.as_slice() {
        [only] => Ok(only.clone()),
        several => Ok(build::index(store, &settings, several)?),
    }
}
