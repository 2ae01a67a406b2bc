//! How long something has been so, in words.

use jiff::Timestamp;
use serde_json::Value;

/// How long a controller may take to look at a new object before something is wrong.
pub(crate) const FIRST_LOOK_SECONDS: i64 = 120;

/// How long an installation or a departure may take before it is worth a word.
pub(crate) const PATIENCE_SECONDS: i64 = 600;

/// Returns how many seconds have passed since a time that a field holds; none where it holds none.
pub(crate) fn seconds_since(object: &Value, pointer: &str, now: Timestamp) -> Option<i64> {
    let since: Timestamp = object.pointer(pointer)?.as_str()?.parse().ok()?;
    Some(now.as_second() - since.as_second())
}

/// Returns a number of seconds as people say it: in the largest unit that makes it at least two.
pub(crate) fn words(seconds: i64) -> String {
    const UNITS: [(i64, &str); 3] = [(86_400, "days"), (3_600, "h"), (60, "min")];
    let found = UNITS.iter().find(|(unit, _)| seconds >= 2 * unit);
    match found {
        Some((unit, name)) => format!("{} {name}", seconds / unit),
        None => format!("{} s", seconds.max(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_told_in_a_unit_that_fits() {
        for (seconds, said) in [
            (-3, "0 s"),
            (90, "90 s"),
            (120, "2 min"),
            (7_199, "119 min"),
            (7_200, "2 h"),
            (200_000, "2 days"),
        ] {
            assert_eq!(words(seconds), said);
        }
    }
}
