//! What an address or a form says, within limits.

/// The longest query of an address: a search and a few names.
pub(crate) const LONGEST_QUERY: usize = 2048;

/// The longest text that is searched for; names and descriptions are found by less.
const LONGEST_SEARCH: usize = 100;

/// The most fields that are read; no page has as many.
const MOST_FIELDS: usize = 32;

/// What an address or a form says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(crate) fn of_query(query: &str) -> Self {
        Self::of_form(query.as_bytes())
    }

    pub(crate) fn of_form(form: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(form).take(MOST_FIELDS);
        Self(
            pairs
                .map(|(key, value)| (key.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// The first value of a field.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// The first value of a field, unless it is empty.
    pub(crate) fn filled(&self, key: &str) -> Option<&str> {
        self.get(key).map(str::trim).filter(|value| !value.is_empty())
    }

    /// Every value of a field.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self.0.iter().filter(move |(name, _)| name == key);
        fields.map(|(_, value)| value.as_str())
    }

    /// What is searched for, shortened where it is too long to be meant.
    pub(crate) fn search(&self) -> String {
        let text = self.filled("q").unwrap_or_default();
        text.chars().take(LONGEST_SEARCH).collect()
    }

    /// Everything but one field.
    pub(crate) fn without(&self, key: &str) -> Self {
        Self(self.0.iter().filter(|(name, _)| name != key).cloned().collect())
    }

    /// Everything, with one field set to a value.
    pub(crate) fn with(&self, key: &str, value: impl Into<String>) -> Self {
        let mut all = self.without(key);
        all.0.push((key.to_owned(), value.into()));
        all
    }

    /// The query that says this; empty for nothing, otherwise with its question mark.
    pub(crate) fn to_query(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let mut query = form_urlencoded::Serializer::for_suffix("?".to_owned(), 1);
        for (key, value) in &self.0 {
            query.append_pair(key, value);
        }
        query.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_and_written_again() {
        let parameters = Parameters::of_query("q=a+b%26c&page=2&page=3");
        assert_eq!(parameters.get("q"), Some("a b&c"));
        assert_eq!(parameters.all("page").collect::<Vec<_>>(), ["2", "3"]);
        assert_eq!(parameters.with("page", "4").to_query(), "?q=a+b%26c&page=4");
        assert_eq!(Parameters::default().to_query(), "");
    }

    #[test]
    fn what_is_too_much_is_left_out() {
        let many = "a=1&".repeat(1000);
        assert_eq!(Parameters::of_query(&many).0.len(), MOST_FIELDS);
        let long = format!("q={}", "ä".repeat(1000));
        assert_eq!(
            Parameters::of_query(&long).search().chars().count(),
            LONGEST_SEARCH
        );
    }
}
