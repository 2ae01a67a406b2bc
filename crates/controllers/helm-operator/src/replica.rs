//! A replica of an operator: whether it is ready, which its Deployment and the extension that made it are told.
//!
//! Who upgrades an operator takes the old version away when the new one is ready, so that a replica must not be ready before
//! its version looks after resources, and must be ready where it can't before the old one is gone.

/// What a replica does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replica<'a> {
    /// It leads, or needs no Lease for that.
    Leads {
        /// Whether everything that it watches was listed.
        watches_are_read: bool,
    },
    /// It waits for a Lease.
    Waits {
        /// The Lease.
        lease: &'a str,
        /// Who holds it, if anybody does: another replica, or another version that shares the Lease and goes when this one
        /// is ready.
        holder: Option<&'a str>,
    },
}

impl Replica<'_> {
    /// Says why it is ready.
    ///
    /// # Errors
    ///
    /// If it isn't, with the reason.
    pub fn readiness(self) -> Result<String, String> {
        match self {
            Self::Leads {
                watches_are_read: true,
            } => Ok("it looks after resources".to_owned()),
            Self::Leads {
                watches_are_read: false,
            } => Err(
                "it leads, but has not listed everything that it watches; if that lasts, it may lack rights: see its log"
                    .to_owned(),
            ),
            Self::Waits {
                lease,
                holder: Some(holder),
            } => Ok(format!("it waits for Lease {lease}, which {holder} holds")),
            Self::Waits { lease, holder: None } => Err(format!(
                "it waits for Lease {lease}, which nobody is known to hold; if that lasts, it may lack the right to take it: see \
                 its log"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_ready_when_its_version_works_or_another_must_go_first() {
        let leads = |watches_are_read| Replica::Leads { watches_are_read };
        let waits = |holder| Replica::Waits {
            lease: "ops/stack-2-1-0",
            holder,
        };
        let rows = [
            (leads(true), Ok("it looks after resources")),
            (
                leads(false),
                Err(
                    "it leads, but has not listed everything that it watches; if that lasts, it may lack rights: see its log",
                ),
            ),
            (
                waits(Some("pod_1")),
                Ok("it waits for Lease ops/stack-2-1-0, which pod_1 holds"),
            ),
            (
                waits(None),
                Err(
                    "it waits for Lease ops/stack-2-1-0, which nobody is known to hold; if that lasts, it may lack the right to \
                     take it: see its log",
                ),
            ),
        ];
        for (replica, expected) in rows {
            let readiness = replica.readiness();
            let readiness = readiness.as_deref().map_err(String::as_str);
            assert_eq!(readiness, expected, "{replica:?}");
        }
    }
}
