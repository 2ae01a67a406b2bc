//! Bundles and catalogs, wherever they are, rendered into one catalog.

use std::collections::BTreeMap;
use std::path::Path;

use bundle::files::BundleFiles;
use catalog::metadata::{self, Metadata, MigrationLevel};
use catalog::objects::Catalog;
use catalog::rendering::{self, RenderedBundle};
use clap::Args;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gotemplate::format::quoted;

use crate::failure::Failure;
use crate::images::{Held, Images, is_bundle};
use crate::named_source::NamedSource;

/// How many images are fetched at a time; each fetches its layers in parallel again.
pub(crate) const IMAGES_AT_A_TIME: usize = 4;

/// Which form bundles have in the catalog.
#[derive(Args, Clone)]
#[command(next_help_heading = "Form of bundles")]
pub(crate) struct FormFlags {
    /// Bring bundles to this level: none, bundle-object-to-csv-metadata or all
    #[arg(long, value_name = "LEVEL", default_value = "none", value_parser = level)]
    pub(crate) migrate_level: MigrationLevel,
    /// Leave descriptors and resources of APIs out of the metadata: catalogs become half as large
    #[arg(long)]
    pub(crate) minify: bool,
}

fn level(text: &str) -> Result<MigrationLevel, String> {
    text.parse::<MigrationLevel>().map_err(|error| error.to_string())
}

impl FormFlags {
    fn metadata(&self) -> Metadata {
        if self.minify {
            Metadata::Minified
        } else {
            Metadata::Full
        }
    }

    /// Brings a catalog into this form.
    pub(crate) fn apply(&self, catalog: &mut Catalog) -> Result<(), Failure> {
        metadata::migrate(catalog, self.migrate_level, self.metadata())
            .map_err(|error| Failure::new(format!("migrate: {error}")))?;
        if self.minify {
            metadata::minify(catalog);
        }
        Ok(())
    }
}

/// Gives bundles that come from a directory the image they will have.
pub(crate) type ImageOf<'f> = dyn Fn(&RenderedBundle) -> Result<String, Failure> + Sync + 'f;

/// Renders everything that `words` name, several images at a time, into one catalog.
pub(crate) async fn render_all(
    images: &Images,
    words: &[String],
    image_of: &ImageOf<'_>,
) -> Result<Catalog, Failure> {
    combine(words, |word| async move {
        let held = images.read(&NamedSource::parse(word)).await?;
        render_held(held, word, image_of)
    })
    .await
}

/// Makes one catalog of what `render` makes of each of several words.
pub(crate) async fn combine<'w, F: Future<Output = Result<Catalog, Failure>>>(
    words: &'w [String],
    render: impl Fn(&'w str) -> F,
) -> Result<Catalog, Failure> {
    let parts: Vec<Catalog> = stream::iter(words)
        .map(|word| {
            let part = render(word);
            async move {
                part.await
                    .map_err(|failure| failure.within(format!("render reference {}", quoted(word))))
            }
        })
        .buffered(IMAGES_AT_A_TIME)
        .try_collect()
        .await?;
    let mut catalog = Catalog::default();
    for part in parts {
        catalog.packages.extend(part.packages);
        catalog.channels.extend(part.channels);
        catalog.bundles.extend(part.bundles);
        catalog.deprecations.extend(part.deprecations);
        catalog.others.extend(part.others);
    }
    Ok(catalog)
}

/// Renders what `word` turned out to name.
pub(crate) fn render_held(held: Held, word: &str, image_of: &ImageOf<'_>) -> Result<Catalog, Failure> {
    match held {
        Held::Catalog(mut catalog) => {
            rendering::arrange(&mut catalog);
            Ok(catalog)
        }
        Held::Bundle(files, from) => {
            let image = match from {
                Some(_) => word.to_owned(),
                None => image_of(&rendering::render(&files, "")?)?,
            };
            let rendered = rendering::render(&files, &image)?;
            Ok(Catalog {
                bundles: vec![rendered.bundle],
                ..Catalog::default()
            })
        }
    }
}

