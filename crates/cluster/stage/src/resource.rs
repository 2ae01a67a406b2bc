//! What is served: the built-in kinds and the custom ones, looked up by path.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use kinds::{Kind, Subresource};
use schema::Schema;
use serde_json::Value;
use tokio::sync::watch;

use crate::custom::CustomKind;
use crate::status::GroupResource;
use crate::store::ResourceKey;

/// Short names that a built-in kind leaves to a custom one as long as that is served.
///
/// kubectl takes the first kind of discovery that has a short name, and custom groups come last. Clusters with OLM v0 had `ip`
/// for InstallPlans long before Kubernetes gave it to addresses as well, and what people type there means the plans.
const YIELDED_SHORT_NAMES: [YieldedShortName; 1] = [YieldedShortName {
    short_name: "ip",
    from: ("networking.k8s.io", "ipaddresses"),
    to: ("operators.coreos.com", "installplans"),
}];

/// A short name, and the group and plural of who leaves it to whom.
struct YieldedShortName {
    short_name: &'static str,
    from: (&'static str, &'static str),
    to: (&'static str, &'static str),
}

/// One resource in one version.
#[derive(Debug, Clone)]
pub struct Resource {
    /// The API group; empty for the core.
    pub group: Arc<str>,
    /// The version it is served in.
    pub version: Arc<str>,
    /// The kind of its objects.
    pub kind: Arc<str>,
    /// The kind of its lists.
    pub list_kind: Arc<str>,
    /// Its name in paths.
    pub plural: Arc<str>,
    /// The name of one of them on the command line.
    pub singular: Arc<str>,
    /// Short names on the command line.
    pub short_names: Vec<String>,
    /// The groups of kinds, such as `all`, it belongs to on the command line.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What may be done with its objects.
    pub verbs: &'static [&'static str],
    /// What hangs below its objects.
    pub subresources: Vec<Subresource>,
    /// Where its objects are stored; resources that show the same objects share it.
    pub storage: ResourceKey,
    /// The `apiVersion` its objects are stored in.
    pub storage_api_version: Arc<str>,
    /// What makes it different from others.
    pub nature: Nature,
}

/// Whether a resource is built in.
#[derive(Debug, Clone)]
pub enum Nature {
    /// A row of the table of kinds.
    BuiltIn(&'static Kind),
    /// A version of a CustomResourceDefinition.
    Custom(Arc<CustomKind>),
}

impl Resource {
    /// Returns whether its objects are served with this verb.
    ///
    /// Discovery tells less of a kind whose definition goes, but its objects can still be changed; what may not be
    /// made any more is refused with a reason.
    pub fn serves(&self, verb: &str) -> bool {
        match &self.nature {
            Nature::BuiltIn(_) => self.verbs.contains(&verb),
            Nature::Custom(_) => kinds::table::ALL_VERBS.contains(&verb),
        }
    }

    /// Returns the resources of a built-in kind, one for each version it is served in.
    pub fn built_in(kind: &'static Kind) -> impl Iterator<Item = Self> {
        // Events of the core and of `events.k8s.io` are the same objects.
        let storage_group = if kind.plural == "events" { "" } else { kind.group };
        let stored = kind.versions.first().copied().unwrap_or("v1");
        kind.versions.iter().map(move |&version| Self {
            group: kind.group.into(),
            version: version.into(),
            kind: kind.kind.into(),
            list_kind: kind.list_kind().into(),
            plural: kind.plural.into(),
            singular: kind.singular.into(),
            short_names: kind.short_names.iter().map(ToString::to_string).collect(),
            categories: kind.categories.iter().map(ToString::to_string).collect(),
            namespaced: kind.is_namespaced(),
            verbs: kind.verbs,
            subresources: kind.subresources.to_vec(),
            storage: ResourceKey::new(storage_group, kind.plural),
            storage_api_version: api_version(storage_group, stored).into(),
            nature: Nature::BuiltIn(kind),
        })
    }

    /// Returns the `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Returns its name as failures say it.
    pub fn group_resource(&self) -> GroupResource<'_> {
        GroupResource {
            group: &self.group,
            resource: &self.plural,
        }
    }

    /// Returns the schema of its objects.
    pub fn schema(&self) -> Option<&Schema> {
        match &self.nature {
            Nature::BuiltIn(_) => schema::builtin::schema_of(&self.group, &self.version, &self.kind),
            Nature::Custom(custom) => Some(&custom.schema),
        }
    }

