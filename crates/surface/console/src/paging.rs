//! Long lists in pages.

use askama::Template;

use crate::parameters::Parameters;

/// How many rows a page has: what a person looks through, and no more than a few screens.
pub(crate) const ROWS: usize = 50;

/// Where in a long list a page is, and the links to its neighbours.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "paging.html")]
pub(crate) struct Paging {
    first: usize,
    last: usize,
    total: usize,
    before: Option<String>,
    after: Option<String>,
}

impl Paging {
    /// Takes the rows of the page that was asked for; a page that isn't there is the last.
    pub(crate) fn take<T>(rows: Vec<T>, parameters: &Parameters) -> (Vec<T>, Self) {
        let total = rows.len();
        let pages = total.div_ceil(ROWS).max(1);
        let asked = parameters.get("page").and_then(|page| page.parse().ok());
        let page = asked.unwrap_or(1).clamp(1, pages);
        let start = (page - 1) * ROWS;
        let rows: Vec<T> = rows.into_iter().skip(start).take(ROWS).collect();
        let link = |page: usize| parameters.with("page", page.to_string()).to_query();
        let paging = Self {
            first: if rows.is_empty() { 0 } else { start + 1 },
            last: start + rows.len(),
            total,
            before: (page > 1).then(|| link(page - 1)),
            after: (page < pages).then(|| link(page + 1)),
        };
        (rows, paging)
    }

    fn is_needed(&self) -> bool {
        self.before.is_some() || self.after.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut_into_pages_that_link_to_each_other() {
        let page = |query: &str| {
            let (rows, paging) = Paging::take((0..120).collect::<Vec<_>>(), &Parameters::of_query(query));
            (rows[0], rows.len(), paging)
        };
        let (first, rows, paging) = page("q=a");
        assert_eq!((first, rows), (0, 50));
        assert_eq!(
            (paging.before, paging.after.as_deref()),
            (None, Some("?q=a&page=2"))
        );
        let (first, rows, paging) = page("page=99");
        assert_eq!((first, rows, paging.last), (100, 20, 120));
        assert_eq!((paging.before.as_deref(), paging.after), (Some("?page=2"), None));
        assert_eq!(page("page=no").0, 0);
        assert_eq!(page("page=0").0, 0);
    }
}
