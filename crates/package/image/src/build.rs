//! Images put together from layers and labels, for one platform or for several under one index.
//!
//! Nothing but the input goes into an image: keys are sorted, there is no history, and a creation time only if one is
//! given. So the same input gives the same digest, on every machine and at any time.

use std::collections::BTreeMap;

use oci_spec::image::{
    ConfigBuilder, Descriptor, ImageConfigurationBuilder, ImageIndexBuilder, ImageManifestBuilder, MediaType,
    PlatformBuilder, RootFsBuilder, SCHEMA_VERSION,
};
use serde::Serialize;

use crate::content::{ContentError, ContentStore, Pin};
use crate::layer::{Format, Layer, LayerError};
use crate::manifest::{self, DOCKER_CONFIG, DOCKER_LIST, DOCKER_MANIFEST, MAX_DOCUMENT_BYTES};

/// The architectures that images without binaries are made for: Kubernetes runs operators on these, and a node takes
/// an image only for its own.
pub const ARCHITECTURES: [&str; 4] = ["amd64", "arm64", "ppc64le", "s390x"];

/// Why an image couldn't be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A layer has no name in the image format.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The content store couldn't take a part of the image.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Labels, environment or annotations are bigger than a registry accepts.
    #[error(
        "the image's {document} would be {size} bytes long, and registries take at most {limit}; shorten its labels \
             or annotations"
    )]
    TooLarge {
        /// Which document.
        document: &'static str,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// A value that images can't hold.
    #[error("{field} {value:?} can't be in an image: {cause}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// Why not, and what is expected.
        cause: String,
    },
}

/// What an image says of itself, apart from its files.
#[derive(Debug, Clone, Default)]
pub struct ImageSettings {
    /// Labels in the configuration, by which OLM knows what the image is.
    pub labels: BTreeMap<String, String>,
    /// Annotations in the manifest and, for several platforms, in the index; Docker's format has no place for them.
    pub annotations: BTreeMap<String, String>,
    /// The program that a container of the image runs.
    pub entrypoint: Vec<String>,
    /// The program's arguments, which a container may replace.
    pub command: Vec<String>,
    /// Environment variables, each `NAME=value`.
    pub environment: Vec<String>,
    /// The directory that the program starts in.
    pub working_directory: Option<String>,
    /// The user that the program runs as: a name or number, and a group after a colon.
    pub user: Option<String>,
    /// Ports that the program serves, such as `50051/tcp`.
    pub exposed_ports: Vec<String>,
    /// When the image was made, in seconds since 1970; without it, the image doesn't say.
    pub created: Option<i64>,
    /// Whose media types are used.
    pub format: Format,
}

/// An image or index in a content store.
#[derive(Debug, Clone)]
pub struct BuiltImage {
    /// Names the manifest or index.
    pub descriptor: Descriptor,
    /// Keep all its parts in the store.
    pub pins: Vec<Pin>,
}

/// Makes an image for Linux on one architecture.
pub fn image(
    store: &ContentStore,
    settings: &ImageSettings,
    architecture: &str,
    layers: &[Layer],
) -> Result<BuiltImage, BuildError> {
    check(settings, architecture)?;
    let mut pins: Vec<Pin> = layers.iter().map(|layer| layer.pin.clone()).collect();
    let config = put(
        store,
        &configuration(settings, architecture, layers)?,
        "configuration",
        match settings.format {
            Format::Oci => MediaType::ImageConfig,
            Format::Docker => MediaType::Other(DOCKER_CONFIG.to_owned()),
        },
        &mut pins,
    )?;
    let layers: Vec<Descriptor> = layers
        .iter()
        .map(|layer| layer.descriptor(settings.format))
        .collect::<Result<_, _>>()?;
    let media_type = match settings.format {
        Format::Oci => MediaType::ImageManifest,
        Format::Docker => MediaType::Other(DOCKER_MANIFEST.to_owned()),
    };
    let mut manifest = ImageManifestBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(media_type.clone())
        .config(config)
        .layers(layers);
    if let Some(annotations) = annotations(settings) {
        manifest = manifest.annotations(annotations);
    }
    let manifest = manifest.build().map_err(incomplete)?;
    let mut descriptor = put(store, &manifest, "manifest", media_type, &mut pins)?;
    let platform = PlatformBuilder::default()
        .os("linux")
        .architecture(architecture)
        .build()
        .map_err(incomplete)?;
    descriptor.set_platform(Some(platform));
    Ok(BuiltImage { descriptor, pins })
}

