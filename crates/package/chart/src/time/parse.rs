//! Times read by a layout, with the errors that Go's `time.ParseInLocation` gives.

use super::format::quote;
use super::layout::{Element, Offset, Precision, cut};
use super::{Location, MONTHS, SHORT_NAME, Time, WEEKDAYS, is_leap};

/// Why the rest of a text does not fit an element of the layout.
enum Mismatch {
    /// It has another form.
    Form,
    /// It is a number outside the range of what is named.
    Range { what: &'static str },
}

/// What has been read of a time so far.
#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanoseconds: u32,
    afternoon: bool,
    morning: bool,
    utc: bool,
    offset: Option<i64>,
    zone: String,
}

impl Time {
    /// Reads a time by a layout; without a zone in the text it is a time in `local`.
    pub(crate) fn parse(layout: &[u8], text: &[u8], local: &Location) -> Result<Time, String> {
        let mut fields = Fields::default();
        let mut value = text;
        let mut rest = layout;
        let cannot = |value: &[u8], element: &[u8]| {
            let (text, layout) = (quote(text), quote(layout));
            format!(
                "parsing time {text} as {layout}: cannot parse {} as {}",
                quote(value),
                quote(element)
            )
        };
        let wrong = |message: &str| format!("parsing time {}: {message}", quote(text));
        loop {
            let next = cut(rest);
            value = skip(value, next.before).map_err(|value| cannot(value, next.before))?;
            let Some((element, spelling)) = next.element else {
                break;
            };
            rest = next.after;
            value = fields
                .read(element, value, rest)
                .map_err(|mismatch| match mismatch {
                    Mismatch::Form => cannot(value, spelling),
                    Mismatch::Range { what } => wrong(&format!("{what} out of range")),
                })?;
        }
        if !value.is_empty() {
            return Err(wrong(&format!("extra text: {}", quote(value))));
        }
        fields.time(local).map_err(wrong)
    }
}

