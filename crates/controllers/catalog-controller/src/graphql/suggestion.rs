//! What somebody probably meant.

/// How many suggestions a message has.
const MAX_SUGGESTIONS: usize = 5;

/// The end of a message about an unknown name: the known ones that look like it.
pub(super) fn did_you_mean<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut close: Vec<(usize, &str)> = known
        .map(|name| (distance(unknown, name), name))
        .filter(|(distance, name)| *distance <= (unknown.len() / 2).max(name.len() / 2).max(1))
        .collect();
    close.sort_unstable();
    close.truncate(MAX_SUGGESTIONS);
    let quoted: Vec<String> = close.iter().map(|(_, name)| format!("\"{name}\"")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => format!(" Did you mean {only}?"),
        [first, second] => format!(" Did you mean {first} or {second}?"),
        [most @ .., last] => format!(" Did you mean {}, or {last}?", most.join(", ")),
    }
}

/// How many letters have to be put in, left out or replaced to get from one name to the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (number, letter) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = number + 1;
        for (column, other) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_come_first() {
        assert_eq!(distance("kitten", "sitting"), 3);
        let known = ["olmbundles", "olmpackages", "olmchannels", "summary"];
        assert_eq!(
            did_you_mean("olmpackage", known.into_iter()),
            " Did you mean \"olmpackages\"?"
        );
        assert_eq!(did_you_mean("zzzzzzzz", known.into_iter()), "");
        assert_eq!(
            did_you_mean("aa", ["ab", "ac", "ad"].into_iter()),
            " Did you mean \"ab\", \"ac\", or \"ad\"?"
        );
    }
}
