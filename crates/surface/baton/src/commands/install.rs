//! `baton install`: a ClusterExtension for a package of the catalogs, and the wait until it is there.

mod dependencies;
pub(super) mod offering;

use std::collections::BTreeMap;
use std::path::PathBuf;

use api::cluster_extension::{
    CatalogFilter, ClusterExtension, ClusterExtensionSpec, Configuration, DefinitionUpgradeSafety,
    Enforcement, ExtensionSource, Install as InstallSpec, Preflight, UpgradeConstraintPolicy,
};
use api::keys;
use clap::Args;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Map, Value};

use crate::catalogs;
use crate::cluster::make_namespace;
use crate::extensions::{Extensions, is_rolled_out, waiting_version};
use crate::failure::{Failure, system_reason};
use crate::observed_cluster::ObservationFlags;
use crate::output::{OutputFlag, yaml};
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// The largest file of settings that is read.
const MAX_SETTINGS_BYTES: u64 = 3 << 20;

/// Installs a package of the cluster's catalogs, and waits until it is there.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Install {
    /// The package to install
    #[arg(value_name = "PACKAGE")]
    package: String,
    /// The name of the ClusterExtension; without it, that of the package
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The namespace to install into; without it, that of the extension's name
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Fail where the namespace isn't there, in place of making it
    #[arg(long)]
    no_create_namespace: bool,
    /// The version, or a range such as ">=1.2.0 <2.0.0"
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Only versions of this channel; may be repeated
    #[arg(long, value_name = "CHANNEL")]
    channel: Vec<String>,
    /// Only from this catalog
    #[arg(long, value_name = "CATALOG")]
    catalog: Option<String>,
    /// Settings of the package (spec.config.inline), from a YAML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The namespace that the operator watches (a setting of packages that don't watch all)
    #[arg(long, value_name = "NAMESPACE")]
    watch_namespace: Option<String>,
    /// Leave out the check that changed definitions keep existing resources valid
    #[arg(long)]
    skip_crd_upgrade_safety: bool,
    /// How many minutes a new version may take to roll out, 10 to 720
    #[arg(long, value_name = "MINUTES")]
    progress_deadline: Option<i32>,
    /// Wait for `baton approve` before each change of version
    #[arg(long)]
    manual_approval: bool,
    /// Install this bundle image, without a catalog
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["version", "channel", "catalog"])]
    bundle_image: Option<String>,
    /// Install what the package needs first, after showing the plan
    #[arg(long, conflicts_with = "bundle_image")]
    with_dependencies: bool,
    /// Print what would be made, as the API server would keep it, and make nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    observation: ObservationFlags,
    #[command(flatten)]
    output: OutputFlag,
}