impl Fields {
    /// Reads one element from the start of `value` and returns the rest; `layout` is what follows the element.
    fn read<'a>(&mut self, element: Element, value: &'a [u8], layout: &[u8]) -> Result<&'a [u8], Mismatch> {
        match element {
            Element::Year => {
                let (digits, rest) = value.split_at_checked(2).ok_or(Mismatch::Form)?;
                let year = signed_number(digits).ok_or(Mismatch::Form)?;
                // Unix time starts in 1969 in some zones.
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
                Ok(rest)
            }
            Element::LongYear => {
                let (digits, rest) = value.split_at_checked(4).ok_or(Mismatch::Form)?;
                if !digits[0].is_ascii_digit() {
                    return Err(Mismatch::Form);
                }
                self.year = signed_number(digits).ok_or(Mismatch::Form)?;
                Ok(rest)
            }
            Element::Month | Element::LongMonth => {
                let (index, rest) = name(&MONTHS, value, element == Element::Month)?;
                self.month = Some(index as i64 + 1);
                Ok(rest)
            }
            Element::Weekday | Element::LongWeekday => {
                name(&WEEKDAYS, value, element == Element::Weekday).map(|(_, rest)| rest)
            }
            Element::NumberMonth | Element::ZeroMonth => {
                let (month, rest) = two_digits(value, element == Element::ZeroMonth)?;
                self.month = Some(in_range(month, 1..13, "month")?);
                Ok(rest)
            }
            Element::Day | Element::UnderDay | Element::ZeroDay => {
                let value = if element == Element::UnderDay {
                    without_space(value)
                } else {
                    value
                };
                let (day, rest) = two_digits(value, element == Element::ZeroDay)?;
                self.day = Some(day);
                Ok(rest)
            }
            Element::UnderYearDay | Element::ZeroYearDay => {
                let fixed = element == Element::ZeroYearDay;
                let value = if fixed {
                    value
                } else {
                    without_space(without_space(value))
                };
                let count = value
                    .iter()
                    .take(3)
                    .take_while(|byte| byte.is_ascii_digit())
                    .count();
                if count == 0 || fixed && count != 3 {
                    return Err(Mismatch::Form);
                }
                let (digits, rest) = value.split_at(count);
                self.year_day = signed_number(digits);
                Ok(rest)
            }
            Element::Hour => {
                let (hour, rest) = two_digits(value, false)?;
                self.hour = in_range(hour, 0..24, "hour")?;
                Ok(rest)
            }
            Element::Hour12 | Element::ZeroHour12 => {
                let (hour, rest) = two_digits(value, element == Element::ZeroHour12)?;
                self.hour = in_range(hour, 0..13, "hour")?;
                Ok(rest)
            }
            Element::Minute | Element::ZeroMinute => {
                let (minute, rest) = two_digits(value, element == Element::ZeroMinute)?;
                self.minute = in_range(minute, 0..60, "minute")?;
                Ok(rest)
            }
            Element::Second | Element::ZeroSecond => {
                let (second, rest) = two_digits(value, element == Element::ZeroSecond)?;
                self.second = in_range(second, 0..60, "second")?;
                let fraction_follows = matches!(cut(layout).element, Some((Element::Fraction { .. }, _)));
                match rest {
                    // A fraction may follow the second though the layout has none.
                    [b'.' | b',', digit, ..] if digit.is_ascii_digit() && !fraction_follows => {
                        self.read_fraction(rest)
                    }
                    _ => Ok(rest),
                }
            }
            Element::UpperHalf => self.read_half(value, b"PM", b"AM"),
            Element::LowerHalf => self.read_half(value, b"pm", b"am"),
            Element::Offset(spelling) => self.read_offset(value, spelling),
            Element::Zone => {
                if let Some(rest) = value.strip_prefix(b"UTC") {
                    self.utc = true;
                    return Ok(rest);
                }
                let length = zone_length(value).ok_or(Mismatch::Form)?;
                let (zone, rest) = value.split_at(length);
                self.zone = String::from_utf8_lossy(zone).into_owned();
                Ok(rest)
            }
            Element::Fraction {
                digits, fixed: true, ..
            } => {
                let (fraction, rest) = value.split_at_checked(1 + digits).ok_or(Mismatch::Form)?;
                self.nanoseconds = nanoseconds(fraction)?;
                Ok(rest)
            }
            Element::Fraction { fixed: false, .. } => match value {
                [b'.' | b',', digit, ..] if digit.is_ascii_digit() => self.read_fraction(value),
                _ => Ok(value),
            },
        }
    }

    fn read_fraction<'a>(&mut self, value: &'a [u8]) -> Result<&'a [u8], Mismatch> {
        let digits = value
            .iter()
            .skip(1)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (fraction, rest) = value.split_at(1 + digits);
        self.nanoseconds = nanoseconds(fraction)?;
        Ok(rest)
    }

    fn read_half<'a>(
        &mut self,
        value: &'a [u8],
        afternoon: &[u8],
        morning: &[u8],
    ) -> Result<&'a [u8], Mismatch> {
        if let Some(rest) = value.strip_prefix(afternoon) {
            self.afternoon = true;
            Ok(rest)
        } else if let Some(rest) = value.strip_prefix(morning) {
            self.morning = true;
            Ok(rest)
        } else {
            Err(Mismatch::Form)
        }
    }

    fn read_offset<'a>(&mut self, value: &'a [u8], spelling: Offset) -> Result<&'a [u8], Mismatch> {
        if spelling.zulu
            && let Some(rest) = value.strip_prefix(b"Z")
        {
            self.utc = true;
            return Ok(rest);
        }
        let length = match (spelling.precision, spelling.colons) {
            (Precision::Hours, _) => 3,
            (Precision::Minutes, false) => 5,
            (Precision::Minutes, true) => 6,
            (Precision::Seconds, false) => 7,
            (Precision::Seconds, true) => 9,
        };
        let (offset, rest) = value.split_at_checked(length).ok_or(Mismatch::Form)?;
        let colon_at = |at: usize| offset.get(at).is_none_or(|byte| *byte == b':');
        if spelling.colons && !(colon_at(3) && colon_at(6)) {
            return Err(Mismatch::Form);
        }
        let gap = usize::from(spelling.colons);
        let part = |at: usize| match offset.get(at..) {
            None | Some([]) => Ok(0),
            Some(digits) => two_digits(digits, true).map(|(number, _)| number),
        };
        let hours = part(1)?;
        let minutes = part(3 + gap);
        let seconds = part(5 + 2 * gap);
        // As in Go, the last number out of range is told, and before a wrong form.
        for (number, limit, what) in [
            (
                seconds.as_ref().ok().copied().filter(|_| minutes.is_ok()),
                60,
                "time zone offset second",
            ),
            (minutes.as_ref().ok().copied(), 60, "time zone offset minute"),
            (Some(hours), 24, "time zone offset hour"),
        ] {
            if number.is_some_and(|number| number > limit) {
                return Err(Mismatch::Range { what });
            }
        }
        let total = (hours * 60 + minutes?) * 60 + seconds?;
        self.offset = Some(match offset[0] {
            b'+' => total,
            b'-' => -total,
            _ => return Err(Mismatch::Form),
        });
        Ok(rest)
    }

    /// Puts the fields together; in error says which of them is wrong.
    fn time(mut self, local: &Location) -> Result<Time, &'static str> {
        if self.afternoon && self.hour < 12 {
            self.hour += 12;
        } else if self.morning && self.hour == 12 {
            self.hour = 0;
        }
        let (month, day) = match self.year_day {
            Some(year_day) => self.date_of(year_day)?,
            None => (self.month.unwrap_or(1), self.day.unwrap_or(1)),
        };
        if day < 1 || day > days_in(month, self.year) {
            return Err("day out of range");
        }
        let of_day = (self.hour * 60 + self.minute) * 60 + self.second;
        let at = |location| Time::from_civil((self.year, month, day), of_day, self.nanoseconds, location);
        if self.utc {
            return Ok(at(Location::Utc));
        }
        let plain = at(Location::Utc);
        // An offset of one second west is Go's mark for none.
        if let Some(offset) = self.offset.filter(|offset| *offset != -1) {
            let seconds = plain.seconds.wrapping_sub(offset);
            let known = local.offset_at(seconds) == offset
                && (self.zone.is_empty() || local.abbreviation_at(seconds) == self.zone);
            let location = if known {
                local.clone()
            } else {
                Location::Fixed(self.zone.into(), offset)
            };
            return Ok(Time::from_unix(seconds, self.nanoseconds, location));
        }
        if !self.zone.is_empty() {
            if let Some(offset) = local.offset_of(&self.zone, plain.seconds) {
                let seconds = plain.seconds.wrapping_sub(offset);
                return Ok(Time::from_unix(seconds, self.nanoseconds, local.clone()));
            }
            let hours = self
                .zone
                .strip_prefix("GMT")
                .and_then(|hours| signed_number(hours.as_bytes()));
            let offset = hours.unwrap_or_default() * 3600;
            // As in Go, the text's clock is taken for UTC and only seen with the offset.
            return Ok(plain.within(Location::Fixed(self.zone.into(), offset)));
        }
        Ok(at(local.clone()))
    }

    fn date_of(&self, year_day: i64) -> Result<(i64, i64), &'static str> {
        let length = if is_leap(self.year) { 366 } else { 365 };
        if year_day < 1 || year_day > length {
            return Err("day-of-year out of range");
        }
        let (mut month, mut day) = (1, year_day);
        while day > days_in(month, self.year) {
            day -= days_in(month, self.year);
            month += 1;
        }
        if self.month.is_some_and(|given| given != month) {
            return Err("day-of-year does not match month");
        }
        if self.day.is_some_and(|given| given != day) {
            return Err("day-of-year does not match day");
        }
        Ok((month, day))
    }
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Reads the layout's own text; a run of spaces in it stands for any number of spaces.
fn skip<'a>(mut value: &'a [u8], mut text: &[u8]) -> Result<&'a [u8], &'a [u8]> {
    while let Some((&first, after)) = text.split_first() {
        if first == b' ' {
            if value.first().is_some_and(|byte| *byte != b' ') {
                return Err(value);
            }
            text = text.trim_ascii_start_spaces();
            value = value.trim_ascii_start_spaces();
            continue;
        }
        value = value.strip_prefix(&[first]).ok_or(value)?;
        text = after;
    }
    Ok(value)
}

