//! Schedules of `CronJobs`, as the library reads them that Kubernetes uses.

use super::super::report::{Errors, Path, Shown};

struct Bounds {
    least: u64,
    most: u64,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds {
        least: 0,
        most: 59,
        names: &[],
    },
    Bounds {
        least: 0,
        most: 23,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 31,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    Bounds {
        least: 0,
        most: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

/// Returns what is wrong with a schedule.
pub(super) fn fault(schedule: &str) -> Option<String> {
    let mut rest = schedule;
    if rest.starts_with("TZ=") || rest.starts_with("CRON_TZ=") {
        let Some((zone, after)) = rest.split_once(' ') else {
            return Some(
                "invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned(),
            );
        };
        let zone = zone.split_once('=').map_or(zone, |(_, zone)| zone);
        if !is_zone(zone) {
            return Some(format!("provided bad location {zone}: unknown time zone {zone}"));
        }
        rest = after.trim();
    }
    if rest.starts_with('@') {
        return descriptor_fault(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Some(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    fields
        .iter()
        .zip(&FIELDS)
        .flat_map(|(field, bounds)| {
            field
                .split(',')
                .filter(|part| !part.is_empty())
                .map(move |part| (part, bounds))
        })
        .find_map(|(part, bounds)| range_fault(part, bounds).err())
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let quoted = text.shown();
        return Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {quoted}: invalid syntax"
        ));
    }
    match text.parse::<i64>() {
        Err(_) => {
            let quoted = text.shown();
            Err(format!(
                "failed to parse int from {text}: strconv.Atoi: parsing {quoted}: value out of range"
            ))
        }
        Ok(number) => {
            u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
        }
    }
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let small = text.to_lowercase();
    match bounds
        .names
        .iter()
        .zip(bounds.least..)
        .find(|(name, _)| **name == small)
    {
        Some((_, number)) => Ok(number),
        None => number(text),
    }
}

fn range_fault(part: &str, bounds: &Bounds) -> Result<(), String> {
    let pieces: Vec<&str> = part.split('/').collect();
    let limits: Vec<&str> = pieces
        .first()
        .map(|range| range.split('-').collect())
        .unwrap_or_default();
    let (start, mut end) = match limits.as_slice() {
        ["*" | "?", ..] | [] => (bounds.least, bounds.most),
        [only] => {
            let only = number_or_name(only, bounds)?;
            (only, only)
        }
        [first, last] => (number_or_name(first, bounds)?, number_or_name(last, bounds)?),
        [first, ..] => {
            number_or_name(first, bounds)?;
            return Err(format!("too many hyphens: {part}"));
        }
    };
    let step = match pieces.as_slice() {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if limits.len() == 1 {
                end = bounds.most;
            }
            step
        }
        _ => return Err(format!("too many slashes: {part}")),
    };
    let (least, most) = (bounds.least, bounds.most);
    if start < least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({least}): {part}"
        ));
    }
    if end > most {
        return Err(format!("end of range ({end}) above maximum ({most}): {part}"));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {part}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {part}"));
    }
    Ok(())
}

fn descriptor_fault(text: &str) -> Option<String> {
    match text {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => None,
        _ => match text.strip_prefix("@every ") {
            Some(duration) => {
                duration_fault(duration).map(|fault| format!("failed to parse duration {text}: {fault}"))
            }
            None => Some(format!("unrecognized descriptor: {text}")),
        },
    }
}

/// Returns what Go says of a duration such as `1h30m` that it can't read.
fn duration_fault(text: &str) -> Option<String> {
    let quoted = text.shown();
    let wrong = || Some(format!("time: invalid duration {quoted}"));
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return None;
    }
    if rest.is_empty() {
        return wrong();
    }
    while !rest.is_empty() {
        let is_digit = |sign: char| sign.is_ascii_digit();
        let whole = rest.trim_start_matches(is_digit);
        let had_digits = whole.len() < rest.len();
        let behind = whole
            .strip_prefix('.')
            .map_or(whole, |part| part.trim_start_matches(is_digit));
        let had_fraction = behind.len() + 1 < whole.len();
        if !had_digits && !had_fraction {
            return wrong();
        }
        let end = behind
            .find(|sign: char| sign == '.' || sign.is_ascii_digit())
            .unwrap_or(behind.len());
        let (unit, after) = behind.split_at(end);
        if unit.is_empty() {
            return Some(format!("time: missing unit in duration {quoted}"));
        }
        if !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            let unit = unit.shown();
            return Some(format!("time: unknown unit {unit} in duration {quoted}"));
        }
        rest = after;
    }
    None
}

fn is_zone(name: &str) -> bool {
    matches!(name, "" | "UTC" | "Local") || jiff::tz::TimeZone::get(name).is_ok()
}

/// Checks the name of a time zone.
pub(super) fn time_zone(errors: &mut Errors, path: &Path<'_>, zone: &str) {
    /// The longest part of a name.
    const MOST_BYTES: usize = 14;
    if zone.is_empty() {
        errors.invalid(path, zone, "timeZone must be nil or non-empty string");
        return;
    }
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'+');
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.starts_with('-')
            && part.len() <= MOST_BYTES
            && part.bytes().all(is_sign)
    };
    if !zone.split('/').all(is_part) {
        errors.invalid(path, zone, format!("unknown time zone {zone}"));
        return;
    }
    if zone.eq_ignore_ascii_case("local") {
        errors.invalid(
            path,
            zone,
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        );
    }
    if !is_zone(zone) {
        errors.invalid(path, zone, format!("unknown time zone {zone}"));
    }
}

#[cfg(test)]
mod tests {
    use super::fault;

    #[test]
    fn schedules_are_read_as_the_server_reads_them() {
        for right in [
            "* * * * *",
            "*/5 0-4 1,15 jan-mar sun",
            "@hourly",
            "@every 1h30m",
            "0 0 ? * 1/2",
        ] {
            assert_eq!(fault(right), None, "{right}");
        }
        for (wrong, expected) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "5-3 * * * *",
                "beginning of range (5) beyond end of range (3): 5-3",
            ),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            (
                "a * * * *",
                "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax",
            ),
            ("@often", "unrecognized descriptor: @often"),
        ] {
            assert_eq!(fault(wrong).as_deref(), Some(expected), "{wrong}");
        }
    }
}
