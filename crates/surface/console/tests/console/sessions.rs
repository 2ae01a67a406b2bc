//! Attacks on sessions: whoever isn't let in tries to be, with what he may have got hold of.

use std::time::Duration;

use axum::body::Body;
use console::SessionLimits;
use futures_util::StreamExt as _;
use http::{Method, Request};
use regex::Regex;
use tower::ServiceExt as _;

use crate::world::{Answer, PORT, TOKEN, Ticket, World};

/// A request with a cookie, whatever it is worth.
fn with_cookie(path: &str, cookie: &str) -> http::request::Builder {
    Request::builder()
        .uri(path)
        .header("host", format!("127.0.0.1:{PORT}"))
        .header("cookie", cookie)
}

/// Whether a browser sends a cookie of this path with a request for that one, on whatever port.
fn is_sent(path: &str, cookie_path: &str) -> bool {
    path.strip_prefix(cookie_path)
        .is_some_and(|rest| cookie_path.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

async fn visit(world: &World, ticket: &Ticket) -> u16 {
    world.send(ticket.request(Method::GET, "/events")).await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_is_a_number_of_its_own_and_not_the_token() {
    let world = World::empty().await;
    let again = Ticket::fetch(&world.router, PORT).await;
    assert_ne!(world.ticket.number, again.number, "each browser has its own");
    assert_eq!(world.ticket.place, again.place, "bookmarks stay");
    for ticket in [&world.ticket, &again] {
        assert!(!TOKEN.contains(&ticket.number) && !ticket.number.contains(TOKEN));
        assert!(!TOKEN.contains(&ticket.place[2..]));
        assert_eq!(visit(&world, ticket).await, 200);
    }
    let Ticket { place, number, .. } = &world.ticket;
    for cookie in [
        format!("baton_console_{PORT}={TOKEN}"),
        format!("baton_console_{PORT}="),
        format!("baton_console_{PORT}={}", &number[1..]),
        format!("baton_console_{PORT}={number}x"),
        format!("baton_console_{PORT}={}", number.to_uppercase()),
        format!("baton_console={number}"),
        format!("baton_console_1={number}"),
        format!("token={TOKEN}"),
        TOKEN.to_owned(),
    ] {
        let answer = world.send(with_cookie(&format!("{place}/events"), &cookie)).await;
        assert_eq!(answer.status, 401, "{cookie}");
        assert!(answer.header("set-cookie").is_empty());
    }
    // Another port may have set a cookie of the same name; the right one still counts.
    let both = format!("baton_console_{PORT}=planted; baton_console_{PORT}={number}");
    assert_eq!(
        world
            .send(with_cookie(&format!("{place}/events"), &both))
            .await
            .status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_ports_are_not_shown_the_cookie_and_what_they_could_be_shown_opens_nothing() {
    let world = World::empty().await;
    let Ticket { place, number, .. } = &world.ticket;
    assert!(is_sent(&format!("{place}/events"), place));
    for path in ["/", "/events", "/~", "/~x/events", &format!("{place}x")] {
        assert!(!is_sent(path, place), "another port is asked for {path}");
    }
    // And whoever got hold of the number in another way doesn't know where it counts.
    let cookie = format!("baton_console_{PORT}={number}");
    for path in [
        "/",
        "/events",
        "//events",
        "/~/events",
        "/~0123456789012345678901/events",
    ] {
        assert_eq!(world.send(with_cookie(path, &cookie)).await.status, 401, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_of_another_console_opens_nothing() {
    // Even where everything that names a console is the same: its host, its port and its token.
    let (world, other) = (World::empty().await, World::empty().await);
    assert_eq!(world.ticket.place, other.ticket.place);
    assert_eq!(visit(&other, &other.ticket).await, 200);
    assert_eq!(visit(&world, &other.ticket).await, 401);
    let key = other.form_key().await;
    let press = world.ticket.request(Method::POST, "/theme");
    let pressed = world.send_with(press, format!("key={key}&theme=dark")).await;
    assert_eq!(pressed.status, 403, "nor does a form of another session");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_over_opens_nothing() {
    for limits in [
        SessionLimits {
            unused: Duration::ZERO,
            ..SessionLimits::default()
        },
        SessionLimits {
            longest: Duration::ZERO,
            ..SessionLimits::default()
        },
    ] {
        let world = World::with_sessions(limits).await;
        let answer = world.visit("/events").await;
        assert_eq!(answer.status, 401, "{limits:?}");
        assert!(answer.text.contains("The console is locked"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_sessions_leaves_those_in_use_and_ends_itself() {
    let world = World::empty().await;
    assert_eq!(visit(&world, &world.ticket).await, 200);
    let mut flood = Vec::new();
    for _ in 0..500 {
        flood.push(Ticket::fetch(&world.router, PORT).await);
    }
    assert_eq!(visit(&world, &world.ticket).await, 200);
    let mut alive = 0;
    for ticket in &flood {
        alive += usize::from(visit(&world, ticket).await == 200);
    }
    let most = SessionLimits::default().most;
    assert_eq!(alive, most - 1, "the newest ones, beside the one in use");
    assert_eq!(visit(&world, flood.last().expect("the newest")).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_logs_out_is_out_and_so_are_his_streams() {
    let world = World::empty().await;
    let other = Ticket::fetch(&world.router, PORT).await;
    let follow = world
        .opened(Method::GET, "/changes?about=events")
        .body(Body::empty())
        .expect("a request");
    let stream = world.router.clone().oneshot(follow).await.expect("an answer");
    assert_eq!(stream.status(), 200);
    let left = world.press("/leave", &[]).await;
    assert_eq!(left.status, 200);
    assert!(left.text.contains("You are logged out"), "{}", left.text);
    assert_eq!(
        left.header("set-cookie"),
        format!(
            "baton_console_{PORT}=; Path={}; HttpOnly; SameSite=Strict; Max-Age=0",
            world.ticket.place
        )
    );
    assert_eq!(
        visit(&world, &world.ticket).await,
        401,
        "a kept copy is worth nothing"
    );
    assert_eq!(visit(&world, &other).await, 200, "another browser stays");
    let mut told = stream.into_body().into_data_stream();
    let ended = tokio::time::timeout(Duration::from_mins(1), async {
        while told.next().await.is_some() {}
    });
    ended.await.expect("the stream ends with the session");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_may_be_written_into_a_form() {
    let world = World::empty().await;
    let host = format!("127.0.0.1:{PORT}");
    let own = format!("http://{host}");
    let enter = async |origin: Option<&str>, form: String| {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri("/enter")
            .header("host", &host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        world.send_with(request, form).await
    };
    let whole = format!("http%3A%2F%2F{host}%2F%3Ftoken%3D{TOKEN}");
    for (origin, form, page) in [
        (Some(own.as_str()), format!("token={TOKEN}"), "/"),
        (
            None,
            format!("token=+{TOKEN}+&to=/extensions?page=2"),
            "/extensions?page=2",
        ),
        (
            None,
            format!("token={whole}&to=/~of-another-time/events"),
            "/events",
        ),
        (None, format!("token={TOKEN}&to=//evil.example.com"), "/"),
        (None, format!("token={TOKEN}&to=https://evil.example.com"), "/"),
    ] {
        let answer = enter(origin, form.clone()).await;
        assert_eq!((answer.status, answer.leads_to(&world)), (303, page), "{form}");
        assert_eq!(visit(&world, &Ticket::of(&answer, PORT)).await, 200);
    }
    for (origin, form, status) in [
        (None, "token=wrong&to=/events".to_owned(), 401),
        (None, String::new(), 401),
        (None, format!("token={}", &TOKEN[1..]), 401),
        (Some("http://evil.example.com"), format!("token={TOKEN}"), 403),
        (Some("http://127.0.0.1:1"), format!("token={TOKEN}"), 403),
        (Some("null"), format!("token={TOKEN}"), 403),
        (None, format!("token={TOKEN}&more={}", "a".repeat(20_000)), 413),
    ] {
        let answer = enter(origin, form).await;
        assert_eq!(answer.status, status, "{origin:?}: {}", answer.text);
        assert!(answer.header("set-cookie").is_empty());
    }
    let wrong = enter(None, "token=wrong&to=/events".to_owned()).await;
    assert!(
        wrong.text.contains("This is not the token") && wrong.text.contains("name=\"to\" value=\"/events\"")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_not_told_where_the_pages_are_nor_a_key() {
    let world = World::empty().await;
    let host = format!("127.0.0.1:{PORT}");
    let stranger = async |method: Method, path: &str, host: &str| -> Answer {
        let request = Request::builder().method(method).uri(path).header("host", host);
        world.send(request).await
    };
    for answer in [
        stranger(Method::GET, "/", &host).await,
        stranger(Method::GET, "/assets/nothing", &host).await,
        stranger(Method::POST, "/enter", &host).await,
        stranger(Method::PUT, "/", &host).await,
        stranger(Method::GET, &format!("/?a={}", "a".repeat(3000)), &host).await,
        stranger(Method::GET, "/", "evil.example.com").await,
    ] {
        assert!(answer.status >= 400, "{}", answer.sent);
        assert!(!answer.sent.contains(&world.ticket.place[2..]), "{}", answer.sent);
        assert!(!answer.sent.contains("name=\"key\""), "{}", answer.sent);
        assert!(!format!("{:?}", answer.headers).contains(&world.ticket.place[2..]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_link_leads_to_where_the_cookie_counts() {
    let world = World::with_olm_v0(PORT).await;
    world.fill().await;
    crate::recorded::restore_in(&world).await;
    let link = Regex::new(r#" ([a-z-]+)="(/[^"]*)""#).expect("a pattern");
    let mut seen = 0;
    for path in [
        "/",
        "/catalogs/main",
        "/packages",
        "/packages/main/web-operator",
        "/extensions",
        "/extensions/web",
        "/extensions/web/plan",
        "/resources/example.com/v1alpha1/Shop",
        "/resources/example.com/v1alpha1/Shop/shop/books",
        "/classic",
        "/classic/plans",
        "/classic/dependencies/dep",
        "/events",
        "/nowhere",
    ] {
        let answer = world.visit(path).await;
        for found in link.captures_iter(&answer.sent) {
            let (attribute, value) = (&found[1], &found[2]);
            let is_everybodys = value.starts_with("/assets/");
            // Where to come back to is told to the console itself.
            let is_told = attribute == "value" && !value.starts_with("/~");
            assert!(
                is_everybodys || is_told || is_sent(value, &world.ticket.place),
                "{path}: {attribute}={value}"
            );
            seen += usize::from(!is_everybodys && !is_told);
        }
    }
    assert!(seen > 100, "{seen} links");
}