trait TrimSpaces {
    /// Cuts off leading spaces, and only spaces.
    fn trim_ascii_start_spaces(&self) -> &Self;
}

impl TrimSpaces for [u8] {
    fn trim_ascii_start_spaces(&self) -> &[u8] {
        let count = self.iter().take_while(|byte| **byte == b' ').count();
        &self[count..]
    }
}

fn without_space(value: &[u8]) -> &[u8] {
    value.strip_prefix(b" ").unwrap_or(value)
}

/// Reads one or two digits; exactly two where `fixed`.
fn two_digits(value: &[u8], fixed: bool) -> Result<(i64, &[u8]), Mismatch> {
    match value {
        [tens, ones, rest @ ..] if tens.is_ascii_digit() && ones.is_ascii_digit() => {
            Ok((i64::from(tens - b'0') * 10 + i64::from(ones - b'0'), rest))
        }
        [digit, rest @ ..] if digit.is_ascii_digit() && !fixed => Ok((i64::from(digit - b'0'), rest)),
        _ => Err(Mismatch::Form),
    }
}

fn in_range(number: i64, range: std::ops::Range<i64>, what: &'static str) -> Result<i64, Mismatch> {
    if range.contains(&number) {
        Ok(number)
    } else {
        Err(Mismatch::Range { what })
    }
}

