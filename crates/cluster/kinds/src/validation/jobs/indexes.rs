//! Lists of indexes such as `1,3-5`.

/// Returns the first and the last index of one part.
fn interval(part: &str, completions: i64) -> Result<(i64, i64), String> {
    let limits: Vec<&str> = part.split('-').collect();
    let number = |text: &str| {
        let quoted = super::Shown::shown(&text);
        // Go reads a sign too, but the split leaves none but a plus.
        let number = text
            .parse::<i64>()
            .map_err(|_| format!("cannot convert string to integer for index: {quoted}"))?;
        if number >= completions {
            return Err(format!("too large index: {quoted}"));
        }
        Ok(number)
    };
    match limits.as_slice() {
        [only] => number(only).map(|number| (number, number)),
        [first, last] => {
            let (first, last) = (number(first)?, number(last)?);
            if first >= last {
                return Err(format!(
                    "non-increasing order, previous: {first}, current: {last}"
                ));
            }
            Ok((first, last))
        }
        _ => {
            let quoted = super::Shown::shown(&part);
            Err(format!(
                "the fragment {quoted} violates the requirement that an index interval can have at most two parts \
                 separated by '-'"
            ))
        }
    }
}

/// Returns how many indexes a list has.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut total, mut before) = (0, None);
    for part in text.split(',') {
        let (first, last) = interval(part, completions)?;
        if let Some(before) = before.filter(|before| *before >= first) {
            return Err(format!(
                "non-increasing order, previous: {before}, current: {first}"
            ));
        }
        total += last - first + 1;
        before = Some(last);
    }
    Ok(total)
}

/// Returns the first index that two lists share; parts that can't be read don't count.
pub(super) fn overlap(one: &str, other: &str, completions: i64) -> Option<i64> {
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let read = |text: &str| -> Vec<(i64, i64)> {
        text.split(',')
            .filter_map(|part| interval(part, completions).ok())
            .collect()
    };
    let (one, other) = (read(one), read(other));
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    while let (Some((first, last)), Some((from, to))) = (left.peek(), right.peek()) {
        if first <= to && from <= last {
            return Some(*first.max(from));
        }
        if first <= from {
            left.next();
        } else {
            right.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{count, overlap};

    #[test]
    fn lists_of_indexes_are_counted() {
        assert_eq!(count("", 5), Ok(0));
        assert_eq!(count("1,3-4", 5), Ok(3));
        assert_eq!(count("5", 5), Err("too large index: \"5\"".to_owned()));
        assert_eq!(
            count("3,1", 5),
            Err("non-increasing order, previous: 3, current: 1".to_owned())
        );
        assert_eq!(overlap("1-3", "3,4", 5), Some(3));
        assert_eq!(overlap("1", "3,4", 5), None);
    }
}