/// Bundles that stand in for images that aren't pushed yet: `--bundle IMAGE=SOURCE`.
#[derive(Args, Clone, Default)]
pub(crate) struct LocalBundles {
    /// Take the bundle of an image from a directory, image layout or tar instead of the registry
    #[arg(long = "bundle", value_name = "IMAGE=SOURCE", value_parser = pair)]
    pub(crate) bundles: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    // An image may hold a digest and a port, but never an equals sign.
    let (image, source) = text.split_once('=').ok_or("expected IMAGE=SOURCE")?;
    if image.is_empty() || source.is_empty() {
        return Err("expected IMAGE=SOURCE".to_owned());
    }
    Ok((image.to_owned(), source.to_owned()))
}

/// Fetches and renders the bundles that `references` name; of a bundle that can't be had, why not.
pub(crate) async fn bundles(
    images: &Images,
    references: &[&str],
    local: &LocalBundles,
    form: &FormFlags,
) -> BTreeMap<String, Result<RenderedBundle, String>> {
    let sources: BTreeMap<&str, &str> = local
        .bundles
        .iter()
        .map(|(image, source)| (image.as_str(), source.as_str()))
        .collect();
    each(references, |image| {
        let source = sources.get(image).copied();
        async move {
            let files = match source {
                Some(source) => images.read_bundle(source).await?.0,
                None => remote_bundle(images, image)
                    .await
                    .map_err(|failure| hinted(failure, image))?,
            };
            render_files(&files, image, form)
        }
    })
    .await
}

/// Fetches and renders the bundle images that `references` name; of a bundle that can't be had, why not, as opm says it.
pub(crate) async fn bundle_images(
    images: &Images,
    references: &[&str],
    form: &FormFlags,
) -> BTreeMap<String, Result<RenderedBundle, String>> {
    let mut found = each(references, |image| async move {
        Ok(rendering::render(&remote_bundle(images, image).await?, image)?)
    })
    .await;
    if form.migrate_level > MigrationLevel::None {
        for rendered in found.values_mut() {
            let failed = rendered
                .as_mut()
                .ok()
                .and_then(|bundle| bundle.migrate(form.metadata()).err());
            if let Some(error) = failed {
                *rendered = Err(format!("migrate: {error}"));
            }
        }
    }
    found
}

async fn each<'r, F: Future<Output = Result<RenderedBundle, Failure>>>(
    references: &[&'r str],
    render: impl Fn(&'r str) -> F,
) -> BTreeMap<String, Result<RenderedBundle, String>> {
    stream::iter(references)
        .map(|reference| {
            let rendered = render(reference);
            async move {
                let told = |failure: Failure| {
                    failure
                        .within(format!("render reference {}", quoted(reference)))
                        .text()
                };
                ((*reference).to_owned(), rendered.await.map_err(told))
            }
        })
        .buffered(IMAGES_AT_A_TIME)
        .collect()
        .await
}

fn render_files(files: &BundleFiles, image: &str, form: &FormFlags) -> Result<RenderedBundle, Failure> {
    let mut rendered = rendering::render(files, image)?;
    if form.migrate_level > MigrationLevel::None {
        rendered.migrate(form.metadata())?;
    }
    Ok(rendered)
}

async fn remote_bundle(images: &Images, image: &str) -> Result<BundleFiles, Failure> {
    let path = Path::new(image);
    if path.is_dir() {
        return Err(Failure::new(if is_bundle(path) {
            format!("cannot render bundle directory {}: not allowed", quoted(image))
        } else {
            "cannot render declarative config directory: not allowed".to_owned()
        }));
    }
    if path.exists() {
        return Err(Failure::new(format!(
            "ref {} is not a directory: not allowed",
            quoted(image)
        )));
    }
    match images.read(&NamedSource::Image(image.to_owned())).await? {
        Held::Bundle(files, _) => Ok(files),
        Held::Catalog(_) => Err(Failure::new(
            "cannot render declarative config image: not allowed",
        )),
    }
}

/// Says how a template's bundle can come from a directory.
fn hinted(failure: Failure, image: &str) -> Failure {
    match failure {
        Failure::Message { text, diagnosis } if Path::new(image).exists() => Failure::Message {
            text: format!(
                "{text}; templates name images: give the image's name there, and --bundle IMAGE={image}"
            ),
            diagnosis,
        },
        other => other,
    }
}
