//! Times written by a layout.

use super::layout::{Element, Offset, Precision, cut};
use super::{NANOSECONDS_PER_SECOND, SHORT_NAME, Time, month_name, weekday_name};

/// `time.RFC3339`, the form that JSON is read in.
pub(crate) const RFC3339: &str = "2006-01-02T15:04:05Z07:00";
/// `time.RFC3339Nano`, the form that JSON is written in.
pub(crate) const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";
/// The form that `Time.String` prints.
const STRING: &str = "2006-01-02 15:04:05.999999999 -0700 MST";

impl Time {
    /// Writes the time by a Go layout; what is not an element of it is copied.
    pub(crate) fn format(&self, layout: &[u8]) -> Vec<u8> {
        let civil = self.civil();
        let mut out = Vec::with_capacity(layout.len() + 10);
        let mut rest = layout;
        loop {
            let next = cut(rest);
            out.extend_from_slice(next.before);
            let Some((element, _)) = next.element else {
                return out;
            };
            rest = next.after;
            let hour12 = i64::from(if civil.hour.is_multiple_of(12) {
                12
            } else {
                civil.hour % 12
            });
            match element {
                Element::Year => number(&mut out, civil.year.wrapping_abs() % 100, 2),
                Element::LongYear => number(&mut out, civil.year, 4),
                Element::Month => out.extend(month_name(civil.month).bytes().take(SHORT_NAME)),
                Element::LongMonth => out.extend(month_name(civil.month).bytes()),
                Element::NumberMonth => number(&mut out, i64::from(civil.month), 0),
                Element::ZeroMonth => number(&mut out, i64::from(civil.month), 2),
                Element::Weekday => out.extend(weekday_name(civil.weekday).bytes().take(SHORT_NAME)),
                Element::LongWeekday => out.extend(weekday_name(civil.weekday).bytes()),
                Element::Day => number(&mut out, i64::from(civil.day), 0),
                Element::UnderDay => out.extend(format!("{:2}", civil.day).bytes()),
                Element::ZeroDay => number(&mut out, i64::from(civil.day), 2),
                Element::UnderYearDay => out.extend(format!("{:3}", civil.year_day).bytes()),
                Element::ZeroYearDay => number(&mut out, i64::from(civil.year_day), 3),
                Element::Hour => number(&mut out, i64::from(civil.hour), 2),
                Element::Hour12 => number(&mut out, hour12, 0),
                Element::ZeroHour12 => number(&mut out, hour12, 2),
                Element::Minute => number(&mut out, i64::from(civil.minute), 0),
                Element::ZeroMinute => number(&mut out, i64::from(civil.minute), 2),
                Element::Second => number(&mut out, i64::from(civil.second), 0),
                Element::ZeroSecond => number(&mut out, i64::from(civil.second), 2),
                Element::UpperHalf => out.extend(if civil.hour >= 12 { b"PM" } else { b"AM" }),
                Element::LowerHalf => out.extend(if civil.hour >= 12 { b"pm" } else { b"am" }),
                Element::Offset(spelling) => {
                    offset(&mut out, self.location.offset_at(self.seconds), spelling);
                }
                Element::Zone => {
                    let name = self.location.abbreviation_at(self.seconds);
                    if name.is_empty() {
                        let plain = Offset {
                            zulu: false,
                            colons: false,
                            precision: Precision::Minutes,
                        };
                        offset(&mut out, self.location.offset_at(self.seconds), plain);
                    } else {
                        out.extend(name.bytes());
                    }
                }
                Element::Fraction {
                    separator,
                    digits,
                    fixed,
                } => {
                    fraction(&mut out, self.nanoseconds, separator, digits, fixed);
                }
            }
        }
    }

    /// Writes the time by a layout of this crate's own.
    pub(crate) fn formatted(&self, layout: &str) -> String {
        String::from_utf8_lossy(&self.format(layout.as_bytes())).into_owned()
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.formatted(STRING))?;
        if let Some(reading) = self.monotonic {
            let sign = if reading < 0 { '-' } else { '+' };
            let (reading, second) = (reading.unsigned_abs(), NANOSECONDS_PER_SECOND.unsigned_abs());
            write!(formatter, " m={sign}{}.{:09}", reading / second, reading % second)?;
        }
        Ok(())
    }
}

fn number(out: &mut Vec<u8>, value: i64, width: usize) {
    if value < 0 {
        out.push(b'-');
    }
    out.extend(format!("{:0width$}", value.unsigned_abs()).bytes());
}

