//! `olm.template.substitutes`: a catalog, and bundles that take the place of others in its channels.

use std::collections::{HashMap, HashSet};

use gotemplate::format::quoted;
use goyaml::go_struct;

use super::entries::{self, Entry};
use super::{Lookup, TemplateType, release};
use crate::objects::{Catalog, Channel, ChannelEntry};
use crate::rendering::RenderedBundle;

/// A catalog, and which bundles take whose place.
#[derive(Debug, Clone, Default)]
pub(super) struct SubstitutesTemplate {
    schema: String,
    entries: Vec<Option<Entry>>,
    substitutions: Vec<Substitution>,
}
go_struct!(SubstitutesTemplate, "substitutes.SubstitutesTemplateData", {
    "schema" => schema, "entries" => entries, "substitutions" => substitutions,
});

/// One bundle takes the place of another.
#[derive(Debug, Clone, Default)]
struct Substitution {
    /// The image of the bundle that comes.
    name: String,
    /// The name of the bundle that goes.
    base: String,
}
go_struct!(Substitution, "substitutes.Substitute", { "name" => name, "base" => base });

impl SubstitutesTemplate {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        entries::read(bytes, TemplateType::Substitutes, |template: &Self| {
            &template.schema
        })
        .map_err(|error| format!("render: unable to parse template: {error}"))
    }

    pub(super) fn references(&self) -> Vec<&str> {
        let named = self
            .substitutions
            .iter()
            .map(|substitution| substitution.name.as_str());
        named.filter(|name| !name.is_empty()).collect()
    }

    pub(super) fn render(&self, lookup: &Lookup<'_>) -> Result<Catalog, String> {
        let mut catalog = entries::catalog(&self.entries)
            .map_err(|error| format!("render: unable to create declarative config from entries: {error}"))?;
        validate(&catalog).map_err(|error| format!("render: entries are not valid FBC: {error}"))?;
        let mut bases = HashSet::new();
        let mut names: HashMap<&str, &str> = HashMap::new();
        for substitution in &self.substitutions {
            let (name, base) = (quoted(&substitution.name), quoted(&substitution.base));
            if !bases.insert(&substitution.base) {
                return Err(format!("render: cannot reuse the same substitution base {base}"));
            }
            if let Some(earlier) = names.insert(&substitution.name, &substitution.base) {
                return Err(format!(
                    "render: cannot reuse the same substitution {name} for different bases ({} and {base})",
                    quoted(earlier)
                ));
            }
            substitute(&mut catalog, substitution, lookup).map_err(|error| {
                format!("render: error processing substitution {base} -> {name}: {error}")
            })?;
        }
        Ok(catalog)
    }
}

fn validate(catalog: &Catalog) -> Result<(), String> {
    crate::validation::validate(catalog).map_err(|error| error.to_string())
}

fn substitute(catalog: &mut Catalog, substitution: &Substitution, lookup: &Lookup<'_>) -> Result<(), String> {
    let substitute = checked(catalog, substitution, lookup)?;
    for channel in &mut catalog.channels {
        put_in_place(channel, &substitution.base, &substitute.bundle.name);
    }
    catalog.bundles.push(substitute.bundle);
    validate(catalog).map_err(|error| format!("resulting config is not valid FBC: {error}"))
}

/// The bundle that comes, if it is later than the one that goes.
fn checked(
    catalog: &Catalog,
    substitution: &Substitution,
    lookup: &Lookup<'_>,
) -> Result<RenderedBundle, String> {
    let Substitution { name, base } = substitution;
    if name.is_empty() {
        return Err("substitution name cannot be empty".to_owned());
    }
    if base.is_empty() {
        return Err("substitution base cannot be empty".to_owned());
    }
    if name == base {
        return Err("substitution name and base cannot be the same".to_owned());
    }
    let (quoted_name, quoted_base) = (quoted(name), quoted(base));
    let substitute = lookup(name)
        .map_err(|error| format!("failed to render bundle image reference {quoted_name}: {error}"))?;
    let after = release::of_bundle(&substitute.bundle).map_err(|error| {
        format!("failed to get VersionRelease for substitute bundle {quoted_name}: {error}")
    })?;
    let found = catalog.bundles.iter().find(|bundle| bundle.name == *base);
    let found = found.ok_or_else(|| format!("base bundle {quoted_base} does not exist in catalog"))?;
    let before = release::of_bundle(found)
        .map_err(|error| format!("failed to get VersionRelease for base bundle {quoted_base}: {error}"))?;
    if before.precedence(&after).is_ge() {
        return Err(format!(
            "base bundle {quoted_base} is not less than substitute bundle {quoted_name}"
        ));
    }
    Ok(substitute)
}

/// Gives the edges of `base` to a new entry for `substitute`, and leads the edges to `base` there too.
fn put_in_place(channel: &mut Channel, base: &str, substitute: &str) {
    let Some(entries) = &mut channel.entries else {
        return;
    };
    let mut added = Vec::new();
    for entry in entries.iter_mut().filter(|entry| entry.name == base) {
        let mut taken = ChannelEntry {
            name: substitute.to_owned(),
            replaces: std::mem::take(&mut entry.replaces),
            skips: std::mem::take(&mut entry.skips),
            skip_range: std::mem::take(&mut entry.skip_range),
        };
        taken.skips.push(base.to_owned());
        added.push(taken);
    }
    for entry in entries.iter_mut() {
        if entry.replaces == base {
            substitute.clone_into(&mut entry.replaces);
            entry.skips.push(base.to_owned());
        } else if entry.skips.iter().any(|skipped| skipped == base) {
            entry.skips.push(substitute.to_owned());
            entry.skips.retain(|skipped| skipped != base);
        }
    }
    // Where a bundle stands in a channel twice, the entries come in reverse.
    entries.extend(added.into_iter().rev());
}
