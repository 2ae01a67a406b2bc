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
            let length = bytes.iter().fold(0usize, |length, byte| length << 8 | usize::from(*byte));
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
        if self.peek() == Some(tag) { self.next() } else { None }
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
