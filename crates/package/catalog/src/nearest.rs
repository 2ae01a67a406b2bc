//! What somebody probably meant: the names that look like one that nothing has.

/// How many names are suggested.
const MAXIMUM_SUGGESTED: usize = 5;

/// The fewest letters by which a name is looked for within longer ones.
const MINIMUM_PART: usize = 3;

/// The known names that look like one that isn't known, the nearest first.
#[must_use]
pub fn nearest<'n>(unknown: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let mut close: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| (distance(unknown, name), name))
        .filter(|(distance, name)| *distance <= (unknown.len() / 2).max(name.len() / 2).max(1))
        .collect();
    close.sort_unstable();
    close.dedup();
    close.truncate(MAXIMUM_SUGGESTED);
    close.into_iter().map(|(_, name)| name).collect()
}

/// The end of a question for one of several names: `"a"`, `"a" or "b"`, `"a", "b", or "c"`. None where there is none.
#[must_use]
pub fn alternatives(names: &[&str]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        [first, second] => Some(format!("{first} or {second}")),
        [most @ .., last] => Some(format!("{}, or {last}", most.join(", "))),
    }
}

/// The question for a person who gave a name that isn't known: `did you mean "a" or "b"?` Where nothing looks like the
/// name, those are suggested that have it in them.
#[must_use]
pub fn did_you_mean<'n>(unknown: &str, known: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    let mut names = nearest(unknown, known.iter().copied());
    if names.is_empty() && unknown.len() >= MINIMUM_PART {
        names = known.into_iter().filter(|name| name.contains(unknown)).collect();
        names.sort_unstable_by_key(|name| (name.len(), *name));
        names.dedup();
        names.truncate(MAXIMUM_SUGGESTED);
    }
    Some(format!("did you mean {}?", alternatives(&names)?))
}

/// How many letters have to be put in, left out or replaced to get from one name to the other.
pub(crate) fn distance(from: &str, to: &str) -> usize {
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
        for (unknown, known, expected) in [
            ("olmpackage", &known[..], &["olmpackages"][..]),
            ("zzzzzzzz", &known, &[]),
            ("aa", &["ad", "ac", "ab", "ab"], &["ab", "ac", "ad"]),
            (
                "stabel-v1",
                &["fast-v1", "stable-v2", "stable-v1"],
                &["stable-v1", "stable-v2"],
            ),
            ("", &["a", "ab"], &["a"]),
        ] {
            assert_eq!(nearest(unknown, known.iter().copied()), expected, "{unknown}");
        }
        let many: Vec<String> = (0..10).map(|number| format!("name-{number}")).collect();
        let found = nearest("name-x", many.iter().map(String::as_str));
        assert_eq!(found, ["name-0", "name-1", "name-2", "name-3", "name-4"]);
    }

    #[test]
    fn a_question_names_what_may_be_meant() {
        for (unknown, known, expected) in [
            ("stck", &["stack"][..], Some("did you mean \"stack\"?")),
            ("aa", &["ab", "ac"], Some("did you mean \"ab\" or \"ac\"?")),
            (
                "aa",
                &["ab", "ac", "ad"],
                Some("did you mean \"ab\", \"ac\", or \"ad\"?"),
            ),
            (
                "postgres",
                &["a", "cloud-native-postgresql", "crunchy-postgres-operator"],
                Some("did you mean \"cloud-native-postgresql\" or \"crunchy-postgres-operator\"?"),
            ),
            ("zzzzzzzz", &["stack"], None),
            ("zz", &["ab-zz-longer"], None),
        ] {
            assert_eq!(
                did_you_mean(unknown, known.iter().copied()).as_deref(),
                expected,
                "{unknown}"
            );
        }
    }
}
