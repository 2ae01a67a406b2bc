//! Quantities as numbers: to compare them, to add them, and to round them to what Kubernetes stores.

use bundle::rendering::quantity;

/// The finest part that a quantity can have, and how many of them make one.
const NANOS: i128 = 1_000_000_000;

/// How many of the finest parts make a thousandth.
const NANOS_OF_MILLI: i128 = 1_000_000;

const UNITS: [(&str, i128); 16] = [
    ("n", 1),
    ("u", 1_000),
    ("m", NANOS_OF_MILLI),
    ("k", 1_000 * NANOS),
    ("M", 1_000_000 * NANOS),
    ("G", 1_000_000_000 * NANOS),
    ("T", 1_000_000_000_000 * NANOS),
    ("P", 1_000_000_000_000_000 * NANOS),
    ("E", 1_000_000_000_000_000_000 * NANOS),
    ("Ki", (1 << 10) * NANOS),
    ("Mi", (1 << 20) * NANOS),
    ("Gi", (1 << 30) * NANOS),
    ("Ti", (1 << 40) * NANOS),
    ("Pi", (1 << 50) * NANOS),
    ("Ei", (1 << 60) * NANOS),
    ("", NANOS),
];

/// A quantity. Numbers beyond all machines are cut down to the largest that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    nanos: i128,
    /// Whether it is written with `Ki`, `Mi` and so on.
    binary: bool,
}

impl Quantity {
    /// Reads a quantity that was checked before; what isn't one is 0.
    pub fn read(text: &str) -> Self {
        let digits =
            text.trim_start_matches(['+', '-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        let number = text.strip_suffix(digits).unwrap_or(text);
        let binary = digits.ends_with('i');
        let nanos = match UNITS.iter().find(|(unit, _)| *unit == digits) {
            Some((_, unit)) => scaled(number, *unit),
            None => digits
                .strip_prefix(['e', 'E'])
                .and_then(|exponent| exponent.parse::<i32>().ok())
                .and_then(|exponent| power_of_ten(exponent.saturating_add(9)))
                .map_or(0, |unit| scaled(number, unit)),
        };
        Self { nanos, binary }
    }

    /// Returns whether it is more than nothing.
    pub fn is_positive(self) -> bool {
        self.nanos > 0
    }

    /// Returns whether it is less than nothing.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Returns whether it has no fraction; only thousandths count.
    pub fn is_whole(self) -> bool {
        self.thousandths() % 1_000 == 0
    }

    /// Returns whether it is anything but 0.
    pub fn is_set(self) -> bool {
        self.nanos != 0
    }

    /// Compares the numbers, however they are written.
    pub fn is_same_number(self, other: Self) -> bool {
        self.nanos == other.nanos
    }

    /// Returns whether it is the larger number.
    pub fn is_more_than(self, other: Self) -> bool {
        self.nanos > other.nanos
    }

    /// Returns the sum, in the form of the first; nothing has no form.
    pub fn plus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            binary: if self.nanos == 0 {
                other.binary
            } else {
                self.binary
            },
        }
    }

    /// Returns the difference, in the form of the first.
    pub fn minus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            ..self
        }
    }

    /// Returns the whole number, rounded up; cut down to what fits.
    pub fn whole(self) -> i64 {
        let rounded = self.nanos.div_euclid(NANOS) + i128::from(self.nanos.rem_euclid(NANOS) != 0);
        i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
    }

    /// Returns it in thousandths, rounded up; cut down to what fits.
    pub fn thousandths(self) -> i64 {
        let rounded =
            self.nanos.div_euclid(NANOS_OF_MILLI) + i128::from(self.nanos.rem_euclid(NANOS_OF_MILLI) != 0);
        i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX })
    }

    /// Returns it as Kubernetes writes it.
    pub fn written(self) -> String {
        let whole = self.nanos / NANOS;
        if self.binary && self.nanos % NANOS == 0 && !(-1024 < whole && whole < 1024) {
            let mut count = whole;
            let mut unit = 0;
            let units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
            while unit + 1 < units.len() && count % 1024 == 0 {
                count /= 1024;
                unit += 1;
            }
            return format!("{count}{}", units[unit]);
        }
        let exact = format!("{}n", self.nanos);
        quantity::canonical(&exact).unwrap_or(exact)
    }
}

