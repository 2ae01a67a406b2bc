//! One kind of OLM v0 in all namespaces: searched, cut into pages, and with words for where there is none.

use classic::Kind;
use serde_json::Value;

use super::{collection, href, place};
use crate::console::Console;
use crate::marks::{Empty, Pill};
use crate::page::Visit;
use crate::paging::Paging;

/// What a row says of an object of any kind: where its page is, what it is called, and how it is.
pub(crate) struct Headline {
    pub(crate) href: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) pill: Pill,
    /// What went wrong or is waited for, in a line; empty where nothing is.
    pub(crate) why: String,
}

impl Headline {
    pub(super) fn of(kind: Kind, object: &Value, pill: Pill, why: String) -> Self {
        let (namespace, name) = place(object);
        Self {
            href: href(kind, namespace, name),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            pill,
            why,
        }
    }
}

/// A row of the table of a kind.
pub(super) trait Listed {
    const KIND: Kind;

    /// What is said in place of the table.
    const WORDS: Words;

    /// What the row is found by.
    fn texts(&self) -> Vec<&str>;
}

/// The rows of a page that lists a kind, and what stands around them.
pub(super) struct Listing<Row> {
    tab: &'static str,
    pub(super) gaps: Vec<String>,
    /// What is searched for.
    pub(super) text: String,
    pub(super) rows: Vec<Row>,
    pub(super) paging: Paging,
    pub(super) empty: Empty,
}

/// What a page says that lists nothing: a title and a sentence.
pub(super) struct Words {
    /// Where there is none at all.
    pub(super) none: [&'static str; 2],
    /// Where none is like what is searched for.
    pub(super) not_found: [&'static str; 2],
}

impl<Row: Listed> Listing<Row> {
    /// Lists the rows with a text that holds what is searched for.
    pub(super) fn new(console: &Console, visit: &Visit, rows: impl IntoIterator<Item = Row>) -> Self {
        let text = visit.parameters.search();
        let wanted = text.to_lowercase();
        let is_wanted = |row: &Row| {
            let texts = row.texts();
            texts.iter().any(|text| text.to_lowercase().contains(&wanted))
        };
        let rows = rows.into_iter().filter(is_wanted).collect();
        let (rows, paging) = Paging::take(rows, &visit.parameters);
        let empty = if wanted.is_empty() {
            let [title, sentence] = Row::WORDS.none;
            Empty::new(title, sentence).command("baton classic subscribe PACKAGE")
        } else {
            let [title, sentence] = Row::WORDS.not_found;
            Empty::new(title, sentence)
        };
        Self {
            tab: collection(Row::KIND),
            gaps: console.classic.gaps(),
            text,
            rows,
            paging,
            empty,
        }
    }

    /// The tab that the page is.
    pub(super) fn tab(&self) -> &'static str {
        self.tab
    }
}
