//! Go's layouts: how the reference time `Mon Jan 2 15:04:05 MST 2006` spells a format.

/// A part of a layout that stands for a part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    Month,
    NumberMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperHalf,
    LowerHalf,
    /// An abbreviation such as `MST`.
    Zone,
    /// A numeric offset.
    Offset(Offset),
    /// Digits after the second, with this separator.
    Fraction {
        separator: u8,
        digits: usize,
        /// Whether trailing zeros are kept.
        fixed: bool,
    },
}

/// How a layout spells an offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    /// Whether UTC itself is `Z`.
    pub(super) zulu: bool,
    pub(super) colons: bool,
    pub(super) precision: Precision,
}

/// The smallest part of an offset that is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precision {
    Hours,
    Minutes,
    Seconds,
}

/// Offsets after their first character, the longest first where one starts another.
const OFFSETS: [(&[u8], bool, Precision); 5] = [
    (b"070000", false, Precision::Seconds),
    (b"07:00:00", true, Precision::Seconds),
    (b"0700", false, Precision::Minutes),
    (b"07:00", true, Precision::Minutes),
    (b"07", false, Precision::Hours),
];

/// A layout, cut before and after its first element.
pub(super) struct Cut<'a> {
    pub(super) before: &'a [u8],
    /// The element and how the layout spells it; none at the layout's end.
    pub(super) element: Option<(Element, &'a [u8])>,
    pub(super) after: &'a [u8],
}

/// Cuts a layout at its first element.
pub(super) fn cut(layout: &[u8]) -> Cut<'_> {
    for start in 0..layout.len() {
        let rest = &layout[start..];
        if let Some((skip, length, element)) = element_at(rest) {
            let (before, rest) = layout.split_at(start + skip);
            let (spelling, after) = rest.split_at(length);
            return Cut {
                before,
                element: Some((element, spelling)),
                after,
            };
        }
    }
    Cut {
        before: layout,
        element: None,
        after: &[],
    }
}

/// Recognises an element at the start: how many bytes of literal text precede it, its length, and what it is.
fn element_at(rest: &[u8]) -> Option<(usize, usize, Element)> {
    use Element as E;
    let followed_by_lower_case = |at: usize| rest.get(at).is_some_and(u8::is_ascii_lowercase);
    let found = |length: usize, element: Element| Some((0, length, element));
    match rest.first()? {
        b'J' if rest.starts_with(b"January") => found(7, E::LongMonth),
        b'J' if rest.starts_with(b"Jan") && !followed_by_lower_case(3) => found(3, E::Month),
        b'M' if rest.starts_with(b"Monday") => found(6, E::LongWeekday),
        b'M' if rest.starts_with(b"Mon") && !followed_by_lower_case(3) => found(3, E::Weekday),
        b'M' if rest.starts_with(b"MST") => found(3, E::Zone),
        b'0' => match rest.get(1)? {
            b'1' => found(2, E::ZeroMonth),
            b'2' => found(2, E::ZeroDay),
            b'3' => found(2, E::ZeroHour12),
            b'4' => found(2, E::ZeroMinute),
            b'5' => found(2, E::ZeroSecond),
            b'6' => found(2, E::Year),
            b'0' if rest.get(2) == Some(&b'2') => found(3, E::ZeroYearDay),
            _ => None,
        },
        b'1' if rest.get(1) == Some(&b'5') => found(2, E::Hour),
        b'1' => found(1, E::NumberMonth),
        b'2' if rest.starts_with(b"2006") => found(4, E::LongYear),
        b'2' => found(1, E::Day),
        b'_' if rest.starts_with(b"_2006") => Some((1, 4, E::LongYear)),
        b'_' if rest.starts_with(b"_2") => found(2, E::UnderDay),
        b'_' if rest.starts_with(b"__2") => found(3, E::UnderYearDay),
        b'3' => found(1, E::Hour12),
        b'4' => found(1, E::Minute),
        b'5' => found(1, E::Second),
        b'P' if rest.starts_with(b"PM") => found(2, E::UpperHalf),
        b'p' if rest.starts_with(b"pm") => found(2, E::LowerHalf),
        first @ (b'-' | b'Z') => {
            let (spelling, colons, precision) = OFFSETS
                .into_iter()
                .find(|(spelling, ..)| rest[1..].starts_with(spelling))?;
            found(
                1 + spelling.len(),
                E::Offset(Offset {
                    zulu: *first == b'Z',
                    colons,
                    precision,
                }),
            )
        }
        separator @ (b'.' | b',') => {
            let digit = *rest.get(1).filter(|digit| matches!(digit, b'0' | b'9'))?;
            let digits = rest[1..].iter().take_while(|byte| **byte == digit).count();
            if rest.get(1 + digits).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            found(
                1 + digits,
                E::Fraction {
                    separator: *separator,
                    digits,
                    fixed: digit == b'0',
                },
            )
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(layout: &str) -> Vec<String> {
        let mut rest = layout.as_bytes();
        let mut found = Vec::new();
        loop {
            let next = cut(rest);
            if !next.before.is_empty() {
                found.push(format!("'{}'", String::from_utf8_lossy(next.before)));
            }
            let Some((element, _)) = next.element else {
                return found;
            };
            found.push(format!("{element:?}"));
            rest = next.after;
        }
    }

    #[test]
    fn letters_that_only_look_like_an_element_are_text() {
        assert_eq!(elements("Janet Month Man"), ["'Janet Month Man'"]);
        assert_eq!(elements("_2006 __2"), ["'_'", "LongYear", "' '", "UnderYearDay"]);
        assert_eq!(elements("05.0001"), ["ZeroSecond", "'.00'", "ZeroMonth"]);
        assert_eq!(elements("002pm"), ["ZeroYearDay", "LowerHalf"]);
    }
}
