//! Numbers in text, and text to numbers.

use proptest::prelude::*;

use crate::format::{float_text, parse_float, parse_int, parse_uint};

#[test]
fn floats_are_written_as_go_writes_them() {
    let forms: [(u8, Option<usize>); 12] = [
        (b'e', None),
        (b'f', None),
        (b'g', None),
        (b'G', None),
        (b'E', Some(3)),
        (b'f', Some(0)),
        (b'f', Some(2)),
        (b'g', Some(3)),
        (b'g', Some(17)),
        (b'b', None),
        (b'x', None),
        (b'X', Some(2)),
    ];
    #[rustfmt::skip]
    let rows: [(f64, [&str; 12]); 16] = [
        (0.0, [
            "0e+00", "0", "0", "0", "0.000E+00", "0", "0.00", "0", "0", "0p-1074", "0x0p+00", "0X0.00P+00",
        ]),
        (-0.0, [
            "-0e+00", "-0", "-0", "-0", "-0.000E+00", "-0", "-0.00", "-0", "-0", "-0p-1074", "-0x0p+00",
            "-0X0.00P+00",
        ]),
        (1.0, [
            "1e+00", "1", "1", "1", "1.000E+00", "1", "1.00", "1", "1", "4503599627370496p-52", "0x1p+00",
            "0X1.00P+00",
        ]),
        (2.5, [
            "2.5e+00", "2.5", "2.5", "2.5", "2.500E+00", "2", "2.50", "2.5", "2.5", "5629499534213120p-51",
            "0x1.4p+01", "0X1.40P+01",
        ]),
        (-0.1, [
            "-1e-01", "-0.1", "-0.1", "-0.1", "-1.000E-01", "-0", "-0.10", "-0.1", "-0.10000000000000001",
            "-7205759403792794p-56", "-0x1.999999999999ap-04", "-0X1.9AP-04",
        ]),
        (123_456.0, [
            "1.23456e+05", "123456", "123456", "123456", "1.235E+05", "123456", "123456.00", "1.23e+05",
            "123456", "8483831719919616p-36", "0x1.e24p+16", "0X1.E2P+16",
        ]),
        (1e6, [
            "1e+06", "1000000", "1e+06", "1E+06", "1.000E+06", "1000000", "1000000.00", "1e+06", "1000000",
            "8589934592000000p-33", "0x1.e848p+19", "0X1.E8P+19",
        ]),
        (1_234_567.0, [
            "1.234567e+06", "1234567", "1.234567e+06", "1.234567E+06", "1.235E+06", "1234567", "1234567.00",
            "1.23e+06", "1234567", "5302424889720832p-32", "0x1.2d687p+20", "0X1.2DP+20",
        ]),
        (1e-4, [
            "1e-04", "0.0001", "0.0001", "0.0001", "1.000E-04", "0", "0.00", "0.0001", "0.0001",
            "7378697629483821p-66", "0x1.a36e2eb1c432dp-14", "0X1.A3P-14",
        ]),
        (1e-5, [
            "1e-05", "0.00001", "1e-05", "1E-05", "1.000E-05", "0", "0.00", "1e-05",
            "1.0000000000000001e-05", "5902958103587057p-69", "0x1.4f8b588e368f1p-17", "0X1.50P-17",
        ]),
        (1e21, [
            "1e+21", "1000000000000000000000", "1e+21", "1E+21", "1.000E+21", "1000000000000000000000",
            "1000000000000000000000.00", "1e+21", "1e+21", "7629394531250000p+17", "0x1.b1ae4d6e2ef5p+69",
            "0X1.B2P+69",
        ]),
        (25_759_518_898_803.312, [
            "2.5759518898803312e+13", "25759518898803.312", "2.5759518898803312e+13",
            "2.5759518898803312E+13", "2.576E+13", "25759518898803", "25759518898803.31", "2.58e+13",
            "25759518898803.312", "6594436838093648p-8", "0x1.76d9af93a735p+44", "0X1.77P+44",
        ]),
        (f64::INFINITY, [
            "+Inf", "+Inf", "+Inf", "+Inf", "+Inf", "+Inf", "+Inf", "+Inf", "+Inf", "+Inf", "+Inf", "+Inf",
        ]),
        (f64::NEG_INFINITY, [
            "-Inf", "-Inf", "-Inf", "-Inf", "-Inf", "-Inf", "-Inf", "-Inf", "-Inf", "-Inf", "-Inf", "-Inf",
        ]),
        (f64::NAN, ["NaN", "NaN", "NaN", "NaN", "NaN", "NaN", "NaN", "NaN", "NaN", "NaN", "NaN", "NaN"]),
        (5e-324, [
            "5e-324",
            "0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005",
            "5e-324", "5E-324", "4.941E-324", "0", "0.00", "4.94e-324", "4.9406564584124654e-324",
            "1p-1074", "0x1p-1074", "0X1.00P-1074",
        ]),
    ];
    for (value, texts) in rows {
        for ((verb, precision), text) in forms.into_iter().zip(texts) {
            assert_eq!(
                float_text(value, verb, precision),
                text,
                "{value} as {}",
                char::from(verb)
            );
        }
    }
}

