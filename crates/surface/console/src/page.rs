//! What all pages have in common: the bar above, the looks, and what follows the cluster.

use std::convert::Infallible;
use std::sync::Arc;

use askama::Template;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::access::cookies;
use crate::console::Console;
use crate::fault::Fault;
use crate::parameters::Parameters;
use crate::sessions::Visitor;

/// The cookie that keeps the looks.
pub(crate) const THEME_COOKIE: &str = "baton_theme";

/// Where changes are told of; the subjects follow.
const CHANGES: &str = "/changes?";

/// What may not stand in one part of a path.
const NOT_IN_PATHS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// A path made of parts, whatever characters they have.
pub(crate) fn path<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut path = String::new();
    for part in parts {
        path.push('/');
        path.extend(utf8_percent_encode(part, NOT_IN_PATHS));
    }
    path
}

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Theme {
    /// As the rest of the visitor's machine.
    #[default]
    Auto,
    Light,
    Dark,
}

impl Theme {
    pub(crate) fn read(text: &str) -> Self {
        match text {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::Auto,
        }
    }

    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let kept = cookies(headers).find(|(name, _)| *name == THEME_COOKIE);
        kept.map(|(_, value)| Self::read(value)).unwrap_or_default()
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// The part of the console that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Overview,
    Catalogs,
    Packages,
    Extensions,
    Resources,
    Classic,
    Events,
    None,
}

/// A link of the bar.
pub(crate) struct BarLink {
    pub(crate) href: &'static str,
    pub(crate) text: &'static str,
    /// The letter that leads there after a `g`.
    pub(crate) letter: &'static str,
    section: Section,
}

const BAR: [BarLink; 7] = [
    BarLink {
        href: "/",
        text: "Overview",
        letter: "o",
        section: Section::Overview,
    },
    BarLink {
        href: "/catalogs",
        text: "Catalogs",
        letter: "c",
        section: Section::Catalogs,
    },
    BarLink {
        href: "/packages",
        text: "Packages",
        letter: "p",
        section: Section::Packages,
    },
    BarLink {
        href: "/extensions",
        text: "Extensions",
        letter: "e",
        section: Section::Extensions,
    },
    BarLink {
        href: "/resources",
        text: "Resources",
        letter: "r",
        section: Section::Resources,
    },
    BarLink {
        href: "/classic",
        text: "OLM v0",
        letter: "0",
        section: Section::Classic,
    },
    BarLink {
        href: "/events",
        text: "Events",
        letter: "v",
        section: Section::Events,
    },
];

/// What the frame around every page needs.
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) section: Section,
    pub(crate) theme: Theme,
    pub(crate) form_key: String,
    /// Where the visitor is, to come back to.
    pub(crate) here: String,
    /// What is searched for.
    pub(crate) search: String,
    /// Where changes are told of.
    pub(crate) changes: Option<String>,
    /// What was just done.
    pub(crate) notice: Option<&'static str>,
}

impl Page {
    pub(crate) fn new(title: impl Into<String>, section: Section) -> Self {
        Self {
            title: title.into(),
            section,
            theme: Theme::default(),
            form_key: String::new(),
            here: "/".to_owned(),
            search: String::new(),
            changes: None,
            notice: None,
        }
    }

    /// Follows changes of these subjects.
    pub(crate) fn following<'a>(mut self, subjects: impl IntoIterator<Item = &'a str>) -> Self {
        let mut query = form_urlencoded::Serializer::for_suffix(CHANGES.to_owned(), CHANGES.len());
        for subject in subjects {
            query.append_pair("about", subject);
        }
        self.changes = Some(query.finish());
        self
    }

    /// The links of the bar, and whether each leads to where the visitor is.
    pub(crate) fn bar(&self) -> impl Iterator<Item = (&'static BarLink, bool)> {
        BAR.iter().map(|link| (link, link.section == self.section))
    }

    /// Whether the frame is for somebody who may look.
    pub(crate) fn is_open(&self) -> bool {
        !self.form_key.is_empty()
    }
}

/// One visit of a page: how the visitor wants to see it, and what is asked for.
pub(crate) struct Visit {
    theme: Theme,
    form_key: String,
    here: String,
    path: String,
    pub(crate) parameters: Parameters,
}

impl Visit {
    /// The frame of the page that was asked for.
    pub(crate) fn page(&self, title: impl Into<String>, section: Section) -> Page {
        Page {
            theme: self.theme,
            form_key: self.form_key.clone(),
            here: self.here.clone(),
            search: if section == Section::Packages {
                self.parameters.search()
            } else {
                String::new()
            },
            notice: self.parameters.get("done").and_then(crate::actions::done),
            ..Page::new(title, section)
        }
    }

    /// How the visitor wants to see it.
    pub(crate) fn theme(&self) -> Theme {
        self.theme
    }

    /// The path of the page.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl FromRequestParts<Arc<Console>> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Console>) -> Result<Self, Infallible> {
        let visitor = parts.extensions.get::<Visitor>();
        let parameters = parts.extensions.get::<Parameters>().cloned().unwrap_or_default();
        let path = parts.uri.path().to_owned();
        Ok(Self {
            theme: Theme::of(&parts.headers),
            form_key: visitor.map(Visitor::form_key).unwrap_or_default().to_owned(),
            here: match parts.uri.query() {
                // What was done is told once.
                Some(_) => format!("{path}{}", parameters.without("done").to_query()),
                None => path.clone(),
            },
            path,
            parameters,
        })
    }
}

/// A page as it is drawn, with links as if it were at the root; it is sent where it is known whether the visitor was let in.
#[derive(Clone)]
pub(crate) struct Drawn(pub(crate) String);

/// Answers with a page.
pub(crate) fn shown(template: &impl Template) -> Result<Response, Fault> {
    let rendered = template
        .render()
        .map_err(|error| Fault::unanswered("draw the page", error))?;
    let mut response = StatusCode::OK.into_response();
    response.extensions_mut().insert(Drawn(rendered));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_not_break_out_of_a_path() {
        assert_eq!(
            path(["packages", "a/b?c#d", "é%"]),
            "/packages/a%2Fb%3Fc%23d/%C3%A9%25"
        );
    }

    #[test]
    fn the_looks_are_those_of_the_cookie() {
        let mut headers = HeaderMap::new();
        assert_eq!(Theme::of(&headers), Theme::Auto);
        headers.insert("cookie", "a=b; baton_theme=dark".parse().expect("a value"));
        assert_eq!(Theme::of(&headers), Theme::Dark);
        headers.insert("cookie", "baton_theme=\"><script>".parse().expect("a value"));
        assert_eq!(Theme::of(&headers), Theme::Auto);
    }
}
