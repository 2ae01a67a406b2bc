//! Go's `time.Duration`: nanoseconds that read and print as `1h35m0s`.

use std::fmt;

use super::NANOSECONDS_PER_SECOND;
use super::format::quote;

/// A number of nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Duration(pub(crate) i64);

/// The largest number of nanoseconds that a text may give; a minus sign makes it the smallest duration.
const LIMIT: u64 = 1 << 63;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    // The micro sign and the Greek letter.
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl Duration {
    /// Returns a number of seconds, wrapping around as Go's multiplication does.
    pub(crate) fn from_seconds(seconds: i64) -> Duration {
        Duration(seconds.wrapping_mul(NANOSECONDS_PER_SECOND))
    }

    /// Reads a duration such as `-1.5h` or `300ms`, with the errors of Go's `time.ParseDuration`.
    pub(crate) fn parse(text: &[u8]) -> Result<Duration, String> {
        let invalid = || format!("time: invalid duration {}", quote(text));
        let (negative, mut rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] | rest => (false, rest),
        };
        if rest == b"0" {
            return Ok(Duration(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (whole, after) = digits(rest);
            let (fraction, after_fraction) = match after {
                [b'.', after @ ..] => digits(after),
                _ => (&[][..], after),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let length = after_fraction
                .iter()
                .position(|byte| *byte == b'.' || byte.is_ascii_digit())
                .unwrap_or(after_fraction.len());
            let (unit_name, after_unit) = after_fraction.split_at(length);
            let whole = number(whole).ok_or_else(invalid)?;
            if unit_name.is_empty() {
                return Err(format!("time: missing unit in duration {}", quote(text)));
            }
            let unit = UNITS
                .iter()
                .find(|(name, _)| name.as_bytes() == unit_name)
                .map(|(_, unit)| *unit);
            let unit = unit.ok_or_else(|| {
                format!(
                    "time: unknown unit {} in duration {}",
                    quote(unit_name),
                    quote(text)
                )
            })?;
            let part = whole
                .checked_mul(unit)
                .filter(|part| *part <= LIMIT)
                .ok_or_else(invalid)?;
            let (fraction, scale) = leading_fraction(fraction);
            let part = part.saturating_add((fraction as f64 * (unit as f64 / scale)) as u64);
            total = total
                .checked_add(part)
                .filter(|total| *total <= LIMIT)
                .ok_or_else(invalid)?;
            rest = after_unit;
        }
        match (negative, i64::try_from(total)) {
            (false, Ok(total)) => Ok(Duration(total)),
            (false, Err(_)) => Err(invalid()),
            (true, _) => Ok(Duration((total as i64).wrapping_neg())),
        }
    }

    /// Returns the nearest multiple of `unit`, half away from zero.
    pub(crate) fn round(self, unit: Duration) -> Duration {
        if unit.0 <= 0 {
            return self;
        }
        let (value, unit) = (i128::from(self.0), i128::from(unit.0));
        let past = value % unit;
        let rounded = if past.abs() * 2 < unit {
            value - past
        } else {
            value - past + unit * past.signum()
        };
        Duration(rounded.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    /// Returns the nearest multiple of `unit` towards zero.
    pub(crate) fn truncate(self, unit: Duration) -> Duration {
        if unit.0 <= 0 {
            self
        } else {
            Duration(self.0 - self.0 % unit.0)
        }
    }

    /// Returns the duration as a floating point number of units, computed as Go does.
    pub(crate) fn in_units(self, unit: i64) -> f64 {
        (self.0 / unit) as f64 + (self.0 % unit) as f64 / unit as f64
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            formatter.write_str("-")?;
        }
        let total = self.0.unsigned_abs();
        let decimal = |unit: u64| {
            let width = unit.ilog10() as usize;
            let fraction = format!("{:0width$}", total % unit);
            let fraction = fraction.trim_end_matches('0');
            let dot = if fraction.is_empty() || width == 0 {
                ""
            } else {
                "."
            };
            let fraction = if width == 0 { "" } else { fraction };
            format!("{dot}{fraction}")
        };
        match total {
            0 => formatter.write_str("0s"),
            1..1_000 => write!(formatter, "{total}ns"),
            1_000..1_000_000 => write!(formatter, "{}{}\u{b5}s", total / 1_000, decimal(1_000)),
            1_000_000..1_000_000_000 => {
                write!(formatter, "{}{}ms", total / 1_000_000, decimal(1_000_000))
            }
            _ => {
                let seconds = total / 1_000_000_000;
                if seconds >= 3600 {
                    write!(formatter, "{}h", seconds / 3600)?;
                }
                if seconds >= 60 {
                    write!(formatter, "{}m", seconds / 60 % 60)?;
                }
                write!(formatter, "{}{}s", seconds % 60, decimal(1_000_000_000))
            }
        }
    }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, digit| {
        number
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))
            .filter(|number| *number <= LIMIT)
    })
}

