//! A stream of YAML documents, cut at its separators.

use bytes::Bytes;
use memchr::memmem;

/// Cuts a stream into documents without spaces around them.
///
/// A separator is `---` at the start of the stream or of a line, with all the space before and after it, whatever follows
/// on the line. Two separators in a row count as one and a document, as in Helm.
pub fn split(stream: &Bytes) -> Vec<Bytes> {
    let text = trim_space(stream);
    let finder = memmem::Finder::new(b"\n---");
    let mut documents = Vec::new();
    let mut start = 0;
    if text.starts_with(b"---") {
        start = skip_space(&text, 3);
    }
    while start < text.len() {
        let Some(found) = finder.find(&text[start..]) else {
            documents.push(trim_space(&text.slice(start..)));
            break;
        };
        let found = start + found;
        let space = text[start..found]
            .iter()
            .rev()
            .take_while(|byte| is_space(**byte))
            .count();
        let end = found - space;
        if end > start {
            documents.push(trim_space(&text.slice(start..end)));
        }
        start = skip_space(&text, found + 4);
    }
    documents
}

/// The whitespace of Go's regular expressions.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

fn skip_space(text: &[u8], from: usize) -> usize {
    from + text[from..].iter().take_while(|byte| is_space(**byte)).count()
}

/// Cuts Unicode space off both ends, as Go's `strings.TrimSpace` does.
pub fn trim_space(text: &Bytes) -> Bytes {
    let (trimmed, start) = if let Ok(text) = std::str::from_utf8(text) {
        let left = text.trim_start();
        (left.trim_end().len(), text.len() - left.len())
    } else {
        let left = text.trim_ascii_start();
        (left.trim_ascii_end().len(), text.len() - left.len())
    };
    text.slice(start..start + trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_cut_where_helm_cuts_them() {
        let rows: &[(&str, &[&str])] = &[
            ("", &[]),
            ("---", &[]),
            ("a: 1", &["a: 1"]),
            ("---\na: 1\n---\nb: 2\n", &["a: 1", "b: 2"]),
            ("a: 1\n---\n---\nb: 2", &["a: 1", "---\nb: 2"]),
            ("---\n---\n", &["---"]),
            ("a: 1\n --- \nb: 2", &["a: 1\n --- \nb: 2"]),
            ("a: 1\n--- # comment\nb: 2", &["a: 1", "# comment\nb: 2"]),
            ("a: 1\n----\nb: 2", &["a: 1", "-\nb: 2"]),
            ("a: |\n  ---\nb: 2", &["a: |\n  ---\nb: 2"]),
            ("a: 1 \n \n\t\n---\n\n  b: 2\n\n", &["a: 1", "b: 2"]),
            ("a: 1\r\n---\r\nb: 2", &["a: 1", "b: 2"]),
            ("---a", &["a"]),
            ("a: 1\n---", &["a: 1"]),
            ("\u{a0}a: 1\n---\n\u{a0}b: 2", &["a: 1", "b: 2"]),
        ];
        for (stream, expected) in rows {
            let got = split(&Bytes::copy_from_slice(stream.as_bytes()));
            assert_eq!(got, *expected, "{stream:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn documents_are_parts_of_the_stream(stream in "[ \\n\\ta:-]{0,60}") {
            let bytes = Bytes::from(stream.clone());
            for document in split(&bytes) {
                let text = std::str::from_utf8(&document).expect("text stays text");
                proptest::prop_assert!(stream.contains(text));
                proptest::prop_assert_eq!(text.trim(), text);
            }
        }
    }
}
