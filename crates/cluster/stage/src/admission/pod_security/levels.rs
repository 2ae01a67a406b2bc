//! Levels and versions of Pod Security, and the labels of namespaces that name them.

use std::fmt;

use schema::{FieldError, FieldPath};
use serde_json::json;

/// How much pods may do; the later ones may do less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// Everything.
    #[default]
    Privileged,
    /// Nothing that is known to give rights over the node.
    Baseline,
    /// Only what a hardened pod needs.
    Restricted,
}

/// The version of Kubernetes whose rules are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// The newest that is known.
    #[default]
    Latest,
    /// That of a 1.x.
    Minor(u32),
}

/// A level in a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rule {
    /// The level.
    pub level: Level,
    /// The version.
    pub version: Version,
}

/// What a namespace asks of its pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// What is refused.
    pub enforce: Rule,
    /// What is noted.
    pub audit: Rule,
    /// What is warned of.
    pub warn: Rule,
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.version {
            Version::Latest => write!(formatter, "{level}:latest"),
            Version::Minor(minor) => write!(formatter, "{level}:v1.{minor}"),
        }
    }
}

impl Version {
    /// Returns whether rules that came with 1.`minor` belong to it.
    pub fn has(self, minor: u32) -> bool {
        match self {
            Self::Latest => true,
            Self::Minor(own) => own >= minor,
        }
    }

    fn read(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let minor = text.strip_prefix("v1.")?;
        let plain =
            minor.bytes().all(|byte| byte.is_ascii_digit()) && (minor == "0" || !minor.starts_with('0'));
        plain.then(|| minor.parse().ok()).flatten().map(Self::Minor)
    }
}

fn read_level(text: &str) -> Option<Level> {
    match text {
        "privileged" => Some(Level::Privileged),
        "baseline" => Some(Level::Baseline),
        "restricted" => Some(Level::Restricted),
        _ => None,
    }
}

impl Policy {
    /// Returns whether pods may do everything without a word.
    pub fn asks_nothing(&self) -> bool {
        [self.enforce, self.audit, self.warn]
            .iter()
            .all(|rule| rule.level == Level::Privileged)
    }

    /// Reads the labels of a namespace, and what is wrong with them.
    pub fn read<'a>(label: &dyn Fn(&str) -> Option<&'a str>) -> (Self, Vec<FieldError>) {
        let mut policy = Self::default();
        let mut errors = Vec::new();
        let mut wrong = |name: &str, value: &str, why: &str| {
            let field = FieldPath::new("metadata").child("labels").key(name);
            errors.push(FieldError::invalid(field, &json!(value), why));
        };
        let mut enforces = false;
        for (mode, rule) in [
            ("enforce", &mut policy.enforce),
            ("audit", &mut policy.audit),
            ("warn", &mut policy.warn),
        ] {
            let name = format!("pod-security.kubernetes.io/{mode}");
            if let Some(text) = label(&name) {
                let level = read_level(text);
                enforces |= mode == "enforce" && level.is_some();
                // What can't be read is enforced to the full, but neither noted nor warned of.
                let otherwise = if mode == "enforce" {
                    Level::Restricted
                } else {
                    Level::Privileged
                };
                rule.level = level.unwrap_or(otherwise);
                if level.is_none() {
                    wrong(&name, text, "must be one of privileged, baseline, restricted");
                }
            }
            let name = format!("{name}-version");
            if let Some(text) = label(&name) {
                let version = Version::read(text);
                rule.version = version.unwrap_or_default();
                if version.is_none() {
                    wrong(&name, text, "must be \"latest\" or \"v1.x\"");
                }
            }
        }
        let warns = label("pod-security.kubernetes.io/warn").is_some();
        if !warns && enforces && policy.enforce.level > policy.warn.level {
            policy.warn.level = policy.enforce.level;
            if label("pod-security.kubernetes.io/warn-version").is_none() {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }
}
