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
}
