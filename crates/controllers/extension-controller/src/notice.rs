//! What is worth telling beside the status: events, as users see them with `kubectl describe`.

/// Something that happened to an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether somebody should look at it.
    pub is_warning: bool,
    /// What happened, in one word.
    pub reason: &'static str,
    /// What was done, in one word.
    pub action: &'static str,
    /// What happened, in words.
    pub text: String,
}

/// The most bytes of text that the API takes of an event.
const MAX_TEXT: usize = 1024;

impl Notice {
    fn new(is_warning: bool, reason: &'static str, action: &'static str, text: &str) -> Self {
        let mut text = text.to_owned();
        if text.len() > MAX_TEXT {
            text.truncate(text.floor_char_boundary(MAX_TEXT - '…'.len_utf8()));
            text.push('…');
        }
        Self {
            is_warning,
            reason,
            action,
            text,
        }
    }

    /// A catalog could not be asked, and another one had an answer.
    pub fn catalog_skipped(catalog: &str, cause: &str) -> Self {
        let text = format!("catalog {catalog:?} was passed over: {cause}");
        Self::new(true, "CatalogSkipped", "Resolve", &text)
    }

    /// No version can be installed; the text says what became of each.
    pub fn unresolved(explanation: &str) -> Self {
        Self::new(true, "Unresolved", "Resolve", explanation)
    }

    /// A version waits for something.
    pub fn waiting(text: &str) -> Self {
        Self::new(false, "Waiting", "Wait", text)
    }

    /// A revision was made.
    pub fn rolling_out(revision: &str, version: &str) -> Self {
        let text = format!("rolling out version {version} as revision {revision}");
        Self::new(false, "RollingOut", "RollOut", &text)
    }

    /// A revision was made to get away from another.
    pub fn rolled_back(revision: &str, version: &str, from: &str, cause: &str) -> Self {
        let text = format!("rolling back from version {from} to {version} as revision {revision}: {cause}");
        Self::new(true, "RollingBack", "RollBack", &text)
    }

    /// Another version is installed.
    pub fn installed(version: &str) -> Self {
        Self::new(
            false,
            "Installed",
            "RollOut",
            &format!("version {version} is installed"),
        )
    }

    /// Something did not work.
    pub fn failed(text: &str) -> Self {
        Self::new(true, "Failed", "Reconcile", text)
    }

    /// An extension that somebody else installed is looked after now.
    pub fn adopted(text: &str) -> Self {
        Self::new(false, "Adopted", "Adopt", text)
    }
}
