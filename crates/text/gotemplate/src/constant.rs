//! Numeric constants: one text, and every type that it can take.

use crate::format::{parse_float, parse_int, parse_uint, quoted, unquote_char};
use crate::lex::TokenKind;
use crate::node::Number;

/// Parses the text of a number, character or complex constant.
pub(crate) fn parse_number(text: &[u8], kind: TokenKind) -> Result<Number, String> {
    let shown = String::from_utf8_lossy(text);
    let mut number = Number {
        text: shown.as_ref().into(),
        ..Number::default()
    };
    match kind {
        TokenKind::CharConstant => {
            let (code, rest) =
                unquote_char(text.get(1..).unwrap_or_default(), b'\'').map_err(|error| error.to_string())?;
            if rest != b"'" {
                return Err(format!("malformed character constant: {shown}"));
            }
            number.integer = Some(i64::from(code));
            number.unsigned = Some(u64::from(code));
            number.float = Some(f64::from(code));
            return Ok(number);
        }
        TokenKind::Complex => {
            let (real, imaginary) = parse_complex(&shown).ok_or("syntax error scanning complex number")?;
            number.set_complex(real, imaginary);
            return Ok(number);
        }
        _ => {}
    }
    if let Some(imaginary) = shown.strip_suffix('i').and_then(|text| parse_float(text).ok()) {
        number.set_complex(0.0, imaginary);
        return Ok(number);
    }
    number.unsigned = parse_uint(&shown, 0).ok();
    number.integer = parse_int(&shown, 0).ok();
    if number.integer == Some(0) && number.unsigned.is_none() {
        number.unsigned = Some(0);
    }
    if let Some(integer) = number.integer {
        number.float = Some(integer as f64);
    } else if let Some(unsigned) = number.unsigned {
        number.float = Some(unsigned as f64);
    } else if let Ok(float) = parse_float(&shown) {
        if !shown.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {}", quoted(text)));
        }
        number.set_float(float);
    } else {
        return Err(format!("illegal number syntax: {}", quoted(text)));
    }
    Ok(number)
}

impl Number {
    /// Takes a float, and the integers that are equal to it.
    fn set_float(&mut self, float: f64) {
        self.float = Some(float);
        if (float as i64) as f64 == float {
            self.integer = Some(float as i64);
        }
        if (float as u64) as f64 == float {
            self.unsigned = Some(float as u64);
        }
    }

    fn set_complex(&mut self, real: f64, imaginary: f64) {
        self.complex = Some((real, imaginary));
        if imaginary == 0.0 {
            self.set_float(real);
        }
    }
}

/// Splits `1+2i` at the sign of the imaginary part, which is the last one that belongs to no exponent.
fn parse_complex(text: &str) -> Option<(f64, f64)> {
    let body = text.strip_suffix('i')?;
    let split = body
        .char_indices()
        .skip(1)
        .filter(|(index, character)| {
            matches!(character, '+' | '-') && !body[..*index].ends_with(['e', 'E', 'p', 'P'])
        })
        .map(|(index, _)| index)
        .last()?;
    Some((
        parse_float(&body[..split]).ok()?,
        parse_float(&body[split..]).ok()?,
    ))
}
