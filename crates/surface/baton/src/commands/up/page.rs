//! The page that says what runs where, and what to try next.

use std::fmt::Write as _;
use std::path::Path;

use crate::instance::Record;

/// A catalog that everybody can read, to try things with.
const PUBLIC_CATALOG: &str = "operatorhub quay.io/operatorhubio/catalog:latest";

/// What the reader is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing is installed yet.
    AddCatalog,
    /// The example is being installed.
    Demonstration,
}

/// Draws what runs where, below a heading.
pub(crate) fn draw(record: &Record, heading: &str) -> String {
    let data = if record.in_memory {
        "in memory, and gone at the end".to_owned()
    } else {
        record.folder.display().to_string()
    };
    let mut page = format!("{heading}\n");
    for (name, place) in [
        ("API", Some(record.api.as_str())),
        ("registry", Some(&record.registry)),
        ("catalogs", Some(&record.catalogs)),
        ("console", record.console.as_deref()),
        ("kubeconfig", Some(&record.kubeconfig.to_string_lossy())),
        ("data", Some(&data)),
    ] {
        if let Some(place) = place {
            let _ = writeln!(page, "  {name:<10}  {place}");
        }
    }
    page
}

/// Draws what to try next, and how it all ends; `program` is what the reader calls baton.
pub(crate) fn draw_next(record: &Record, program: &str, next: Next) -> String {
    let kubeconfig = quoted(&record.kubeconfig);
    let commands = match next {
        Next::AddCatalog => [
            format!("export KUBECONFIG={kubeconfig}"),
            format!("{program} catalog add {PUBLIC_CATALOG}"),
            format!("{program} catalog search"),
        ],
        Next::Demonstration => [
            format!("export KUBECONFIG={kubeconfig}"),
            format!("{program} status --all"),
            format!("{program} explain {}", super::demo::EXTENSION),
        ],
    };
    let mut text = "\nnext, in another terminal:\n".to_owned();
    for command in commands {
        let _ = writeln!(text, "  {command}");
    }
    let end = if record.in_memory {
        "everything is gone then"
    } else {
        "the next start goes on from there"
    };
    let _ = writeln!(text, "\nCtrl-C or `{program} down` stops it; {end}");
    text
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+:@%,=".contains(character);
    if text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_where_a_shell_would_misread_it() {
        for (path, expected) in [
            ("/home/me/.local/share/baton", "/home/me/.local/share/baton"),
            ("/home/my files", "'/home/my files'"),
            ("/it's", r"'/it'\''s'"),
            ("/$HOME", "'/$HOME'"),
        ] {
            assert_eq!(quoted(Path::new(path)), expected);
        }
    }
}
