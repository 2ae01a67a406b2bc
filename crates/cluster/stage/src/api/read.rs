//! One object, and lists of them on one snapshot.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{Api, Place};
use crate::filter::Filter;
use crate::options::{ListOptions, VersionMatch};
use crate::status::{Cause, Status};
use crate::store::{Position, Stored};

/// A page of a list.
#[derive(Debug)]
pub struct Page {
    /// The version of everything on the page.
    pub revision: u64,
    /// The objects, as they are stored.
    pub items: Vec<Arc<Stored>>,
    /// Where the next page begins; empty on the last one.
    pub continue_token: String,
    /// How many objects come after the page; `None` where that isn't known or there are none.
    pub remaining: Option<usize>,
}

/// How many objects are looked at in one go while a filter passes few of them.
const LOOK_AHEAD: usize = 1_000;

/// What an expired continue token is answered with.
const EXPIRED_CONTINUE: &str = "The provided continue parameter is too old to display a consistent list result. You can \
    start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder \
    of the results. Continuing with the provided token results in an inconsistent list - objects that were created, \
    modified, or deleted between the time the first chunk was returned and now may show up in the list.";

impl Api {
    /// Returns an object as it is stored.
    pub fn get(&self, place: &Place) -> Result<Arc<Stored>, Status> {
        self.store.get(&place.key()).ok_or_else(|| place.not_found())
    }

    /// Returns a page of the objects that a filter lets through.
    pub fn list(&self, place: &Place, filter: &Filter, options: &ListOptions) -> Result<Page, Status> {
        let (at, mut from) = self.where_to_start(place, options)?;
        let namespace = (!place.namespace.is_empty()).then_some(place.namespace.as_str());
        let mut items: Vec<Arc<Stored>> = Vec::new();
        let mut pinned = at;
        loop {
            let wanted = options.limit.map(|limit| limit - items.len());
            let chunk = wanted.map(|wanted| {
                if filter.is_everything() {
                    wanted
                } else {
                    wanted.max(LOOK_AHEAD)
                }
            });
            let start = from
                .as_ref()
                .map(|(namespace, name)| Position::new(namespace, name));
            let listing = self
                .store
                .list(&place.resource.storage, namespace, start.as_ref(), chunk, pinned)
                .map_err(|_| expired_list(options, start.as_ref()))?;
            pinned = Some(listing.revision);
            let last_of_chunk = listing
                .items
                .last()
                .map(|last| (last.key.namespace.to_string(), last.key.name.to_string()));
            let mut more = listing.remaining;
            let mut taken_until = last_of_chunk.clone();
            let count = listing.items.len();
            for (index, item) in listing.items.into_iter().enumerate() {
                if filter.passes(&item) {
                    items.push(item);
                    if wanted.is_some_and(|_| options.limit == Some(items.len())) {
                        more += count - index - 1;
                        taken_until = items
                            .last()
                            .map(|last| (last.key.namespace.to_string(), last.key.name.to_string()));
                        break;
                    }
                }
            }
            let full = options.limit.is_some_and(|limit| items.len() >= limit);
            if more == 0 || full {
                let revision = listing.revision;
                let continues = more > 0;
                let continue_token = match (&taken_until, continues) {
                    (Some(last), true) => token(revision, namespace, last),
                    _ => String::new(),
                };
                let remaining = (continues && filter.is_everything()).then_some(more);
                return Ok(Page {
                    revision,
                    items,
                    continue_token,
                    remaining,
                });
            }
            from = last_of_chunk;
        }
    }

