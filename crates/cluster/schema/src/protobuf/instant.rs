//! Points in time, which are seconds on the wire and RFC 3339 in JSON.

use super::error::ProtobufError;
use super::wire::{Reader, VARINT};

/// Seconds from the start of the year 1, where Go's clock starts, to that of 1970.
const ZERO_TO_1970: i64 = 62_135_596_800;

/// Seconds from the first second that Go's calendar knows to the start of the year 1. Beyond its ends it wraps.
const FIRST_TO_ZERO: i64 = 9_223_371_966_606_163_200;

const DAY: i128 = 86_400;

/// A point in time as Go has it: every 64-bit number of seconds is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instant {
    /// Since 1970.
    seconds: i64,
    /// Below a second.
    nanoseconds: u32,
}

/// How fine JSON shows a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    Seconds,
    Microseconds,
}

impl Instant {
    /// Reads a `Timestamp` message; `None` for Go's zero time.
    pub(super) fn decode(bytes: &[u8], precision: Precision) -> Result<Option<Self>, ProtobufError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let (mut seconds, mut nanoseconds) = (0, 0_i32);
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag("Timestamp")? {
            match (tag.number, tag.wire) {
                (1, VARINT) => seconds = reader.varint()? as i64,
                (2, VARINT) => nanoseconds = reader.varint()? as i32,
                (1, wire) => {
                    return Err(ProtobufError::WrongWireType {
                        wire,
                        field: "Seconds",
                    });
                }
                (2, wire) => return Err(ProtobufError::WrongWireType { wire, field: "Nanos" }),
                _ => reader.skip(tag)?,
            }
        }
        let nanoseconds = match precision {
            Precision::Seconds => 0,
            Precision::Microseconds => nanoseconds - nanoseconds % 1_000,
        };
        let instant = Self {
            seconds: seconds.wrapping_add(i64::from(nanoseconds.div_euclid(1_000_000_000))),
            nanoseconds: nanoseconds.rem_euclid(1_000_000_000).unsigned_abs(),
        };
        Ok((!instant.is_zero()).then_some(instant))
    }

    /// Reads RFC 3339; `None` if the text is something else.
    pub(super) fn parse(text: &str, precision: Precision) -> Option<Self> {
        let mut rest = Digits(text.as_bytes());
        let year = rest.number(4)?;
        let month = rest.after(b'-')?.number(2)?;
        let day = rest.after(b'-')?.number(2)?;
        let hour = rest.after(b'T')?.number(2)?;
        let minute = rest.after(b':')?.number(2)?;
        let second = rest.after(b':')?.number(2)?;
        let day_of_1970 = day_of_1970(year, month, day)?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let nanoseconds = rest.fraction()?;
        let offset = rest.offset()?;
        let nanoseconds = match precision {
            Precision::Seconds => 0,
            Precision::Microseconds => nanoseconds / 1_000 * 1_000,
        };
        Some(Self {
            seconds: day_of_1970 * 86_400 + hour * 3_600 + minute * 60 + second - offset,
            nanoseconds,
        })
    }

    /// Returns whether this is the time that Go's programs take for none.
    pub(super) const fn is_zero(self) -> bool {
        self.seconds == -ZERO_TO_1970 && self.nanoseconds == 0
    }

    /// Returns the seconds since 1970 and the nanoseconds after them.
    pub(super) const fn parts(self) -> (i64, u32) {
        (self.seconds, self.nanoseconds)
    }

    /// Returns the instant as RFC 3339 in UTC; years beyond four digits are written as Go writes them.
    pub(super) fn text(self, precision: Precision) -> String {
        let since_first = self
            .seconds
            .wrapping_add(ZERO_TO_1970)
            .wrapping_add(FIRST_TO_ZERO) as u64;
        let seconds = i128::from(since_first) - i128::from(FIRST_TO_ZERO) - i128::from(ZERO_TO_1970);
        let (year, month, day) = civil(seconds.div_euclid(DAY));
        let second_of_day = seconds.rem_euclid(DAY);
        let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
        let sign = if year < 0 { "-" } else { "" };
        let year = year.unsigned_abs();
        match precision {
            Precision::Seconds => {
                format!("{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
            }
            Precision::Microseconds => {
                let micros = self.nanoseconds / 1_000;
                format!("{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
            }
        }
    }
}

/// Returns the date of a day that is counted from 1970, in the Gregorian calendar without a start.
fn civil(days: i128) -> (i128, i128, i128) {
    // Years start in March here, so that the leap day is the last; 400 of them have the same number of days always.
    const DAYS_OF_CYCLE: i128 = 146_097;
    const DAYS_TO_1970: i128 = 719_468;
    let days = days + DAYS_TO_1970;
    let cycle = days.div_euclid(DAYS_OF_CYCLE);
    let day_of_cycle = days.rem_euclid(DAYS_OF_CYCLE);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_cycle + cycle * 400 + i128::from(month <= 2);
    (year, month, day)
}

/// Returns how many days lie between a date and the start of 1970; `None` if there is no such date.
fn day_of_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days_of_month).contains(&day) {
        return None;
    }
    // As in `civil`: years start in March.
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leap_days + day_of_year - 719_468)
}

