//! The author: a tree with a chart, and versions published from it.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bundle::generation::watches;
use version::Version;

use super::cluster::Cluster;
use super::operators::PUBLISHED;
use super::world::World;

/// An author with a tree of her own.
pub(crate) struct Author<'w> {
    world: &'w World,
    registry: String,
    tree: PathBuf,
    kind: String,
    separate_definitions: bool,
    whole_version_labels: bool,
    /// The bundles of each channel.
    channels: RefCell<Vec<(String, Vec<String>)>>,
    binary: PathBuf,
}

impl<'w> Author<'w> {
    pub(crate) fn new(world: &'w World, cluster: &Cluster, group: &str, kind: &str) -> Self {
        let tree = world.path("tree");
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/inference-stack");
        copy(&example.join("chart"), &tree.join("chart"));
        copy(&example.join("config/manifests"), &tree.join("config/manifests"));
        fs::create_dir_all(tree.join("catalog")).expect("a folder");
        let author = Self {
            world,
            registry: cluster.registry(),
            tree,
            kind: kind.to_owned(),
            separate_definitions: false,
            whole_version_labels: false,
            channels: RefCell::new(
                ["candidate", "fast", "stable"]
                    .iter()
                    .map(|channel| ((*channel).to_owned(), Vec::new()))
                    .collect(),
            ),
            binary: world.path("baton-stripped"),
        };
        author.write_watches(group, "v2");
        // What symbols there are for debugging is most of the program, and nobody needs it in an image.
        let stripped = Command::new("strip")
            .args(["--strip-debug", "-o"])
            .arg(&author.binary)
            .arg(env!("CARGO_BIN_EXE_baton"))
            .status();
        if !stripped.is_ok_and(|status| status.success()) {
            fs::copy(env!("CARGO_BIN_EXE_baton"), &author.binary).expect("a copy of the program");
        }
        author
    }

    /// The definition of the custom resource stays out of the bundles, so that several versions can be installed.
    pub(crate) fn with_separate_definitions(mut self) -> Self {
        self.separate_definitions = true;
        self
    }

    /// The label of custom resources is the whole version.
    pub(crate) fn with_whole_version_labels(mut self) -> Self {
        self.whole_version_labels = true;
        self.write_watches("models.titanml.co", "0.0.0");
        self
    }

    fn write_watches(&self, group: &str, label: &str) {
        let text = format!(
            "- group: {group}\n  version: v1alpha1\n  kind: {}\n  chart: chart\n  restartOnConfiguration: true\n  selector:\n    \
             matchLabels:\n      operatorVersion: {label}\n",
            self.kind
        );
        fs::write(self.tree.join("watches.yaml"), text).expect("the watches");
    }

    fn image(&self, suffix: &str, tag: &str) -> String {
        format!("{}/models/stack-operator{suffix}:{tag}", self.registry)
    }

    /// The image of the catalog, which moves with each version.
    pub(crate) fn catalog(&self) -> String {
        self.image("-catalog", "latest")
    }

    /// The folder with the definitions that stay out of the bundles.
    pub(crate) fn definitions(&self) -> PathBuf {
        self.tree.join("crds")
    }

    /// Publishes a version into channels.
    pub(crate) fn publish(&self, version: &str, channels: &[&str]) {
        self.publish_with(version, channels, &self.binary.clone());
    }

    /// Publishes a version whose operator ends as soon as it starts, and whose pods are never ready.
    pub(crate) fn publish_broken(&self, version: &str, channels: &[&str]) {
        let base = self
            .tree
            .join("config/manifests/bases/inference-stack-operator.clusterserviceversion.yaml");
        let whole = fs::read_to_string(&base).expect("a base");
        // What is an annotation of the bundle is one of its pods, and says so where none really runs.
        let annotation = format!(
            "  annotations:\n    {}: unready\n",
            contract::simulation::FATE_ANNOTATION
        );
        fs::write(&base, whole.replacen("  annotations:\n", &annotation, 1)).expect("a base");
        self.publish_with(version, channels, Path::new("/bin/false"));
        fs::write(&base, whole).expect("a base");
    }

    fn publish_with(&self, version: &str, channels: &[&str], binary: &Path) {
        let chart = self.tree.join("chart/Chart.yaml");
        let text = fs::read_to_string(&chart).expect("a chart");
        let lines: Vec<String> = text
            .lines()
            .map(|line| match line.split_once(':') {
                Some(("version", _)) => format!("version: {version}"),
                _ => line.to_owned(),
            })
            .collect();
        fs::write(&chart, lines.join("\n") + "\n").expect("a chart");
        let bundle = self.image("-bundle", version);
        for (name, bundles) in self.channels.borrow_mut().iter_mut() {
            if channels.contains(&name.as_str()) {
                bundles.push(bundle.clone());
            }
        }
        self.write_template();
        let (operator, catalog) = (self.image("", version), self.catalog());
        let program = binary.display().to_string();
        let tree = self.tree.display().to_string();
        let mut arguments = vec![
            "publish",
            "--yes",
            "--for-this-machine",
            "-C",
            tree.as_str(),
            "--version",
            version,
            "--image",
            operator.as_str(),
            "--bundle-image",
            bundle.as_str(),
            "--catalog-image",
            catalog.as_str(),
            "--operator-binary",
            program.as_str(),
            "--update-permissions",
        ];
        if self.separate_definitions {
            arguments.push("--separate-crds");
        }
        let mut command = self.world.command(&arguments);
        // Where it is `baton up`, its registry's password is known by that.
        command.env("BATON_DATA_DIR", self.world.path("data"));
        let output = command.output().expect("the program runs");
        let published = self.world.path(PUBLISHED).join(version);
        copy(&self.tree, &published);
        write_label(&published.join(watches::WATCHES_FILE), version);
        assert!(
            output.status.success(),
            "{}",
            self.world.describe(&arguments, &output)
        );
    }

    fn write_template(&self) {
        let mut text =
            "Schema: olm.semver\nGenerateMajorChannels: true\nGenerateMinorChannels: false\n".to_owned();
        for (channel, bundles) in self
            .channels
            .borrow()
            .iter()
            .filter(|(_, bundles)| !bundles.is_empty())
        {
            let (first, rest) = channel.split_at(1);
            text.extend([first.to_uppercase().as_str(), rest, ":\n  Bundles:\n"]);
            for bundle in bundles {
                text.extend(["  - Image: ", bundle, "\n"]);
            }
        }
        fs::write(self.tree.join("catalog/operator_catalog.yaml"), text).expect("the template");
    }
}

/// Gives the watches of a version its label, as the image of the version has it.
fn write_label(file: &Path, version: &str) {
    let text = fs::read_to_string(file).expect("the watches");
    let entries = watches::read(text.as_bytes()).expect("the watches");
    let version = Version::parse(version).expect("a version");
    let (text, _) = watches::for_version(&text, &entries, &version).expect("the watches of a version");
    fs::write(file, text).expect("the watches");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}
