//! What a page says when it can't show what was asked for.

use apply::refusal::{is_not_found, words};
use askama::Template;
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use crate::page::{Page, Section, Theme, shown};

/// Why a page can't show what was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    status: StatusCode,
    title: String,
    text: String,
}

#[derive(Template)]
#[template(path = "fault.html")]
struct FaultPage {
    page: Page,
    code: u16,
    text: String,
}

impl Fault {
    pub(crate) fn new(status: StatusCode, title: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            status,
            title: title.into(),
            text: text.into(),
        }
    }

    pub(crate) fn bad_request(text: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "The console doesn't understand this",
            text,
        )
    }

    pub(crate) fn not_found(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "There is no such thing", text)
    }

    /// What was asked for can't be done as things stand.
    pub(crate) fn conflict(text: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "That can't be done now", text)
    }

    /// The cluster, or something behind it, doesn't answer as it should.
    pub(crate) fn unanswered(doing: &str, cause: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::BAD_GATEWAY,
            "The cluster has no answer",
            format!("cannot {doing}: {cause}"),
        )
    }

    /// What the API server refused.
    pub(crate) fn refused(doing: &str, error: &kube::Error) -> Self {
        if is_not_found(error) {
            return Self::not_found(format!("cannot {doing}: {}", words(error)));
        }
        match error {
            kube::Error::Api(status) if status.code == 403 => Self::new(
                StatusCode::FORBIDDEN,
                "The cluster refuses this",
                format!(
                    "cannot {doing}: {}; the console has the rights of whoever started it",
                    status.message
                ),
            ),
            kube::Error::Api(status) if matches!(status.code, 409 | 422) => {
                Self::conflict(format!("cannot {doing}: {}", status.message))
            }
            other => Self::unanswered(doing, words(other)),
        }
    }

    /// The page that says so.
    pub(crate) fn page(self, theme: Theme, form_key: String) -> Response {
        let mut page = Page::new(self.title, Section::None);
        page.theme = theme;
        page.form_key = form_key;
        let body = FaultPage {
            page,
            code: self.status.as_u16(),
            text: self.text,
        };
        let mut response = shown(&body).unwrap_or_else(|fault| fault.text.into_response());
        *response.status_mut() = self.status;
        response
    }
}

impl IntoResponse for Fault {
    /// The page is made where it is known how the visitor wants to see it.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

pub(crate) async fn no_such_page() -> Fault {
    Fault::not_found("the console has no page at this address; the bar above leads to those that it has")
}

pub(crate) async fn no_such_method() -> Fault {
    Fault::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "The console doesn't do this",
        "this address is for the buttons of a page, or this page has no buttons",
    )
}