impl Install {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let extension = self.extension()?;
        runtime::block_on(async {
            let client = self.observation.access.connect().await?;
            if let Some(name) = &self.catalog {
                catalogs::check_named(&client, name).await?;
            }
            if self.bundle_image.is_none() {
                offering::check(&extension, &self.observation, terminal).await?;
            }
            let namespace = extension.spec.namespace.clone();
            if !self.dry_run && !self.no_create_namespace && make_namespace(&client, &namespace).await? {
                terminal.remark(format!("made the namespace {namespace}"));
            }
            let extensions = Extensions::of(client);
            if self.with_dependencies {
                dependencies::install(&extension, &self.observation, self.wait, self.dry_run, terminal)
                    .await?;
            }
            let made = extensions.create(&extension, self.dry_run).await?;
            if self.dry_run {
                let for_people = yaml(&made)?;
                return self.output.print(terminal, &made, |_| for_people);
            }
            let installed = if self.manual_approval {
                extensions.wait_approvable(&made, self.wait, terminal).await?
            } else {
                extensions.wait_installed(&made, self.wait, terminal).await?
            };
            self.output.print(terminal, &installed, told)
        })
    }

    /// The object that says what is asked for.
    fn extension(&self) -> Result<ClusterExtension, Failure> {
        let name = self.name.as_deref().unwrap_or(&self.package);
        let mut settings = match &self.config {
            Some(file) => read_settings(file)?,
            None => Map::new(),
        };
        if let Some(namespace) = &self.watch_namespace {
            settings.insert("watchNamespace".to_owned(), Value::from(namespace.as_str()));
        }
        let mut extension = ClusterExtension::new(
            name,
            ClusterExtensionSpec {
                namespace: self.namespace.clone().unwrap_or_else(|| name.to_owned()),
                source: ExtensionSource {
                    source_type: "Catalog".to_owned(),
                    catalog: Some(CatalogFilter {
                        package_name: self.package.clone(),
                        version: self.version.clone().unwrap_or_default(),
                        channels: self.channel.clone(),
                        selector: self.catalog.as_deref().map(only_catalog),
                        upgrade_constraint_policy: UpgradeConstraintPolicy::default(),
                    }),
                },
                install: self.skip_crd_upgrade_safety.then_some(InstallSpec {
                    preflight: Some(Preflight {
                        definition_upgrade_safety: Some(DefinitionUpgradeSafety {
                            enforcement: Enforcement::None,
                        }),
                    }),
                }),
                config: (!settings.is_empty()).then(|| Configuration {
                    config_type: "Inline".to_owned(),
                    inline: Some(settings),
                }),
                progress_deadline_minutes: self.progress_deadline,
                ..ClusterExtensionSpec::default()
            },
        );
        let mut annotations = BTreeMap::new();
        if self.manual_approval {
            annotations.insert(keys::APPROVAL.to_owned(), "manual".to_owned());
        }
        if let Some(image) = &self.bundle_image {
            annotations.insert(keys::BUNDLE_IMAGE.to_owned(), image.clone());
        }
        if !annotations.is_empty() {
            extension.metadata.annotations = Some(annotations);
        }
        Ok(extension)
    }
}

/// The selector that only one catalog fulfils.
pub(crate) fn only_catalog(name: &str) -> LabelSelector {
    LabelSelector {
        match_labels: Some(BTreeMap::from([(
            keys::METADATA_NAME.to_owned(),
            name.to_owned(),
        )])),
        ..LabelSelector::default()
    }
}

/// What is installed, in a line for people.
pub(crate) fn told(extension: &ClusterExtension) -> String {
    let name = extension.metadata.name.as_deref().unwrap_or_default();
    match (&extension.status.install, waiting_version(extension)) {
        (Some(install), _) if is_rolled_out(extension) => format!(
            "{name}: {} {} is installed in namespace {}\n",
            install.bundle.name, install.bundle.version, extension.spec.namespace
        ),
        (Some(install), _) => format!(
            "{name}: asked for, and still at {}; see `baton status {name}`\n",
            install.bundle.version
        ),
        (None, Some(version)) => {
            format!("{name}: version {version} waits; let it come with `baton approve {name}`\n")
        }
        (None, None) => format!("{name}: asked for; see `baton status {name}`\n"),
    }
}

fn read_settings(file: &std::path::Path) -> Result<Map<String, Value>, Failure> {
    let named = |why: String| Failure::new(format!("cannot use the settings {}: {why}", file.display()));
    let size = std::fs::metadata(file)
        .map_err(|error| named(system_reason(&error)))?
        .len();
    if size > MAX_SETTINGS_BYTES {
        return Err(named(format!("{size} bytes are more than the API server takes")));
    }
    let bytes = std::fs::read(file).map_err(|error| named(system_reason(&error)))?;
    match goyaml::to_value(&bytes).map_err(|error| named(error.to_string()))? {
        Value::Object(settings) => Ok(settings),
        _ => Err(named(
            "it must be a map of settings, such as `watchNamespace: team-a`".to_owned(),
        )),
    }
}
