//! The pages of OLM v0: Subscriptions, InstallPlans, ClusterServiceVersions, and who needs whom.
//!
//! ```text
//! watches ─► Picture ─► overview, subscriptions, plans, versions, dependencies ─► templates
//!                         plans ─ approve ─► install_plan::approval ─► the cluster
//! ```

pub(crate) mod dependencies;
mod listing;
pub(crate) mod overview;
mod picture;
pub(crate) mod plans;
mod pruning;
mod requirements;
mod states;
pub(crate) mod subscriptions;
pub(crate) mod versions;
mod watching;

use std::sync::Arc;

use apply::object::text;
use askama::Template;
use axum::response::Response;
use classic::Kind;
use serde_json::Value;

use crate::console::Console;
use crate::fault::Fault;
use crate::marks::{Empty, Link, Moment};
use crate::page::{Page, Section, Visit, path, shown};

pub(crate) use overview::needs;
pub(crate) use picture::{Picture, Presence};
pub(crate) use watching::watch;

/// What changes of OLM v0 are told under.
const SUBJECT: &str = "classic";

#[derive(Template)]
#[template(path = "classic_absent.html")]
struct Absent {
    page: Page,
    empty: Empty,
}

/// Waits for the picture; returns the page that is shown in place of another where there is no OLM v0.
async fn absence(console: &Console, visit: &Visit) -> Option<Response> {
    console.wait_classic().await;
    if console.classic.presence() != Presence::Absent {
        return None;
    }
    let page = Absent {
        page: page_of_all(visit, "OLM v0"),
        empty: Empty::new(
            "There is no OLM v0 in this cluster",
            "The cluster doesn't have the kinds of OLM v0, such as Subscription: its controllers were left out with \
             --no-classic, or never ran here. Extensions don't need them. To have them:",
        )
        .command("baton controllers"),
    };
    Some(shown(&page).unwrap_or_else(axum::response::IntoResponse::into_response))
}

/// The frame of a page that follows everything of OLM v0.
fn page_of_all(visit: &Visit, title: impl Into<String>) -> Page {
    visit.page(title, Section::Classic).following([SUBJECT])
}

/// The frame of a page that follows what happens in some namespaces, and other subjects.
fn page_of(visit: &Visit, title: &str, namespaces: &[&str], others: Vec<String>) -> Page {
    let mut subjects = others;
    for namespace in namespaces {
        let subject = format!("{SUBJECT}/{namespace}");
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let page = visit.page(title, Section::Classic);
    page.following(subjects.iter().map(String::as_str))
}

/// What is told of events about an object.
fn events_of(kind: Kind, namespace: &str, name: &str) -> String {
    format!("events/{}/{namespace}/{name}", kind.naming().kind)
}

/// What the objects of a kind are listed under: in addresses, and as a tab.
fn collection(kind: Kind) -> &'static str {
    match kind {
        Kind::InstallPlan => "plans",
        Kind::ClusterServiceVersion => "versions",
        _ => "subscriptions",
    }
}

/// The address of an object's page.
fn href(kind: Kind, namespace: &str, name: &str) -> String {
    path([SUBJECT, collection(kind), namespace, name])
}

/// The name of an object, which leads to its page if it is there.
fn link(console: &Console, kind: Kind, namespace: &str, name: &str) -> Link {
    if console.classic.get(kind, namespace, name).is_some() {
        Link::to(href(kind, namespace, name), name)
    } else {
        Link::nowhere(name)
    }
}

/// The names of objects, each of which leads to its page if it is there.
fn links<'a>(
    console: &Console,
    kind: Kind,
    namespace: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Vec<Link> {
    let names = names.into_iter();
    names.map(|name| link(console, kind, namespace, name)).collect()
}

/// Finds an object, or says which there are.
fn named(console: &Console, kind: Kind, namespace: &str, name: &str) -> Result<Arc<Value>, Fault> {
    /// How many others are named.
    const MOST: usize = 10;
    let found = console.classic.get(kind, namespace, name);
    found.ok_or_else(|| {
        let called = kind.naming().kind;
        let others = console.classic.in_namespace(kind, namespace);
        let others: Vec<&str> = others
            .iter()
            .take(MOST)
            .map(|one| text(one, "/metadata/name"))
            .collect();
        Fault::not_found(if others.is_empty() {
            format!(
                "{called} {namespace}/{name} isn't there, and none is in this namespace; `baton classic list` shows what there is"
            )
        } else {
            format!(
                "{called} {namespace}/{name} isn't there; in this namespace there are {}",
                others.join(", ")
            )
        })
    })
}

/// The namespace and the name of an object.
fn place(object: &Value) -> (&str, &str) {
    (
        text(object, "/metadata/namespace"),
        text(object, "/metadata/name"),
    )
}

/// A moment that an object tells of, if it is one.
fn moment(console: &Console, object: &Value, pointer: &str) -> Option<Moment> {
    let time = text(object, pointer).parse().ok()?;
    Some(Moment::new(time, console.now()))
}

/// The list at a place in an object; empty where there is none.
fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
