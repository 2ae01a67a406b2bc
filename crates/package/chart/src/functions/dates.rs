//! Dates: the present, formatting, reading, and arithmetic with durations.

use gotemplate::{Call, Failure, Function, IntegerKind, Text, Type, Value};

use crate::source;
use crate::time::objects::{TIME, argument};
use crate::time::{Duration, Location, Time};

const HTML_DATE: &[u8] = b"2006-01-02";

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("ago", &[Type::Any], ago),
    Function::new("date", &[Type::String, Type::Any], |call| {
        let layout = call.text(0);
        Ok(formatted(call, &layout, 1, b"Local"))
    })
    .heavy(),
    Function::new(
        "date_in_zone",
        &[Type::String, Type::Any, Type::String],
        date_in_zone,
    )
    .heavy(),
    Function::new(
        "dateInZone",
        &[Type::String, Type::Any, Type::String],
        date_in_zone,
    )
    .heavy(),
    Function::new("date_modify", &[Type::String, TIME], date_modify),
    Function::new("dateModify", &[Type::String, TIME], date_modify),
    Function::new("must_date_modify", &[Type::String, TIME], must_date_modify),
    Function::new("mustDateModify", &[Type::String, TIME], must_date_modify),
    Function::new("duration", &[Type::Any], |call| {
        let seconds = match call.arguments.first() {
            Some(Value::String(text)) => seconds_in(text),
            Some(value) => int64(value).unwrap_or(0),
            None => 0,
        };
        Ok(Value::string(Duration::from_seconds(seconds).to_string()))
    }),
    Function::new("durationRound", &[Type::Any], |call| {
        let duration = match call.arguments.first() {
            Some(Value::String(text)) => Duration::parse(text).unwrap_or(Duration(0)),
            Some(value) => match value.as_object::<Time>() {
                Some(time) => present(call).since(time),
                None => Duration(int64(value).unwrap_or(0)),
            },
            None => Duration(0),
        };
        Ok(Value::string(rounded(duration)))
    }),
    Function::new("htmlDate", &[Type::Any], |call| {
        Ok(formatted(call, HTML_DATE, 0, b"Local"))
    }),
    Function::new("htmlDateInZone", &[Type::Any, Type::String], |call| {
        let zone = call.text(1);
        Ok(formatted(call, HTML_DATE, 0, &zone))
    }),
    Function::new("mustToDate", &[Type::String, Type::String], |call| {
        Ok(read(call)?.into())
    })
    .heavy(),
    Function::new("toDate", &[Type::String, Type::String], |call| {
        Ok(read(call).unwrap_or_else(|_| Time::zero()).into())
    })
    .heavy(),
    Function::new("now", &[], |call| Ok(present(call).into())).fixed(),
    Function::new("unixEpoch", &[TIME], |call| {
        Ok(Value::string(argument(call, 0).unix().to_string()))
    }),
];

fn present(call: &Call<'_, '_>) -> Time {
    let source = source::of(call);
    let nanoseconds = source.now().as_nanosecond();
    let per_second = 1_000_000_000;
    let time = Time::from_unix(
        nanoseconds.div_euclid(per_second) as i64,
        nanoseconds.rem_euclid(per_second) as u32,
        Location::local(call),
    );
    time.with_monotonic(source.elapsed().as_nanos() as i64)
}

/// Returns the time that an argument means: a time, or seconds since the Unix epoch; the present for all else.
fn time_of(call: &Call<'_, '_>, index: usize, kinds: &[IntegerKind]) -> Time {
    match call.arguments.get(index) {
        Some(Value::Integer(integer)) if kinds.contains(&integer.kind) => {
            Time::from_unix(integer.bits, 0, Location::local(call))
        }
        Some(value) => value
            .as_object::<Time>()
            .cloned()
            .unwrap_or_else(|| present(call)),
        None => present(call),
    }
}

fn formatted(call: &Call<'_, '_>, layout: &[u8], date: usize, zone: &[u8]) -> Value {
    let time = time_of(
        call,
        date,
        &[IntegerKind::Int64, IntegerKind::Int, IntegerKind::Int32],
    );
    let zone = std::str::from_utf8(zone)
        .ok()
        .and_then(|zone| Location::load(zone, &Location::local(call)));
    Value::string(time.within(zone.unwrap_or(Location::Utc)).format(layout))
}

fn date_in_zone(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let (layout, zone) = (call.text(0), call.text(2));
    Ok(formatted(call, &layout, 1, &zone))
}

fn ago(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let time = time_of(call, 0, &[IntegerKind::Int64, IntegerKind::Int]);
    let since = present(call).since(&time).round(Duration::from_seconds(1));
    Ok(Value::string(since.to_string()))
}

