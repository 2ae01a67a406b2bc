//! What a program is made of, as the program itself says.
//!
//! A program built by this project holds its bill of materials as text. So the list is read from the very program that goes
//! into an image, for whatever architecture it is, and not from whichever program builds the image.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use memchr::memmem;
use serde_json::value::RawValue;

/// How a bill of materials begins, without a first character: so this text itself isn't taken for one.
const BEGINNING: &[u8] = br#""$schema":"http://cyclonedx.org/schema/bom-1."#;

/// How much of a program is looked through at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The longest list that is taken out; ours has a quarter of a megabyte.
const LIST_LIMIT: usize = 16 << 20;

/// Finds the bill of materials in a program; none where it holds none.
pub fn of_program(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let mut piece = Vec::with_capacity(PIECE_BYTES + BEGINNING.len());
    let mut start: u64 = 0;
    loop {
        file.seek(SeekFrom::Start(start))?;
        piece.clear();
        let read = (&file)
            .take((PIECE_BYTES + BEGINNING.len()) as u64)
            .read_to_end(&mut piece)?;
        let mut from = 0;
        while let Some(place) = memmem::find(&piece[from..], BEGINNING) {
            // The brace stands before it.
            let place = start + (from + place) as u64;
            if let Some(list) = place
                .checked_sub(1)
                .map(|brace| list_at(&mut file, brace))
                .transpose()?
                .flatten()
            {
                return Ok(Some(list));
            }
            from = (place - start) as usize + 1;
        }
        if read < PIECE_BYTES {
            return Ok(None);
        }
        start += PIECE_BYTES as u64;
    }
}

/// Reads the JSON object that begins at a place, if one does.
fn list_at(file: &mut File, place: u64) -> std::io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(place))?;
    let mut bytes = Vec::new();
    file.take(LIST_LIMIT as u64).read_to_end(&mut bytes)?;
    // What follows the object is the program's, and no text.
    let mut objects = serde_json::Deserializer::from_slice(&bytes).into_iter::<&RawValue>();
    Ok(match objects.next() {
        Some(Ok(object)) if object.get().starts_with('{') => Some(object.get().as_bytes().to_vec()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(program: &[u8]) -> Option<String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), program).expect("written");
        let list = of_program(file.path()).expect("read");
        list.map(|list| String::from_utf8(list).expect("a text"))
    }

    #[test]
    fn a_list_is_found_wherever_it_lies() {
        let list = r#"{"$schema":"http://cyclonedx.org/schema/bom-1.6.schema.json","components":[]}"#;
        for before in [
            0,
            1,
            100,
            PIECE_BYTES - 10,
            PIECE_BYTES,
            PIECE_BYTES + 1,
            3 * PIECE_BYTES,
        ] {
            let mut program = vec![0xff; before];
            program.extend(list.as_bytes());
            program.extend([0xff; 50]);
            assert_eq!(found(&program).as_deref(), Some(list), "after {before} bytes");
        }
    }

    #[test]
    fn what_only_looks_like_a_list_is_passed_over() {
        let list = r#"{"$schema":"http://cyclonedx.org/schema/bom-1.5.schema.json"}"#;
        let mut program = BEGINNING.to_vec();
        program.extend(b"{\"$schema\":\"http://cyclonedx.org/schema/bom-1.6 and then nothing\0");
        assert_eq!(found(&program), None);
        program.extend(list.as_bytes());
        assert_eq!(found(&program).as_deref(), Some(list));
        assert_eq!(found(b""), None);
    }
}
