//! Times, as Helm writes them into records.

use jiff::Timestamp;

/// Returns the present, as Helm writes it.
pub fn now() -> String {
    written(Timestamp::now())
}

/// Writes a time as Go does: RFC 3339 with as many digits of a second as it has.
pub fn written(time: Timestamp) -> String {
    time.to_string()
}

/// Reads a time of a record; none if there is none.
pub fn read(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_go_writes_them() {
        let time = |nanoseconds: i32| Timestamp::new(1_700_000_000, nanoseconds).expect("a time");
        assert_eq!(written(time(0)), "2023-11-14T22:13:20Z");
        assert_eq!(written(time(500_000_000)), "2023-11-14T22:13:20.5Z");
        assert_eq!(written(time(123_456_780)), "2023-11-14T22:13:20.12345678Z");
        assert_eq!(read("2023-11-14T23:13:20.5+01:00"), Some(time(500_000_000)));
        assert_eq!(read(""), None);
    }
}