fn date_modify(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let time = argument(call, 1);
    Ok(match Duration::parse(&call.text(0)) {
        Ok(duration) => time.add(duration).into(),
        Err(_) => time.into(),
    })
}

fn must_date_modify(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    Ok(argument(call, 1).add(Duration::parse(&call.text(0))?).into())
}

fn read(call: &Call<'_, '_>) -> Result<Time, String> {
    Time::parse(&call.text(0), &call.text(1), &Location::local(call))
}

fn int64(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(integer) if integer.kind == IntegerKind::Int64 => Some(integer.bits),
        _ => None,
    }
}

/// Reads a decimal number as Go's `strconv.ParseInt` does whose error is ignored: the nearest there is.
fn seconds_in(text: &Text) -> i64 {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    let nearest = if negative { i64::MIN } else { i64::MAX };
    digits
        .iter()
        .try_fold(0i64, |number, digit| {
            let digit = i64::from(digit - b'0');
            number
                .checked_mul(10)?
                .checked_add(if negative { -digit } else { digit })
        })
        .unwrap_or(nearest)
}

/// Writes a duration in its largest unit alone, which it must exceed.
fn rounded(duration: Duration) -> String {
    const SECOND: u64 = 1_000_000_000;
    const UNITS: [(u64, &str); 6] = [
        (SECOND * 3600 * 24 * 365, "y"),
        (SECOND * 3600 * 24 * 30, "mo"),
        (SECOND * 3600 * 24, "d"),
        (SECOND * 3600, "h"),
        (SECOND * 60, "m"),
        (SECOND, "s"),
    ];
    let total = duration.0.unsigned_abs();
    match UNITS.into_iter().find(|(unit, _)| total > *unit) {
        Some((unit, name)) => format!("{}{name}", total / unit),
        None => "0s".into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn dates_are_those_of_helm() {
        check(&[
            (
                r#"{{ date "2006-01-02" 1700000000 }}{{ date "2006-01-02" "x" | len }}{{ htmlDate (int64 86400) }}{{ htmlDateInZone (int 0) "America/New_York" }}"#,
                Ok("2023-11-14101970-01-021969-12-31"),
            ),
            (
                r#"{{ dateInZone "2006-01-02T15:04:05Z07:00 MST" (toDate "2006-01-02" "2024-07-01") "Europe/Berlin" }}"#,
                Ok("2024-07-01T02:00:00+02:00 CEST"),
            ),
            (
                r#"{{ dateInZone "15:04 MST" 0 "europe/berlin" }}{{ dateInZone "15:04 MST" 0 "Nowhere" }}{{ dateInZone "15:04 MST" 0 "" }}{{ dateInZone "15:04 MST" 0 "Local" }}"#,
                Ok("00:00 UTC00:00 UTC00:00 UTC00:00 UTC"),
            ),
            (
                r#"{{ dateModify "-1.5h" (toDate "2006-01-02" "2024-02-02") }}{{ date_modify "bogus" (toDate "2006-01-02" "2024-02-02") }}"#,
                Ok("2024-02-01 22:30:00 +0000 UTC2024-02-02 00:00:00 +0000 UTC"),
            ),
            (
                r#"{{ mustDateModify "bogus" (toDate "2006-01-02" "2024-02-02") }}"#,
                Err(r#"time: invalid duration "bogus""#),
            ),
            (
                r#"{{ must_date_modify "3d" (toDate "2006-01-02" "2024-02-02") }}"#,
                Err(r#"time: unknown unit "d" in duration "3d""#),
            ),
            (
                r#"{{ unixEpoch (toDate "2006-01-02" "2024-02-02") }}"#,
                Ok("1706832000"),
            ),
            (
                r#"{{ duration 95 }}{{ duration "95" }}{{ duration (int64 95) }}{{ duration "x" }}{{ duration 95.5 }}{{ duration nil }}{{ duration "-100000" }}{{ duration "99999999999999999999" }}"#,
                Ok("0s1m35s1m35s0s0s0s-27h46m40s-1s"),
            ),
            (
                r#"{{ durationRound "2h10m5s" }}{{ durationRound "x" }}{{ durationRound (int64 3600000000001) }}{{ durationRound 5 }}{{ durationRound "8760h1s" }}{{ durationRound "-49h" }}{{ durationRound "1s" }}{{ durationRound "800h" }}"#,
                Ok("2h0s1h0s1y2d0s1mo"),
            ),
            (
                r#"{{ toDate "2006-01-02" "nope" }}"#,
                Ok("0001-01-01 00:00:00 +0000 UTC"),
            ),
            (
                r#"{{ mustToDate "2006-01-02" "nope" }}"#,
                Err(r#"parsing time "nope" as "2006-01-02": cannot parse "nope" as "2006""#),
            ),
            (
                r#"{{ mustToDate "2006-01-02T15:04:05Z07:00" "2024-02-02T22:30:00.123+02:00" }}"#,
                Ok("2024-02-02 22:30:00.123 +0200 +0200"),
            ),
            (
                r#"{{ toDate "2006-01-02" "2024-02-02" | toJson }}{{ toDate "2006-01-02" "2024-02-02" | toYaml }}{{ toDate "2006-01-02" "2024-02-02" | quote }}{{ toDate "2006-01-02" "2024-02-02" | kindOf }}{{ toDate "2006-01-02" "2024-02-02" | typeOf }}"#,
                Ok(
                    r#""2024-02-02T00:00:00Z""2024-02-02T00:00:00Z""2024-02-02 00:00:00 +0000 UTC"structtime.Time"#,
                ),
            ),
            (
                r#"{{ $t := toDate "2006-01-02 15:04:05" "2024-02-29 23:59:58" }}{{ $t.Year }} {{ $t.Month }} {{ $t.Day }} {{ $t.Hour }} {{ $t.Minute }} {{ $t.Second }} {{ $t.Nanosecond }} {{ $t.Unix }} {{ $t.UnixNano }} {{ $t.UnixMilli }} {{ $t.UnixMicro }} {{ $t.Weekday }} {{ $t.YearDay }} {{ $t.IsZero }} {{ $t.UTC }} {{ $t.Local }} {{ $t.Location }} {{ $t.IsDST }} {{ $t.String }} {{ $t.Format "Jan _2" }}"#,
                Ok(
                    "2024 February 29 23 59 58 0 1709251198 1709251198000000000 1709251198000 1709251198000000 Thursday 60 false 2024-02-29 23:59:58 +0000 UTC 2024-02-29 23:59:58 +0000 UTC UTC false 2024-02-29 23:59:58 +0000 UTC Feb 29",
                ),
            ),
            (
                r#"{{ $t := toDate "2006-01-02" "2024-02-29" }}{{ $u := $t.AddDate 1 0 0 }}{{ $u }} {{ $t.Before $u }} {{ $t.After $u }} {{ $t.Equal $t }} {{ $t.Compare $u }} {{ $d := $u.Sub $t }}{{ $d }} {{ $d.Hours }} {{ $d.Minutes }} {{ $d.Seconds }} {{ $d.Milliseconds }} {{ $d.Nanoseconds }} {{ $d.String }} {{ $d.Abs }} {{ $d | toJson }} {{ printf "%d %T" $d $d }} {{ kindOf $d }} {{ $t.Add $d }} {{ $d.Round 3600000000000 }} {{ $t.Truncate 3600000000000 }} {{ $t.Round $d }}"#,
                Ok(
                    "2025-03-01 00:00:00 +0000 UTC true false true -1 8784h0m0s 8784 527040 3.16224e+07 31622400000 31622400000000000 8784h0m0s 8784h0m0s 31622400000000000 31622400000000000 time.Duration int64 2025-03-01 00:00:00 +0000 UTC 8784h0m0s 2024-02-29 00:00:00 +0000 UTC 2024-03-10 00:00:00 +0000 UTC",
                ),
            ),
            (
                r#"{{ $t := toDate "2006-01-02" "2024-02-29" }}{{ $t.Add 5 }}"#,
                Ok("2024-02-29 00:00:00.000000005 +0000 UTC"),
            ),
            (
                r#"{{ $t := toDate "2006-01-02" "2024-02-29" }}{{ $t.In $t.Location }}{{ $t.MarshalJSON | toString }}{{ $t.MarshalText | toString }}"#,
                Ok(r#"2024-02-29 00:00:00 +0000 UTC"2024-02-29T00:00:00Z"2024-02-29T00:00:00Z"#),
            ),
            (
                r#"{{ $t := toDate "2006-01-02" "2024-02-29" }}{{ if $t }}y{{ end }}{{ if ($t.Sub $t) }}n{{ else }}z{{ end }}{{ empty $t }}{{ empty ($t.Sub $t) }}{{ eq $t $t }}"#,
                Ok("yzfalsetruetrue"),
            ),
            (
                r#"{{ $t := toDate "2006-01-02" "2024-02-29" }}{{ eq $t (toDate "2006-01-02" "2024-02-29") }}{{ deepEqual $t (toDate "2006-01-02" "2024-02-29") }}"#,
                Ok("truetrue"),
            ),
        ]);
    }
}
