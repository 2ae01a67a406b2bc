//! `baton publish`: from a chart to a catalog that customers see, in one go, with a plan first.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use bundle::files::BundleFiles;
use bundle::generation::chart_check::ChartCheck;
use bundle::validation::{self, OptionalValues, OutputLevel, Selection};
use catalog::template::Compatibility;
use catalog::{diff, writing};
use clap::Args;
use image::policy::PolicySource;
use image::reference::Reference;

use super::bundle::build::OperatorImages;
use super::bundle::project::ProjectFlags;
use super::bundle::publication::{self, Publication};
use super::catalog::catalog_image::CatalogImageFlags;
use super::catalog::published::{self, GuardFlags, MovingTagFlags};
use super::catalog::rendering::{FormFlags, LocalBundles};
use super::catalog::template;
use super::catalog::template_file::TemplateFile;
use super::catalog::validate;
use crate::binaries::Reach;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images, digest_of};
use crate::runtime;
use crate::terminal::Terminal;
use crate::written_files;

/// Makes, checks and publishes a version: operator image, bundle image and catalog image, with a plan first.
#[derive(Args)]
pub(crate) struct Publish {
    #[command(flatten)]
    project: ProjectFlags,
    /// The bundle's image
    #[arg(long, value_name = "IMAGE")]
    bundle_image: String,
    /// The catalog's image
    #[arg(long, value_name = "IMAGE")]
    catalog_image: String,
    /// The catalog's template; it must name the bundle's image
    #[arg(long, value_name = "FILE", default_value = "catalog/operator_catalog.yaml")]
    catalog_template: PathBuf,
    /// Where the rendered catalog is written
    #[arg(long, value_name = "FILE", default_value = "catalog/configs/catalog.yaml")]
    catalog_output: PathBuf,
    /// A static baton binary for the operator's image, one for each architecture: [ARCHITECTURE=]FILE
    #[arg(long = "operator-binary", alias = "binary", value_name = "FILE")]
    operator_binaries: Vec<String>,
    /// Let the operator's program need libraries of this machine; it then runs on a stage of this machine and nowhere else.
    /// Not needed where its image goes to a registry of this machine and no binary is given
    #[arg(long)]
    for_this_machine: bool,
    /// Render the catalog as this version of opm did: 1.51 or latest
    #[arg(long, value_name = "VERSION", default_value = "latest", value_parser = template::compatibility)]
    compatibility: Compatibility,
    /// Publish without asking
    #[arg(short, long)]
    yes: bool,
    /// Show the plan, and publish nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    form: FormFlags,
    #[command(flatten)]
    moving: MovingTagFlags,
    #[command(flatten)]
    guard: GuardFlags,
    #[command(flatten)]
    images: ImageFlags,
}

