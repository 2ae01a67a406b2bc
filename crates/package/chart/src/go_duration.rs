//! Durations as Go writes them, such as `1m30s`, for settings outside of templates.

use std::time::Duration;

/// Reads a duration that isn't negative, with the errors of Go's `time.ParseDuration`.
pub fn parse(text: &str) -> Result<Duration, String> {
    let duration = crate::time::Duration::parse(text.as_bytes())?;
    let nanoseconds = u64::try_from(duration.0).map_err(|_| format!("{text} is negative"))?;
    Ok(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let rows = [
            ("1m30s", Ok(Duration::from_secs(90))),
            ("0", Ok(Duration::ZERO)),
            ("1.5h", Ok(Duration::from_mins(90))),
            ("-1s", Err("-1s is negative".to_owned())),
            ("soon", Err("time: invalid duration \"soon\"".to_owned())),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
