//! Which sets of namespaces an operator can look after, and what is said where its group asks for another one.

use std::collections::BTreeMap;

use serde_json::Value;

/// Why an operator can't look after the namespaces of its group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The same mode is listed twice.
    #[error("InstallMode list contains duplicates, cannot make set: {0}")]
    Duplicates(String),
    /// The group has no namespaces.
    #[error("operatorgroup has invalid selected namespaces, cannot configure to watch zero namespaces")]
    NoNamespaces,
    /// The operator doesn't say that it supports a mode.
    #[error("{mode} InstallModeType not supported, cannot configure to watch {what}")]
    Mode {
        /// The mode that would be needed.
        mode: &'static str,
        /// What would be looked after.
        what: String,
    },
    /// The group names all namespaces beside others.
    #[error(
        "operatorgroup has invalid selected namespaces, NamespaceAll found when |selected namespaces| > 1"
    )]
    AllAmongOthers,
}

/// The modes that an operator supports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallModes(BTreeMap<String, bool>);

impl InstallModes {
    /// Reads `spec.installModes`.
    ///
    /// # Errors
    ///
    /// [`Unsupported::Duplicates`] where a mode is listed twice.
    pub fn read(modes: &Value) -> Result<Self, Unsupported> {
        let listed: Vec<(&str, bool)> = modes
            .as_array()
            .into_iter()
            .flatten()
            .map(|mode| {
                let kind = mode.get("type").and_then(Value::as_str).unwrap_or_default();
                let supported = mode.get("supported").and_then(Value::as_bool).unwrap_or_default();
                (kind, supported)
            })
            .collect();
        let mut set = BTreeMap::new();
        for (kind, supported) in &listed {
            if set.insert((*kind).to_owned(), *supported).is_some() {
                let all: Vec<String> = listed
                    .iter()
                    .map(|(kind, supported)| format!("{{{kind} {supported}}}"))
                    .collect();
                return Err(Unsupported::Duplicates(format!("[{}]", all.join(" "))));
            }
        }
        Ok(Self(set))
    }

    /// Returns modes of which all that are named are supported.
    pub fn of<'a>(supported: impl IntoIterator<Item = &'a str>) -> Self {
        Self(
            supported
                .into_iter()
                .map(|mode| (mode.to_owned(), true))
                .collect(),
        )
    }

    fn has(&self, mode: &str) -> bool {
        self.0.get(mode).copied().unwrap_or_default()
    }

    fn need(&self, mode: &'static str, what: impl Into<String>) -> Result<(), Unsupported> {
        if self.has(mode) {
            Ok(())
        } else {
            Err(Unsupported::Mode {
                mode,
                what: what.into(),
            })
        }
    }

    /// Returns whether all namespaces are supported, and nothing less.
    pub fn is_all_namespaces_only(&self) -> bool {
        self.0
            .iter()
            .all(|(mode, supported)| (mode == "AllNamespaces") == *supported)
    }

    /// Checks that an operator in `own` can look after `targets`; an empty name among them means all namespaces.
    ///
    /// # Errors
    ///
    /// Which mode would be needed.
    pub fn support(&self, own: &str, targets: &[&str]) -> Result<(), Unsupported> {
        match targets {
            [] => Err(Unsupported::NoNamespaces),
            [target] if *target == own => self.need("OwnNamespace", "own namespace"),
            [""] => self.need("AllNamespaces", "all namespaces"),
            [_] => self.need("SingleNamespace", "one namespace"),
            several => {
                self.need("MultiNamespace", format!("{} namespaces", several.len()))?;
                for target in several {
                    if *target == own {
                        self.need("OwnNamespace", "own namespace")?;
                    }
                    if target.is_empty() {
                        return Err(Unsupported::AllAmongOthers);
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mode_that_is_listed_twice_is_told() {
        let modes = json!([{"type": "OwnNamespace", "supported": true}, {"type": "OwnNamespace", "supported": false}]);
        assert_eq!(
            InstallModes::read(&modes).expect_err("duplicates").to_string(),
            "InstallMode list contains duplicates, cannot make set: [{OwnNamespace true} {OwnNamespace false}]"
        );
    }
}
