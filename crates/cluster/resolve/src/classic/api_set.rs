//! Sets of APIs: what an operator provides and what it requires.

use std::collections::BTreeSet;
use std::fmt;

/// A kind of the API with the name that its resources have in paths.
///
/// The order of the fields is the order of sets; it has no meaning beyond being the same every time.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Api {
    /// The group; empty for the core's.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural name of its resources; empty where nobody knows it or it doesn't matter.
    pub plural: String,
}

impl Api {
    /// Returns the kind without the name of its resources.
    pub fn without_plural(&self) -> Self {
        Self {
            plural: String::new(),
            ..self.clone()
        }
    }

    /// Returns the hash that upstream uses in label keys: 64 bits of FNV-1a over `Kind.version.group`, in hexadecimal
    /// digits without leading zeros.
    pub fn label_hash(&self) -> String {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        format!("{:x}", self.to_string().bytes().fold(OFFSET, step))
    }
}

/// Writes `Kind.version.group`, as in the annotations of an `OperatorGroup`.
impl fmt::Display for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.kind, self.version, self.group)
    }
}

/// A set of APIs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiSet(BTreeSet<Api>);

impl ApiSet {
    /// Reads what [`ApiSet`]'s `Display` writes: `Kind.version.group`, separated by commas. What isn't of that form is
    /// left out, as upstream does.
    pub fn parse(text: &str) -> Self {
        let api = |text: &str| {
            let mut parts = text.splitn(3, '.');
            let (kind, version, group) = (parts.next()?, parts.next()?, parts.next()?);
            Some(Api {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: kind.to_owned(),
                plural: String::new(),
            })
        };
        let text = text.replace(' ', "");
        text.split(',').filter_map(api).collect()
    }

    /// Adds an API.
    pub fn insert(&mut self, api: Api) {
        self.0.insert(api);
    }

    /// Returns whether an API is in the set, plural name and all.
    pub fn contains(&self, api: &Api) -> bool {
        self.0.contains(api)
    }

    /// Returns whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the APIs in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Api> {
        self.0.iter()
    }

    /// Returns what is in this set or the other.
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// Returns what is in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).cloned().collect())
    }

    /// Returns what is in this set and not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).cloned().collect())
    }

    /// Returns whether everything of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// Returns the set without plural names.
    pub fn without_plurals(&self) -> Self {
        self.0.iter().map(Api::without_plural).collect()
    }
}

impl FromIterator<Api> for ApiSet {
    fn from_iter<I: IntoIterator<Item = Api>>(apis: I) -> Self {
        Self(apis.into_iter().collect())
    }
}

/// Writes `Kind.version.group` of each, sorted, separated by commas.
impl fmt::Display for ApiSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        texts.sort();
        formatter.write_str(&texts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_written_and_read_back() {
        let set = ApiSet::parse("Etcd.v1beta2.etcd.database.coreos.com, Vault.v1.vault.security, broken");
        assert_eq!(
            set.to_string(),
            "Etcd.v1beta2.etcd.database.coreos.com,Vault.v1.vault.security"
        );
        assert_eq!(ApiSet::parse(&set.to_string()), set);
        assert!(ApiSet::parse("").is_empty());
    }

    #[test]
    fn the_hash_is_that_of_go() {
        // fnv.New64a() over "k.v.g".
        let api = Api {
            group: "g".into(),
            version: "v".into(),
            kind: "k".into(),
            plural: "ks".into(),
        };
        assert_eq!(api.label_hash(), "ba0bd780d983e0c5");
        assert_eq!(api.label_hash(), api.without_plural().label_hash());
    }
}
