//! The object identifiers of algorithms and certificate fields, in DER's content form.

pub(super) const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
pub(super) const SHA256_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
pub(super) const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
pub(super) const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
pub(super) const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
pub(super) const P521: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x23];
pub(super) const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
pub(super) const ECDSA_WITH_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03];
pub(super) const ECDSA_WITH_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04];
pub(super) const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
pub(super) const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
pub(super) const SUBJECT_KEY_IDENTIFIER: &[u8] = &[0x55, 0x1d, 0x0e];
pub(super) const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
pub(super) const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];
pub(super) const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
pub(super) const AUTHORITY_KEY_IDENTIFIER: &[u8] = &[0x55, 0x1d, 0x23];
pub(super) const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
pub(super) const SERVER_AUTHENTICATION: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
pub(super) const CLIENT_AUTHENTICATION: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];

/// Writes an identifier as Go prints it: numbers with dots.
pub(super) fn dotted(content: &[u8]) -> String {
    let mut numbers: Vec<u128> = Vec::new();
    let mut number: u128 = 0;
    for byte in content {
        number = number << 7 | u128::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            if numbers.is_empty() {
                // The first two numbers share one.
                let first = (number / 40).min(2);
                numbers.push(first);
                number -= first * 40;
            }
            numbers.push(number);
            number = 0;
        }
    }
    numbers
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(".")
}
