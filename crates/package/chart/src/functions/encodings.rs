//! Base64 and base32; what cannot be decoded becomes the text of Go's error, as Sprig returns it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gotemplate::{Failure, Function, Type, Value};

use super::limits;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("b64enc", &[Type::String], |call| {
        limits::text(STANDARD.encode(&*call.text(0)).into_bytes())
    }),
    Function::new("b64dec", &[Type::String], |call| {
        decoded("base64", base64_decode(&call.text(0)))
    })
    .heavy(),
    Function::new("b32enc", &[Type::String], |call| {
        limits::text(base32_encode(&call.text(0)))
    })
    .heavy(),
    Function::new("b32dec", &[Type::String], |call| {
        decoded("base32", base32_decode(&call.text(0)))
    })
    .heavy(),
];

/// The position of the byte that Go calls illegal.
type IllegalByte = usize;

fn decoded(encoding: &str, result: Result<Vec<u8>, IllegalByte>) -> Result<Value, Failure> {
    Ok(match result {
        Ok(bytes) => Value::string(bytes),
        Err(position) => Value::from(format!("illegal {encoding} data at input byte {position}")),
    })
}

fn base64_digit(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Decodes groups of four digits; line ends may stand anywhere, padding only at the end.
pub(super) fn base64_decode(text: &[u8]) -> Result<Vec<u8>, IllegalByte> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    let skip_line_ends = |mut at: usize| {
        while text.get(at).is_some_and(|&byte| is_line_end(byte)) {
            at += 1;
        }
        at
    };
    while at < text.len() {
        let (mut group, mut digits) = (0_u32, 0_usize);
        while digits < 4 {
            let Some(&byte) = text.get(at) else {
                return if digits == 0 { Ok(out) } else { Err(at - digits) };
            };
            at += 1;
            if let Some(digit) = base64_digit(byte) {
                group = group << 6 | digit;
                digits += 1;
            } else if !is_line_end(byte) {
                if byte != b'=' || digits < 2 {
                    return Err(at - 1);
                }
                if digits == 2 {
                    at = skip_line_ends(at);
                    match text.get(at) {
                        None => return Err(text.len()),
                        Some(b'=') => at += 1,
                        Some(_) => return Err(at - 1),
                    }
                }
                at = skip_line_ends(at);
                if at < text.len() {
                    return Err(at);
                }
                break;
            }
        }
        let [_, bytes @ ..] = (group << (6 * (4 - digits))).to_be_bytes();
        out.extend_from_slice(bytes.get(..digits - 1).unwrap_or_default());
    }
    Ok(out)
}

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn base32_encode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len().div_ceil(5) * 8);
    for chunk in text.chunks(5) {
        let mut group = [0_u8; 8];
        for (place, byte) in group.iter_mut().skip(3).zip(chunk) {
            *place = *byte;
        }
        let bits = u64::from_be_bytes(group);
        let digits = (chunk.len() * 8).div_ceil(5);
        for index in 0..8 {
            let digit = (bits >> (35 - 5 * index) & 31) as usize;
            out.push(if index < digits { BASE32[digit] } else { b'=' });
        }
    }
    out
}

fn base32_digit(byte: u8) -> Option<u64> {
    Some(u64::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'2'..=b'7' => byte - b'2' + 26,
        _ => return None,
    }))
}