#[test]
fn integers_are_read_as_go_reads_them() {
    type Read<T> = Result<T, &'static str>;
    #[rustfmt::skip]
    let rows: &[(&str, u32, Read<i64>, Read<u64>)] = &[
        ("0", 10, Ok(0), Ok(0)),
        ("42", 10, Ok(42), Ok(42)),
        ("-42", 10, Ok(-42), Err("strconv.ParseUint: parsing \"-42\": invalid syntax")),
        ("+7", 10, Ok(7), Err("strconv.ParseUint: parsing \"+7\": invalid syntax")),
        ("9223372036854775807", 10, Ok(9_223_372_036_854_775_807), Ok(9_223_372_036_854_775_807)),
        (
            "9223372036854775808", 10,
            Err("strconv.ParseInt: parsing \"9223372036854775808\": value out of range"),
            Ok(9_223_372_036_854_775_808),
        ),
        (
            "-9223372036854775808", 10,
            Ok(-9_223_372_036_854_775_808),
            Err("strconv.ParseUint: parsing \"-9223372036854775808\": invalid syntax"),
        ),
        (
            "-9223372036854775809", 10,
            Err("strconv.ParseInt: parsing \"-9223372036854775809\": value out of range"),
            Err("strconv.ParseUint: parsing \"-9223372036854775809\": invalid syntax"),
        ),
        (
            "", 10,
            Err("strconv.ParseInt: parsing \"\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"\": invalid syntax"),
        ),
        (
            "-", 10,
            Err("strconv.ParseInt: parsing \"-\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"-\": invalid syntax"),
        ),
        (
            "x", 10,
            Err("strconv.ParseInt: parsing \"x\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"x\": invalid syntax"),
        ),
        (
            "1_000", 10,
            Err("strconv.ParseInt: parsing \"1_000\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"1_000\": invalid syntax"),
        ),
        ("1_000", 0, Ok(1000), Ok(1000)),
        (
            "1__0", 0,
            Err("strconv.ParseInt: parsing \"1__0\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"1__0\": invalid syntax"),
        ),
        (
            "_1", 0,
            Err("strconv.ParseInt: parsing \"_1\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"_1\": invalid syntax"),
        ),
        (
            "1_", 0,
            Err("strconv.ParseInt: parsing \"1_\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"1_\": invalid syntax"),
        ),
        ("0x1F", 0, Ok(31), Ok(31)),
        ("0x_1f", 0, Ok(31), Ok(31)),
        (
            "0x", 0,
            Err("strconv.ParseInt: parsing \"0x\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"0x\": invalid syntax"),
        ),
        ("0b101", 0, Ok(5), Ok(5)),
        ("0o17", 0, Ok(15), Ok(15)),
        ("017", 0, Ok(15), Ok(15)),
        (
            "08", 0,
            Err("strconv.ParseInt: parsing \"08\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"08\": invalid syntax"),
        ),
        ("0_7", 0, Ok(7), Ok(7)),
        (
            "-0x8000000000000000", 0,
            Ok(-9_223_372_036_854_775_808),
            Err("strconv.ParseUint: parsing \"-0x8000000000000000\": invalid syntax"),
        ),
        ("ff", 16, Ok(255), Ok(255)),
        ("zz", 36, Ok(1295), Ok(1295)),
        (
            "1", 1,
            Err("strconv.ParseInt: parsing \"1\": invalid base 1"),
            Err("strconv.ParseUint: parsing \"1\": invalid base 1"),
        ),
        (
            "1", 37,
            Err("strconv.ParseInt: parsing \"1\": invalid base 37"),
            Err("strconv.ParseUint: parsing \"1\": invalid base 37"),
        ),
        (
            " 1", 10,
            Err("strconv.ParseInt: parsing \" 1\": invalid syntax"),
            Err("strconv.ParseUint: parsing \" 1\": invalid syntax"),
        ),
        (
            "99999999999999999999x", 10,
            Err("strconv.ParseInt: parsing \"99999999999999999999x\": value out of range"),
            Err("strconv.ParseUint: parsing \"99999999999999999999x\": value out of range"),
        ),
        (
            "é", 10,
            Err("strconv.ParseInt: parsing \"é\": invalid syntax"),
            Err("strconv.ParseUint: parsing \"é\": invalid syntax"),
        ),
    ];
    for (text, base, signed, unsigned) in rows {
        let read = parse_int(text, *base).map_err(|error| error.to_string());
        assert_eq!(
            read.as_ref().map_err(String::as_str),
            signed.as_ref().map_err(|error| *error)
        );
        let read = parse_uint(text, *base).map_err(|error| error.to_string());
        assert_eq!(
            read.as_ref().map_err(String::as_str),
            unsigned.as_ref().map_err(|error| *error)
        );
    }
}

