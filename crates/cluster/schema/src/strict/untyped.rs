//! JSON read without a type, as Go reads it into `interface{}` for custom resources.

use serde_json::{Map, Value};

use super::problems::Problems;
use super::scanner::{Begin, Scanner, SyntaxError};

/// Reads any value. Of fields with the same name the last one counts, and the others are problems.
pub(super) fn value(scanner: &mut Scanner<'_>, problems: &mut Problems) -> Result<Value, SyntaxError> {
    let begin = scanner.begin()?;
    match begin {
        Begin::Object => object(scanner, problems),
        Begin::Array => array(scanner, problems),
        Begin::Text => Ok(Value::String(scanner.text()?.into_owned())),
        Begin::Number => scanner.number().map(|text| number(text, problems)),
        Begin::True | Begin::False | Begin::Null => {
            scanner.word(begin)?;
            Ok(match begin {
                Begin::Null => Value::Null,
                other => Value::Bool(other == Begin::True),
            })
        }
    }
}

fn object(scanner: &mut Scanner<'_>, problems: &mut Problems) -> Result<Value, SyntaxError> {
    let mut map = Map::new();
    scanner.open_kept()?;
    let mut is_first = true;
    while let Some(key) = scanner.key(is_first)? {
        is_first = false;
        if map.contains_key(key.as_ref()) {
            problems.duplicate(&key);
        }
        let back = problems.enter_field(&key);
        let value = value(scanner, problems)?;
        problems.leave(back);
        map.insert(key.into_owned(), value);
    }
    Ok(Value::Object(map))
}

fn array(scanner: &mut Scanner<'_>, problems: &mut Problems) -> Result<Value, SyntaxError> {
    let mut list = Vec::new();
    scanner.open_kept()?;
    while scanner.item(list.is_empty())? {
        let back = problems.enter_item(list.len());
        let value = value(scanner, problems)?;
        problems.leave(back);
        list.push(value);
    }
    Ok(Value::Array(list))
}

/// Returns a number as Go holds it: whole ones in 64 bits where they fit, the others as floats.
fn number(text: &str, problems: &mut Problems) -> Value {
    if let Ok(whole) = text.parse::<i64>() {
        return Value::from(whole);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => float(number),
        _ => {
            problems.overflows(text);
            Value::Null
        }
    }
}

/// Returns a float as Go writes it: without a fraction it looks like a whole number, and is one when it is read again.
pub(super) fn float(number: f64) -> Value {
    // The bounds are exact as floats.
    if number.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number)
    {
        return Value::from(number as i64);
    }
    Value::from(number)
}
