//! What watches saw, and what is to be looked at again because of it.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::text;
use serde_json::Value;

use crate::injection::{self, Target};
use crate::issuer::{Way, namespace_of};
use crate::request::IssuerReference;

/// What a watch is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Certificates.
    Certificates,
    /// Issuers of a namespace.
    Issuers,
    /// Issuers of the cluster.
    ClusterIssuers,
    /// Secrets, of which only the names are seen.
    Secrets,
    /// What trusts certificates, of which only the metadata is seen.
    Targets(Target),
}

impl Source {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let own = [
            Self::Certificates,
            Self::Issuers,
            Self::ClusterIssuers,
            Self::Secrets,
        ];
        own.into_iter().chain(Target::ALL.map(Self::Targets))
    }

    /// Whether what is seen of an object is needed later.
    fn keeps(self, object: &Value) -> bool {
        match self {
            Self::Certificates | Self::Issuers | Self::ClusterIssuers => true,
            Self::Secrets => false,
            Self::Targets(_) => injection::asked(object).is_some(),
        }
    }
}

/// What a watch tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// It lists everything that there is.
    Begins,
    /// This is there.
    Lists(Value),
    /// That was everything.
    Ends,
    /// Something was made or changed.
    Changed(Value),
    /// Something is gone.
    Gone(Value),
}

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// An issuer.
    Issuer(IssuerReference),
    /// A Certificate, by its namespace and name.
    Certificate(String, String),
    /// What trusts one, by its name.
    Target(Target, String),
}

/// A namespace and a name.
type Key = (String, String);

/// The objects of one watch.
#[derive(Debug, Default)]
pub struct Watched {
    /// As they were seen last.
    pub known: BTreeMap<Key, Value>,
    /// While everything is listed: what was in the list so far.
    listing: BTreeSet<Key>,
    /// Whether everything was listed once.
    pub is_listed: bool,
}

impl Watched {
    /// Takes what the watch tells; returns the object that it is about, where it is about one that is to be looked at now.
    pub fn take(&mut self, told: Told, keeps: impl Fn(&Value) -> bool) -> Option<Value> {
        match told {
            Told::Begins => self.listing.clear(),
            Told::Lists(object) => {
                self.listing.insert(key(&object));
                self.keep(object, keeps);
            }
            Told::Ends => {
                let listed = std::mem::take(&mut self.listing);
                self.known.retain(|key, _| listed.contains(key));
                self.is_listed = true;
            }
            Told::Changed(object) => {
                self.keep(object.clone(), keeps);
                return Some(object);
            }
            Told::Gone(object) => {
                self.known.remove(&key(&object));
                return Some(object);
            }
        }
        None
    }

    fn keep(&mut self, object: Value, keeps: impl Fn(&Value) -> bool) {
        if keeps(&object) {
            self.known.insert(key(&object), object);
        } else {
            self.known.remove(&key(&object));
        }
    }
}

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct Seen(BTreeMap<Source, Watched>);

impl Seen {
    /// Takes what a watch tells, and returns what is to be looked at because of it.
    pub fn take(&mut self, source: Source, told: Told) -> BTreeSet<Item> {
        let is_end = told == Told::Ends;
        let about = self
            .0
            .entry(source)
            .or_default()
            .take(told, |object| source.keeps(object));
        match about {
            Some(object) => self.affected(source, &object),
            // Whatever was missed may have been about anything.
            None if is_end => self.everything(),
            None => BTreeSet::new(),
        }
    }

    /// Whether every watch listed everything once.
    pub fn is_complete(&self) -> bool {
        Source::all().all(|source| self.0.get(&source).is_some_and(|watched| watched.is_listed))
    }

    /// Returns a Certificate.
    pub fn certificate(&self, namespace: &str, name: &str) -> Option<&Value> {
        self.find(Source::Certificates, namespace, name)
    }

    /// Returns an issuer.
    pub fn issuer(&self, reference: &IssuerReference) -> Option<&Value> {
        let source = if reference.namespace.is_empty() {
            Source::ClusterIssuers
        } else {
            Source::Issuers
        };
        self.find(source, &reference.namespace, &reference.name)
    }

    /// Returns the namespace and name of the Certificate that is to be trusted by something.
    pub fn trusted(&self, target: Target, name: &str) -> Option<(&str, &str)> {
        injection::asked(self.find(Source::Targets(target), "", name)?)
    }

