//! Parts of the content, as Go's file server cuts them.

use std::ops::Range;

/// How many ranges one request may name; more are answered with the whole, as if none were named.
const MAX_RANGES: usize = 64;

/// Why ranges can't be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum RangeError {
    /// The header isn't a list of ranges.
    #[error("invalid range")]
    Invalid,
    /// All of the ranges lie beyond the end.
    #[error("invalid range: failed to overlap")]
    NoOverlap,
}

/// Reads a `Range` header for content of a size. No range means that the whole is to be served.
pub(super) fn parse(header: &str, size: u64) -> Result<Vec<Range<u64>>, RangeError> {
    if header.is_empty() {
        return Ok(Vec::new());
    }
    let list = header.strip_prefix("bytes=").ok_or(RangeError::Invalid)?;
    let mut ranges = Vec::new();
    let mut is_beyond = false;
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (start, end) = part.split_once('-').ok_or(RangeError::Invalid)?;
        let (start, end) = (start.trim(), end.trim());
        if start.is_empty() {
            // The last so many bytes.
            let length = number(end)?.min(size);
            if length == 0 && size > 0 {
                is_beyond = true;
                continue;
            }
            ranges.push(size - length..size);
            continue;
        }
        let start = number(start)?;
        if start >= size {
            is_beyond = true;
            continue;
        }
        let end = if end.is_empty() {
            size
        } else {
            let last = number(end)?;
            if start > last {
                return Err(RangeError::Invalid);
            }
            last.saturating_add(1).min(size)
        };
        ranges.push(start..end);
    }
    if is_beyond && ranges.is_empty() {
        return Err(RangeError::NoOverlap);
    }
    // Whoever asks for more than there is, in pieces, gets it in one.
    let total: u64 = ranges
        .iter()
        .fold(0, |total, range| total.saturating_add(range.end - range.start));
    if total > size || ranges.len() > MAX_RANGES {
        ranges.clear();
    }
    Ok(ranges)
}

fn number(text: &str) -> Result<u64, RangeError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(RangeError::Invalid);
    }
    text.parse().map_err(|_| RangeError::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_as_go_does() {
        for (header, expected) in [
            ("", Ok(vec![])),
            ("bytes=0-9", Ok(vec![(0, 10)])),
            ("bytes=5-", Ok(vec![(5, 10)])),
            ("bytes=-3", Ok(vec![(7, 10)])),
            ("bytes=-30", Ok(vec![(0, 10)])),
            ("bytes=0-0, 9-20", Ok(vec![(0, 1), (9, 10)])),
            ("bytes=0-5,4-9", Ok(vec![])),
            ("bytes=10-", Err(RangeError::NoOverlap)),
            ("bytes=10-,0-1", Ok(vec![(0, 2)])),
            ("bytes=5-4", Err(RangeError::Invalid)),
            ("bytes=a-b", Err(RangeError::Invalid)),
            ("bytes=--1", Err(RangeError::Invalid)),
            ("bytes=-", Err(RangeError::Invalid)),
            ("lines=0-9", Err(RangeError::Invalid)),
        ] {
            let found = parse(header, 10).map(|ranges| {
                let ends = ranges.into_iter().map(|range| (range.start, range.end));
                ends.collect::<Vec<_>>()
            });
            assert_eq!(found, expected, "{header}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_range_lies_within_the_content(header in "bytes=[0-9, -]{0,20}", size in 0_u64..50) {
            for range in parse(&header, size).unwrap_or_default() {
                proptest::prop_assert!(range.start <= range.end && range.end <= size);
            }
        }
    }
}
