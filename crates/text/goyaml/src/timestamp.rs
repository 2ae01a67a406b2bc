//! The timestamps that go-yaml recognises: four layouts of Go's `time.Parse`.

/// Whether go-yaml would take `text` for a timestamp, and therefore quotes a string that looks like it.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let year_digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if year_digits != 4 || bytes.get(4) != Some(&b'-') {
        return false;
    }
    let Some((date, rest)) = parse_date(text) else {
        return false;
    };
    date && (rest.is_empty()
        || rest.strip_prefix(['T', 't']).is_some_and(|time| parse_clock(time).is_some_and(is_zone))
        // Go's layouts let any number of spaces stand for one.
        || rest.starts_with(' ') && parse_clock(rest.trim_start_matches(' ')).is_some_and(str::is_empty))
}

/// Takes `year-month-day`; says whether such a day exists.
fn parse_date(text: &str) -> Option<(bool, &str)> {
    let (year, rest) = text.split_at_checked(4)?;
    let year: u32 = year.parse().ok()?;
    let (month, rest) = parse_number(rest.strip_prefix('-')?)?;
    let (day, rest) = parse_number(rest.strip_prefix('-')?)?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    Some(((1..=days).contains(&day), rest))
}

/// Takes `hour:minute:second` and a fraction, and returns what follows.
fn parse_clock(text: &str) -> Option<&str> {
    let (hour, rest) = parse_number(text)?;
    let (minute, rest) = parse_number(rest.strip_prefix(':')?)?;
    let (second, rest) = parse_number(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let Some(fraction) = rest.strip_prefix(['.', ',']) else {
        return Some(rest);
    };
    let after = fraction.trim_start_matches(|character: char| character.is_ascii_digit());
    Some(if after.len() == fraction.len() {
        rest
    } else {
        after
    })
}

/// Whether `text` is `Z` or an offset such as `+01:00`.
fn is_zone(text: &str) -> bool {
    if text == "Z" {
        return true;
    }
    let &[b'+' | b'-', h1, h2, b':', m1, m2] = text.as_bytes() else {
        return false;
    };
    let number = |tens: u8, ones: u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + (ones - b'0'))
    };
    number(h1, h2).is_some_and(|hours| hours <= 24) && number(m1, m2).is_some_and(|minutes| minutes <= 60)
}

/// Takes a number of one or two digits.
fn parse_number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, rest))
}
