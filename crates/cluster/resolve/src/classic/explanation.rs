//! Why nothing can be installed for a Subscription, so that a person understands it and knows what to change.
//!
//! Upstream's message lists the constraints that exclude each other, in the solver's terms. Here every Subscription that
//! is stopped is taken by itself: what it asks for, which bundles there are, which rule excludes each of them, and what
//! would help.

mod alone;
mod remedy;

use std::fmt;

use gotemplate::format::quoted;

use super::entry::{CatalogKey, Entry};
use super::request::Subscription;
use super::resolution::FailureKind;
use super::variables::{Asked, Trouble, Variables};

/// How many bundles of a Subscription are looked at: the preferred ones come first, and nobody reads a longer list.
pub const MAX_EXAMINED: usize = 8;

/// Why nothing can be installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    /// What was asked for, by Subscription.
    pub wants: Vec<Want>,
    /// What to change; any one of them may help.
    pub remedies: Vec<String>,
}

/// What a Subscription asks for, and what became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Want {
    /// The Subscription.
    pub subscription: String,
    /// The package.
    pub package: String,
    /// The channel; empty for any.
    pub channel: String,
    /// The catalog.
    pub catalog: CatalogKey,
    /// What is installed for it.
    pub installed: Option<String>,
    /// Why there is nothing to choose from.
    pub trouble: Option<String>,
    /// The bundles to choose from, the preferred first.
    pub examined: Vec<Examined>,
    /// How many more there are.
    pub more: usize,
}

/// A bundle that might have been installed, and what speaks against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Its name.
    pub bundle: String,
    /// Its version.
    pub version: Option<String>,
    /// The channel that it was found in.
    pub channel: String,
    /// What excludes it, rule by rule; with nothing, it is excluded only by what else was asked for.
    pub excluded_by: Vec<String>,
}

impl Explanation {
    /// Explains why nothing can be installed for these Subscriptions.
    pub(super) fn new<'a, 'b: 'a>(
        variables: &Variables<'b>,
        asked: impl IntoIterator<Item = &'a Asked>,
        kind: &FailureKind,
    ) -> Self {
        let asked: Vec<&Asked> = asked.into_iter().collect();
        let core = match kind {
            FailureKind::NotSatisfiable(core) => Some(core),
            _ => None,
        };
        let involved = |asked: &&&Asked| {
            let Some(core) = core else { return true };
            let name = format!("subscription:{}", variables.subscription(asked).name);
            core.core
                .iter()
                .any(|applied| *variables.all[applied.variable].id == *name)
        };
        let wants = asked
            .iter()
            .filter(involved)
            .map(|asked| want(variables, asked, kind));
        Self {
            wants: wants.collect(),
            remedies: remedy::remedies(variables, &asked, kind),
        }
    }
}

fn want(variables: &Variables<'_>, asked: &Asked, kind: &FailureKind) -> Want {
    let Subscription {
        name,
        package,
        channel,
        catalog,
        ..
    } = variables.subscription(asked);
    let trouble = match &asked.trouble {
        None => None,
        Some(Trouble::Invalid(cause)) => Some(cause.clone()),
        Some(Trouble::Channel(error)) => Some(error.to_string()),
        Some(Trouble::Catalog(source)) => {
            let cause = variables.sources[*source].content.err().unwrap_or_default();
            Some(format!("the catalog can't be asked: {cause}"))
        }
    };
    let core = match kind {
        FailureKind::NotSatisfiable(core) => core.core.as_slice(),
        _ => &[],
    };
    let candidates = asked.candidates.iter().chain(&asked.current);
    let examined = candidates.clone().take(MAX_EXAMINED).filter_map(|&candidate| {
        let entry = variables.entry_of(candidate)?;
        Some(Examined {
            bundle: entry.name.clone(),
            version: entry.version.as_ref().map(ToString::to_string),
            channel: entry.channel.clone(),
            excluded_by: alone::excluded_by(variables, asked, candidate, core),
        })
    });
    let installed = asked.current.and_then(|current| variables.entry_of(current));
    Want {
        subscription: name.clone(),
        package: package.clone(),
        channel: channel.clone(),
        catalog: catalog.clone(),
        installed: installed.map(|entry: &Entry| entry.name.clone()),
        trouble,
        examined: examined.collect(),
        more: candidates.count().saturating_sub(MAX_EXAMINED),
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = self.wants.iter().map(ToString::to_string).collect();
        if !self.remedies.is_empty() {
            lines.push("what may help:".into());
            lines.extend(self.remedies.iter().map(|remedy| format!("- {remedy}")));
        }
        formatter.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for Want {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "subscription {} asks for package {}",
            quoted(&self.subscription),
            quoted(&self.package)
        )?;
        if !self.channel.is_empty() {
            write!(formatter, " in channel {}", quoted(&self.channel))?;
        }
        write!(formatter, " of catalog {}", self.catalog)?;
        if let Some(installed) = &self.installed {
            write!(formatter, ", and has {installed}")?;
        }
        if let Some(trouble) = &self.trouble {
            write!(formatter, ": {trouble}")?;
        }
        for examined in &self.examined {
            write!(formatter, "\n- {examined}")?;
        }
        if self.more > 0 {
            write!(formatter, "\n- and {} more", self.more)?;
        }
        Ok(())
    }
}

impl fmt::Display for Examined {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.bundle)?;
        if let Some(version) = &self.version {
            write!(formatter, " ({version})")?;
        }
        match self.excluded_by.as_slice() {
            [] => formatter.write_str(": possible by itself, but not with everything else that is asked for"),
            rules => write!(formatter, ": {}", rules.join("; ")),
        }
    }
}