/// Returns as many digits of a fraction as fit, and what they are to be divided by.
fn leading_fraction(digits: &[u8]) -> (u64, f64) {
    let (mut fraction, mut scale) = (0, 1.0);
    for digit in digits {
        let Some(next) = number_with(fraction, *digit) else {
            break;
        };
        fraction = next;
        scale *= 10.0;
    }
    (fraction, scale)
}

fn number_with(number: u64, digit: u8) -> Option<u64> {
    number
        .checked_mul(10)?
        .checked_add(u64::from(digit - b'0'))
        .filter(|next| *next <= LIMIT)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_print_as_in_go() {
        for (nanoseconds, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1\u{b5}s"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (245_000_000_000, "4m5s"),
            (5_700_000_000_000, "1h35m0s"),
            (245_001_000_000, "4m5.001s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(Duration(nanoseconds).to_string(), text);
        }
    }

    #[test]
    fn durations_are_read_as_in_go() {
        for (text, expected) in [
            ("0", Ok(0)),
            ("-1.5h", Ok(-5_400_000_000_000)),
            ("+5s", Ok(5_000_000_000)),
            ("1h2m3s4ms5us6ns", Ok(3_723_004_005_006)),
            ("10.5s4m", Ok(250_500_000_000)),
            (".5s", Ok(500_000_000)),
            ("5.s", Ok(5_000_000_000)),
            ("0.3333333333333333333h", Ok(1_200_000_000_000)),
            ("9223372036854775807ns", Ok(i64::MAX)),
            ("-9223372036854775808ns", Ok(i64::MIN)),
            (
                "9223372036854775808ns",
                Err(r#"time: invalid duration "9223372036854775808ns""#),
            ),
            ("", Err(r#"time: invalid duration """#)),
            ("-", Err(r#"time: invalid duration "-""#)),
            (".", Err(r#"time: invalid duration ".""#)),
            ("3", Err(r#"time: missing unit in duration "3""#)),
            ("3d", Err(r#"time: unknown unit "d" in duration "3d""#)),
            ("x", Err(r#"time: invalid duration "x""#)),
        ] {
            let expected = expected.map(Duration).map_err(str::to_owned);
            assert_eq!(Duration::parse(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn rounding_goes_half_away_from_zero_and_stops_at_the_ends() {
        let minute = Duration(60_000_000_000);
        assert_eq!(Duration(90_000_000_000).round(minute), Duration(120_000_000_000));
        assert_eq!(
            Duration(-90_000_000_000).round(minute),
            Duration(-120_000_000_000)
        );
        assert_eq!(
            Duration(i64::MAX).round(Duration(3_600_000_000_000)),
            Duration(i64::MAX)
        );
        assert_eq!(Duration(119_000_000_000).truncate(minute), minute);
        assert_eq!(Duration(7).round(Duration(0)), Duration(7));
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_again(nanoseconds in any::<i64>()) {
            let duration = Duration(nanoseconds);
            prop_assert_eq!(Duration::parse(duration.to_string().as_bytes()), Ok(duration));
        }
    }
}
