//! The small part of DER (ITU-T X.690) that keys and certificates need: writing, and reading without copies.

use num_bigint::BigUint;

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const NULL: u8 = 0x05;
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const UTF8_STRING: u8 = 0x0c;
pub(crate) const PRINTABLE_STRING: u8 = 0x13;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
pub(crate) const IA5_STRING_CONTEXT_2: u8 = 0x82;
pub(crate) const OCTETS_CONTEXT_7: u8 = 0x87;
pub(crate) const OCTETS_CONTEXT_0: u8 = 0x80;
pub(crate) const CONTEXT_0: u8 = 0xa0;
pub(crate) const CONTEXT_1: u8 = 0xa1;
pub(crate) const CONTEXT_3: u8 = 0xa3;
pub(crate) const BOOLEAN: u8 = 0x01;

/// Writes one element.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(content.len() + 6);
    written.push(tag);
    let length = content.len();
    if length < 0x80 {
        written.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let leading = (length.leading_zeros() / 8) as usize;
        written.push(0x80 | (bytes.len() - leading) as u8);
        written.extend(bytes.iter().skip(leading));
    }
    written.extend_from_slice(content);
    written
}

/// Writes an element whose content is other elements.
pub(crate) fn constructed(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    element(tag, &parts.concat())
}

/// Writes a SEQUENCE.
pub(crate) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    constructed(SEQUENCE, parts)
}

/// Writes a non-negative INTEGER.
pub(crate) fn integer(value: &BigUint) -> Vec<u8> {
    integer_from_bytes(&value.to_bytes_be())
}

/// Writes a non-negative INTEGER from its big-endian bytes.
pub(crate) fn integer_from_bytes(bytes: &[u8]) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut content: Vec<u8> = bytes.iter().skip(zeros).copied().collect();
    // The first bit is the sign.
    if content.first().is_none_or(|first| *first >= 0x80) {
        content.insert(0, 0);
    }
    element(INTEGER, &content)
}

/// Writes a BIT STRING of whole bytes.
pub(crate) fn bit_string(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::with_capacity(bytes.len() + 1);
    content.push(0);
    content.extend_from_slice(bytes);
    element(BIT_STRING, &content)
}

/// Writes a NULL.
pub(crate) fn null() -> Vec<u8> {
    element(NULL, &[])
}

/// Reads elements one after another.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

/// One element as it was read.
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    /// Tag, length and content.
    pub(crate) whole: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the next element's tag without reading it.
    pub(crate) fn peek(self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads the next element; none where the bytes are not one in DER's shortest form.
    pub(crate) fn next(&mut self) -> Option<Element<'a>> {
        let (&tag, after_tag) = self.rest.split_first()?;
        // Tags above 30 take several bytes; nothing here has them.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, mut after) = after_tag.split_first()?;
        let length = if first < 0x80 {
            usize::from(first)
        } else {
            let count = usize::from(first & 0x7f);
            let (bytes, remaining) = after.split_at_checked(count)?;
            if count == 0 || count > 4 || bytes.first() == Some(&0) {
                return None;
            }
            after = remaining;
            let length = bytes
                .iter()
                .fold(0usize, |length, byte| length << 8 | usize::from(*byte));
            if length < 0x80 {
                return None;
            }
            length
        };
        let (content, rest) = after.split_at_checked(length)?;
        let whole = self.rest.get(..self.rest.len() - rest.len())?;
        self.rest = rest;
        Some(Element { tag, content, whole })
    }

    /// Reads the next element when it has the given tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Option<Element<'a>> {
        if self.peek() == Some(tag) {
            self.next()
        } else {
            None
        }
    }

    /// Reads the next element's content as a sequence of elements.
    pub(crate) fn enter(&mut self, tag: u8) -> Option<Reader<'a>> {
        self.expect(tag).map(|element| Reader::new(element.content))
    }

    /// Reads a non-negative INTEGER.
    pub(crate) fn unsigned(&mut self) -> Option<BigUint> {
        let content = self.expect(INTEGER)?.content;
        let first = *content.first()?;
        (first < 0x80).then(|| BigUint::from_bytes_be(content))
    }
}

/// Finds the algorithm's content and the private key in a PKCS#8 structure.
pub(crate) fn pkcs8_private_key(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut outer = Reader::new(bytes).enter(SEQUENCE)?;
    outer.unsigned()?;
    let algorithm = outer.expect(SEQUENCE)?.content;
    let key = outer.expect(OCTET_STRING)?.content;
    Some((algorithm, key))
}

/// Returns whether bytes follow the first element.
pub(crate) fn has_trailing_data(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    reader.next().is_some() && !reader.is_empty()
}

/// Says, in the words of Go's asn1 package, why bytes are not an element of the Go type `wanted`, whose tag is `expected`.
pub(crate) fn complaint(bytes: &[u8], expected: u8, wanted: &str) -> String {
    let Some(&tag) = bytes.first() else {
        return "asn1: syntax error: sequence truncated".into();
    };
    let Some((length, header)) = declared_length(bytes) else {
        return "asn1: syntax error: truncated tag or length".into();
    };
    if tag != expected {
        return format!(
            "asn1: structure error: tags don't match ({} vs {{class:{} tag:{} length:{length} isCompound:{}}}) \
             {{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> \
             stringType:0 timeType:0 set:false omitEmpty:false}} {wanted} @{header}",
            expected & 0x1f,
            tag >> 6,
            tag & 0x1f,
            tag & 0x20 != 0,
        );
    }
    if bytes.len() - header < length {
        return "asn1: syntax error: data truncated".into();
    }
    // What is wrong further inside is told like the most frequent case, a part that is missing.
    "asn1: syntax error: sequence truncated".into()
}

/// Returns the length that the first element says it has, and how long its tag and length are.
fn declared_length(bytes: &[u8]) -> Option<(usize, usize)> {
    let first = *bytes.get(1)?;
    if first < 0x80 {
        return Some((usize::from(first), 2));
    }
    let count = usize::from(first & 0x7f);
    let digits = bytes.get(2..2 + count).filter(|digits| digits.len() <= 4)?;
    Some((
        digits
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte)),
        2 + count,
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn integers_keep_their_sign_bit_clear() {
        assert_eq!(integer(&BigUint::ZERO), [2, 1, 0]);
        assert_eq!(integer(&BigUint::from(127u8)), [2, 1, 127]);
        assert_eq!(integer(&BigUint::from(128u8)), [2, 2, 0, 128]);
    }

    #[test]
    fn lengths_have_their_shortest_form() {
        assert_eq!(element(OCTET_STRING, &[7; 127])[..2], [4, 127]);
        assert_eq!(element(OCTET_STRING, &[7; 128])[..3], [4, 0x81, 128]);
        assert_eq!(element(OCTET_STRING, &[7; 256])[..4], [4, 0x82, 1, 0]);
        assert!(Reader::new(&[4, 0x81, 1, 7]).next().is_none());
        assert!(Reader::new(&[4, 2, 7]).next().is_none());
    }

    proptest! {
        #[test]
        fn an_element_is_read_as_it_was_written(content in prop::collection::vec(any::<u8>(), 0..400)) {
            let written = element(OCTET_STRING, &content);
            let read = Reader::new(&written).next();
            prop_assert_eq!(read.map(|element| element.content), Some(&content[..]));
            prop_assert_eq!(read.map(|element| element.whole), Some(&written[..]));
        }

        #[test]
        fn no_bytes_stop_the_program(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = Reader::new(&bytes);
            while reader.next().is_some() {}
            complaint(&bytes, SEQUENCE, "x");
            pkcs8_private_key(&bytes);
        }
    }
}
