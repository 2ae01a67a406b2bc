//! What the annotations of an extension ask for beyond its spec.

use std::collections::BTreeMap;

use api::keys;
use apply::definition_safety::{Checks, SKIP_ANNOTATION};
use image::reference::Reference;
use thiserror::Error;

use crate::window::Windows;

/// What the annotations of an extension ask for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Whether another version waits until somebody approves it.
    pub needs_approval: bool,
    /// The version that somebody approved.
    pub approved: Option<String>,
    /// Whether the extension is left as it is.
    pub is_paused: bool,
    /// When an installed extension may go to another version; none for any time.
    pub windows: Option<Windows>,
    /// What becomes of a version that does not roll out in time.
    pub on_failure: OnFailure,
    /// What stays when the extension is deleted.
    pub on_delete: OnDelete,
    /// A bundle image that is installed, whatever catalogs have.
    pub bundle_image: Option<String>,
    /// Whether objects are taken over that exist already and have no controller.
    pub adopts_unowned: bool,
    /// The checks of changed definitions that are done.
    pub checks: Checks,
}

/// What becomes of a version that does not roll out in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// It stays, and goes on trying.
    #[default]
    Stay,
    /// The last version that did takes its place.
    RollBack,
}

/// What stays when an extension is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDelete {
    /// Nothing.
    #[default]
    DeleteEverything,
    /// The CustomResourceDefinitions, and with them the resources of users.
    KeepDefinitions,
    /// Everything.
    KeepEverything,
}

impl OnDelete {
    /// Returns the word that says so; none for what happens without one.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::DeleteEverything => None,
            Self::KeepDefinitions => Some("keep-crds"),
            Self::KeepEverything => Some("orphan"),
        }
    }
}

/// An annotation that says nothing known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("annotation {key:?}: {cause}")]
pub struct InvalidSetting {
    /// The annotation.
    pub key: &'static str,
    /// What is wrong with it, and what to write instead.
    pub cause: String,
}

impl Settings {
    /// Reads annotations; those of others are passed over.
    ///
    /// # Errors
    ///
    /// With every annotation that can't be understood.
    pub fn read(annotations: &BTreeMap<String, String>) -> Result<Self, Vec<InvalidSetting>> {
        let mut settings = Self::default();
        let mut invalid = Vec::new();
        for (key, value) in annotations {
            if let Err(setting) = settings.take(key, value.trim()) {
                invalid.push(setting);
            }
        }
        if invalid.is_empty() {
            Ok(settings)
        } else {
            Err(invalid)
        }
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), InvalidSetting> {
        match key {
            keys::APPROVAL => {
                let words = [("manual", true), ("automatic", false)];
                self.needs_approval = one_of(keys::APPROVAL, value, &words)?;
            }
            keys::APPROVE => self.approved = Some(value.to_owned()).filter(|text| !text.is_empty()),
            keys::PAUSE => {
                self.is_paused = one_of(keys::PAUSE, value, &[("true", true), ("false", false)])?;
            }
            keys::WINDOW => {
                let windows = value.parse::<Windows>().map_err(|fault| InvalidSetting {
                    key: keys::WINDOW,
                    cause: fault.to_string(),
                })?;
                self.windows = Some(windows);
            }
            keys::ON_FAILURE => {
                let words = [("rollback", OnFailure::RollBack), ("stay", OnFailure::Stay)];
                self.on_failure = one_of(keys::ON_FAILURE, value, &words)?;
            }
            keys::ON_DELETE => {
                let words = [
                    ("keep-crds", OnDelete::KeepDefinitions),
                    ("orphan", OnDelete::KeepEverything),
                    ("delete", OnDelete::DeleteEverything),
                ];
                self.on_delete = one_of(keys::ON_DELETE, value, &words)?;
            }
            keys::ADOPT => {
                self.adopts_unowned = one_of(keys::ADOPT, value, &[("unowned", true), ("nothing", false)])?;
            }
            keys::BUNDLE_IMAGE => {
                Reference::parse(value).map_err(|fault| InvalidSetting {
                    key: keys::BUNDLE_IMAGE,
                    cause: format!("{fault}; name an image such as registry.example.com/bundle:v1.0.0"),
                })?;
                self.bundle_image = Some(value.to_owned());
            }
            SKIP_ANNOTATION => {
                self.checks = Checks::without(value).map_err(|fault| InvalidSetting {
                    key: SKIP_ANNOTATION,
                    cause: fault.to_string(),
                })?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn one_of<T: Copy>(key: &'static str, value: &str, words: &[(&str, T)]) -> Result<T, InvalidSetting> {
    let found = words.iter().find(|(word, _)| *word == value);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let known: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        InvalidSetting {
            key,
            cause: format!(
                "{value:?} means nothing here; write {}, or remove it",
                known.join(" or ")
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, Vec<InvalidSetting>> {
        let pairs = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Settings::read(&pairs.collect())
    }

    #[test]
    fn annotations_are_read_and_those_of_others_passed_over() {
        let settings = read(&[
            (keys::APPROVAL, "manual"),
            (keys::APPROVE, "1.2.0"),
            (keys::PAUSE, "true"),
            (keys::WINDOW, "Sat 02:00-05:00"),
            (keys::ON_FAILURE, "rollback"),
            (keys::ON_DELETE, "keep-crds"),
            (keys::BUNDLE_IMAGE, "registry.example.com/bundle:v1"),
            (SKIP_ANNOTATION, "pattern"),
            (keys::ADOPT, "unowned"),
            ("example.com/pause", "perhaps"),
        ])
        .expect("settings");
        assert!(settings.needs_approval && settings.is_paused && settings.adopts_unowned);
        assert_eq!(settings.approved.as_deref(), Some("1.2.0"));
        assert_eq!(settings.on_failure, OnFailure::RollBack);
        assert_eq!(settings.on_delete, OnDelete::KeepDefinitions);
        assert_eq!(
            settings.bundle_image.as_deref(),
            Some("registry.example.com/bundle:v1")
        );
        assert!(settings.windows.is_some());
    }

    #[test]
    fn every_annotation_that_means_nothing_is_named_with_what_to_write() {
        let invalid = read(&[
            (keys::APPROVAL, "never"),
            (keys::PAUSE, "yes"),
            (keys::WINDOW, "sometimes"),
            (keys::ON_DELETE, "keep-crd"),
            (keys::BUNDLE_IMAGE, "no image"),
        ])
        .expect_err("nothing of this is known");
        assert_eq!(invalid.len(), 5);
        let texts: Vec<String> = invalid.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts[0],
            "annotation \"baton-olm.dev/approval\": \"never\" means nothing here; write \"manual\" or \"automatic\", or remove it"
        );
    }
}
