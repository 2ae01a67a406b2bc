//! Whether the images of an operator are there for the platforms that it says it supports.
//!
//! Upstream pulls every image with a container tool; here the caller says which platforms an image is there for.

use std::collections::{BTreeMap, BTreeSet};

use gotemplate::format::quoted;

use super::context::{CONTAINER_TOOLS, Context, ImagePlatforms, Platform};
use super::deployment;
use super::finding::{Finding, Kind, Level, Outcome};
use super::loaded::Loaded;

const ARCHITECTURE_LABEL: &str = "operatorframework.io/arch.";
const SYSTEM_LABEL: &str = "operatorframework.io/os.";
/// The container that operator-sdk adds to an operator's own.
const PROXY_CONTAINER: &str = "kube-rbac-proxy";
/// The name that operator-sdk gives an operator's own container.
const MANAGER_CONTAINER: &str = "manager";

/// What is known about an image: its platforms, or nothing when it could not be looked at.
type Images = BTreeMap<String, Option<Vec<Platform>>>;

#[derive(Default)]
struct Survey {
    architecture_labels: Vec<String>,
    system_labels: Vec<String>,
    managers: Images,
    /// The operator's own images in the order they were found.
    manager_names: Vec<String>,
    others: Images,
    related: Images,
    affinities: BTreeMap<String, Vec<Platform>>,
    architectures: BTreeSet<String>,
    systems: BTreeSet<String>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

/// Checks a bundle's images.
pub(super) fn check(bundle: &Loaded, context: &Context<'_>) -> Vec<Outcome> {
    let name = bundle.csv.metadata.name.as_str();
    let mut outcome = Outcome::about(&bundle.name);
    let finding = |level, detail| Finding::about(level, Kind::Validation, name, detail);
    let tool = context.values.get(CONTAINER_TOOLS).to_lowercase();
    if !matches!(tool.as_str(), "" | "none" | "docker" | "podman") {
        outcome.extend([finding(
            Level::Error,
            format!(
                "invalid value ({CONTAINER_TOOLS}) for ({tool}). One of: [docker, podman, none] (If not set, the default \
                 value is docker)"
            ),
        )]);
        return vec![outcome];
    }
    let mut survey = Survey::default();
    survey.read(bundle);
    survey.look_at_images(context.platforms);
    survey.judge();
    outcome.extend(
        survey
            .warnings
            .into_iter()
            .map(|detail| finding(Level::Warning, detail)),
    );
    outcome.extend(
        survey
            .errors
            .into_iter()
            .map(|detail| finding(Level::Error, detail)),
    );
    vec![outcome]
}

/// A list as `%q` prints it.
fn quoted_list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| quoted(item.as_ref())).collect();
    format!("[{}]", items.join(" "))
}

fn shown(platform: &Platform) -> String {
    format!("{}/{}", platform.system, platform.architecture)
}

fn quoted_platforms(platforms: Option<&[Platform]>) -> String {
    match platforms {
        Some(platforms) => quoted_list(platforms.iter().map(shown)),
        None => "[\"error/error\"]".to_owned(),
    }
}

impl Survey {
    fn read(&mut self, bundle: &Loaded) {
        for (label, value) in &bundle.csv.metadata.labels {
            if value != "supported" {
                continue;
            }
            if label.contains(ARCHITECTURE_LABEL) {
                self.architecture_labels.push(label.clone());
            }
            if label.contains(SYSTEM_LABEL) {
                self.system_labels.push(label.clone());
            }
        }
        let pods: Vec<_> = deployment::pods(&bundle.csv).collect();
        for pod in &pods {
            let affinity: Vec<Platform> = pod
                .required_platforms()
                .into_iter()
                .map(|(system, architecture)| Platform { system, architecture })
                .collect();
            let mut has_manager = false;
            for container in &pod.containers {
                if self.managers.contains_key(&container.image) {
                    continue;
                }
                if container.name == MANAGER_CONTAINER {
                    self.add_manager(&container.image);
                    has_manager = true;
                }
                self.affinities.insert(container.image.clone(), affinity.clone());
            }
            if has_manager {
                continue;
            }
            for container in &pod.containers {
                if container.name != PROXY_CONTAINER && !self.managers.contains_key(&container.image) {
                    self.add_manager(&container.image);
                }
            }
        }
        for container in pods.into_iter().flat_map(|pod| pod.containers) {
            if !self.managers.contains_key(&container.image) {
                self.others.insert(container.image, None);
            }
        }
        for related in &bundle.csv.spec.related_images {
            self.related.insert(related.image.clone(), None);
        }
    }