    /// Returns whether it is a custom resource.
    pub fn custom(&self) -> Option<&CustomKind> {
        match &self.nature {
            Nature::BuiltIn(_) => None,
            Nature::Custom(custom) => Some(custom),
        }
    }

    /// Returns the row of a built-in kind.
    pub fn row(&self) -> Option<&'static Kind> {
        match &self.nature {
            Nature::BuiltIn(kind) => Some(kind),
            Nature::Custom(_) => None,
        }
    }

    /// Returns the subresource with this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|one| one.name == name)
    }

    /// Returns whether its objects have this kind.
    pub fn is_kind(&self, group: &str, version: &str, kind: &str) -> bool {
        &*self.group == group && &*self.version == version && &*self.kind == kind
    }

    /// Returns whether it is the resource of this group and name.
    pub fn is(&self, group: &str, plural: &str) -> bool {
        &*self.group == group && &*self.plural == plural
    }
}

/// Returns a group and a version as one text.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// Returns the group and the version of an `apiVersion`.
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// A version of a group, and what it serves by plural.
pub type Version = (Arc<str>, BTreeMap<Arc<str>, Arc<Resource>>);

/// The versions of one group, the preferred one first.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The group's name.
    pub name: Arc<str>,
    /// Its versions and what each serves, in the order of preference.
    pub versions: Vec<Version>,
}

/// Everything that is served at one moment.
#[derive(Debug, Clone, Default)]
pub struct Served {
    /// The groups in the order of discovery; the core first.
    pub groups: Vec<Group>,
    /// Counts the changes, so that what is made from it can be kept until the next one.
    pub generation: u64,
}

impl Served {
    /// Returns a resource in one version.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let (_, resources) = self
            .group(group)?
            .versions
            .iter()
            .find(|(name, _)| &**name == version)?;
        resources.get(plural)
    }

    /// Returns a resource in the group's preferred version that has it.
    pub fn preferred(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.group(group)?
            .versions
            .iter()
            .find_map(|(_, resources)| resources.get(plural))
    }

    /// Returns the resource of a kind, as owner references and patches name it.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = split_api_version(api_version);
        let (_, resources) = self
            .group(group)?
            .versions
            .iter()
            .find(|(name, _)| &**name == version)?;
        resources.values().find(|resource| &*resource.kind == kind)
    }

    /// Returns a group by its name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| &*group.name == name)
    }

    /// Returns every resource in every version.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups
            .iter()
            .flat_map(|group| group.versions.iter())
            .flat_map(|(_, resources)| resources.values())
    }

    fn add(&mut self, resource: Arc<Resource>) {
        let position = self.groups.iter().position(|group| group.name == resource.group);
        let position = position.unwrap_or_else(|| {
            self.groups.push(Group {
                name: resource.group.clone(),
                versions: Vec::new(),
            });
            self.groups.len() - 1
        });
        let versions = &mut self.groups[position].versions;
        let known = versions
            .iter()
            .position(|(version, _)| *version == resource.version);
        let known = known.unwrap_or_else(|| {
            versions.push((resource.version.clone(), BTreeMap::new()));
            versions.len() - 1
        });
        versions[known].1.insert(resource.plural.clone(), resource);
    }

    /// Takes short names from built-in kinds that leave them to custom ones which are served.
    fn yield_short_names(&mut self) {
        for yielded in &YIELDED_SHORT_NAMES {
            let claims =
                |resource: &Arc<Resource>| resource.short_names.iter().any(|name| name == yielded.short_name);
            if !self.preferred(yielded.to.0, yielded.to.1).is_some_and(claims) {
                continue;
            }
            let (group, plural) = yielded.from;
            let groups = self.groups.iter_mut().filter(|found| &*found.name == group);
            for (_, resources) in groups.flat_map(|group| &mut group.versions) {
                if let Some(resource) = resources.get_mut(plural) {
                    Arc::make_mut(resource)
                        .short_names
                        .retain(|name| name != yielded.short_name);
                }
            }
        }
    }

    fn of_built_in_kinds() -> Self {
        let mut served = Self::default();
        for kind in kinds::table::KINDS {
            for resource in Resource::built_in(kind) {
                served.add(Arc::new(resource));
            }
        }
        for group in &mut served.groups {
            group
                .versions
                .sort_by(|(one, _), (other, _)| version::api_version_priority(one, other));
        }
        served
    }
}

