//! Operating system errors in Go's words.

use std::io;

/// The text of a system error as Go prints it: lower case and without the number.
pub(crate) fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or(&text);
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}
