//! The example's versions and its catalog, built and pushed to the registry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundle::files::BundleFiles;
use bundle::generation::operator_image::{OperatorImage, bundle_image, program_layer};
use bundle::generation::{self, ChartSources, Options, Project};
use catalog::metadata::MigrationLevel;
use catalog::rendering::{self, RenderedBundle};
use catalog::template::{Compatibility, Template};
use futures_util::future::try_join_all;
use image::build::BuiltImage;
use image::content::ContentStore;
use image::credentials::{Credentials, Secret};
use image::layer::{Compression, Layer};
use image::policy::PolicySource;
use image::program::Program;
use image::reference::Reference;
use image::remote::{Remote, RemoteOptions};
use image::surroundings::Surroundings;

use super::example::{self, Published};
use crate::commands::catalog::catalog_image::CatalogImageFlags;
use crate::commands::catalog::rendering::FormFlags;
use crate::commands::catalog::template::render_found;
use crate::failure::Failure;
use crate::own_registry;

/// The images of a version, and the bundle as a catalog has it.
struct Version {
    operator: (Reference, BuiltImage),
    bundle: (Reference, BuiltImage),
    rendered: (String, RenderedBundle),
}

/// Publishes everything; returns the name of the catalog's image.
///
/// The program in the operator's image is this one, whether or not it needs libraries: its pods are processes of this
/// machine, which has them.
pub(super) async fn publish(registry: &str, password: Secret) -> Result<String, Failure> {
    let store = ContentStore::temporary()?;
    let tree = tempfile::tempdir()
        .map_err(|error| Failure::new(format!("cannot make a temporary folder: {error}")))?;
    example::write(tree.path())?;
    let own = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program's file: {error}")))?;
    let architecture = Program::read(&own)?.architecture.to_owned();
    let binaries = BTreeMap::from([(architecture.clone(), own.clone())]);
    // Once for all versions: it is much larger than everything else.
    let layered = store.clone();
    let program = blocking(move || Ok(program_layer(&own, &layered, Compression::Zstd)?)).await?;
    let programs = Arc::new(BTreeMap::from([(architecture, program)]));
    let built = example::VERSIONS.map(|published| {
        let (store, tree, registry) = (store.clone(), tree.path().to_owned(), registry.to_owned());
        let (binaries, programs) = (binaries.clone(), Arc::clone(&programs));
        blocking(move || build(&published, &tree, &registry, binaries, &programs, &store))
    });
    let versions = try_join_all(built).await?;
    let mut options = RemoteOptions::from_surroundings(&Surroundings::of_process(), &PolicySource::Optional)?;
    options.credentials = Credentials::fixed(own_registry::login(password));
    let remote = Remote::new(options);
    for version in &versions {
        for (name, image) in [&version.operator, &version.bundle] {
            remote.push(&store, &image.descriptor, name).await?;
        }
    }
    let template = Template::parse(&example::template(registry), None)?;
    let found = versions
        .into_iter()
        .map(|version| (version.rendered.0, Ok(version.rendered.1)))
        .collect();
    let form = FormFlags {
        migrate_level: MigrationLevel::None,
        minify: false,
    };
    let catalog = render_found(&template, &found, &form, Compatibility::Current)?;
    let catalog = CatalogImageFlags::default().build(&store, &catalog)?;
    // Last: nobody must see a version whose images aren't there.
    let name = catalog_image(registry);
    remote
        .push(&store, &catalog.descriptor, &Reference::parse(&name)?)
        .await?;
    Ok(name)
}

/// The name of the catalog's image.
pub(super) fn catalog_image(registry: &str) -> String {
    example::image(registry, "-catalog", "latest")
}

fn build(
    published: &Published,
    tree: &Path,
    registry: &str,
    binaries: BTreeMap<String, PathBuf>,
    programs: &BTreeMap<String, Layer>,
    store: &ContentStore,
) -> Result<Version, Failure> {
    let operator_name = example::image(registry, "", published.version);
    let bundle_name = example::image(registry, "-bundle", published.version);
    let sources = ChartSources {
        only: Some(tree.join(published.chart)),
        ..ChartSources::default()
    };
    let project = Project::read(tree, &sources)?;
    let mut options = Options::new(published.version, &operator_name);
    options.architectures = programs.keys().cloned().collect();
    options.created_at = published.at;
    options.update_permissions = true;
    let generated = generation::generate(&project, &options)?;
    let operator = OperatorImage::new(&project, &generated, binaries)?.build_on(programs, store)?;
    let bundle = bundle_image(&generated.files, &generated.labels, store)?;
    let files = BundleFiles::from_image(generated.files, generated.labels);
    let rendered = rendering::render(&files, &bundle_name)?;
    Ok(Version {
        operator: (Reference::parse(&operator_name)?, operator),
        bundle: (Reference::parse(&bundle_name)?, bundle),
        rendered: (bundle_name, rendered),
    })
}

/// Does what takes long where it keeps nobody waiting.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Failure::new(format!("cannot build the example: {error}"))))
}
