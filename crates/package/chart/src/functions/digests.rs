//! Checksums of text.

use std::fmt::Write as _;

use aws_lc_rs::digest::{self, Algorithm};
use gotemplate::{Function, Type, Value};

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("sha1sum", &[Type::String], |call| {
        Ok(hexadecimal(&digest::SHA1_FOR_LEGACY_USE_ONLY, &call.text(0)).into())
    }),
    Function::new("sha256sum", &[Type::String], |call| {
        Ok(hexadecimal(&digest::SHA256, &call.text(0)).into())
    }),
    Function::new("sha512sum", &[Type::String], |call| {
        Ok(hexadecimal(&digest::SHA512, &call.text(0)).into())
    }),
    Function::new("adler32sum", &[Type::String], |call| {
        Ok(Value::from(adler32(&call.text(0)).to_string()))
    }),
];

fn hexadecimal(algorithm: &'static Algorithm, text: &[u8]) -> String {
    let digest = digest::digest(algorithm, text);
    digest.as_ref().iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn adler32(text: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    // The most bytes that can be added before the sums must be reduced.
    const BLOCK: usize = 5552;
    let (mut low, mut high) = (1_u32, 0_u32);
    for block in text.chunks(BLOCK) {
        for &byte in block {
            low += u32::from(byte);
            high += low;
        }
        (low, high) = (low % MODULUS, high % MODULUS);
    }
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_sprig() {
        assert_eq!(
            hexadecimal(&digest::SHA1_FOR_LEGACY_USE_ONLY, b"abc"),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        assert_eq!(
            hexadecimal(&digest::SHA256, b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert!(
            hexadecimal(&digest::SHA512, b"abc")
                .starts_with("ddaf35a193617abacc417349ae20413112e6fa4e89a97ea2")
        );
        assert_eq!(adler32(b"abc"), 38_600_999);
        assert_eq!(adler32(b""), 1);
        assert_eq!(adler32(&vec![0xff; 100_000]), 345_649_196);
    }
}
