//! What the author says on the command line or in the Makefile.

use std::sync::LazyLock;

use regex::Regex;
use version::Version;

use super::error::GenerationError;
use super::permissions::DEFAULT_RENDERS;

/// The longest name that a label, and so most names, can have.
const MAXIMUM_NAME: usize = 63;

/// How an operator's bundle is to be made.
#[derive(Debug, Clone)]
pub struct Options {
    /// The operator's version, such as `2.1.0` or `v2.1.0`: `VERSION`.
    pub version: String,
    /// The custom resource's version, such as `v1alpha1`: `CRD_VERSION`. None takes what `watches.yaml` says.
    pub definition_version: Option<String>,
    /// The operator's image: `IMG`.
    pub image: String,
    /// The package; none takes that of the tree.
    pub package: Option<String>,
    /// The channels that the bundle says it is for; a semver template decides for itself.
    pub channels: Vec<String>,
    /// The channel for who names none.
    pub default_channel: Option<String>,
    /// What the names of the operator's objects end with.
    pub name_suffix: NameSuffix,
    /// Where the definitions of the custom resources go.
    pub definitions: Definitions,
    /// The architectures that the operator's image is built for.
    pub architectures: Vec<String>,
    /// When the bundle says that it was made, in seconds since 1970. A time that follows from the tree, and not from the
    /// clock, makes the same bundle of the same tree.
    pub created_at: i64,
    /// Whether pinned permissions may change.
    pub update_permissions: bool,
    /// How many sets of values each chart is rendered with to derive permissions.
    pub renders: usize,
}

/// What the names of the operator's objects end with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameSuffix {
    /// The version, so that several versions of the operator can run side by side.
    Version,
    /// Nothing.
    None,
    /// This text, after a hyphen.
    Text(String),
}

/// Where the definitions of the custom resources go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Definitions {
    /// Into the bundle, which owns them: one version of the operator in a cluster.
    InBundle,
    /// Beside the bundle, to be applied once: several versions of the operator in a cluster share them.
    Separate,
}

impl Options {
    /// The options for a version and image, everything else as usual.
    pub fn new(version: &str, image: &str) -> Self {
        Self {
            version: version.to_owned(),
            definition_version: None,
            image: image.to_owned(),
            package: None,
            channels: vec!["stable".to_owned()],
            default_channel: None,
            name_suffix: NameSuffix::Version,
            definitions: Definitions::InBundle,
            architectures: Vec::new(),
            created_at: 0,
            update_permissions: false,
            renders: DEFAULT_RENDERS,
        }
    }

    /// The version, if it is one; `v2.1.0` is the same as `2.1.0`, as tags in git have it.
    pub fn parsed_version(&self) -> Result<Version, GenerationError> {
        let number = self.version.strip_prefix(['v', 'V']).unwrap_or(&self.version);
        let faulty = |cause: &str, suggestion: String| GenerationError::Version {
            version: self.version.clone(),
            cause: cause.to_owned(),
            suggestion,
        };
        let tolerant = || {
            Version::parse_tolerant(number).map_or_else(
                |_| "1.0.0".to_owned(),
                |version| version.without_build().to_string(),
            )
        };
        match Version::parse(number) {
            Ok(version) if version.build().is_empty() => Ok(version),
            Ok(_) => Err(faulty(
                "build metadata can't be in the names of objects",
                tolerant(),
            )),
            Err(error) => Err(faulty(&error.to_string(), tolerant())),
        }
    }

    pub(super) fn check(&self) -> Result<(), GenerationError> {
        self.parsed_version()?;
        if self.image.trim().is_empty() || self.image.contains(char::is_whitespace) {
            return Err(GenerationError::NoImage);
        }
        if let Some(version) = &self.definition_version {
            check_definition_version(version)?;
        }
        let bad = |channel: &&String| channel.is_empty() || channel.contains([',', ' ', '\t', '\n']);
        if let Some(channel) = self.channels.iter().find(bad) {
            return Err(GenerationError::Channel {
                channel: channel.clone(),
            });
        }
        if self.channels.is_empty() {
            return Err(GenerationError::Channel {
                channel: String::new(),
            });
        }
        match &self.default_channel {
            Some(channel) if !self.channels.contains(channel) => Err(GenerationError::DefaultChannel {
                channel: channel.clone(),
                channels: self.channels.join(","),
            }),
            _ => Ok(()),
        }
    }
}

static DEFINITION_VERSION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^v[1-9][0-9]*(?:(?:alpha|beta)[1-9][0-9]*)?$").expect("a constant expression")
});

/// Checks that a version is one that Kubernetes gives to APIs.
pub(super) fn check_definition_version(version: &str) -> Result<(), GenerationError> {
    if DEFINITION_VERSION.is_match(version) {
        return Ok(());
    }
    Err(GenerationError::DefinitionVersion {
        version: version.to_owned(),
    })
}

/// The names of the operator's objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The package.
    pub package: String,
    suffix: String,
    /// The version, as it may stand in a name.
    version: String,
}

