//! Points in time as Kubernetes writes them: RFC 3339 in whole seconds.

use jiff::Timestamp;

/// Writes a time.
pub fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Reads a time; none where it isn't one.
pub fn read(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_is_written() {
        let time: Timestamp = "2026-11-17T05:36:39.9Z".parse().expect("a time");
        assert_eq!(text(time), "2026-11-17T05:36:39Z");
        assert_eq!(
            read(&text(time)).map(text).as_deref(),
            Some("2026-11-17T05:36:39Z")
        );
        assert_eq!(read("<time>"), None);
    }
}
