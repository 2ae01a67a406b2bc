//! Go's view of bytes as UTF-8: each byte that belongs to no character counts as one.

/// Returns the first character and its length; none and 1 where the bytes start with no valid character.
pub(super) fn first(bytes: &[u8]) -> (Option<char>, usize) {
    // No character is longer than four bytes, so a cut one shows itself.
    let head = bytes.get(..4).unwrap_or(bytes);
    match head
        .utf8_chunks()
        .next()
        .and_then(|chunk| chunk.valid().chars().next())
    {
        Some(character) => (Some(character), character.len_utf8()),
        None => (None, 1),
    }
}

/// Returns the number of characters.
pub(super) fn count(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return bytes.len();
    }
    bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + chunk.invalid().len())
        .sum()
}

/// Returns the first `limit` characters.
pub(super) fn truncate(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    let mut left = limit;
    let mut length = 0;
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if left == 0 {
                return &bytes[..length];
            }
            left -= 1;
            length += character.len_utf8();
        }
        let taken = left.min(chunk.invalid().len());
        left -= taken;
        length += taken;
        if taken < chunk.invalid().len() {
            break;
        }
    }
    &bytes[..length]
}