impl Publish {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let operator_name = Reference::parse(&self.project.image)?;
        let bundle_name = Reference::parse(&self.bundle_image)?;
        let catalog_name = Reference::parse(&self.catalog_image)?;
        let template_path = self.project.in_tree(&self.catalog_template);
        let template = TemplateFile::read(&template_path.to_string_lossy(), None, terminal)?;
        let references = template.references();
        if !references.contains(&self.bundle_image.as_str()) {
            let without_v = |image: &str| image.replace(":v", ":");
            let differs_by_v = |image: &&&str| without_v(image) == without_v(&self.bundle_image);
            if let Some(image) = references.iter().find(differs_by_v) {
                return Err(Failure::new(format!(
                    "{} names {image}, and the bundle's image is to be {}: write both with a v, or both without",
                    template_path.display(),
                    self.bundle_image
                )));
            }
            return Err(Failure::new(format!(
                "{} does not name {}: add a line for it, such as\nStable:\n  Bundles:\n  - Image: {}",
                template_path.display(),
                self.bundle_image,
                self.bundle_image
            )));
        }
        let images = Images::open(&self.images, PolicySource::Optional, terminal.bars())?;
        // One flag for all that may be let through: checks of the chart, images, and what is in catalogs.
        let checks: Vec<ChartCheck> = self
            .guard
            .allow
            .iter()
            .filter_map(|name| ChartCheck::named(name))
            .collect();
        let mut allow = self.guard.allow.clone();
        allow.retain(|name| ChartCheck::named(name).is_none());
        let built = OperatorImages::build(
            &self.project,
            &self.operator_binaries,
            Reach::of(self.for_this_machine, &operator_name),
            checks,
            &images,
            terminal,
        )?;
        check_bundle(&built, terminal)?;
        runtime::block_on(async {
            let (operator, bundle) = (
                digest_of(&built.operator.descriptor)?,
                digest_of(&built.bundle.descriptor)?,
            );
            let allow = &allow;
            let operator_plan = publication::decide(&images, &operator_name, operator, allow).await?;
            let bundle_plan = publication::decide(&images, &bundle_name, bundle, allow).await?;
            let is_image = |name: &&String| name.contains('/');
            publication::refuse_needless(
                allow.iter().filter(is_image),
                &[(&operator_name, operator_plan), (&bundle_name, bundle_plan)],
            )?;
            // The bundle isn't in the tree before the plan is accepted, so the template gets it from elsewhere.
            let folder = tempfile::tempdir()
                .map_err(|error| Failure::new(format!("cannot make a temporary folder: {error}")))?;
            let written: Vec<_> = built
                .generated
                .files
                .iter()
                .map(|(path, bytes)| (folder.path().join(path), bytes.clone()))
                .collect();
            written_files::write_all(&written).map_err(|error| {
                Failure::new(format!(
                    "cannot write the bundle to {}: {error}",
                    folder.path().display()
                ))
            })?;
            let local = LocalBundles {
                bundles: vec![(self.bundle_image.clone(), folder.path().display().to_string())],
            };
            let mut next = template
                .render(&images, &local, &self.form, self.compatibility)
                .await
                .map_err(|failure| failure.within(template_path.display()))?;
            validate::check(&format!("the catalog of {}", template_path.display()), &next)?;
            let names = self.moving.names(&catalog_name)?;
            let compared = published::find(&images, &names, &self.guard).await?;
            let published = compared.published.first();
            let before = published
                .map(|published| published.catalog.clone())
                .unwrap_or_default();
            let seen = diff::diff(&before, &next);
            let guard = GuardFlags {
                // Images may be named too; the catalog's guard knows only what is in catalogs.
                allow: allow.iter().filter(|name| !is_image(name)).cloned().collect(),
                ..self.guard.clone()
            };
            published::admit(&compared.published, &mut next, &guard, terminal)?;
            let catalog_image = CatalogImageFlags::default().build(images.store()?, &next)?;
            let catalog = digest_of(&catalog_image.descriptor)?;
            let mut plan = String::from("plan\n");
            let _ = writeln!(plan, "  operator  {operator_name}  {}", words(operator_plan));
            let _ = writeln!(plan, "  bundle    {bundle_name}  {}", words(bundle_plan));
            let mut is_news = false;
            for (name, standing) in &compared.names {
                let catalog_plan = match standing.target {
                    None => Publication::New,
                    Some(digest) if digest == catalog => Publication::Unchanged,
                    Some(digest) => Publication::Replaces(digest),
                };
                is_news |= catalog_plan != Publication::Unchanged;
                let _ = writeln!(plan, "  catalog   {name}  {}", words(catalog_plan));
            }
            if let Some(published) = published {
                let _ = writeln!(plan, "what customers of {} see:", published.reference);
            }
            for line in seen.to_string().lines() {
                let _ = writeln!(plan, "  {line}");
            }
            terminal.remark(plan.trim_end());
            if self.dry_run {
                return Ok(());
            }
            self.confirm()?;
            self.project.write_if_changed(&built.generated)?;
            let mut text = Vec::new();
            writing::write_yaml(&next, &mut text)?;
            let output = self.project.in_tree(&self.catalog_output);
            written_files::write(&output, |file| file.write_all(&text)).map_err(
                |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", output.display())),
            )?;
            // The catalog last: customers must never see a version whose images aren't there.
            for (plan, image, name, attestations) in [
                (
                    operator_plan,
                    &built.operator,
                    &operator_name,
                    built.about_operator(&images, &operator_name)?,
                ),
                (
                    bundle_plan,
                    &built.bundle,
                    &bundle_name,
                    built.about_bundle(&images, &bundle_name, &operator_name)?,
                ),
            ] {
                let root = &image.descriptor;
                publication::publish(&images, name, root, plan, &attestations, terminal).await?;
                terminal.print(format!("{name}@{}\n", digest_of(&image.descriptor)?).as_bytes())?;
            }
            if is_news {
                published::publish(&images, &catalog_image.descriptor, &self.guard, &compared).await?;
            }
            names
                .iter()
                .try_for_each(|name| terminal.print(format!("{name}@{catalog}\n").as_bytes()))
        })
    }

    fn confirm(&self) -> Result<(), Failure> {
        if self.yes {
            return Ok(());
        }
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Err(Failure::new(
                "nothing was published: nobody is here to ask; read the plan, then run again with --yes",
            ));
        }
        eprint_question("publish this? [y/N] ")?;
        let mut answer = String::new();
        std::io::stdin()
            .read_line(&mut answer)
            .map_err(|error| Failure::new(format!("cannot read the answer: {error}")))?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Failure::new("nothing was published")),
        }
    }
}

fn eprint_question(text: &str) -> Result<(), Failure> {
    let mut stderr = std::io::stderr();
    stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush())
        .map_err(|error| Failure::output(&error))
}

fn words(plan: Publication) -> String {
    match plan {
        Publication::New => "new".to_owned(),
        Publication::Unchanged => "published already".to_owned(),
        Publication::Replaces(digest) => format!("replaces {digest}"),
    }
}

fn check_bundle(built: &OperatorImages, terminal: &mut Terminal) -> Result<(), Failure> {
    let selection = Selection {
        location: "bundle".to_owned(),
        ..Selection::default()
    };
    let files = BundleFiles::from_image(built.generated.files.clone(), built.generated.labels.clone());
    let report = validation::validate(&files, &selection, &OptionalValues::default());
    if let Some(reason) = report.fatal() {
        return Err(Failure::new(format!("the bundle is not valid: {reason}")));
    }
    let mut wrong = Vec::new();
    for output in report.outputs() {
        match output.level {
            OutputLevel::Error => wrong.push(format!("  - {}", output.message)),
            OutputLevel::Warning => terminal.remark(format!("bundle: {}", output.message)),
            OutputLevel::Info => {}
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!(
            "the bundle is not valid:\n{}",
            wrong.join("\n")
        )))
    }
}
