//! Elements with an `x` in place of their last numbers, such as `1.2.x`.
//!
//! blang rewrites such an element as text before it reads any version, and its quirks come from that: an `x`
//! anywhere in the element, as in `1.0.0-next`, sets it going. So the same is done here, in the same order.

use super::{RangeError, split_operator};

/// Appends to `expanded` what `element` means without its wildcard; without one, that is itself.
pub(super) fn expand(element: &str, expanded: &mut Vec<String>) -> Result<(), RangeError> {
    if !element.contains('x') {
        expanded.push(element.to_owned());
        return Ok(());
    }
    let (operator, version) = split_operator(element)?;
    let first = first_version(version);
    let following = || match wild_part(version) {
        Some(part) => raise(&first, part).unwrap_or_default(),
        None => String::new(),
    };
    match operator {
        ">" => expanded.push(format!(">={}", following())),
        "<=" => expanded.push(format!("<{}", following())),
        "" | "=" | "==" => expanded.extend([format!(">={first}"), format!("<{}", following())]),
        "!" | "!=" => expanded.extend([format!("<{first}"), format!(">={}", following())]),
        ">=" | "<" => expanded.push(format!("{operator}{first}")),
        // An unknown comparison is forgotten, and the version must be equal.
        _ => expanded.push(first),
    }
    Ok(())
}

/// Returns which number rises to get behind all that the wildcard covers.
fn wild_part(version: &str) -> Option<usize> {
    let mut elements = version.rsplit('.');
    let ends_wild = elements.next() == Some("x");
    match elements.count() {
        2 if ends_wild => Some(1),
        1 if ends_wild => Some(0),
        _ => None,
    }
}

/// Returns the least version that the wildcard covers.
fn first_version(version: &str) -> String {
    let zeroed = version.replacen(".x.x", ".x", 1).replacen(".x", ".0", 1);
    if zeroed.split('.').count() == 2 {
        zeroed + ".0"
    } else {
        zeroed
    }
}

/// Returns `version` with the number at `part` raised by one, unless it is no number.
///
/// Numbers are signed here and start again at the least, as Go's are.
fn raise(version: &str, part: usize) -> Option<String> {
    let mut elements: Vec<&str> = version.split('.').collect();
    let number = elements
        .get(part)?
        .parse::<i64>()
        .ok()?
        .wrapping_add(1)
        .to_string();
    *elements.get_mut(part)? = &number;
    Some(elements.join("."))
}
