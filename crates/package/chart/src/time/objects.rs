//! Go's time types as templates see them: printed forms, kinds and methods.

use std::any::Any;
use std::cmp::Ordering;
use std::rc::Rc;

use gotemplate::{Call, Failure, Function, IntegerKind, Json, Kind, Object, Text, Type, Value};

use super::format::RFC3339_NANO;
use super::{Duration, Location, Time, month_name, weekday_name};

/// `time.Time`, in signatures.
pub(crate) const TIME: Type = Type::Named("time.Time", Kind::Struct);
const DURATION: Type = Type::Named("time.Duration", Kind::Integer(IntegerKind::Int64));
const LOCATION: Type = Type::Named("*time.Location", Kind::Pointer);

impl Time {
    /// The abbreviation of a zone that marks a date and time which had none.
    pub(crate) const LOCAL_DATE_TIME: &str = "datetime-local";
    /// The abbreviation of a zone that marks a date alone.
    pub(crate) const LOCAL_DATE: &str = "date-local";
    /// The abbreviation of a zone that marks a time of day alone.
    pub(crate) const LOCAL_TIME: &str = "time-local";

    /// Writes the time as TOML has it.
    pub(crate) fn to_toml(&self) -> String {
        let layout = match self.location.name() {
            Time::LOCAL_DATE_TIME => "2006-01-02T15:04:05.999999999",
            Time::LOCAL_DATE => "2006-01-02",
            Time::LOCAL_TIME => "15:04:05.999999999",
            _ => return self.formatted(RFC3339_NANO),
        };
        self.within(Location::Utc).formatted(layout)
    }
}