fn power_of_ten(exponent: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}

/// Returns a decimal number in units, rounded up to the finest part.
fn scaled(number: &str, unit: i128) -> i128 {
    let negative = number.starts_with('-');
    let unsigned = number.trim_start_matches(['+', '-']);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let largest = i128::MAX / 2;
    let mut nanos = match whole {
        "" => 0,
        digits => digits
            .parse::<i128>()
            .map_or(largest, |whole| whole.saturating_mul(unit).min(largest)),
    };
    let mut rest = unit;
    let mut inexact = false;
    for digit in fraction.bytes().filter(u8::is_ascii_digit) {
        let digit = i128::from(digit - b'0');
        let part = rest.saturating_mul(digit);
        inexact |= part % 10 != 0;
        nanos = nanos.saturating_add(part / 10);
        rest /= 10;
        inexact |= digit != 0 && rest == 0;
    }
    if inexact {
        nanos = nanos.saturating_add(1);
    }
    if negative { -nanos } else { nanos }
}

/// Returns a quantity rounded up to thousandths, as Kubernetes stores amounts of resources; `None` if it is already.
pub fn rounded_to_milli(text: &str) -> Option<String> {
    let may_be_finer = text.ends_with(['n', 'u']) || text.contains("e-") || text.contains("E-");
    if !may_be_finer {
        return None;
    }
    let nanos = Quantity::read(text).nanos;
    if nanos % NANOS_OF_MILLI == 0 {
        return None;
    }
    let mut thousandths = nanos / NANOS_OF_MILLI;
    thousandths += nanos.signum();
    let rounded = if text.contains(['e', 'E']) {
        format!("{thousandths}e-3")
    } else {
        format!("{thousandths}m")
    };
    quantity::canonical(&rounded).ok()
}

#[cfg(test)]
mod tests {
    use super::{Quantity, rounded_to_milli};

    #[test]
    fn quantities_are_compared_by_their_numbers() {
        for (one, other) in [
            ("1", "1000m"),
            ("1Ki", "1024"),
            ("0.5", "500m"),
            ("1e3", "1k"),
            ("1.5Gi", "1536Mi"),
            ("100n", "0.1u"),
            ("-1", "-1000m"),
        ] {
            assert!(
                Quantity::read(one).is_same_number(Quantity::read(other)),
                "{one} {other}"
            );
        }
        assert!(Quantity::read("2").is_more_than(Quantity::read("1999m")));
        assert!(!Quantity::read("0").is_positive());
    }

    #[test]
    fn sums_are_written_in_the_form_of_the_first() {
        for (one, other, sum) in [
            ("100m", "200m", "300m"),
            ("500m", "500m", "1"),
            ("512Mi", "512Mi", "1Gi"),
            ("1Gi", "1", "1073741825"),
            ("1k", "1k", "2k"),
            ("0", "1Mi", "1Mi"),
        ] {
            let written = Quantity::read(one).plus(Quantity::read(other)).written();
            assert_eq!(written, sum, "{one} + {other}");
        }
    }

    #[test]
    fn amounts_finer_than_thousandths_are_rounded_up() {
        assert_eq!(rounded_to_milli("100u").as_deref(), Some("1m"));
        assert_eq!(rounded_to_milli("1500u").as_deref(), Some("2m"));
        assert_eq!(rounded_to_milli("1n").as_deref(), Some("1m"));
        assert_eq!(rounded_to_milli("1m"), None);
        assert_eq!(rounded_to_milli("1Mi"), None);
    }
}