    /// Returns the revision to list at and where to begin.
    #[expect(
        clippy::type_complexity,
        reason = "a revision and a place, each of which may be missing"
    )]
    fn where_to_start(
        &self,
        place: &Place,
        options: &ListOptions,
    ) -> Result<(Option<u64>, Option<(String, String)>), Status> {
        if !options.continue_token.is_empty() {
            let (revision, start) = read_token(&options.continue_token, place)?;
            if !options.resource_version.is_empty() && options.resource_version != "0" {
                return Err(Status::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return Ok((revision, Some(start)));
        }
        let text = options.resource_version.as_str();
        if text.is_empty() || text == "0" {
            return Ok((None, None));
        }
        let revision = read_version(text)
            .map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?;
        self.refuse_future(revision)?;
        // A page of a list at a version is of exactly that version.
        let exact = options.version_match == Some(VersionMatch::Exact)
            || (options.version_match.is_none() && options.limit.is_some());
        Ok((exact.then_some(revision), None))
    }

    /// Fails where a version isn't reached yet.
    pub fn refuse_future(&self, revision: u64) -> Result<(), Status> {
        let current = self.store.revision();
        if revision <= current {
            return Ok(());
        }
        let cause = Cause {
            reason: "ResourceVersionTooLarge".to_owned(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        let status = Status::timeout(format_args!(
            "Too large resource version: {revision}, current: {current}"
        ));
        Err(status.with_causes(vec![cause]))
    }
}

fn expired_list(options: &ListOptions, start: Option<&Position>) -> Status {
    match start {
        Some(start) if !options.continue_token.is_empty() => {
            let start = format!("{}/{}\u{0}", start.namespace, start.name);
            let token = json!({"v": "meta.k8s.io/v1", "rv": -1, "start": start}).to_string();
            Status::expired(EXPIRED_CONTINUE).with_continue(URL_SAFE_NO_PAD.encode(token))
        }
        _ => Status::expired("The resourceVersion for the provided list is too old."),
    }
}

/// Reads a resource version; the error is the real server's text.
pub fn read_version(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        format!(
            "resourceVersion: Invalid value: \"{text}\": {}",
            not_a_version(text)
        )
    })
}

/// Returns what Go says about a text that is no version.
pub fn not_a_version(text: &str) -> String {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let why = if is_number {
        "value out of range"
    } else {
        "invalid syntax"
    };
    format!("strconv.ParseUint: parsing \"{text}\": {why}")
}

/// Returns the token of the page after `last`. It has the real server's form; clients treat it as opaque.
fn token(revision: u64, listed: Option<&str>, last: &(String, String)) -> String {
    let start = match listed {
        Some(_) => format!("{}\u{0}", last.1),
        None => format!("{}/{}\u{0}", last.0, last.1),
    };
    URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start}).to_string())
}

/// Reads a token: the revision of the list, unless the rest may be newer, and the last object that was listed.
fn read_token(token: &str, place: &Place) -> Result<(Option<u64>, (String, String)), Status> {
    let refuse = |why: &str| {
        Status::bad_request(format!(
            "invalid continue token: continue key is not valid: {why}"
        ))
    };
    let trimmed = token.trim_end_matches('=');
    let bytes = URL_SAFE_NO_PAD
        .decode(trimmed)
        .or_else(|_| STANDARD_NO_PAD.decode(trimmed))
        .map_err(|error| {
            refuse(&format!(
                "illegal base64 data at input byte {}",
                offset_of(&error)
            ))
        })?;
    let token: Value = goyaml::json::to_value(&bytes, goyaml::ReadOptions::default())
        .map_err(|error| refuse(&error.to_string()))?;
    if token["v"] != "meta.k8s.io/v1" {
        let version = token["v"].as_str().unwrap_or_default();
        return Err(refuse(&format!(
            "server does not recognize this encoded version {version}"
        )));
    }
    let revision = match token["rv"].as_i64() {
        None | Some(0) => {
            return Err(refuse(
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ));
        }
        Some(revision) => u64::try_from(revision).ok(),
    };
    let start = token["start"].as_str().unwrap_or_default();
    if start.is_empty() {
        return Err(refuse("encoded start key empty (version meta.k8s.io/v1)"));
    }
    // A key that leads elsewhere was not given by a server.
    if start
        .trim_start_matches('/')
        .split('/')
        .any(|part| matches!(part, "" | "." | ".."))
    {
        return Err(refuse(start));
    }
    let start = start.trim_start_matches('/').trim_end_matches('\u{0}');
    let last = match start.rsplit_once('/') {
        Some((namespace, name)) => (namespace.to_owned(), name.to_owned()),
        None => (place.namespace.clone(), start.to_owned()),
    };
    Ok((revision, last))
}

fn offset_of(error: &base64::DecodeError) -> usize {
    match error {
        base64::DecodeError::InvalidByte(offset, _) | base64::DecodeError::InvalidLastSymbol(offset, _) => {
            *offset
        }
        base64::DecodeError::InvalidLength(length) => length.saturating_sub(1),
        base64::DecodeError::InvalidPadding => 0,
    }
}
