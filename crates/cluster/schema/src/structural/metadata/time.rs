//! Points in time as metadata carries them.

use gotemplate::format::quoted;
use jiff::Timestamp;

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// Returns a time as the API server writes it: in UTC, to the second.
///
/// # Errors
///
/// What Go says of text that isn't a time.
pub(super) fn normalized(text: &str) -> Result<String, String> {
    let fault = |rest: &str, element: &str| {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quoted(text),
            quoted(LAYOUT),
            quoted(rest),
            quoted(element)
        )
    };
    let out_of_range = |what: &str| format!("parsing time {}: {what} out of range", quoted(text));
    let mut rest = text;
    let mut fields = [0u32; 6];
    let elements = [
        ("2006", 4, "-"),
        ("01", 2, "-"),
        ("02", 2, "T"),
        ("15", 2, ":"),
        ("04", 2, ":"),
        ("05", 2, ""),
    ];
    for ((element, length, separator), field) in elements.into_iter().zip(&mut fields) {
        let Some((digits, after)) = rest
            .split_at_checked(length)
            .filter(|(digits, _)| digits.bytes().all(|byte| byte.is_ascii_digit()))
        else {
            return Err(fault(rest, element));
        };
        *field = digits.parse().unwrap_or_default();
        rest = after
            .strip_prefix(separator)
            .ok_or_else(|| fault(after, separator))?;
    }
    let [_, month, _, hour, minute, second] = fields;
    for (is_wrong, what) in [
        (!(1..=12).contains(&month), "month"),
        (hour > 23, "hour"),
        (minute > 59, "minute"),
        (second > 59, "second"),
    ] {
        if is_wrong {
            return Err(out_of_range(what));
        }
    }
    if let Some(after) = rest.strip_prefix(['.', ',']) {
        let end = after
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(after.len());
        if end > 0 {
            rest = after.get(end..).unwrap_or_default();
        }
    }
    let zone_fits = match rest.as_bytes() {
        [b'Z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    if !zone_fits {
        return Err(match rest.strip_prefix('Z') {
            Some(extra) => format!("parsing time {}: extra text: {}", quoted(text), quoted(extra)),
            None => fault(rest, "Z07:00"),
        });
    }
    let instant: Timestamp = text
        .replacen(',', ".", 1)
        .parse()
        .map_err(|_| out_of_range("day"))?;
    Ok(instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
