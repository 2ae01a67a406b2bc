//! How a text is to be read.

/// Which numbers a generic value holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Numbers {
    /// Integers stay integers, as in the JSON that `YAMLToJSON` returns and as Kubernetes reads objects.
    #[default]
    Exact,
    /// Every number is a float, as Go decodes JSON into `interface{}`: Helm's values and `fromYaml`.
    Float64,
}

/// How a text is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// Which numbers a generic value holds; numbers of a given type are not affected.
    pub numbers: Numbers,
    /// Whether repeated keys, and fields that a struct does not have, are errors.
    pub strict: bool,
    /// How many keys and values a document may have, with what its aliases stand for; any number if none.
    ///
    /// Values take up to a hundred times the memory of their text. A document with more is given up as soon as that is
    /// known, by those functions that read one document from a text.
    pub most_values: Option<usize>,
}