    fn add_manager(&mut self, image: &str) {
        self.managers.insert(image.to_owned(), None);
        self.manager_names.push(image.to_owned());
    }

    fn look_at_images(&mut self, lookup: Option<&dyn ImagePlatforms>) {
        for images in [&mut self.managers, &mut self.others, &mut self.related] {
            for (image, platforms) in images {
                let found = match lookup {
                    Some(lookup) => lookup.platforms(image),
                    None => {
                        Err("no registry was asked; run the check where registries can be reached".to_owned())
                    }
                };
                match found {
                    Ok(mut found) => {
                        // Attestations are listed as an unknown platform.
                        found.retain(|platform| {
                            [&platform.system, &platform.architecture]
                                .iter()
                                .all(|part| !part.is_empty() && *part != "unknown")
                        });
                        *platforms = Some(found);
                    }
                    Err(problem) => self
                        .warnings
                        .push(format!("unable to inspect the image ({image}) : {problem}")),
                }
            }
        }
        let values = |labels: &[String], prefix: &str, default: &str| -> BTreeSet<String> {
            if labels.is_empty() {
                return BTreeSet::from([default.to_owned()]);
            }
            labels.iter().map(|label| label.replace(prefix, "")).collect()
        };
        self.architectures = values(&self.architecture_labels, ARCHITECTURE_LABEL, "amd64");
        self.systems = values(&self.system_labels, SYSTEM_LABEL, "linux");
        for platform in self.managers.values().flatten().flatten() {
            self.architectures.insert(platform.architecture.clone());
            self.systems.insert(platform.system.clone());
        }
    }

    fn judge(&mut self) {
        self.unsupported();
        self.missing_labels();
        let others = std::mem::take(&mut self.others);
        let related = std::mem::take(&mut self.related);
        let managers = std::mem::take(&mut self.managers);
        self.lesser_images(&others);
        self.lesser_images(&related);
        self.affinity(&managers);
        self.affinity(&others);
    }

    /// Images that lack a platform which the labels promise.
    fn unsupported(&mut self) {
        let values = |labels: &[String], prefix: &str, default: &str| -> Vec<String> {
            if labels.is_empty() {
                return vec![default.to_owned()];
            }
            labels.iter().map(|label| label.replace(prefix, "")).collect()
        };
        for system in values(&self.system_labels, SYSTEM_LABEL, "linux") {
            for architecture in values(&self.architecture_labels, ARCHITECTURE_LABEL, "amd64") {
                let mut lacking: Vec<&str> = [&self.managers, &self.others, &self.related]
                    .into_iter()
                    .flatten()
                    .filter(|(_, platforms)| {
                        platforms.as_ref().is_some_and(|platforms| {
                            !platforms
                                .iter()
                                .any(|one| one.system == system && one.architecture == architecture)
                        })
                    })
                    .map(|(image, _)| image.as_str())
                    .collect();
                if lacking.is_empty() {
                    continue;
                }
                lacking.sort_unstable();
                self.errors.push(format!(
                    "not all images specified are providing the support described via the CSV labels. Note that \
                     (OS.architecture): ({system}.{architecture}) was not found for the image(s) [{}]",
                    lacking.join(" ")
                ));
            }
        }
    }

