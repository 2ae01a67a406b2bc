//! An author with her tree, her registry and a machine of her own.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::registries::{Embedded, Registry, on_a_full_disk};
use crate::world::World;

/// When everything in these tests was made.
const MADE_AT: &str = "1746057600";
/// The size of the program in the operator's image: more than what one write to a connection takes.
const PROGRAM_BYTES: usize = 300 << 10;
/// Settings of the machine that a test must not depend on.
const SETTINGS: [&str; 22] = [
    "REGISTRY_AUTH_FILE",
    "DOCKER_CONFIG",
    "CONTAINERS_REGISTRIES_CONF",
    "REGISTRIES_CONFIG_PATH",
    "VERSION",
    "CRD_VERSION",
    "OPERATOR_BUNDLE_CATEGORIES",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "XDG_RUNTIME_DIR",
    "MAKEFLAGS",
    "MAKELEVEL",
    "BATON",
    "DEV",
];

/// The package of the example.
pub(crate) const PACKAGE: &str = "inference-stack-operator";

/// Somebody who publishes `examples/inference-stack`.
pub(crate) struct Author {
    world: World,
    registry: String,
}

/// What is published, and the files that hold it.
pub(crate) struct Published {
    tags: BTreeMap<String, String>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Published {
    pub(crate) fn at(registry: &Embedded) -> Self {
        Self {
            tags: tags(registry),
            files: registry.files(),
        }
    }

    /// Fails the test unless everything stands where it stood; more blobs than before are no harm.
    pub(crate) fn assert_still_there(&self, registry: &Embedded) {
        assert_eq!(tags(registry), self.tags, "every tag stands for what it did");
        let now = registry.files();
        for (path, content) in &self.files {
            assert_eq!(now.get(path), Some(content), "{} is as it was", path.display());
        }
    }
}

impl Author {
    /// An author with the example's tree, who publishes to the registry at an address.
    pub(crate) fn new(registry: impl Display) -> Self {
        let world = World::new().file("program", program());
        copy(&example(), &world.path("tree"));
        for folder in ["home", "cache"] {
            fs::create_dir(world.path(folder)).expect("a folder");
        }
        Self {
            world,
            registry: registry.to_string(),
        }
    }

    /// The name of the operator's image.
    pub(crate) fn operator(&self, version: &str) -> String {
        format!("{}/models/stack:{version}", self.registry)
    }

    /// The name of the bundle's image.
    pub(crate) fn bundle(&self, version: &str) -> String {
        format!("{}/models/stack-bundle:{version}", self.registry)
    }

    /// The name of the catalog's image.
    pub(crate) fn catalog(&self, tag: &str) -> String {
        format!("{}/models/stack-catalog:{tag}", self.registry)
    }

    /// A path in the tree.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.world.path("tree").join(name)
    }