/// What is served now. Reading takes no lock; a change puts a new table in place of the old one.
#[derive(Debug)]
pub struct Resources {
    built_in: Served,
    now: ArcSwap<Served>,
    changes: watch::Sender<u64>,
    /// The resources of each definition that is served, by the definition's state.
    made: Mutex<HashMap<String, Vec<Arc<Resource>>>>,
}

impl Default for Resources {
    fn default() -> Self {
        let built_in = Served::of_built_in_kinds();
        Self {
            now: ArcSwap::from_pointee(built_in.clone()),
            built_in,
            changes: watch::Sender::new(0),
            made: Mutex::default(),
        }
    }
}

impl Resources {
    /// Returns what is served now.
    pub fn now(&self) -> Arc<Served> {
        self.now.load_full()
    }

    /// Returns what tells when something else is served.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns whether a resource is still served as it was made.
    pub fn still_serves(&self, resource: &Resource) -> bool {
        let Some(custom) = resource.custom() else {
            return true;
        };
        self.now
            .load()
            .resource(&resource.group, &resource.version, &resource.plural)
            .and_then(|now| now.custom())
            .is_some_and(|now| now.identity == custom.identity)
    }

    /// Serves the kinds of these definitions in place of those served so far.
    pub fn serve_definitions<'a>(&self, definitions: impl Iterator<Item = &'a Value>) {
        let mut known = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut made = HashMap::with_capacity(known.len());
        for definition in definitions {
            // Reading schemas and compiling rules is dear: only what a definition changes is made anew.
            let state = crate::custom::state(definition);
            let resources = known.remove(&state).unwrap_or_else(|| {
                crate::custom::resources(definition)
                    .into_iter()
                    .map(Arc::new)
                    .collect()
            });
            made.insert(state, resources);
        }
        self.serve_custom(made.values().flatten().cloned());
        *known = made;
    }

    /// Puts the custom resources in place of those served so far.
    fn serve_custom(&self, custom: impl Iterator<Item = Arc<Resource>>) {
        let mut served = self.built_in.clone();
        served.generation = self.now.load().generation + 1;
        let built_in_groups = served.groups.len();
        for resource in custom {
            served.add(resource);
        }
        // Custom groups come after the built-in ones, by name; their versions by priority.
        served.groups[built_in_groups..].sort_by(|one, other| one.name.cmp(&other.name));
        for group in &mut served.groups[built_in_groups..] {
            group
                .versions
                .sort_by(|(one, _), (other, _)| version::api_version_priority(one, other));
        }
        served.yield_short_names();
        let generation = served.generation;
        self.now.store(Arc::new(served));
        self.changes.send_replace(generation);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn ip_means_install_plans_where_they_are_served() {
        let definition = |generation: i64, short_names: Value| {
            json!({
                "metadata": {"name": "installplans.operators.coreos.com", "uid": "1", "generation": generation},
                "spec": {"group": "operators.coreos.com", "scope": "Namespaced",
                    "names": {"kind": "InstallPlan", "listKind": "InstallPlanList", "plural": "installplans"},
                    "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                        "schema": {"openAPIV3Schema": {"type": "object"}}}]},
                "status": {
                    "acceptedNames": {"kind": "InstallPlan", "listKind": "InstallPlanList", "plural": "installplans",
                        "singular": "installplan", "shortNames": short_names},
                    "conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}],
                    "storedVersions": ["v1alpha1"],
                },
            })
        };
        let resources = Resources::default();
        let named_ip = || {
            let served = resources.now();
            let named = served
                .all()
                .filter(|resource| resource.short_names.iter().any(|name| name == "ip"));
            named
                .map(|resource| resource.plural.to_string())
                .collect::<BTreeSet<_>>()
        };
        let just = |plural: &str| BTreeSet::from([plural.to_owned()]);
        assert_eq!(named_ip(), just("ipaddresses"));
        resources.serve_definitions([definition(1, json!(["ip"]))].iter());
        assert_eq!(named_ip(), just("installplans"));
        let served = resources.now();
        assert!(
            served.preferred("networking.k8s.io", "ipaddresses").is_some(),
            "it is still served under its own name"
        );
        resources.serve_definitions([definition(2, json!([]))].iter());
        assert_eq!(named_ip(), just("ipaddresses"));
        resources.serve_definitions([].iter());
        assert_eq!(named_ip(), just("ipaddresses"));
    }
}