/// Puts images for several architectures under one index; the settings give its annotations and format.
pub fn index(
    store: &ContentStore,
    settings: &ImageSettings,
    images: &[BuiltImage],
) -> Result<BuiltImage, BuildError> {
    let mut pins: Vec<Pin> = images
        .iter()
        .flat_map(|image| image.pins.iter().cloned())
        .collect();
    let media_type = match settings.format {
        Format::Oci => MediaType::ImageIndex,
        Format::Docker => MediaType::Other(DOCKER_LIST.to_owned()),
    };
    let mut index = ImageIndexBuilder::default()
        .schema_version(SCHEMA_VERSION)
        .media_type(media_type.clone())
        .manifests(
            images
                .iter()
                .map(|image| image.descriptor.clone())
                .collect::<Vec<_>>(),
        );
    if let Some(annotations) = annotations(settings) {
        index = index.annotations(annotations);
    }
    let index = index.build().map_err(incomplete)?;
    let descriptor = put(store, &index, "index", media_type, &mut pins)?;
    Ok(BuiltImage { descriptor, pins })
}

/// Makes one image for each of the architectures, all with the same layers, under one index.
pub fn for_architectures(
    store: &ContentStore,
    settings: &ImageSettings,
    architectures: &[&str],
    layers: &[Layer],
) -> Result<BuiltImage, BuildError> {
    let images = architectures
        .iter()
        .map(|architecture| image(store, settings, architecture, layers))
        .collect::<Result<Vec<_>, _>>()?;
    index(store, settings, &images)
}

fn configuration(
    settings: &ImageSettings,
    architecture: &str,
    layers: &[Layer],
) -> Result<impl Serialize, BuildError> {
    let mut config = ConfigBuilder::default();
    if !settings.labels.is_empty() {
        config = config.labels(
            settings
                .labels
                .clone()
                .into_iter()
                .collect::<std::collections::HashMap<_, _>>(),
        );
    }
    if !settings.entrypoint.is_empty() {
        config = config.entrypoint(settings.entrypoint.clone());
    }
    if !settings.command.is_empty() {
        config = config.cmd(settings.command.clone());
    }
    if !settings.environment.is_empty() {
        config = config.env(settings.environment.clone());
    }
    if !settings.exposed_ports.is_empty() {
        config = config.exposed_ports(settings.exposed_ports.clone());
    }
    if let Some(directory) = &settings.working_directory {
        config = config.working_dir(directory.clone());
    }
    if let Some(user) = &settings.user {
        config = config.user(user.clone());
    }
    let files = RootFsBuilder::default()
        .typ("layers")
        .diff_ids(
            layers
                .iter()
                .map(|layer| layer.diff_id.to_string())
                .collect::<Vec<_>>(),
        )
        .build()
        .map_err(incomplete)?;
    let mut configuration = ImageConfigurationBuilder::default()
        .os("linux")
        .architecture(architecture)
        .config(config.build().map_err(incomplete)?)
        .rootfs(files);
    if let Some(created) = settings.created {
        configuration = configuration.created(timestamp(created)?);
    }
    configuration.build().map_err(incomplete)
}

fn check(settings: &ImageSettings, architecture: &str) -> Result<(), BuildError> {
    let field = |field, value: &str, cause: &str| {
        Err(BuildError::Field {
            field,
            value: value.to_owned(),
            cause: cause.to_owned(),
        })
    };
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if architecture.is_empty() || !architecture.bytes().all(is_name) {
        return field(
            "architecture",
            architecture,
            "use Go's name for it, such as amd64",
        );
    }
    for variable in &settings.environment {
        if variable.find('=').is_none_or(|end| end == 0) || variable.contains('\0') {
            return field("environment variable", variable, "write it as NAME=value");
        }
    }
    if let Some(directory) = &settings.working_directory
        && !directory.starts_with('/')
    {
        return field("working directory", directory, "it must start with /");
    }
    Ok(())
}