    fn find(&self, source: Source, namespace: &str, name: &str) -> Option<&Value> {
        let known = &self.0.get(&source)?.known;
        known.get(&(namespace.to_owned(), name.to_owned()))
    }

    fn known(&self, source: Source) -> impl Iterator<Item = &Value> {
        self.0
            .get(&source)
            .into_iter()
            .flat_map(|watched| watched.known.values())
    }

    fn issuers(&self) -> impl Iterator<Item = &Value> {
        self.known(Source::Issuers)
            .chain(self.known(Source::ClusterIssuers))
    }

    fn everything(&self) -> BTreeSet<Item> {
        let mut items: BTreeSet<Item> = self
            .issuers()
            .map(|issuer| Item::Issuer(reference(issuer)))
            .collect();
        items.extend(self.known(Source::Certificates).map(of_certificate));
        for target in Target::ALL {
            let names = self.known(Source::Targets(target)).map(|object| key(object).1);
            items.extend(names.map(|name| Item::Target(target, name)));
        }
        items
    }

    fn affected(&self, source: Source, object: &Value) -> BTreeSet<Item> {
        let (namespace, name) = key(object);
        match source {
            Source::Certificates => {
                let mut items = self.trusting(&namespace, &name);
                items.insert(Item::Certificate(namespace, name));
                items
            }
            Source::Issuers | Source::ClusterIssuers => {
                let issuer = reference(object);
                let signed = self.known(Source::Certificates).filter(|certificate| {
                    let said = |field: &str| text(&certificate["spec"]["issuerRef"], field);
                    let kind = if said("/kind").is_empty() {
                        "Issuer"
                    } else {
                        said("/kind")
                    };
                    said("/name") == issuer.name
                        && kind == issuer.kind
                        && (issuer.namespace.is_empty() || key(certificate).0 == issuer.namespace)
                });
                let mut items: BTreeSet<Item> = signed.map(of_certificate).collect();
                items.insert(Item::Issuer(issuer));
                items
            }
            Source::Secrets => {
                let mut items = BTreeSet::new();
                for certificate in self.known(Source::Certificates) {
                    let (of, called) = key(certificate);
                    if of == namespace && text(certificate, "/spec/secretName") == name {
                        items.extend(self.trusting(&of, &called));
                        items.insert(Item::Certificate(of, called));
                    }
                }
                let has = |issuer: &&Value| {
                    namespace_of(issuer) == namespace && Way::read(issuer) == Ok(Way::Authority(&name))
                };
                let issuers: Vec<&Value> = self.issuers().filter(has).collect();
                for issuer in issuers {
                    let source = if key(issuer).0.is_empty() {
                        Source::ClusterIssuers
                    } else {
                        Source::Issuers
                    };
                    items.extend(self.affected(source, issuer));
                }
                items
            }
            Source::Targets(target) => injection::asked(object)
                .map(|_| Item::Target(target, name))
                .into_iter()
                .collect(),
        }
    }

    /// What trusts a Certificate.
    fn trusting(&self, namespace: &str, name: &str) -> BTreeSet<Item> {
        let of = |target| {
            self.known(Source::Targets(target))
                .filter(|object| injection::asked(object) == Some((namespace, name)))
                .map(move |object| Item::Target(target, key(object).1))
        };
        Target::ALL.into_iter().flat_map(of).collect()
    }
}

fn key(object: &Value) -> Key {
    let said = |pointer| text(object, pointer).to_owned();
    (said("/metadata/namespace"), said("/metadata/name"))
}

fn reference(issuer: &Value) -> IssuerReference {
    let (namespace, name) = key(issuer);
    let kind = if namespace.is_empty() {
        "ClusterIssuer"
    } else {
        "Issuer"
    };
    IssuerReference {
        kind: kind.to_owned(),
        namespace,
        name,
    }
}