impl Object for Time {
    fn type_name(&self) -> &'static str {
        "time.Time"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn method(&self, name: &str) -> Option<&'static Function> {
        TIME_METHODS.iter().find(|method| method.name == name)
    }

    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn json(&self) -> Json {
        Json::Value(Value::string(self.formatted(RFC3339_NANO)))
    }

    fn equals(&self, other: &dyn Object) -> bool {
        // Go compares the struct's words: location and clock reading count.
        other.as_any().downcast_ref::<Time>().is_some_and(|other| {
            (self.seconds, self.nanoseconds, self.monotonic)
                == (other.seconds, other.nanoseconds, other.monotonic)
                && self.location.name() == other.location.name()
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl From<Time> for Value {
    fn from(time: Time) -> Value {
        Value::Object(Rc::new(time))
    }
}

impl Object for Duration {
    fn type_name(&self) -> &'static str {
        "time.Duration"
    }

    fn kind(&self) -> Kind {
        Kind::Integer(IntegerKind::Int64)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn method(&self, name: &str) -> Option<&'static Function> {
        DURATION_METHODS.iter().find(|method| method.name == name)
    }

    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn json(&self) -> Json {
        Json::Value(Value::int64(self.0))
    }

    fn truth(&self) -> bool {
        self.0 != 0
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl From<Duration> for Value {
    fn from(duration: Duration) -> Value {
        Value::Object(Rc::new(duration))
    }
}

/// `time.Month`, counted from 1, or `time.Weekday`, counted from Sunday as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CalendarName {
    Month(u32),
    Weekday(u32),
}

impl CalendarName {
    fn number(self) -> u32 {
        match self {
            CalendarName::Month(number) | CalendarName::Weekday(number) => number,
        }
    }

    fn name(self) -> &'static str {
        match self {
            CalendarName::Month(month) => month_name(month),
            CalendarName::Weekday(weekday) => weekday_name(weekday),
        }
    }
}

impl Object for CalendarName {
    fn type_name(&self) -> &'static str {
        match self {
            CalendarName::Month(_) => "time.Month",
            CalendarName::Weekday(_) => "time.Weekday",
        }
    }

    fn kind(&self) -> Kind {
        Kind::Integer(IntegerKind::Int)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn method(&self, name: &str) -> Option<&'static Function> {
        CALENDAR_METHODS.iter().find(|method| method.name == name)
    }

    fn text(&self) -> Option<String> {
        Some(self.name().to_owned())
    }

    fn json(&self) -> Json {
        Json::Value(Value::int(i64::from(self.number())))
    }

    fn truth(&self) -> bool {
        self.number() != 0
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl From<CalendarName> for Value {
    fn from(name: CalendarName) -> Value {
        Value::Object(Rc::new(name))
    }
}

impl Object for Location {
    fn type_name(&self) -> &'static str {
        "*time.Location"
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn method(&self, name: &str) -> Option<&'static Function> {
        LOCATION_METHODS.iter().find(|method| method.name == name)
    }

    fn text(&self) -> Option<String> {
        Some(self.name().to_owned())
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<Location>()
            .is_some_and(|other| self.name() == other.name())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

type Answer = Result<Value, Failure>;

static TIME_METHODS: &[Function] = &[
    Function::new("Add", &[DURATION], |call| {
        with_time(call, |time, call| time.add(duration(call, 0)).into())
    }),
    Function::new("AddDate", &[Type::INT, Type::INT, Type::INT], |call| {
        with_time(call, |time, call| {
            time.add_date(call.integer(0), call.integer(1), call.integer(2))
                .into()
        })
    }),
    Function::new("After", &[TIME], |call| compared(call, Ordering::is_gt)),
    Function::new("Before", &[TIME], |call| compared(call, Ordering::is_lt)),
    Function::new("Equal", &[TIME], |call| compared(call, Ordering::is_eq)),
    Function::new("Compare", &[TIME], |call| {
        with_time(call, |time, call| {
            Value::int(time.compare(&argument(call, 0)) as i64)
        })
    }),
    Function::new("IsZero", &[], |call| {
        with_time(call, |time, _| Value::Bool(time.is_zero()))
    }),
    Function::new("Year", &[], |call| {
        with_time(call, |time, _| Value::int(time.civil().year))
    }),
    Function::new("Month", &[], |call| {
        with_time(call, |time, _| CalendarName::Month(time.civil().month).into())
    }),
    Function::new("Day", &[], |call| {
        with_time(call, |time, _| small(time.civil().day))
    }),
    Function::new("Weekday", &[], |call| {
        with_time(call, |time, _| CalendarName::Weekday(time.civil().weekday).into())
    }),
    Function::new("YearDay", &[], |call| {
        with_time(call, |time, _| small(time.civil().year_day))
    }),
    Function::new("Hour", &[], |call| {
        with_time(call, |time, _| small(time.civil().hour))
    }),
    Function::new("Minute", &[], |call| {
        with_time(call, |time, _| small(time.civil().minute))
    }),
    Function::new("Second", &[], |call| {
        with_time(call, |time, _| small(time.civil().second))
    }),
    Function::new("Nanosecond", &[], |call| {
        with_time(call, |time, _| small(time.nanoseconds))
    }),
    Function::new("Sub", &[TIME], |call| {
        with_time(call, |time, call| time.since(&argument(call, 0)).into())
    }),
    Function::new("UTC", &[], |call| {
        with_time(call, |time, _| time.within(Location::Utc).into())
    }),
    Function::new("Local", &[], |call| {
        with_time(call, |time, call| time.within(Location::local(call)).into())
    }),
    Function::new("In", &[LOCATION], |call| {
        let location = call.take(0);
        let Some(location) = location.as_object::<Location>().cloned() else {
            return Err("time: missing Location in call to Time.In".into());
        };
        with_time(call, |time, _| time.within(location).into())
    }),
    Function::new("Location", &[], |call| {
        with_time(call, |time, _| Value::Object(Rc::new(time.location.clone())))
    }),
    Function::new("IsDST", &[], |call| {
        with_time(call, |time, _| {
            Value::Bool(time.location.is_summer_time_at(time.seconds))
        })
    }),
    Function::new("Unix", &[], |call| {
        with_time(call, |time, _| Value::int64(time.unix()))
    }),
    Function::new("UnixMilli", &[], |call| {
        with_time(call, |time, _| Value::int64(time.unix_in(1_000)))
    }),
    Function::new("UnixMicro", &[], |call| {
        with_time(call, |time, _| Value::int64(time.unix_in(1_000_000)))
    }),
    Function::new("UnixNano", &[], |call| {
        with_time(call, |time, _| Value::int64(time.unix_in(1_000_000_000)))
    }),
    Function::new("Truncate", &[DURATION], |call| {
        with_time(call, |time, call| {
            let unit = duration(call, 0);
            let time = time.within(time.location.clone());
            if unit.0 <= 0 {
                return time.into();
            }
            time.add(Duration(-time.past_multiple_of(unit).0)).into()
        })
    }),
    Function::new("Round", &[DURATION], |call| {
        with_time(call, |time, call| {
            let unit = duration(call, 0);
            let time = time.within(time.location.clone());
            if unit.0 <= 0 {
                return time.into();
            }
            let past = time.past_multiple_of(unit).0;
            let change = if past < unit.0 - past {
                -past
            } else {
                unit.0 - past
            };
            time.add(Duration(change)).into()
        })
    }),
    Function::new("Format", &[Type::String], |call| {
        with_time(call, |time, call| Value::string(time.format(&call.text(0))))
    }),
    Function::new("AppendFormat", &[Type::Bytes, Type::String], |call| {
        with_time(call, |time, call| {
            let mut bytes = match call.arguments.first() {
                Some(Value::Bytes(bytes)) => bytes.to_vec(),
                _ => Vec::new(),
            };
            bytes.extend(time.format(&call.text(1)));
            Value::Bytes(bytes.into())
        })
    }),
    Function::new("MarshalJSON", &[], |call| marshalled(call, "MarshalJSON", "\"")),
    Function::new("MarshalText", &[], |call| marshalled(call, "MarshalText", "")),
    Function::new("String", &[], |call| {
        with_time(call, |time, _| Value::string(time.to_string()))
    }),
];

static DURATION_METHODS: &[Function] = &[
    Function::new("Hours", &[], |call| {
        with_duration(call, |value, _| value.in_units(HOUR).into())
    }),
    Function::new("Minutes", &[], |call| {
        with_duration(call, |value, _| value.in_units(MINUTE).into())
    }),
    Function::new("Seconds", &[], |call| {
        with_duration(call, |value, _| value.in_units(SECOND).into())
    }),
    Function::new("Milliseconds", &[], |call| {
        with_duration(call, |value, _| Value::int64(value.0 / 1_000_000))
    }),
    Function::new("Microseconds", &[], |call| {
        with_duration(call, |value, _| Value::int64(value.0 / 1_000))
    }),
    Function::new("Nanoseconds", &[], |call| {
        with_duration(call, |value, _| Value::int64(value.0))
    }),
    Function::new("Round", &[DURATION], |call| {
        with_duration(call, |value, call| value.round(duration(call, 0)).into())
    }),
    Function::new("Truncate", &[DURATION], |call| {
        with_duration(call, |value, call| value.truncate(duration(call, 0)).into())
    }),
    Function::new("Abs", &[], |call| {
        with_duration(call, |value, _| Duration(value.0.saturating_abs()).into())
    }),
    Function::new("String", &[], |call| {
        with_duration(call, |value, _| Value::string(value.to_string()))
    }),
];

static CALENDAR_METHODS: &[Function] = &[Function::new("String", &[], |call| {
    let name = call.receiver.as_object::<CalendarName>().map(|name| name.name());
    Ok(Value::string(name.unwrap_or_default()))
})];

static LOCATION_METHODS: &[Function] = &[Function::new("String", &[], |call| {
    let name = call
        .receiver
        .as_object::<Location>()
        .map(|location| location.name().to_owned());
    Ok(Value::string(name.unwrap_or_default()))
})];

const SECOND: i64 = super::NANOSECONDS_PER_SECOND;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

fn small(number: u32) -> Value {
    Value::int(i64::from(number))
}

fn with_time(call: &mut Call<'_, '_>, answer: impl FnOnce(&Time, &mut Call<'_, '_>) -> Value) -> Answer {
    let receiver = call.receiver.clone();
    let time = receiver
        .as_object::<Time>()
        .ok_or("receiver is not a time.Time")?;
    Ok(answer(time, call))
}

fn with_duration(
    call: &mut Call<'_, '_>,
    answer: impl FnOnce(Duration, &mut Call<'_, '_>) -> Value,
) -> Answer {
    let duration = call
        .receiver
        .as_object::<Duration>()
        .copied()
        .ok_or("receiver is not a time.Duration")?;
    Ok(answer(duration, call))
}

fn compared(call: &mut Call<'_, '_>, holds: fn(Ordering) -> bool) -> Answer {
    with_time(call, |time, call| {
        Value::Bool(holds(time.compare(&argument(call, 0))))
    })
}

/// Returns a `time.Time` argument; the zero time where it is not one.
pub(crate) fn argument(call: &Call<'_, '_>, index: usize) -> Time {
    let time = call.arguments.get(index).and_then(Value::as_object::<Time>);
    time.cloned().unwrap_or_else(Time::zero)
}

/// Returns a duration argument; a number literal in a template is one too.
fn duration(call: &Call<'_, '_>, index: usize) -> Duration {
    match call.arguments.get(index) {
        Some(Value::Integer(integer)) => Duration(integer.bits),
        Some(value) => value.as_object().copied().unwrap_or(Duration(0)),
        None => Duration(0),
    }
}

fn marshalled(call: &mut Call<'_, '_>, method: &str, quote: &str) -> Answer {
    let year = call.receiver.as_object::<Time>().map(|time| time.civil().year);
    if !year.is_some_and(|year| (0..=9999).contains(&year)) {
        return Err(format!("Time.{method}: year outside of range [0,9999]").into());
    }
    with_time(call, |time, _| {
        Value::Bytes(Text::from(format!(
            "{quote}{}{quote}",
            time.formatted(RFC3339_NANO)
        )))
    })
}