fn timestamp(seconds: i64) -> Result<String, BuildError> {
    jiff::Timestamp::from_second(seconds)
        .map(|time| time.to_string())
        .map_err(|error| BuildError::Field {
            field: "creation time",
            value: seconds.to_string(),
            cause: format!("{error}; give the seconds since 1970"),
        })
}

fn annotations(settings: &ImageSettings) -> Option<std::collections::HashMap<String, String>> {
    let annotations = &settings.annotations;
    let has_place = settings.format == Format::Oci;
    (has_place && !annotations.is_empty()).then(|| annotations.clone().into_iter().collect())
}

pub(crate) fn put(
    store: &ContentStore,
    document: &impl Serialize,
    name: &'static str,
    media_type: MediaType,
    pins: &mut Vec<Pin>,
) -> Result<Descriptor, BuildError> {
    // By way of a value, whose maps are sorted: those of the typed documents have an order that changes from run to run.
    let bytes = serde_json::to_value(document)
        .and_then(|value| serde_json::to_vec(&value))
        .map_err(|error| BuildError::Field {
            field: name,
            value: String::new(),
            cause: error.to_string(),
        })?;
    let size = bytes.len() as u64;
    if size > MAX_DOCUMENT_BYTES {
        return Err(BuildError::TooLarge {
            document: name,
            size,
            limit: MAX_DOCUMENT_BYTES,
        });
    }
    let digest = crate::digest::Digest::of(&bytes);
    pins.push(store.pin(&digest)?);
    store.insert(&bytes)?;
    Ok(manifest::descriptor(media_type, &digest, size))
}

