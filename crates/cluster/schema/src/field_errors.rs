//! What is wrong with an object: the first problems in full, and how many more there are.
//!
//! Objects come from strangers. One that is wrong everywhere would make an answer many times its own size, and finding the
//! words for each problem would take longer than finding the problems: those that aren't told are counted, and no text is
//! made for them.

use crate::FieldError;

/// How many problems of an object are told: Kubernetes' limit for those that decoding finds.
pub const MOST_PROBLEMS: usize = 100;

/// How many bytes the texts of all problems have together, as far as they are told. A problem shows the value that it is
/// about, which may be most of the object.
pub const MOST_TEXT: usize = 64 << 10;

/// What is wrong with an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FieldErrors {
    told: Vec<FieldError>,
    bytes: usize,
    left_out: usize,
}

impl FieldErrors {
    /// Adds a problem.
    pub fn push(&mut self, error: FieldError) {
        self.push_with(|| error);
    }

    /// Adds a problem whose words are found only if it is told.
    pub fn push_with(&mut self, error: impl FnOnce() -> FieldError) {
        if self.is_full() {
            self.left_out += 1;
            return;
        }
        let mut error = error();
        self.bytes += error.shorten(MOST_TEXT.saturating_sub(self.bytes));
        self.told.push(error);
    }

    /// Adds the problems of a part.
    pub fn append(&mut self, other: Self) {
        self.left_out += other.left_out;
        self.extend(other.told);
    }

    /// Sorts the problems that are told by their texts.
    pub fn sort(&mut self) {
        self.told.sort_by_cached_key(ToString::to_string);
    }

    /// Counts problems that someone else left out.
    pub fn leave_out(&mut self, count: usize) {
        self.left_out += count;
    }

    /// Returns whether further problems are only counted.
    pub fn is_full(&self) -> bool {
        self.told.len() >= MOST_PROBLEMS || self.bytes >= MOST_TEXT
    }

    /// Returns whether there is no problem.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many problems there are, told or not.
    pub fn len(&self) -> usize {
        self.told.len() + self.left_out
    }

    /// Returns the problems that are told, in the order in which they were found.
    pub fn told(&self) -> &[FieldError] {
        &self.told
    }

    /// Returns how many more there are.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<All: IntoIterator<Item = FieldError>>(&mut self, errors: All) {
        for error in errors {
            self.push(error);
        }
    }
}

impl From<Vec<FieldError>> for FieldErrors {
    fn from(errors: Vec<FieldError>) -> Self {
        let mut all = Self::default();
        all.extend(errors);
        all
    }
}

/// The paths of fields that a type doesn't have: the first of them, and how many more there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownFields {
    paths: Vec<String>,
    bytes: usize,
    left_out: usize,
}

impl UnknownFields {
    /// Adds a path, which is made only if it is told.
    pub fn note_with(&mut self, path: impl FnOnce() -> String) {
        if self.paths.len() >= MOST_PROBLEMS || self.bytes >= MOST_TEXT {
            self.left_out += 1;
            return;
        }
        let mut path = path();
        crate::field_error::shorten(&mut path, MOST_TEXT.saturating_sub(self.bytes));
        self.bytes += path.len();
        self.paths.push(path);
    }

    /// Adds those of a part.
    pub fn append(&mut self, other: Self) {
        self.left_out += other.left_out;
        for path in other.paths {
            self.note_with(|| path);
        }
    }

    /// Sorts the paths that are told.
    pub fn sort(&mut self) {
        self.paths.sort();
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns the paths that are told.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns how many more there are.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Returns what strict decoding says of them.
    pub fn problems(&self) -> Vec<String> {
        let told = self.paths.iter().map(|path| format!("unknown field \"{path}\""));
        let more = (self.left_out > 0).then(|| format!("and {} more unknown fields", self.left_out));
        told.chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::FieldPath;

    #[test]
    fn words_are_found_for_as_many_problems_as_are_told_and_the_others_are_counted() {
        let mut worded = 0;
        let mut errors = FieldErrors::default();
        for number in 0..100_000 {
            errors.push_with(|| {
                worded += 1;
                FieldError::invalid(
                    FieldPath::new("spec").index(number),
                    &json!(number),
                    "must be even",
                )
            });
        }
        assert_eq!(worded, MOST_PROBLEMS);
        assert_eq!(
            (errors.len(), errors.told().len(), errors.left_out()),
            (100_000, MOST_PROBLEMS, 100_000 - MOST_PROBLEMS)
        );
    }

    #[test]
    fn a_value_that_is_long_is_cut_and_says_how_much_is_missing() {
        let long = "ü".repeat(MOST_TEXT);
        let mut errors = FieldErrors::default();
        for _ in 0..3 {
            errors.push(FieldError::invalid(
                FieldPath::new("data"),
                &json!(long),
                "too odd",
            ));
        }
        assert_eq!((errors.told().len(), errors.left_out()), (1, 2));
        let text = errors.told()[0].to_string();
        assert!(text.len() < MOST_TEXT + 100, "{}", text.len());
        assert!(text.contains("more bytes)"), "{}", &text[text.len() - 60..]);
    }

    #[test]
    fn what_parts_left_out_is_left_out_of_the_whole() {
        let part = || {
            let errors = (0..150).map(|number| FieldError::required(FieldPath::new("a").index(number), ""));
            FieldErrors::from(errors.collect::<Vec<_>>())
        };
        let mut whole = part();
        whole.append(part());
        assert_eq!((whole.len(), whole.told().len()), (300, MOST_PROBLEMS));
    }

    #[test]
    fn paths_of_unknown_fields_are_made_as_long_as_they_are_told() {
        let mut unknown = UnknownFields::default();
        let mut made = 0;
        for number in 0..1_000 {
            unknown.note_with(|| {
                made += 1;
                format!("spec.{number}")
            });
        }
        assert_eq!(made, MOST_PROBLEMS);
        let problems = unknown.problems();
        assert_eq!(
            problems.first().map(String::as_str),
            Some("unknown field \"spec.0\"")
        );
        assert_eq!(
            problems.last().map(String::as_str),
            Some("and 900 more unknown fields")
        );
    }

    proptest! {
        #[test]
        fn all_that_is_told_has_its_size_and_all_is_counted(
            lengths in prop::collection::vec((0_usize..100_000, 0_usize..3_000, 0_usize..2_000), 0..200),
        ) {
            let mut errors = FieldErrors::default();
            for (value, detail, key) in &lengths {
                let field = FieldPath::new("a").key(&"k".repeat(*key));
                errors.push(FieldError::invalid(field, &json!("v".repeat(*value)), "d".repeat(*detail)));
            }
            prop_assert_eq!(errors.len(), lengths.len());
            let bytes: usize = errors.told().iter().map(|error| error.to_string().len()).sum();
            prop_assert!(bytes < MOST_TEXT + MOST_PROBLEMS * 100, "{bytes}");
        }
    }
}
