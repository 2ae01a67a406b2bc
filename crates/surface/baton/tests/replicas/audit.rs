//! Who wrote what and when, as the API server saw it, held against who had the Lease at that time.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

/// What the API server writes down: all writes of some users, and what they write into Leases.
pub(crate) fn policy(users: &[String]) -> String {
    let users = serde_json::to_string(users).unwrap_or_default();
    let verbs = r#"["create", "update", "patch", "delete", "deletecollection"]"#;
    format!(
        "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- level: Request
  users: {users}
  verbs: {verbs}
  resources: [{{group: coordination.k8s.io, resources: [leases]}}]
- level: Metadata
  users: {users}
  verbs: {verbs}
- level: None
"
    )
}

/// From when to when the server worked on something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    begun: Timestamp,
    ended: Timestamp,
}

/// Somebody took, renewed or gave back a Lease.
#[derive(Debug, Clone)]
struct Claim {
    who: String,
    /// Whether it was given back.
    is_end: bool,
    when: Span,
}

/// Something was changed.
#[derive(Debug, Clone)]
struct Write {
    who: String,
    what: String,
    /// The Leases of which one had to be held.
    leases: Vec<String>,
    when: Span,
}

/// What the API server wrote down.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    claims: BTreeMap<String, Vec<Claim>>,
    writes: Vec<Write>,
}