fn offset(out: &mut Vec<u8>, seconds: i64, spelling: Offset) {
    if spelling.zulu && seconds == 0 {
        out.push(b'Z');
        return;
    }
    // Go decides on the sign by whole minutes.
    let minutes = seconds / 60;
    out.push(if minutes < 0 { b'-' } else { b'+' });
    let absolute = if minutes < 0 { -seconds } else { seconds };
    let minutes = minutes.abs();
    let colon = |out: &mut Vec<u8>| out.extend(spelling.colons.then_some(b':'));
    number(out, minutes / 60, 2);
    if spelling.precision >= Precision::Minutes {
        colon(out);
        number(out, minutes % 60, 2);
    }
    if spelling.precision >= Precision::Seconds {
        colon(out);
        number(out, absolute % 60, 2);
    }
}

fn fraction(out: &mut Vec<u8>, nanoseconds: u32, separator: u8, digits: usize, fixed: bool) {
    let all = format!("{nanoseconds:09}");
    let kept: String = all.chars().take(digits).collect();
    if fixed {
        out.push(separator);
        out.extend(kept.bytes());
        return;
    }
    let kept = kept.trim_end_matches('0');
    if !kept.is_empty() {
        out.push(separator);
        out.extend(kept.bytes());
    }
}

/// Quotes text as the time package's errors do: bytes outside printable ASCII in hexadecimal.
pub(super) fn quote(text: &[u8]) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
            b' '..0x80 => quoted.push(char::from(*byte)),
            _ => quoted.extend(format!("\\x{byte:02x}").chars()),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::super::Location;
    use super::*;

    #[test]
    fn times_are_written_as_in_go() {
        for (zone, seconds, nanoseconds, layout, text) in [
            (
                "America/New_York",
                1_824_113_797,
                647_238_489,
                "Jan _2 15:04:05",
                "Oct 21 06:16:37",
            ),
            (
                "America/Sao_Paulo",
                3_466_307_517,
                682_815_634,
                "_2006-01",
                "_2079-11",
            ),
            (
                "America/Sao_Paulo",
                3_321_084_931,
                0,
                "2006-01-02T15:04:05Z07:00",
                "2075-03-29T08:35:31-03:00",
            ),
            (
                "Europe/Berlin",
                3_870_730_289,
                819_000_000,
                "2006-01-02",
                "2092-08-28",
            ),
            ("Asia/Kolkata", -1_702_200_117, 784_165_450, "3PM", "8PM"),
            (
                "Asia/Kathmandu",
                4_192_610_270,
                0,
                "Jan _2 15:04:05.000000000",
                "Nov 10 19:42:50.000000000",
            ),
            (
                "Africa/Casablanca",
                62_317_856_844,
                420_000_000,
                "MST-07:00",
                "+01+01:00",
            ),
            (
                "Australia/Lord_Howe",
                3_664_869_234,
                0,
                "2006 002 __2 _2 2 02 1 01 Jan January Mon Monday 3 03 15 4 04 5 05 06 PM pm",
                "2086 049  49 18 18 18 2 02 Feb February Mon Monday 10 10 22 13 13 54 54 86 PM pm",
            ),
            (
                "America/Sao_Paulo",
                -1_301_506_029,
                289_000_000,
                "3:04PM",
                "3:32AM",
            ),
            (
                "Africa/Casablanca",
                -62_135_596_800,
                865_761_877,
                "Mon Jan _2 15:04:05 2006",
                "Sun Dec 31 23:29:40 0000",
            ),
            ("Etc/GMT+5", 4_548_522_988, 404_515_011, "05.0001", "28.0002"),
            ("Australia/Lord_Howe", -2_838_590_081, 789_812_653, "5,9", "39,7"),
            ("America/Sao_Paulo", 3_321_084_931, 0, "pm3", "am8"),
            (
                "Europe/Berlin",
                -1_564_748_380,
                688_847_348,
                "Mon, 02 Jan 2006 15:04:05 -0700",
                "Tue, 01 Jun 1920 12:40:20 +0100",
            ),
            (
                "Australia/Lord_Howe",
                3_664_869_234,
                0,
                "Mon Jan _2 15:04:05 MST 2006",
                "Mon Feb 18 22:13:54 +11 2086",
            ),
            (
                "America/Sao_Paulo",
                2_645_371_064,
                357_028_477,
                "15h04m",
                "14h17m",
            ),
            ("Australia/Lord_Howe", 3_664_869_234, 0, "2006-002", "2086-049"),
            (
                "Europe/Berlin",
                -1_221_438_587,
                0,
                "2006-01-02T15:04:05.000Z",
                "1931-04-19T00:30:13.000Z",
            ),
            (
                "Africa/Casablanca",
                -2_560_239_352,
                848_908_339,
                "2006-01-02T15:04:05.999999999Z07:00",
                "1888-11-13T13:53:48.848908339-00:30",
            ),
            ("Europe/Berlin", -1_221_438_587, 0, "2006 01 002", "1931 04 109"),
            (
                "Etc/GMT+5",
                176_772_936,
                0,
                "Mon Jan 02 15:04:05 -0700 2006",
                "Fri Aug 08 18:35:36 -0500 1975",
            ),
            (
                "Asia/Kathmandu",
                2_088_444_792,
                19_000_000,
                "Z0700 Z07 Z070000 Z07:00:00 -07 -070000 -07:00:00 -07:00 -0700 MST",
                "+0545 +05 +054500 +05:45:00 +05 +054500 +05:45:00 +05:45 +0545 +0545",
            ),
            ("America/Sao_Paulo", -430_605_081, 0, "5.000", "39.000"),
            (
                "Asia/Kolkata",
                4_120_592_514,
                524_107_899,
                "Monday, 02-Jan-06 15:04:05 MST",
                "Friday, 30-Jul-00 06:31:54 IST",
            ),
            (
                "UTC",
                -62_135_596_800,
                384_138_643,
                "Jan Janet Month Mon",
                "Jan Janet Month Mon",
            ),
            (
                "Europe/Berlin",
                -1_275_757_686,
                346_000_000,
                "20060102150405",
                "19290729075154",
            ),
            (
                "Pacific/Apia",
                -2_057_969_536,
                138_000_000,
                "Jan _2 15:04:05.000",
                "Oct 14 10:20:48.138",
            ),
            ("Etc/GMT+5", -157_909_782, 956_101_823, "MST -07", "-05 -05"),
            ("Pacific/Apia", -315_761_435, 0, "05.999999999999 .9 ,99", "25  "),
            (
                "America/New_York",
                1_644_106_462,
                0,
                "01/02 03:04:05PM '06 -0700",
                "02/05 07:14:22PM '22 -0500",
            ),
            (
                "America/New_York",
                3_946_468_526,
                148_000_000,
                "05.000000000000",
                "26.148000000",
            ),
            (
                "America/Sao_Paulo",
                -62_135_596_800,
                517_421_675,
                "02 Jan 06 15:04 -0700",
                "31 Dec 00 20:53 -0306",
            ),
            (
                "America/Sao_Paulo",
                2_645_371_064,
                357_028_477,
                "02 Jan 06 15:04 MST",
                "29 Oct 53 14:17 -03",
            ),
            (
                "America/Sao_Paulo",
                -1_301_506_029,
                289_000_000,
                "2006-__2",
                "1928-278",
            ),
            (
                "Europe/Berlin",
                104_657_193_130,
                623_000_000,
                "15:04:05,000000000",
                "04:32:10,623000000",
            ),
            (
                "Australia/Lord_Howe",
                2_662_288_363,
                854_605_526,
                "2006-01-02 15:04:05",
                "2054-05-13 23:02:43",
            ),
            (
                "America/Sao_Paulo",
                -1_301_506_029,
                289_000_000,
                "Mon, 02 Jan 2006 15:04:05 MST",
                "Thu, 04 Oct 1928 03:32:51 -03",
            ),
        ] {
            let location = Location::load(zone, &Location::Utc).expect("a known zone");
            assert_eq!(
                Time::from_unix(seconds, nanoseconds, location).formatted(layout),
                text,
                "{layout}"
            );
        }
    }

    #[test]
    fn a_clock_reading_is_printed_with_its_sign() {
        let time = Time::zero();
        assert_eq!(time.to_string(), "0001-01-01 00:00:00 +0000 UTC");
        let read = |reading| time.clone().with_monotonic(reading).to_string();
        assert_eq!(
            read(1_000_000_005),
            "0001-01-01 00:00:00 +0000 UTC m=+1.000000005"
        );
        assert_eq!(read(-5), "0001-01-01 00:00:00 +0000 UTC m=-0.000000005");
    }
}
