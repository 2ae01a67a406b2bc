//! Byte ranges: which part of a blob is asked for, and where a piece of an upload belongs.

use std::ops::RangeInclusive;

/// What a `Range` header asks for, given how long the content is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// All of it: there is no header, or none that must be obeyed.
    Whole,
    /// These bytes, both ends included.
    Part(RangeInclusive<u64>),
    /// Bytes that the content doesn't have.
    Unsatisfiable,
}

impl RequestedRange {
    /// Reads a `Range` header as RFC 9110 says: units other than bytes, broken syntax and several ranges mean the whole.
    pub(super) fn parse(header: Option<&str>, length: u64) -> Self {
        let Some(ranges) = header.and_then(|header| header.trim().strip_prefix("bytes=")) else {
            return Self::Whole;
        };
        let Some((first, last)) = ranges.trim().split_once('-') else {
            return Self::Whole;
        };
        match (first, last) {
            ("", suffix) => match number(suffix) {
                None => Self::Whole,
                Some(0) => Self::Unsatisfiable,
                Some(_) if length == 0 => Self::Unsatisfiable,
                Some(suffix) => Self::Part(length.saturating_sub(suffix)..=length - 1),
            },
            (first, "") => match number(first) {
                None => Self::Whole,
                Some(first) if first >= length => Self::Unsatisfiable,
                Some(first) => Self::Part(first..=length - 1),
            },
            (first, last) => match (number(first), number(last)) {
                (Some(first), Some(last)) if first > last => Self::Whole,
                (Some(first), Some(_)) if first >= length => Self::Unsatisfiable,
                (Some(first), Some(last)) => Self::Part(first..=last.min(length - 1)),
                _ => Self::Whole,
            },
        }
    }
}

/// Reads the `Content-Range` of a piece of an upload: `first-last`, both included, as the distribution specification
/// writes it.
pub(super) fn parse_content_range(header: &str) -> Option<RangeInclusive<u64>> {
    let (first, last) = header.split_once('-')?;
    let range = number(first)?..=number(last)?;
    (!range.is_empty() && *range.end() < u64::MAX).then_some(range)
}

/// How many bytes a range has that was read by [`parse_content_range`].
pub(super) fn range_length(range: &RangeInclusive<u64>) -> u64 {
    (range.end() - range.start()).saturating_add(1)
}

/// Digits alone: Rust's own parser would let a sign through.
fn number(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_is_read_as_the_standard_says() {
        use RequestedRange::{Part, Unsatisfiable, Whole};
        let table = [
            (None, 10, Whole),
            (Some("bytes=0-3"), 10, Part(0..=3)),
            (Some("bytes=2-"), 10, Part(2..=9)),
            (Some("bytes=-3"), 10, Part(7..=9)),
            (Some("bytes=-30"), 10, Part(0..=9)),
            (Some("bytes=5-50"), 10, Part(5..=9)),
            (Some("bytes=10-"), 10, Unsatisfiable),
            (Some("bytes=10-20"), 10, Unsatisfiable),
            (Some("bytes=-0"), 10, Unsatisfiable),
            (Some("bytes=-1"), 0, Unsatisfiable),
            (Some("bytes=0-"), 0, Unsatisfiable),
            (Some("bytes=5-2"), 10, Whole),
            (Some("bytes=0-1,3-4"), 10, Whole),
            (Some("bytes=+1-4"), 10, Whole),
            (Some("lines=0-1"), 10, Whole),
            (Some("bytes=-"), 10, Whole),
            (Some("bytes=99999999999999999999-"), 10, Whole),
        ];
        for (header, length, expected) in table {
            assert_eq!(
                RequestedRange::parse(header, length),
                expected,
                "{header:?} of {length}"
            );
        }
    }

    #[test]
    fn a_piece_says_where_it_belongs() {
        assert_eq!(parse_content_range("0-0"), Some(0..=0));
        assert_eq!(parse_content_range("5-9"), Some(5..=9));
        for bad in [
            "",
            "-",
            "1",
            "1-",
            "-1",
            "9-5",
            "+1-2",
            "bytes 0-4/5",
            "0-18446744073709551615",
            "a-b",
            " 0-1",
        ] {
            assert_eq!(parse_content_range(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_part_lies_within_the_content(header in "bytes=[0-9]{0,21}-?[0-9]{0,21}|.*", length: u64) {
            if let RequestedRange::Part(part) = RequestedRange::parse(Some(&header), length) {
                prop_assert!(!part.is_empty() && *part.end() < length);
            }
        }

        #[test]
        fn a_content_range_reads_as_it_is_written(first in 0u64..1 << 40, length in 1u64..1 << 40) {
            let range = parse_content_range(&format!("{first}-{}", first + length - 1)).unwrap();
            prop_assert_eq!(*range.start(), first);
            prop_assert_eq!(range_length(&range), length);
        }

        #[test]
        fn no_text_breaks_the_parser(text in ".*") {
            let _ = parse_content_range(&text);
        }
    }
}
