//! Which namespaces an operator watches, and whether its bundle allows it.

use std::collections::BTreeSet;

use crate::registry::RegistryBundle;

use super::{list, text};

/// The install modes that a bundle supports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallModes {
    supported: BTreeSet<String>,
}

impl InstallModes {
    /// The modes that a bundle's ClusterServiceVersion calls supported.
    #[must_use]
    pub fn of(bundle: &RegistryBundle) -> Self {
        let modes = list(bundle, "/spec/installModes").iter();
        Self {
            supported: modes
                .filter(|mode| mode["supported"] == true)
                .map(|mode| text(mode, "type").to_owned())
                .collect(),
        }
    }

    /// Whether `mode` is supported, such as `AllNamespaces`.
    #[must_use]
    pub fn has(&self, mode: &str) -> bool {
        self.supported.contains(mode)
    }

    /// How many modes are supported.
    #[must_use]
    pub fn count(&self) -> usize {
        self.supported.len()
    }

    /// The namespaces that are watched when nobody says which: all, where that is supported.
    #[must_use]
    pub fn default_targets(&self) -> Vec<String> {
        if self.has("AllNamespaces") {
            vec![String::new()]
        } else {
            Vec::new()
        }
    }

    /// Says why `targets` can't be watched by an operator in `install_namespace`.
    pub(super) fn check_targets(&self, install_namespace: &str, targets: &[String]) -> Result<(), String> {
        let refused = |reason: String| {
            Err(format!(
                "invalid target namespaces {}: {reason}",
                go_list(targets)
            ))
        };
        let unique: BTreeSet<&str> = targets.iter().map(String::as_str).collect();
        let everywhere = unique.contains("");
        match unique.len() {
            0 if self.has("MultiNamespace") => {
                refused("at least one target namespace must be specified".to_owned())
            }
            0 => refused("exactly one target namespace must be specified".to_owned()),
            1 if everywhere && self.has("AllNamespaces") => Ok(()),
            1 if everywhere => refused(format!(
                "supported install modes {self} do not support targeting all namespaces"
            )),
            _ if unique.contains(install_namespace) && !self.has("OwnNamespace") => refused(format!(
                "supported install modes {self} do not support targeting own namespace"
            )),
            1 if unique.contains(install_namespace) || self.has("SingleNamespace") => Ok(()),
            count if count > 1 && self.has("MultiNamespace") && !everywhere => Ok(()),
            _ => refused(format!(
                "supported install modes {self} do not support target namespaces {}",
                go_list(targets)
            )),
        }
    }
}

impl std::fmt::Display for InstallModes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let modes: Vec<_> = self.supported.iter().map(String::as_str).collect();
        write!(formatter, "[{}]", modes.join(" "))
    }
}

/// A list of texts as Go prints it.
fn go_list(texts: &[String]) -> String {
    format!("[{}]", texts.join(" "))
}
