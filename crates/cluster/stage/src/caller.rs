//! Who makes a request.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The group of those who may do everything.
pub const MASTERS: &str = "system:masters";

/// Who makes a request, as authentication found it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// The user's name.
    pub user: String,
    /// The user's uid, where the credential names one.
    pub uid: String,
    /// The groups the user belongs to.
    pub groups: Vec<String>,
    /// What else the credential says, such as the pod a token is bound to.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Caller {
    /// Returns the caller that may do everything, for what runs inside the server.
    pub fn administrator() -> Arc<Self> {
        Arc::new(Self::named(
            "system:apiserver",
            &[MASTERS, "system:authenticated"],
        ))
    }

    /// Returns a controller of the server's own, which may do everything and is known by name.
    pub fn controller(name: &str) -> Arc<Self> {
        let user = format!("system:serviceaccount:kube-system:{name}");
        Arc::new(Self::named(&user, &[MASTERS, "system:authenticated"]))
    }

    /// Returns a caller with a name and groups.
    pub fn named(user: &str, groups: &[&str]) -> Self {
        Self {
            user: user.to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Returns whether the caller belongs to a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }
}