fn of_certificate(certificate: &Value) -> Item {
    let (namespace, name) = key(certificate);
    Item::Certificate(namespace, name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(namespace: &str, name: &str, spec: &Value) -> Value {
        json!({"metadata": {"namespace": namespace, "name": name}, "spec": spec})
    }

    fn webhook(name: &str, asks: Option<&str>) -> Value {
        let mut webhook = json!({"metadata": {"name": name, "annotations": {}}});
        if let Some(asks) = asks {
            webhook["metadata"]["annotations"][injection::INJECT] = asks.into();
        }
        webhook
    }

    fn seen() -> Seen {
        let mut seen = Seen::default();
        let of_own = json!({"secretName": "s", "issuerRef": {"name": "own"}});
        let of_all = json!({"secretName": "t", "issuerRef": {"name": "all", "kind": "ClusterIssuer"}});
        for (source, objects) in [
            (
                Source::Certificates,
                vec![
                    object("n", "c", &of_own),
                    object("m", "c", &of_own),
                    object("n", "d", &of_all),
                ],
            ),
            (
                Source::Issuers,
                vec![object("n", "own", &json!({"selfSigned": {}}))],
            ),
            (
                Source::ClusterIssuers,
                vec![object("", "all", &json!({"ca": {"secretName": "root"}}))],
            ),
            (
                Source::Targets(Target::Validating),
                vec![webhook("v", Some("n/c")), webhook("w", None)],
            ),
        ] {
            seen.take(source, Told::Begins);
            for object in objects {
                assert!(seen.take(source, Told::Lists(object)).is_empty());
            }
            seen.take(source, Told::Ends);
        }
        seen
    }

    /// Writes items in short.
    fn short(items: &BTreeSet<Item>) -> Vec<String> {
        let said = |item: &Item| match item {
            Item::Issuer(issuer) => format!("issuer {}/{}", issuer.namespace, issuer.name),
            Item::Certificate(namespace, name) => format!("certificate {namespace}/{name}"),
            Item::Target(_, name) => format!("target {name}"),
        };
        items.iter().map(said).collect()
    }

    #[test]
    fn what_depends_on_what_changed_is_looked_at() {
        let of_namespace = |namespace: &str, name: &str| object(namespace, name, &Value::Null);
        for (source, changed, expected) in [
            (
                Source::Certificates,
                object("n", "c", &json!({"secretName": "s"})),
                vec!["certificate n/c", "target v"],
            ),
            (
                Source::Issuers,
                object("n", "own", &json!({"selfSigned": {}})),
                vec!["issuer n/own", "certificate n/c"],
            ),
            (
                Source::Secrets,
                of_namespace("n", "s"),
                vec!["certificate n/c", "target v"],
            ),
            (Source::Secrets, of_namespace("m", "s"), vec!["certificate m/c"]),
            (Source::Secrets, of_namespace("n", "another"), vec![]),
            (
                Source::Secrets,
                of_namespace("cert-manager", "root"),
                vec!["issuer /all", "certificate n/d"],
            ),
            (
                Source::Targets(Target::Validating),
                webhook("x", Some("n/c")),
                vec!["target x"],
            ),
            (Source::Targets(Target::Validating), webhook("x", None), vec![]),
        ] {
            for told in [Told::Changed(changed.clone()), Told::Gone(changed.clone())] {
                assert_eq!(
                    short(&seen().take(source, told)),
                    expected,
                    "{source:?} {changed}"
                );
            }
        }
    }

    #[test]
    fn what_is_missing_in_a_new_list_is_gone() {
        let mut seen = seen();
        let left = object(
            "n",
            "c",
            &json!({"secretName": "s", "issuerRef": {"name": "own"}}),
        );
        seen.take(Source::Certificates, Told::Begins);
        seen.take(Source::Certificates, Told::Lists(left));
        assert!(
            seen.certificate("m", "c").is_some(),
            "not before the end of the list"
        );
        let items = seen.take(Source::Certificates, Told::Ends);
        assert_eq!(
            short(&items),
            ["issuer /all", "issuer n/own", "certificate n/c", "target v"]
        );
        assert!(seen.certificate("m", "c").is_none());
        assert_eq!(seen.trusted(Target::Validating, "v"), Some(("n", "c")));
        assert_eq!(seen.trusted(Target::Validating, "w"), None);
    }

    #[test]
    fn nothing_is_complete_before_everything_was_listed() {
        let mut seen = seen();
        assert!(!seen.is_complete());
        for source in Source::all() {
            seen.take(source, Told::Begins);
            seen.take(source, Told::Ends);
        }
        assert!(seen.is_complete());
    }
}
