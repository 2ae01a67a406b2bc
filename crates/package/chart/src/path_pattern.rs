//! File name patterns as Go's `filepath.Match` reads them: `*`, `?`, `[a-z]`, `[^a]` and `\` to escape.

use thiserror::Error;

/// A pattern that cannot be read, such as one with an open bracket.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// Tells whether `name` as a whole matches `pattern`; `*` and `?` never match a slash.
///
/// As in Go, a fault in the pattern is only noticed where matching gets to it.
pub fn matches(pattern: &str, name: &str) -> Result<bool, BadPattern> {
    let mut pattern = pattern;
    let mut name = name;
    'chunks: while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains('/'));
        }
        if let Some(remaining) = match_chunk(chunk, name)?
            && (remaining.is_empty() || !pattern.is_empty())
        {
            name = remaining;
            continue;
        }
        if star {
            for (at, character) in name.char_indices() {
                if character == '/' {
                    break;
                }
                let tail = &name[at + character.len_utf8()..];
                if let Some(remaining) = match_chunk(chunk, tail)? {
                    if pattern.is_empty() && !remaining.is_empty() {
                        continue;
                    }
                    name = remaining;
                    continue 'chunks;
                }
            }
        }
        while !pattern.is_empty() {
            let (_, chunk, rest) = next_chunk(pattern);
            pattern = rest;
            match_chunk(chunk, "")?;
        }
        return Ok(false);
    }
    Ok(name.is_empty())
}

/// Cuts leading stars and the part up to the next one.
fn next_chunk(pattern: &str) -> (bool, &str, &str) {
    let trimmed = pattern.trim_start_matches('*');
    let star = trimmed.len() < pattern.len();
    let mut in_range = false;
    let mut characters = trimmed.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '[' => in_range = true,
            ']' => in_range = false,
            '*' if !in_range => return (star, &trimmed[..at], &trimmed[at..]),
            _ => {}
        }
    }
    (star, trimmed, "")
}

/// Matches a part without stars against the start of `name`; gives what is left of the name.
///
/// After a mismatch the rest of the part is still read, so that a fault in it shows.
fn match_chunk<'a>(chunk: &str, name: &'a str) -> Result<Option<&'a str>, BadPattern> {
    let mut failed = false;
    let mut chunk = chunk;
    let mut name = name;
    while let Some(expected) = chunk.chars().next() {
        failed = failed || name.is_empty();
        match expected {
            '[' => {
                let mut given = None;
                if !failed {
                    given = name.chars().next();
                    name = &name[given.map_or(0, char::len_utf8)..];
                }
                chunk = &chunk[1..];
                let negated = chunk.starts_with('^');
                if negated {
                    chunk = &chunk[1..];
                }
                let mut inside = false;
                let mut ranges = 0;
                loop {
                    if ranges > 0
                        && let Some(rest) = chunk.strip_prefix(']')
                    {
                        chunk = rest;
                        break;
                    }
                    let (low, rest) = range_end(chunk)?;
                    chunk = rest;
                    let mut high = low;
                    if let Some(rest) = chunk.strip_prefix('-') {
                        let (end, rest) = range_end(rest)?;
                        high = end;
                        chunk = rest;
                    }
                    inside |= given.is_some_and(|character| (low..=high).contains(&character));
                    ranges += 1;
                }
                failed |= inside == negated;
            }
            '?' => {
                if !failed {
                    let given = name.chars().next();
                    failed = given == Some('/');
                    name = &name[given.map_or(0, char::len_utf8)..];
                }
                chunk = &chunk[1..];
            }
            _ => {
                let literal = if expected == '\\' {
                    chunk = &chunk[1..];
                    chunk.chars().next().ok_or(BadPattern)?
                } else {
                    expected
                };
                if !failed {
                    match name.strip_prefix(literal) {
                        Some(rest) => name = rest,
                        None => failed = true,
                    }
                }
                chunk = &chunk[literal.len_utf8()..];
            }
        }
    }
    Ok(if failed { None } else { Some(name) })
}

/// Reads one end of a range; a range must not end the pattern.
fn range_end(chunk: &str) -> Result<(char, &str), BadPattern> {
    let first = chunk.chars().next().ok_or(BadPattern)?;
    if first == '-' || first == ']' {
        return Err(BadPattern);
    }
    let escaped = if first == '\\' { &chunk[1..] } else { chunk };
    let character = escaped.chars().next().ok_or(BadPattern)?;
    let rest = &escaped[character.len_utf8()..];
    if rest.is_empty() {
        Err(BadPattern)
    } else {
        Ok((character, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        let rows = [
            ("abc", "abc", Ok(true)),
            ("*", "abc", Ok(true)),
            ("*c", "abc", Ok(true)),
            ("a*", "ab/c", Ok(false)),
            ("a*/b", "abc/b", Ok(true)),
            ("a*/b", "a/c/b", Ok(false)),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", Ok(true)),
            ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", Ok(false)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Ok(true)),
            ("a*b?c*x", "abxbbxdbxebxczzy", Ok(false)),
            ("ab[c]", "abc", Ok(true)),
            ("ab[^c]", "abc", Ok(false)),
            ("ab[^e-g]", "abc", Ok(true)),
            ("a\\*b", "a*b", Ok(true)),
            ("a\\*b", "ab", Ok(false)),
            ("a???b", "a☺b", Ok(false)),
            ("a?b", "a☺b", Ok(true)),
            ("[a-ζ]*", "α", Ok(true)),
            ("*[a-ζ]", "A", Ok(false)),
            ("a?b", "a/b", Ok(false)),
            ("[\\]a]", "]", Ok(true)),
            ("[x\\-]", "z", Ok(false)),
            ("[]a]", "]", Err(BadPattern)),
            ("[-]", "-", Err(BadPattern)),
            ("[x-]", "x", Err(BadPattern)),
            ("\\", "a", Err(BadPattern)),
            ("[a-b-c]", "a", Err(BadPattern)),
            ("[", "a", Err(BadPattern)),
            ("[^bc", "a", Err(BadPattern)),
            ("a[", "a", Err(BadPattern)),
            ("a[", "ab", Err(BadPattern)),
            ("a[", "x", Err(BadPattern)),
            ("a/b[", "x", Err(BadPattern)),
            ("*x", "xxx", Ok(true)),
        ];
        for (pattern, name, expected) in rows {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