/// Decodes groups of eight digits, without line ends; padding only at the end.
fn base32_decode(text: &[u8]) -> Result<Vec<u8>, IllegalByte> {
    let text: Vec<u8> = text.iter().copied().filter(|&byte| !is_line_end(byte)).collect();
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    let mut at = 0;
    while at < text.len() {
        let (mut group, mut digits) = (0_u64, 0_usize);
        let mut ended = false;
        while digits < 8 {
            let Some(&byte) = text.get(at) else {
                return Err(at - digits);
            };
            at += 1;
            let left = text.get(at..).unwrap_or_default();
            if byte == b'=' && digits >= 2 && left.len() < 8 {
                if left.len() + digits < 7 {
                    return Err(text.len());
                }
                let padding = left.iter().take(7 - digits);
                if let Some(index) = padding.into_iter().position(|&byte| byte != b'=') {
                    return Err(at + index - 1);
                }
                if matches!(digits, 3 | 6) {
                    return Err(at - 1);
                }
                ended = true;
                break;
            }
            group = group << 5 | base32_digit(byte).ok_or(at - 1)?;
            digits += 1;
        }
        let [_, _, _, bytes @ ..] = (group << (5 * (8 - digits))).to_be_bytes();
        out.extend_from_slice(bytes.get(..digits * 5 / 8).unwrap_or_default());
        if ended {
            break;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(encoding: &str, result: Result<Vec<u8>, IllegalByte>) -> String {
        decoded(encoding, result)
            .expect("decoding never fails")
            .as_text()
            .expect("text")
            .to_str()
            .into_owned()
    }

    #[test]
    fn decoding_fails_at_the_byte_that_go_names() {
        for (text, want) in [
            ("aGVsbG8=", "hello"),
            ("aGVsbG8", "illegal base64 data at input byte 4"),
            ("aGVsbG", "illegal base64 data at input byte 4"),
            ("aGVsb", "illegal base64 data at input byte 4"),
            ("a", "illegal base64 data at input byte 0"),
            ("=", "illegal base64 data at input byte 0"),
            ("a=", "illegal base64 data at input byte 1"),
            ("aG=", "illegal base64 data at input byte 3"),
            ("aG==", "h"),
            ("aG=\n=", "h"),
            ("aG=x", "illegal base64 data at input byte 2"),
            ("aG==x", "illegal base64 data at input byte 4"),
            ("aGV=", "he"),
            ("aGV==", "illegal base64 data at input byte 4"),
            ("aG\nVsbG8=\n", "hello"),
            ("!!!!", "illegal base64 data at input byte 0"),
            ("aGVs!G8=", "illegal base64 data at input byte 4"),
            ("", ""),
            ("\n", ""),
            ("aGVsbG8=\r\nx", "illegal base64 data at input byte 10"),
            ("aGVsbG8h", "hello!"),
            ("aGVsbG8hé", "illegal base64 data at input byte 8"),
            ("a=Vs", "illegal base64 data at input byte 1"),
            ("YR==", "a"),
        ] {
            assert_eq!(shown("base64", base64_decode(text.as_bytes())), want, "{text}");
        }
        for (text, want) in [
            ("NBSWY3DP", "hello"),
            ("NBSWY3DPEE======", "hello!"),
            ("NBSWY3DPEE=====", "illegal base32 data at input byte 15"),
            ("NBSWY3DPEE=", "illegal base32 data at input byte 11"),
            ("NBSWY3DP8", "illegal base32 data at input byte 8"),
            ("nbsw", "illegal base32 data at input byte 0"),
            ("N", "illegal base32 data at input byte 0"),
            ("NB======", "h"),
            ("NBS=====", "illegal base32 data at input byte 3"),
            ("NBSWY3==", "illegal base32 data at input byte 6"),
            ("NBSW====", "he"),
            ("NBSWY===", "hel"),
            ("NBSWY3DPEE===X==", "illegal base32 data at input byte 12"),
            ("NBSWY3DPEE======X", "hello!"),
            ("=", "illegal base32 data at input byte 0"),
            ("NBSW\nY3DP", "hello"),
            ("NBSWY3D=", "hell"),
            ("", ""),
            ("NBSWY3DPEE======NBSWY3DP", "illegal base32 data at input byte 10"),
        ] {
            assert_eq!(shown("base32", base32_decode(text.as_bytes())), want, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_can_be_decoded(bytes: Vec<u8>) {
            prop_assert_eq!(base64_decode(STANDARD.encode(&bytes).as_bytes()), Ok(bytes.clone()));
            prop_assert_eq!(base32_decode(&base32_encode(&bytes)), Ok(bytes));
        }

        #[test]
        fn decoding_never_panics(bytes: Vec<u8>) {
            let _ = (base64_decode(&bytes), base32_decode(&bytes));
        }
    }
}