/// Where something is that was written.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    pub(crate) who: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl Audit {
    /// Reads what was written down; `leases` says of which Leases one has to be held to write somewhere, of none if anybody
    /// may.
    pub(crate) fn read(file: &Path, leases: impl Fn(&Place<'_>) -> Vec<String>) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let mut audit = Self::default();
        // The last line may be one that is being written.
        for event in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            audit.take(&event, &leases);
        }
        for claims in audit.claims.values_mut() {
            claims.sort_by_key(|claim| claim.when);
        }
        Ok(audit)
    }

    fn take(&mut self, event: &Value, leases: &impl Fn(&Place<'_>) -> Vec<String>) {
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let time = |pointer: &str| text(pointer).parse::<Timestamp>().ok();
        let is_done = event
            .pointer("/responseStatus/code")
            .and_then(Value::as_u64)
            .is_some_and(|code| code < 300);
        let (Some(begun), Some(ended)) = (time("/requestReceivedTimestamp"), time("/stageTimestamp")) else {
            return;
        };
        if !is_done {
            return;
        }
        let when = Span { begun, ended };
        let place = Place {
            who: text("/user/username"),
            group: text("/objectRef/apiGroup"),
            resource: text("/objectRef/resource"),
            namespace: text("/objectRef/namespace"),
            name: text("/objectRef/name"),
        };
        if place.resource == "leases" {
            let name = event
                .pointer("/requestObject/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or(place.name);
            self.claims.entry(name.to_owned()).or_default().push(Claim {
                who: place.who.to_owned(),
                is_end: text("/requestObject/spec/holderIdentity").is_empty(),
                when,
            });
            return;
        }
        let leases = leases(&place);
        if !leases.is_empty() {
            self.writes.push(Write {
                who: place.who.to_owned(),
                what: format!("{} {}", text("/verb"), text("/requestURI")),
                leases,
                when,
            });
        }
    }

    /// How often a Lease changed hands.
    pub(crate) fn changes(&self, lease: &str) -> usize {
        let claims = self.claims.get(lease).map(Vec::as_slice).unwrap_or_default();
        let holders = claims.iter().filter(|claim| !claim.is_end);
        let holders: Vec<&str> = holders.map(|claim| claim.who.as_str()).collect();
        holders.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// When somebody who holds a Lease now took it, and what was last done with it before, by whom.
    pub(crate) fn last_change(&self, lease: &str) -> Option<Change> {
        let claims = self.claims.get(lease)?;
        let last = claims.last()?;
        let first = claims.iter().rposition(|claim| claim.who != last.who)? + 1;
        let before = claims.get(first.checked_sub(1)?)?;
        let taken = claims.get(first)?;
        Some(Change {
            from: before.who.clone(),
            to: taken.who.clone(),
            taken: taken.when.begun,
        })
    }

    /// Who holds a Lease now.
    pub(crate) fn holder(&self, lease: &str) -> Option<String> {
        let last = self.claims.get(lease)?.last()?;
        (!last.is_end).then(|| last.who.clone())
    }

    /// How many writes needed a Lease.
    pub(crate) fn writes(&self) -> usize {
        self.writes.len()
    }

    /// The writes of somebody since a moment.
    pub(crate) fn writes_since(&self, who: &str, since: Timestamp) -> Vec<String> {
        let writes = self.writes.iter();
        writes
            .filter(|write| write.who == who && write.when.ended >= since)
            .map(|write| format!("{} {}", write.when.begun, write.what))
            .collect()
    }

    /// The writes that were made while somebody else may have been at work.
    pub(crate) fn trespasses(&self) -> Vec<String> {
        let writes = self.writes.iter();
        let foreign = writes.filter(|write| !write.leases.iter().any(|lease| self.is_held(lease, write)));
        foreign
            .map(|write| {
                let Write {
                    who,
                    what,
                    leases,
                    when,
                } = write;
                format!(
                    "{who} wrote from {} to {}: {what}; needed is {leases:?}",
                    when.begun, when.ended
                )
            })
            .collect()
    }

    /// Returns whether a write lies in a time in which its writer held a Lease: from when it asked for it until somebody else
    /// asked for it with success.
    fn is_held(&self, lease: &str, write: &Write) -> bool {
        let claims = self.claims.get(lease).map(Vec::as_slice).unwrap_or_default();
        let claims = claims.iter().filter(|claim| !claim.is_end);
        let mut since: Option<Timestamp> = None;
        for claim in claims {
            if claim.who == write.who {
                since.get_or_insert(claim.when.begun);
            } else if let Some(begun) = since.take()
                && write.when.begun >= begun
                && write.when.ended <= claim.when.begun
            {
                return true;
            }
        }
        since.is_some_and(|begun| write.when.begun >= begun)
    }
}

/// A Lease that changed hands.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) taken: Timestamp,
}

#[test]
fn a_write_is_judged_by_who_held_the_lease_all_the_while() {
    let span = |begun: i64, ended: i64| Span {
        begun: Timestamp::from_second(begun).expect("a time"),
        ended: Timestamp::from_second(ended).expect("a time"),
    };
    let claim = |who: &str, at: i64, is_end: bool| Claim {
        who: who.to_owned(),
        is_end,
        when: span(at, at),
    };
    let claims = vec![
        claim("a", 10, false),
        claim("a", 12, false),
        claim("b", 30, false),
        claim("b", 35, true),
        claim("c", 40, false),
        claim("a", 60, false),
    ];
    let audit = Audit {
        claims: BTreeMap::from([("x".to_owned(), claims)]),
        writes: Vec::new(),
    };
    for (who, begun, ended, is_held) in [
        ("a", 9, 11, false),
        ("a", 10, 11, true),
        ("a", 29, 30, true),
        ("a", 29, 31, false),
        ("a", 45, 46, false),
        ("a", 70, 90, true),
        ("b", 29, 31, false),
        ("b", 31, 40, true),
        ("b", 41, 42, false),
        ("c", 41, 60, true),
        ("d", 41, 42, false),
    ] {
        let write = Write {
            who: who.to_owned(),
            what: String::new(),
            leases: Vec::new(),
            when: span(begun, ended),
        };
        assert_eq!(audit.is_held("x", &write), is_held, "{who} {begun} {ended}");
    }
    assert_eq!(audit.changes("x"), 3);
    let last = audit.last_change("x").expect("a change");
    assert_eq!((last.from.as_str(), last.to.as_str()), ("c", "a"));
}