impl Names {
    /// Makes the names for a package, and checks that Kubernetes accepts them.
    pub fn new(package: &str, options: &Options) -> Result<Self, GenerationError> {
        let version = options.parsed_version()?;
        let plain = label_text(&version.to_string());
        let suffix = match &options.name_suffix {
            NameSuffix::Version => format!("-{plain}"),
            NameSuffix::None => String::new(),
            NameSuffix::Text(text) => format!("-{}", text.trim_start_matches('-')),
        };
        let names = Self {
            package: package.to_owned(),
            suffix,
            version: plain,
        };
        let rule =
            "must be lower-case letters, digits and hyphens, starting and ending with a letter or digit";
        if !is_label(package) {
            return Err(GenerationError::Name {
                what: "package",
                name: package.to_owned(),
                rule: rule.to_owned(),
                advice: "give another with --package",
            });
        }
        for (what, name) in [
            ("ClusterServiceVersion", names.service_version(&version)),
            ("deployment", names.of("controller-manager")),
            ("service", names.of("controller-manager-metrics-service")),
        ] {
            if name.len() > MAXIMUM_NAME {
                return Err(GenerationError::Name {
                    what,
                    rule: format!(
                        "has {} characters, and at most {MAXIMUM_NAME} are allowed",
                        name.len()
                    ),
                    name,
                    advice: "give a shorter package, version or --name-suffix",
                });
            }
        }
        let deployment = names.of("controller-manager");
        if !is_label(&deployment) {
            return Err(GenerationError::Name {
                what: "deployment",
                name: deployment,
                rule: rule.to_owned(),
                advice: "give another --name-suffix",
            });
        }
        Ok(names)
    }

    /// The name of the `ClusterServiceVersion`.
    pub fn service_version(&self, version: &Version) -> String {
        format!("{}.v{version}", self.package)
    }

    /// The name of the Lease by which replicas of this version elect the one that works.
    pub fn election(&self) -> String {
        let Self {
            package,
            suffix,
            version,
        } = self;
        if suffix.trim_start_matches('-') == version {
            format!("{package}{suffix}")
        } else {
            format!("{package}-{version}{suffix}")
        }
    }

    /// The name of one of the operator's objects.
    pub fn of(&self, part: &str) -> String {
        let prefix = match part.strip_prefix("controller-manager-metrics") {
            // A Service's name is the longest; the package alone tells it apart.
            Some(_) if self.package.len() + self.suffix.len() + part.len() + 1 > MAXIMUM_NAME => {
                return format!("{}-metrics{}", self.package, self.suffix);
            }
            _ => &self.package,
        };
        format!("{prefix}-{part}{}", self.suffix)
    }
}

/// Text that may stand in a name: `2.1.0-rc.1` becomes `2-1-0-rc-1`.
fn label_text(text: &str) -> String {
    text.to_ascii_lowercase()
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '-'
            }
        })
        .collect()
}

/// Whether Kubernetes takes a text for a DNS label.
pub(super) fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty()
        && text.len() <= MAXIMUM_NAME
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_version_is_refused_with_the_right_one() {
        for (version, expected) in [
            (
                "v1.2",
                "version \"v1.2\" is not a semantic version: No Major.Minor.Patch elements found; set VERSION to one such as 1.2.0",
            ),
            ("vv1.2.0", "set VERSION to one such as 1.2.0"),
            (
                "1.2",
                "No Major.Minor.Patch elements found; set VERSION to one such as 1.2.0",
            ),
            (
                "1.2.0+3",
                "build metadata can't be in the names of objects; set VERSION to one such as 1.2.0",
            ),
            ("latest", "set VERSION to one such as 1.0.0"),
            ("", "set VERSION to one such as 1.0.0"),
        ] {
            let error = Options::new(version, "i")
                .check()
                .expect_err("no version")
                .to_string();
            assert!(error.ends_with(expected), "{error}");
        }
    }

    #[test]
    fn a_v_before_the_version_changes_nothing() {
        for version in ["0.2.0", "v0.2.0", "V0.2.0"] {
            let options = Options::new(version, "i");
            options.check().expect("a version");
            let version = options.parsed_version().expect("a version");
            let names = Names::new("stack", &options).expect("names");
            assert_eq!(names.service_version(&version), "stack.v0.2.0");
            assert_eq!(names.of("controller-manager"), "stack-controller-manager-0-2-0");
        }
    }

    #[test]
    fn a_wrong_crd_version_is_refused() {
        for (version, good) in [
            ("v1", true),
            ("v2beta3", true),
            ("1", false),
            ("v1alpha", false),
            ("v0", false),
            ("V1", false),
            ("v1.0", false),
        ] {
            assert_eq!(check_definition_version(version).is_ok(), good, "{version}");
        }
    }

    #[test]
    fn names_carry_the_version_and_stay_short_enough() {
        let mut options = Options::new("2.1.0-rc.1", "i");
        let names = Names::new("inference-stack-operator", &options).expect("names");
        assert_eq!(
            names.of("controller-manager"),
            "inference-stack-operator-controller-manager-2-1-0-rc-1"
        );
        for (suffix, expected) in [
            (NameSuffix::Version, "a-2-1-0-rc-1"),
            (NameSuffix::None, "a-2-1-0-rc-1"),
            (NameSuffix::Text("blue".to_owned()), "a-2-1-0-rc-1-blue"),
        ] {
            options.name_suffix = suffix;
            assert_eq!(Names::new("a", &options).expect("names").election(), expected);
        }
        options.name_suffix = NameSuffix::None;
        assert_eq!(
            Names::new("a", &options).expect("names").of("controller-manager"),
            "a-controller-manager"
        );
        assert!(Names::new(&"a".repeat(60), &options).is_err());
        assert!(Names::new("A b", &options).is_err());
    }
}