#[test]
fn numbers_out_of_range_come_with_the_nearest_value() {
    assert_eq!(
        parse_int("9223372036854775808", 10).map_err(|error| error.value),
        Err(i64::MAX)
    );
    assert_eq!(
        parse_int("-9223372036854775809", 10).map_err(|error| error.value),
        Err(i64::MIN)
    );
    assert_eq!(parse_int("x", 10).map_err(|error| error.value), Err(0));
    assert_eq!(
        parse_uint("18446744073709551616", 10).map_err(|error| error.value),
        Err(u64::MAX)
    );
    assert_eq!(
        parse_float("-1e400").map_err(|error| error.value),
        Err(f64::NEG_INFINITY)
    );
}

#[test]
fn floats_are_read_as_go_reads_them() {
    #[rustfmt::skip]
    let rows: &[(&str, Result<&str, &str>)] = &[
        ("0", Ok("0")),
        ("-0", Ok("-0")),
        ("1.5", Ok("1.5")),
        (".5", Ok("0.5")),
        ("5.", Ok("5")),
        ("1e3", Ok("1000")),
        ("1E-3", Ok("0.001")),
        ("1_0.2_5", Ok("10.25")),
        ("1__0", Err("strconv.ParseFloat: parsing \"1__0\": invalid syntax")),
        ("_1", Err("strconv.ParseFloat: parsing \"_1\": invalid syntax")),
        ("1e1_0", Ok("1e+10")),
        ("0x1p-2", Ok("0.25")),
        ("0x1.8p1", Ok("3")),
        ("0X.8P0", Ok("0.5")),
        ("0x1", Err("strconv.ParseFloat: parsing \"0x1\": invalid syntax")),
        ("0x_1p4", Ok("16")),
        ("0x1_0p0", Ok("16")),
        ("0xp1", Err("strconv.ParseFloat: parsing \"0xp1\": invalid syntax")),
        ("0x1p", Err("strconv.ParseFloat: parsing \"0x1p\": invalid syntax")),
        ("0x1p9999", Err("strconv.ParseFloat: parsing \"0x1p9999\": value out of range")),
        ("0x1p-9999", Ok("0")),
        ("0x1.fffffffffffff8p1023", Err("strconv.ParseFloat: parsing \"0x1.fffffffffffff8p1023\": value out of range")),
        ("0x1.fffffffffffff7p1023", Ok("1.7976931348623157e+308")),
        ("0x0.0000000000001p-1022", Ok("5e-324")),
        ("0x1.00000000000008p0", Ok("1")),
        ("0x1.00000000000018p0", Ok("1.0000000000000004")),
        ("0x1.000000000000081p0", Ok("1.0000000000000002")),
        ("1e308", Ok("1e+308")),
        ("1e309", Err("strconv.ParseFloat: parsing \"1e309\": value out of range")),
        ("-1e400", Err("strconv.ParseFloat: parsing \"-1e400\": value out of range")),
        ("1e-400", Ok("0")),
        ("inf", Ok("+Inf")),
        ("+Inf", Ok("+Inf")),
        ("-INFINITY", Ok("-Inf")),
        ("infi", Err("strconv.ParseFloat: parsing \"infi\": invalid syntax")),
        ("nan", Ok("NaN")),
        ("+nan", Err("strconv.ParseFloat: parsing \"+nan\": invalid syntax")),
        ("NaN", Ok("NaN")),
        ("", Err("strconv.ParseFloat: parsing \"\": invalid syntax")),
        ("+", Err("strconv.ParseFloat: parsing \"+\": invalid syntax")),
        ("-", Err("strconv.ParseFloat: parsing \"-\": invalid syntax")),
        (".", Err("strconv.ParseFloat: parsing \".\": invalid syntax")),
        ("e5", Err("strconv.ParseFloat: parsing \"e5\": invalid syntax")),
        ("1e", Err("strconv.ParseFloat: parsing \"1e\": invalid syntax")),
        ("1e+", Err("strconv.ParseFloat: parsing \"1e+\": invalid syntax")),
        ("1 ", Err("strconv.ParseFloat: parsing \"1 \": invalid syntax")),
        (" 1", Err("strconv.ParseFloat: parsing \" 1\": invalid syntax")),
        ("1.2.3", Err("strconv.ParseFloat: parsing \"1.2.3\": invalid syntax")),
        ("0b1", Err("strconv.ParseFloat: parsing \"0b1\": invalid syntax")),
        ("1f", Err("strconv.ParseFloat: parsing \"1f\": invalid syntax")),
    ];
    for (text, read) in rows {
        let got = parse_float(text)
            .map(|value| float_text(value, b'g', None))
            .map_err(|error| error.to_string());
        assert_eq!(
            got.as_deref().map_err(String::as_str),
            read.as_ref().copied().map_err(|error| *error)
        );
    }
}

proptest! {
    #[test]
    fn shortest_floats_read_back(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        for verb in *b"efgx" {
            let read = parse_float(&float_text(value, verb, None));
            if value.is_nan() {
                prop_assert!(read.is_ok_and(f64::is_nan));
            } else {
                prop_assert_eq!(read.map(f64::to_bits), Ok(bits), "{}", char::from(verb));
            }
        }
    }

    #[test]
    fn integers_read_back(number in any::<i64>()) {
        prop_assert_eq!(parse_int(&number.to_string(), 10), Ok(number));
        prop_assert_eq!(parse_int(&number.to_string(), 0), Ok(number));
        let hexadecimal = format!("{}0x{:x}", if number < 0 { "-" } else { "" }, number.unsigned_abs());
        prop_assert_eq!(parse_int(&hexadecimal, 0), Ok(number));
    }

    #[test]
    fn no_text_makes_reading_a_number_fail_otherwise_than_by_error(text in "[-+]?[0-9a-fxXpPeEoObB._]{0,24}") {
        let _ = (parse_int(&text, 0), parse_uint(&text, 16));
        if let Ok(value) = parse_float(&text) {
            prop_assert!(!value.is_infinite());
        }
    }
}
