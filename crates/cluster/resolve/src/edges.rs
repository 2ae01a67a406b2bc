//! Which versions may follow the one that is installed.

use catalog::edges::Rule;
use version::{Version, VersionRelease};

use crate::package::{Bundle, Entry, PackageChannel};
use crate::request::{Installed, InstalledError};

/// What the next version may be, seen from the one that is installed.
#[derive(Debug)]
pub struct Edges<'a> {
    channels: Vec<&'a PackageChannel>,
    installed: &'a Installed,
    /// What ranges are asked about: the version as it is written, with its build metadata.
    written: Version,
    exact: VersionRelease,
}

/// Why a bundle may follow the installed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge<'a> {
    /// It is the installed version: nothing changes.
    Same,
    /// An entry of this channel says so.
    Channel(&'a str, Rule),
}

impl<'a> Edges<'a> {
    /// Looks along `channels` from what is installed.
    pub fn new(
        installed: &'a Installed,
        channels: impl IntoIterator<Item = &'a PackageChannel>,
    ) -> Result<Self, InstalledError> {
        let exact = installed.version_and_release()?;
        let written = Version::parse(&installed.version).map_err(InstalledError::Version)?;
        Ok(Self {
            channels: channels.into_iter().collect(),
            installed,
            written,
            exact,
        })
    }

    /// Returns whether `candidate` may follow the installed version, and by which rule.
    pub fn lead_to(&self, candidate: &Bundle) -> Option<Edge<'a>> {
        let by_channel = self.channels.iter().find_map(|channel| {
            let mut entries = channel
                .entries
                .iter()
                .filter(|entry| entry.name == candidate.name);
            let rule = entries.find_map(|entry| self.rule(entry))?;
            Some(Edge::Channel(&channel.name, rule))
        });
        by_channel.or_else(|| {
            let version = candidate.version.as_ref().ok()?;
            self.exact.precedence(version).is_eq().then_some(Edge::Same)
        })
    }

    fn rule(&self, entry: &Entry) -> Option<Rule> {
        if entry.replaces == self.installed.name {
            return Some(Rule::Replaces);
        }
        if entry.skips.contains(&self.installed.name) {
            return Some(Rule::Skips);
        }
        let range = entry.skip_range.as_ref()?;
        range.matches(&self.written).then_some(Rule::SkipRange)
    }
}