    /// A path beside the tree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.world.path(name)
    }

    /// Writes a file of the tree.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, content).expect("written");
    }

    /// Reads a file of the tree.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Changes a file of the tree; the text to be replaced must be there.
    pub(crate) fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}:\n{text}");
        self.write(name, text.replace(from, to));
    }

    /// Writes the catalog's template, with the versions of each grade.
    pub(crate) fn template(&self, grades: &[(&str, &[&str])]) {
        let mut text = "Schema: olm.semver\nGenerateMajorChannels: true\n".to_owned();
        for (grade, versions) in grades {
            text = text + grade + ":\n  Bundles:\n";
            for version in *versions {
                text = text + "  - Image: " + &self.bundle(version) + "\n";
            }
        }
        self.write("catalog/operator_catalog.yaml", text);
    }

    /// The flags that say which version is made of what.
    pub(crate) fn version_flags(&self, version: &str) -> Vec<String> {
        let chart = match version {
            "1.0.0" | "1.1.0" => format!("versions/{version}/chart"),
            _ => "chart".to_owned(),
        };
        let flags = [
            "--crd-version",
            "v1alpha1",
            "--update-permissions",
            "--version",
            version,
        ];
        let mut flags: Vec<String> = flags.map(str::to_owned).to_vec();
        flags.extend([
            "--chart".to_owned(),
            chart,
            "--image".to_owned(),
            self.operator(version),
        ]);
        flags
    }

    /// The flags for building the images of a version.
    pub(crate) fn build_flags(&self, version: &str) -> Vec<String> {
        let mut flags = self.version_flags(version);
        flags.extend(["--bundle-image".to_owned(), self.bundle(version)]);
        flags.extend(["--binary".to_owned(), "../program".to_owned()]);
        flags
    }

    /// The command that publishes a version, and the catalog under a tag.
    pub(crate) fn publishing(&self, version: &str, tag: &str) -> Vec<String> {
        let mut arguments = vec!["publish".to_owned(), "--yes".to_owned()];
        arguments.extend(self.build_flags(version));
        arguments.extend(["--catalog-image".to_owned(), self.catalog(tag)]);
        arguments
    }

    /// Publishes versions in `Stable`, one after the other, and the catalog as `latest`.
    pub(crate) fn has_published(&self, versions: &[&str]) {
        for count in 1..=versions.len() {
            let (versions, _) = versions.split_at(count);
            self.template(&[("Stable", versions)]);
            if let Some(version) = versions.last() {
                self.succeeds(&self.publishing(version, "latest"));
            }
        }
    }

    /// Builds the images of a version into `dist`.
    pub(crate) fn has_built(&self, version: &str) {
        let mut arguments = vec!["bundle".to_owned(), "build".to_owned()];
        arguments.extend(self.build_flags(version));
        self.succeeds(&arguments);
    }

    /// The program, ready to be run in the tree.
    pub(crate) fn command<A: AsRef<str>>(&self, arguments: &[A]) -> Command {
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        self.at_home(self.world.command(&arguments))
    }

    /// The program on a disk that takes no file larger than this.
    pub(crate) fn command_on_a_full_disk<A: AsRef<str>>(&self, kilobytes: u32, arguments: &[A]) -> Command {
        let mut command = on_a_full_disk(kilobytes);
        command.args(arguments.iter().map(AsRef::as_ref));
        self.at_home(command)
    }

    /// Another program in the tree, on the author's machine.
    pub(crate) fn at_home(&self, mut command: Command) -> Command {
        for setting in SETTINGS {
            command.env_remove(setting);
        }
        command
            .current_dir(self.world.path("tree"))
            .env("HOME", self.world.path("home"))
            .env("XDG_CONFIG_HOME", self.world.path("home/.config"))
            .env("XDG_CACHE_HOME", self.world.path("home/.cache"))
            .env("BATON_IMAGE_CACHE", self.world.path("cache"))
            .env("SOURCE_DATE_EPOCH", MADE_AT);
        command
    }

    /// Every file on the author's machine, by name.
    pub(crate) fn everything(&self) -> Vec<String> {
        self.world.files()
    }

    /// Every file below a folder of the tree.
    pub(crate) fn files_below(&self, folder: &str) -> Vec<String> {
        let folder = format!("tree/{folder}/");
        let files = self.everything().into_iter();
        files.filter(|file| file.starts_with(&folder)).collect()
    }

    /// Forgets every image that was fetched or built.
    pub(crate) fn empty_the_cache(&self) {
        fs::remove_dir_all(self.world.path("cache")).expect("removed");
        fs::create_dir(self.world.path("cache")).expect("a folder");
    }

    /// Runs the program; its failure fails the test. Returns what it printed.
    pub(crate) fn succeeds<A: AsRef<str>>(&self, arguments: &[A]) -> String {
        let output = self.command(arguments).output().expect("the program runs");
        assert!(output.status.success(), "{}", self.describe(arguments, &output));
        self.clean(&String::from_utf8_lossy(&output.stdout))
    }

    /// Runs the program, which must fail as for every mistake, and returns everything that a user sees.
    pub(crate) fn fails<A: AsRef<str>>(&self, arguments: &[A]) -> String {
        self.fails_as(arguments, self.command(arguments))
    }

    /// Runs a command, which must fail as for every mistake, and returns everything that a user sees.
    pub(crate) fn fails_as<A: AsRef<str>>(&self, arguments: &[A], mut command: Command) -> String {
        let output = command.output().expect("the program runs");
        let told = self.describe(arguments, &output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        told
    }

    /// Writes down what a run showed, without what differs from run to run.
    pub(crate) fn describe<A: AsRef<str>>(&self, arguments: &[A], output: &Output) -> String {
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        self.clean(&self.world.describe(&arguments, output))
    }

    fn clean(&self, text: &str) -> String {
        without_digests(&text.replace(&self.registry, "[REGISTRY]"))
    }
}

/// Every tag of the author's repositories.
pub(crate) fn tags(registry: &dyn Registry) -> BTreeMap<String, String> {
    ["models/stack", "models/stack-bundle", "models/stack-catalog"]
        .iter()
        .flat_map(|repository| registry.tags(repository))
        .collect()
}

/// Replaces every digest by a word.
fn without_digests(text: &str) -> String {
    const DIGITS: usize = 64;
    let mut cleaned = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let length = if digits == 0 { first.len_utf8() } else { digits };
        let (word, tail) = rest.split_at(length);
        cleaned.push_str(if digits == DIGITS { "[DIGEST]" } else { word });
        rest = tail;
    }
    cleaned
}

/// The author's tree in `examples`, as it is in the repository: what somebody made in it is not part of it.
fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/inference-stack")
}

/// Copies a folder, but for what is made of a tree.
pub(crate) fn copy(from: &Path, to: &Path) {
    const MADE: [&str; 5] = ["bundle", "dist", "configs", "crds", "derived.yaml"];
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the example") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        if MADE.iter().any(|made| name == *made) {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).expect("copied");
        }
    }
}

/// A static program for amd64, as far as its headers go; what follows can't be compressed.
fn program() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[18..20].copy_from_slice(&62_u16.to_le_bytes());
    bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
    bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
    bytes.extend(noise(PROGRAM_BYTES));
    bytes
}

/// Bytes that can't be compressed, always the same.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
