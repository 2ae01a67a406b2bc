//! Why nothing could be generated; each text says what to do next.

use std::path::PathBuf;

use super::permissions::PinError;

/// Why a bundle, an image or a tree could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerationError {
    /// A file of the author's tree can't be read.
    #[error("cannot read {}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        cause: std::io::Error,
    },
    /// A file of the author's tree is larger than any such file.
    #[error("{} is larger than {maximum} bytes; is it the right file?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        maximum: u64,
    },
    /// A file of the author's tree is not what it should be.
    #[error("{}: {cause}", path.display())]
    Faulty {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        cause: String,
    },
    /// `watches.yaml` is not what it should be.
    #[error("watches.yaml: {cause}")]
    Watches {
        /// What is wrong.
        cause: String,
    },
    /// A chart that `watches.yaml` names can't be loaded.
    #[error("watches.yaml: chart {chart:?} of kind {kind} cannot be loaded from {}: {cause}; {advice}", path.display())]
    Chart {
        /// The chart, as the watch names it.
        chart: String,
        /// The watch's kind.
        kind: String,
        /// Where it was looked for.
        path: PathBuf,
        /// Why.
        cause: String,
        /// What to do.
        advice: &'static str,
    },
    /// The tree has no `watches.yaml`.
    #[error("{} has no watches.yaml, so it is no operator's tree; `baton init --chart CHART` makes one", path.display())]
    NoProject {
        /// The directory.
        path: PathBuf,
    },
    /// The version is no semantic version.
    #[error(
        "version {version:?} is not a semantic version: {cause}; set VERSION to one such as {suggestion}"
    )]
    Version {
        /// What was given.
        version: String,
        /// What is wrong.
        cause: String,
        /// What may have been meant.
        suggestion: String,
    },
    /// The version of the custom resource is none that Kubernetes knows.
    #[error(
        "CRD version {version:?} must look like v1, v1beta1 or v1alpha1; set CRD_VERSION to the version in watches.yaml"
    )]
    DefinitionVersion {
        /// What was given.
        version: String,
    },
    /// The version of the custom resource is another one than the operator watches.
    #[error(
        "CRD version {given} was given, but watches.yaml watches {group}/{watched} {kind}; set CRD_VERSION={watched}, or change the version in watches.yaml"
    )]
    DefinitionVersionMismatch {
        /// What was given.
        given: String,
        /// The watched version.
        watched: String,
        /// The watched group.
        group: String,
        /// The watched kind.
        kind: String,
    },
    /// The author's own definition doesn't serve the version that the operator watches.
    #[error(
        "{file} defines {kind}, but does not serve version {version}, which watches.yaml watches; add the version to it, or remove the file to have it generated"
    )]
    DefinitionNotServed {
        /// The author's file.
        file: String,
        /// The kind.
        kind: String,
        /// The version.
        version: String,
    },
    /// A name is not one that Kubernetes accepts.
    #[error("{what} {name:?} {rule}; {advice}")]
    Name {
        /// What is named.
        what: &'static str,
        /// The name.
        name: String,
        /// The rule that it breaks.
        rule: String,
        /// What to do.
        advice: &'static str,
    },
    /// The operator's image was not given.
    #[error(
        "the operator's image is missing; give it with --image, such as registry.example.com/team/operator:1.0.0"
    )]
    NoImage,
    /// A channel's name can't be in a list of channels.
    #[error("channel {channel:?} has a comma, a space or nothing in it; give channels such as stable,fast")]
    Channel {
        /// What was given.
        channel: String,
    },
    /// The default channel is none of the channels.
    #[error(
        "default channel {channel:?} is not among the channels {channels}; add it to --channels, or give another"
    )]
    DefaultChannel {
        /// What was given.
        channel: String,
        /// The channels.
        channels: String,
    },
    /// The pinned permissions don't fit.
    #[error(transparent)]
    Permissions(#[from] PinError),
    /// What was generated can't be written as YAML.
    #[error(
        "cannot write {file}: {cause}; a text in the chart or in config/ has a character that YAML can't hold"
    )]
    Write {
        /// The file.
        file: String,
        /// What is wrong.
        cause: String,
    },
}