fn signed_number(digits: &[u8]) -> Option<i64> {
    let (negative, digits) = match digits {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    // Nothing but a sign is zero to Go.
    let number = digits.iter().try_fold(0i64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })?;
    Some(if negative { -number } else { number })
}

/// Reads a name from the start of `value`, whatever its case.
fn name<'a>(names: &[&str], value: &'a [u8], short: bool) -> Result<(usize, &'a [u8]), Mismatch> {
    for (index, name) in names.iter().enumerate() {
        let length = if short { SHORT_NAME } else { name.len() };
        if let Some((start, rest)) = value.split_at_checked(length)
            && start.eq_ignore_ascii_case(&name.as_bytes()[..length])
        {
            return Ok((index, rest));
        }
    }
    Err(Mismatch::Form)
}

/// Reads a separator and digits, of which the first nine count.
fn nanoseconds(fraction: &[u8]) -> Result<u32, Mismatch> {
    let [b'.' | b',', digits @ ..] = fraction else {
        return Err(Mismatch::Form);
    };
    let digits = digits.get(..9).unwrap_or(digits);
    let number = signed_number(digits).ok_or(Mismatch::Form)?;
    if number < 0 {
        return Err(Mismatch::Range {
            what: "fractional second",
        });
    }
    Ok((0..9 - digits.len()).fold(number, |number, _| number * 10) as u32)
}

/// Returns how long the zone's abbreviation at the start of `value` is.
fn zone_length(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(after) = value.strip_prefix(b"GMT") {
        return Some(3 + signed_hours_length(after));
    }
    if matches!(value, [b'+' | b'-', ..]) {
        return Some(signed_hours_length(value)).filter(|length| *length > 0);
    }
    let letters = value
        .iter()
        .take(6)
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    match letters {
        3 => Some(3),
        4 if value[3] == b'T' || value.starts_with(b"WITA") => Some(4),
        5 if value[4] == b'T' => Some(5),
        _ => None,
    }
}

/// Returns the length of a sign and an hour below 24; 0 where there is none.
fn signed_hours_length(value: &[u8]) -> usize {
    let [b'+' | b'-', digits @ ..] = value else {
        return 0;
    };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match signed_number(&digits[..count]) {
        Some(hours) if count > 0 && hours <= 23 => 1 + count,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