/// The rest of a text that is read digit by digit.
struct Digits<'t>(&'t [u8]);

impl Digits<'_> {
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (taken, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        taken.iter().try_fold(0, |sum, digit| {
            digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
        })
    }

    fn after(&mut self, mark: u8) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(&[mark])?;
        Some(self)
    }

    /// Reads what is below a second, in nanoseconds; finer digits are dropped.
    fn fraction(&mut self) -> Option<u32> {
        let [b'.' | b',', rest @ ..] = self.0 else {
            return Some(0);
        };
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = rest.split_at_checked(count)?;
        self.0 = rest;
        let places = digits.iter().chain(std::iter::repeat(&b'0')).take(9);
        (count > 0).then(|| places.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')))
    }

    /// Reads how far a clock is ahead of UTC, in seconds; nothing may follow.
    fn offset(&mut self) -> Option<i64> {
        let (&sign, rest) = self.0.split_first()?;
        self.0 = rest;
        let seconds = match sign {
            b'Z' => 0,
            b'+' | b'-' => {
                let hours = self.number(2)?;
                let minutes = self.after(b':')?.number(2)?;
                if hours > 24 || minutes > 60 {
                    return None;
                }
                (hours * 60 + minutes) * if sign == b'-' { -60 } else { 60 }
            }
            _ => return None,
        };
        self.0.is_empty().then_some(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_offset_and_fraction() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some((0, 0))),
            ("1970-01-01T02:00:00+02:00", Some((0, 0))),
            ("1969-12-31T22:30:00.5-01:30", Some((0, 500_000_000))),
            (
                "2024-02-29T00:00:00.123456789Z",
                Some((1_709_164_800, 123_456_000)),
            ),
            ("9999-12-31T23:59:59Z", Some((253_402_300_799, 0))),
            ("0001-01-01T00:00:00Z", Some((-ZERO_TO_1970, 0))),
            ("0000-01-01T00:00:00Z", Some((-62_167_219_200, 0))),
            ("2023-02-29T00:00:00Z", None),
            ("2023-13-01T00:00:00Z", None),
            ("2023-00-01T00:00:00Z", None),
            ("2023-01-01T24:00:00Z", None),
            ("2023-01-01T00:00:60Z", None),
            ("2023-01-01T00:00:00.Z", None),
            ("2023-01-01T00:00:00", None),
            ("2023-01-01T00:00:00ZZ", None),
            ("2023-01-01 00:00:00Z", None),
            ("+023-01-01T00:00:00Z", None),
            ("", None),
        ] {
            let read = Instant::parse(text, Precision::Microseconds).map(Instant::parts);
            assert_eq!(read, expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_time_with_a_year_of_four_digits_is_read_as_it_was_written(
            seconds in -62_167_219_200_i64..=253_402_300_799, microseconds in 0_u32..1_000_000,
        ) {
            let instant = Instant { seconds, nanoseconds: microseconds * 1_000 };
            let text = instant.text(Precision::Microseconds);
            proptest::prop_assert_eq!(Instant::parse(&text, Precision::Microseconds), Some(instant));
        }

        #[test]
        fn every_number_of_seconds_has_a_text(seconds in proptest::num::i64::ANY) {
            let text = Instant { seconds, nanoseconds: 0 }.text(Precision::Seconds);
            proptest::prop_assert!(text.ends_with('Z'));
        }
    }
}