    /// Platforms of the operator's own images that no label names.
    fn missing_labels(&mut self) {
        for (present, labels, prefix, what, usual, usual_noun) in [
            (
                &self.architectures,
                &self.architecture_labels,
                ARCHITECTURE_LABEL,
                "Arch(s)",
                "amd64",
                "amd64 architectures, you MUST",
            ),
            (
                &self.systems,
                &self.system_labels,
                SYSTEM_LABEL,
                "OS(s)",
                "linux",
                "linux OS you MUST",
            ),
        ] {
            let only_usual = present.len() == 1;
            let missing: Vec<&String> = present
                .iter()
                .filter(|one| !labels.iter().any(|label| label.contains(one.as_str())))
                .filter(|one| !(only_usual && one.as_str() == usual))
                .collect();
            if !missing.is_empty() {
                self.warnings.push(format!(
                    "check if the CSV is missing the label ({prefix}<value>) for the {what}: {}. Be aware that your Operator \
                     manager image {} provides this support. Thus, it is very likely that you want to provide it and if \
                     you support more than {usual_noun},use the required labels for all which are supported.Otherwise, \
                     your solution cannot be listed on the cluster for these architectures",
                    quoted_list(missing),
                    quoted_list(&self.manager_names)
                ));
            }
        }
    }

    /// Images that lack a platform which the operator's own have.
    fn lesser_images(&mut self, images: &Images) {
        for (image, platforms) in images {
            let Some(platforms) = platforms else {
                continue;
            };
            let has_architecture =
                |wanted: &&String| platforms.iter().any(|one| one.architecture == **wanted);
            let has_system = |wanted: &&String| platforms.iter().any(|one| one.system == **wanted);
            let lacking: [(Vec<&String>, &str); 2] = [
                (
                    self.architectures
                        .iter()
                        .filter(|one| !has_architecture(one))
                        .collect(),
                    "Arch(s)",
                ),
                (
                    self.systems.iter().filter(|one| !has_system(one)).collect(),
                    "OS(s)",
                ),
            ];
            for (missing, what) in lacking {
                if !missing.is_empty() {
                    self.warnings.push(format!(
                        "check if the image {image} should not support {}. Note that this CSV has labels for this {what} Your \
                         manager image {} are providing this support OR the CSV is configured via labels to support it. \
                         Then, please verify if this image should not support it",
                        quoted_list(missing),
                        quoted_list(&self.manager_names)
                    ));
                }
            }
        }
    }

    /// Images whose pods may land on nodes of another platform.
    fn affinity(&mut self, images: &Images) {
        for (image, platforms) in images {
            let shown_platforms = quoted_platforms(platforms.as_deref());
            let image_text = quoted(image);
            let wanted = self.affinities.get(image).map(Vec::as_slice).unwrap_or_default();
            if wanted.is_empty() {
                if platforms.is_none() {
                    self.warnings.push(format!(
                        "check if the CSV is missing a node affinity configuration for the image: {image_text}. "
                    ));
                }
                self.warnings.push(format!(
                    "check if the CSV has a missing or invalid node affinity configuration for the image: {image_text}. The \
                     image data suggests the following platforms are supported: {shown_platforms}"
                ));
                continue;
            }
            let unreadable = [Platform {
                system: "error".to_owned(),
                architecture: "error".to_owned(),
            }];
            let present = platforms.as_deref().unwrap_or(&unreadable);
            let beyond = |these: &[Platform], those: &[Platform]| -> Vec<String> {
                these
                    .iter()
                    .filter(|one| !those.contains(one))
                    .map(shown)
                    .collect()
            };
            let extra = beyond(wanted, present);
            if !extra.is_empty() {
                self.warnings.push(format!(
                    "the CSV includes {} in the node affinity configuration for the image: {image_text}, but the image data \
                     suggests the following platforms are supported: {shown_platforms}",
                    quoted_list(extra)
                ));
            }
            let missing = beyond(present, wanted);
            if !missing.is_empty() {
                self.warnings.push(format!(
                    "the image data indicates {} is supported for the image: {image_text}, but the node affinity \
                     configuration for the image only specifies {}",
                    quoted_list(missing),
                    quoted_list(wanted.iter().map(shown))
                ));
            }
        }
    }
}