#[expect(clippy::needless_pass_by_value, reason = "it is the shape that map_err takes")]
pub(crate) fn incomplete(error: oci_spec::OciSpecError) -> BuildError {
    BuildError::Field {
        field: "image",
        value: String::new(),
        cause: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layer::{Compression, LayerFiles};
    use crate::manifest::{Manifest, digest_of, parts};

    fn settings() -> ImageSettings {
        let labels = [
            ("operators.operatorframework.io.bundle.package.v1", "stack"),
            ("operators.operatorframework.io.bundle.channels.v1", "stable"),
        ];
        ImageSettings {
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            annotations: [("org.opencontainers.image.title".to_owned(), "stack".to_owned())].into(),
            entrypoint: vec!["/bin/baton".to_owned()],
            command: vec!["serve".to_owned()],
            environment: vec!["HOME=/".to_owned()],
            working_directory: Some("/".to_owned()),
            user: Some("1001:0".to_owned()),
            exposed_ports: vec!["50051/tcp".to_owned()],
            created: Some(0),
            format: Format::Oci,
        }
    }

    fn layer(store: &ContentStore) -> Layer {
        let mut files = LayerFiles::new();
        files.add_bytes("manifests/a.yaml", "a: 1\n", 0o644).unwrap();
        files.write(store, Compression::Gzip).unwrap()
    }

    fn text(store: &ContentStore, descriptor: &Descriptor) -> String {
        let bytes = store
            .read(&digest_of(descriptor).unwrap(), MAX_DOCUMENT_BYTES)
            .unwrap();
        assert_eq!(bytes.len() as u64, descriptor.size());
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        serde_json::to_string_pretty(&value).unwrap()
    }

    #[test]
    fn an_image_is_what_it_was_and_keeps_its_digest() {
        let store = ContentStore::temporary().unwrap();
        let layers = [layer(&store)];
        let mut documents = Vec::new();
        for format in [Format::Oci, Format::Docker] {
            let settings = ImageSettings { format, ..settings() };
            let index = for_architectures(&store, &settings, &ARCHITECTURES, &layers).unwrap();
            documents.push(format!("{format:?} {}", index.descriptor.digest()));
            let Manifest::Index(list) = Manifest::read(&store, &index.descriptor).unwrap() else {
                panic!("not an index")
            };
            documents.push(text(&store, &index.descriptor));
            let Manifest::Image(image) = Manifest::read(&store, &list.manifests()[0]).unwrap() else {
                panic!("not an image")
            };
            documents.push(text(&store, &list.manifests()[0]));
            documents.push(text(&store, image.config()));
        }
        insta::assert_snapshot!(documents.join("\n"));
    }

    #[test]
    fn the_images_of_an_index_share_their_layer() {
        let store = ContentStore::temporary().unwrap();
        let index = for_architectures(&store, &settings(), &ARCHITECTURES, &[layer(&store)]).unwrap();
        // The index, four manifests, four configurations and one layer.
        assert_eq!(parts(&store, &index.descriptor).unwrap().len(), 10);
        assert_eq!(store.blobs().unwrap().len(), 10);
    }

    #[test]
    fn nothing_that_is_built_is_evicted_before_it_is_used() {
        let directory = tempfile::tempdir().unwrap();
        let store = ContentStore::open(directory.path(), 1000).unwrap();
        let index = for_architectures(&store, &settings(), &ARCHITECTURES, &[layer(&store)]).unwrap();
        assert!(store.blobs().unwrap().iter().map(|(_, size)| size).sum::<u64>() > 1000);
        parts(&store, &index.descriptor).unwrap();
        for part in parts(&store, &index.descriptor).unwrap() {
            store
                .read(&digest_of(&part).unwrap(), MAX_DOCUMENT_BYTES)
                .unwrap();
        }
    }

    #[test]
    fn an_image_that_says_nothing_is_an_image() {
        let store = ContentStore::temporary().unwrap();
        let built = image(&store, &ImageSettings::default(), "arm64", &[]).unwrap();
        let Manifest::Image(manifest) = Manifest::read(&store, &built.descriptor).unwrap() else {
            panic!("not an image")
        };
        let config = store
            .read(&digest_of(manifest.config()).unwrap(), MAX_DOCUMENT_BYTES)
            .unwrap();
        assert_eq!(
            String::from_utf8(config).unwrap(),
            r#"{"architecture":"arm64","config":{},"os":"linux","rootfs":{"diff_ids":[],"type":"layers"}}"#
        );
    }

    #[test]
    fn values_that_no_image_can_hold_are_refused() {
        let store = ContentStore::temporary().unwrap();
        let try_image = |change: fn(&mut ImageSettings), architecture: &str| {
            let mut settings = settings();
            change(&mut settings);
            image(&store, &settings, architecture, &[])
                .unwrap_err()
                .to_string()
        };
        let texts = [
            try_image(|_| {}, "AMD64"),
            try_image(|_| {}, ""),
            try_image(|settings| settings.environment = vec!["=x".to_owned()], "amd64"),
            try_image(
                |settings| settings.working_directory = Some("x".to_owned()),
                "amd64",
            ),
            try_image(|settings| settings.created = Some(i64::MAX), "amd64"),
            try_image(
                |settings| {
                    settings.labels.insert("x".to_owned(), "y".repeat(5 << 20));
                },
                "amd64",
            ),
        ];
        insta::assert_snapshot!(texts.join("\n"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn the_same_input_gives_the_same_digest(
            labels in proptest::collection::btree_map(".{0,20}", ".{0,20}", 0..20),
            annotations in proptest::collection::btree_map(".{0,20}", ".{0,20}", 0..20),
        ) {
            let settings = ImageSettings { labels, annotations, ..settings() };
            let digests = [(); 2].map(|()| {
                let store = ContentStore::temporary().unwrap();
                let layers = [layer(&store)];
                for_architectures(&store, &settings, &ARCHITECTURES, &layers).unwrap().descriptor
            });
            prop_assert_eq!(&digests[0], &digests[1]);
        }
    }
}
