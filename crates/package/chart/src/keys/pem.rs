//! PEM: binary data as base64 between `BEGIN` and `END` lines, read as leniently as Go reads it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const LINE_LENGTH: usize = 64;
const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// A block: what it says it is, and its data.
pub(crate) struct Block {
    pub(crate) label: String,
    pub(crate) data: Vec<u8>,
}

/// Writes a block, with a line end after its last line.
pub(crate) fn encode(label: &str, data: &[u8]) -> String {
    let encoded = STANDARD.encode(data);
    let mut text = String::with_capacity(encoded.len() + encoded.len() / LINE_LENGTH + 2 * label.len() + 40);
    text.extend(["-----BEGIN ", label, "-----\n"]);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE_LENGTH));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.extend(["-----END ", label, "-----\n"]);
    text
}

/// Finds the first well-formed block in a text.
pub(crate) fn decode(text: &[u8]) -> Option<Block> {
    let mut rest = text;
    loop {
        // The first end, and before it the last beginning: a beginning without an end is skipped.
        let end = find(rest, END)?;
        let after_end = rest.get(end + END.len()..)?;
        if let Some(block) = block_before(rest.get(..end)?, after_end) {
            return Some(block);
        }
        rest = after_end;
    }
}

fn block_before(before: &[u8], after_end: &[u8]) -> Option<Block> {
    let begin = before.windows(BEGIN.len()).rposition(|window| window == BEGIN)?;
    if begin > 0 && before.get(begin - 1) != Some(&b'\n') {
        return None;
    }
    let (label_line, mut body) = line(before.get(begin + BEGIN.len()..)?);
    let label = label_line.strip_suffix(DASHES)?;
    loop {
        let (header, next) = line(body);
        if !header.contains(&b':') {
            break;
        }
        body = next;
    }
    let (end_line, _) = line(after_end.strip_prefix(label)?.strip_prefix(DASHES)?);
    if !end_line.is_empty() {
        return None;
    }
    let digits: Vec<u8> = body
        .iter()
        .copied()
        .filter(|byte| !b" \t\r\n".contains(byte))
        .collect();
    let data = STANDARD.decode(digits).ok()?;
    Some(Block {
        label: String::from_utf8_lossy(label).into_owned(),
        data,
    })
}

/// Cuts off the first line, without trailing white space.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &[][..]),
    };
    (trim_end(line), rest)
}

fn trim_end(line: &[u8]) -> &[u8] {
    let kept = line
        .iter()
        .rposition(|byte| !b" \t\r".contains(byte))
        .map_or(0, |last| last + 1);
    &line[..kept]
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_block_is_found_between_other_text() {
        let text = "first line\n-----BEGIN A-----\nAAAA\n\n-----BEGIN KEY----- \r\nProc-Type: x\n\naGVs\n bG8=\n-----END KEY-----\t\nmore";
        let block = decode(text.as_bytes()).expect("a block");
        assert_eq!(
            (block.label.as_str(), block.data.as_slice()),
            ("KEY", &b"hello"[..])
        );
    }

    #[test]
    fn what_is_no_block_is_not_found() {
        for text in [
            "",
            "-----BEGIN KEY-----\naGVsbG8=\n",
            "-----BEGIN KEY-----\naGVsbG8=\n-----END OTHER-----\n",
            "-----BEGIN KEY-----\n!!!!\n-----END KEY-----\n",
            " -----BEGIN KEY-----\naGVsbG8=\n-----END KEY-----\n",
            "-----BEGIN KEY-----\naGVsbG8=\n-----END KEY----- more\n",
        ] {
            assert!(decode(text.as_bytes()).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(data in prop::collection::vec(any::<u8>(), 1..300)) {
            let block = decode(encode("KEY", &data).as_bytes());
            prop_assert_eq!(block.map(|block| block.data), Some(data));
        }

        #[test]
        fn no_text_stops_the_program(text in "(-----BEGIN A-----|-----END A-----|\n|:|aGVs|=| ){0,12}") {
            decode(text.as_bytes());
        }
    }
}
