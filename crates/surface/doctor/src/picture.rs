//! What was seen of a cluster: objects, and which lists of them are complete.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::text;
use classic::kind::Naming;
use jiff::Timestamp;
use serde_json::Value;

use crate::kinds;
use crate::question::Question;
use crate::subject::{Subject, group};

/// A list that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// What was asked for.
    pub question: Question,
    /// Why there is no answer, in the server's words.
    pub cause: String,
}

/// What was seen of a cluster.
#[derive(Debug, Clone)]
pub struct Picture {
    /// When it was seen.
    pub now: Timestamp,
    /// The only namespace that was looked at; none for all.
    pub namespace: Option<String>,
    objects: BTreeMap<Subject, Value>,
    answered: BTreeSet<Question>,
    /// The lists that could not be read, in the order in which they were asked for.
    pub unseen: Vec<Unseen>,
    /// The lists that were too long to be read to their end.
    pub cut: BTreeSet<Question>,
}

impl Picture {
    /// A picture without anything in it.
    pub fn new(now: Timestamp, namespace: Option<String>) -> Self {
        Self {
            now,
            namespace,
            objects: BTreeMap::new(),
            answered: BTreeSet::new(),
            unseen: Vec::new(),
            cut: BTreeSet::new(),
        }
    }

    /// Keeps an object.
    pub fn put(&mut self, object: Value) {
        self.objects.insert(Subject::of(&object), object);
    }

    /// Notes that all objects were seen that a question asks for.
    pub fn answer(&mut self, question: Question) {
        self.answered.insert(question);
    }

    /// Notes that a list could not be read.
    pub fn refuse(&mut self, question: Question, cause: String) {
        self.unseen.push(Unseen { question, cause });
    }

    /// Returns how many objects were seen.
    pub fn size(&self) -> usize {
        self.objects.len()
    }

    /// Returns the namespace of a Deployment that was seen; the first, where several have this name.
    pub fn namespace_of_deployment(&self, name: &str) -> Option<&str> {
        self.all(kinds::DEPLOYMENT)
            .find(|deployment| text(deployment, "/metadata/name") == name)
            .map(|deployment| text(deployment, "/metadata/namespace"))
    }

    /// Returns whether nothing was seen because nothing could be read.
    pub fn is_blind(&self) -> bool {
        self.answered.is_empty() && self.cut.is_empty()
    }

    /// Returns whether a question was answered.
    pub fn is_answered(&self, question: &Question) -> bool {
        self.answered.contains(question)
    }

    /// Returns an object.
    pub(crate) fn get(&self, kind: Naming, namespace: &str, name: &str) -> Option<&Value> {
        self.objects.get(&Subject::new(kind, namespace, name))
    }

    /// Returns all objects of a kind, by namespace and name.
    pub(crate) fn all(&self, kind: Naming) -> impl Iterator<Item = &Value> {
        self.of_kind(group(kind.api_version), kind.kind)
    }

    /// Returns all objects of a kind that isn't known beforehand, by namespace and name.
    pub(crate) fn of_kind<'a>(
        &'a self,
        group: &str,
        kind: &str,
    ) -> impl Iterator<Item = &'a Value> + use<'a> {
        let first = Subject {
            kind: kind.to_owned(),
            group: group.to_owned(),
            namespace: String::new(),
            name: String::new(),
        };
        let (kind, group) = (kind.to_owned(), group.to_owned());
        self.objects
            .range(first..)
            .take_while(move |(subject, _)| subject.kind == kind && subject.group == group)
            .map(|(_, object)| object)
    }

    /// Returns the objects of a kind in one namespace, by name.
    pub(crate) fn in_namespace<'a>(
        &'a self,
        kind: Naming,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Value> {
        self.all(kind)
            .filter(move |object| text(object, "/metadata/namespace") == namespace)
    }

    /// Returns whether an object is known not to be there: its list was read to the end, and it wasn't in it.
    pub(crate) fn is_absent(&self, kind: Naming, namespace: &str, name: &str) -> bool {
        self.get(kind, namespace, name).is_none()
            && self
                .answered
                .iter()
                .any(|question| question.covers(kind, namespace, name))
    }

    /// Returns whether all objects of a kind in a namespace were seen.
    pub(crate) fn has_seen_all(&self, kind: Naming, namespace: &str) -> bool {
        self.answered
            .iter()
            .any(|question| question.covers_all(kind, namespace))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_not_looked_at_is_not_absent() {
        let mut picture = Picture::new(Timestamp::UNIX_EPOCH, None);
        let absent = |picture: &Picture| picture.is_absent(kinds::CATALOG_SOURCE, "olm", "models");
        assert!(!absent(&picture));
        picture.refuse(Question::of(kinds::CATALOG_SOURCE), "forbidden".to_owned());
        assert!(!absent(&picture) && picture.is_blind());
        picture.answer(Question::of(kinds::CATALOG_SOURCE).within("other"));
        assert!(!absent(&picture) && !picture.is_blind());
        picture.answer(Question::of(kinds::CATALOG_SOURCE).labelled("a=b"));
        assert!(!absent(&picture));
        picture.answer(Question::of(kinds::CATALOG_SOURCE));
        assert!(absent(&picture));
        picture.put(
            json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "models", "namespace": "olm"}}),
        );
        assert!(!absent(&picture));
    }

    #[test]
    fn objects_are_found_by_kind_and_namespace() {
        let mut picture = Picture::new(Timestamp::UNIX_EPOCH, None);
        for (kind, namespace, name) in [
            ("Pod", "b", "1"),
            ("Pod", "a", "2"),
            ("Service", "a", "3"),
            ("Pod", "a", "1"),
        ] {
            picture.put(json!({"apiVersion": "v1", "kind": kind,
                "metadata": {"name": name, "namespace": namespace}}));
        }
        let names = |objects: Vec<&Value>| -> Vec<String> {
            objects
                .iter()
                .map(|object| Subject::of(object).to_string())
                .collect()
        };
        assert_eq!(
            names(picture.all(kinds::POD).collect()),
            ["Pod a/1", "Pod a/2", "Pod b/1"]
        );
        assert_eq!(
            names(picture.in_namespace(kinds::POD, "a").collect()),
            ["Pod a/1", "Pod a/2"]
        );
    }
}
