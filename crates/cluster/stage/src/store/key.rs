//! What an object is filed under.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The kind of thing that is stored together: a group and a plural name, as in `apps/deployments` or `/pods`.
///
/// Versions of an API share their objects, so a version is no part of it. A clone costs a reference count.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceKey(Arc<str>);

impl ResourceKey {
    /// Names a resource; the core group is the empty string.
    pub fn new(group: &str, plural: &str) -> Self {
        Self(format!("{group}/{plural}").into())
    }

    /// Takes a name that is already written as `group/plural`.
    pub(super) fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the name as `group/plural`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the group; empty for the core group.
    pub fn group(&self) -> &str {
        self.0.split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the plural name.
    pub fn plural(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, plural)| plural)
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The name that one object is stored under.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The resource it belongs to.
    pub resource: ResourceKey,
    /// Its namespace; empty when the resource is cluster-scoped.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl Key {
    /// Names an object.
    pub fn new(resource: &ResourceKey, namespace: &str, name: &str) -> Self {
        Self {
            resource: resource.clone(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Returns where the object stands among the objects of its resource.
    pub fn position(&self) -> Position {
        Position {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(formatter, "{} {:?}", self.resource, self.name)
        } else {
            write!(
                formatter,
                "{} \"{}/{}\"",
                self.resource, self.namespace, self.name
            )
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.resource
            .cmp(&other.resource)
            .then_with(|| compare_paths((&self.namespace, &self.name), (&other.namespace, &other.name)))
    }
}

/// Where an object stands among the objects of its resource.
///
/// The order is that of etcd's keys (`namespace/name` as bytes), because lists and pages follow it:
/// namespace `a-b` comes before namespace `a`, as `-` comes before `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Position {
    /// The namespace; empty when the resource is cluster-scoped.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Position {
    /// Names a place; it need not be taken by an object.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Returns the key of the object of a resource that stands here.
    pub fn of(self, resource: &ResourceKey) -> Key {
        Key {
            resource: resource.clone(),
            namespace: self.namespace,
            name: self.name,
        }
    }
}

impl PartialOrd for Position {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Position {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_paths((&self.namespace, &self.name), (&other.namespace, &other.name))
    }
}

fn compare_paths(left: (&Arc<str>, &Arc<str>), right: (&Arc<str>, &Arc<str>)) -> Ordering {
    let same_namespace = Arc::ptr_eq(left.0, right.0) || left.0 == right.0;
    if same_namespace {
        return left.1.cmp(right.1);
    }
    left.0.bytes().chain([b'/']).cmp(right.0.bytes().chain([b'/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_stand_in_the_order_of_etcd_keys() {
        let mut positions = [
            Position::new("a", "z"),
            Position::new("a-b", "a"),
            Position::new("a", "b"),
            Position::new("a0", "a"),
            Position::new("", "a"),
        ];
        positions.sort();
        let paths: Vec<String> = positions
            .iter()
            .map(|position| format!("{}/{}", position.namespace, position.name))
            .collect();
        assert_eq!(paths, ["/a", "a-b/a", "a/b", "a/z", "a0/a"]);
    }

    #[test]
    fn a_resource_is_split_at_its_group() {
        let pods = ResourceKey::new("", "pods");
        assert_eq!(
            (pods.as_str(), pods.group(), pods.plural()),
            ("/pods", "", "pods")
        );
        let leases = ResourceKey::new("coordination.k8s.io", "leases");
        assert_eq!(
            (leases.group(), leases.plural()),
            ("coordination.k8s.io", "leases")
        );
    }
}
