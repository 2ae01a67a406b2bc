//! Who may look, and what every answer carries.

use http::{Method, Request};

use crate::world::{PORT, TOKEN, Ticket, World, steady};

#[tokio::test(flavor = "multi_thread")]
async fn nobody_looks_without_a_session() {
    let world = World::empty().await;
    let host = format!("127.0.0.1:{PORT}");
    let place = &world.ticket.place;
    let request = |path: &str| Request::builder().uri(path).header("host", &host);
    for path in [
        "/",
        "/extensions",
        "/changes?about=events",
        "/nowhere",
        "/?token=wrong",
        "/enter",
        place,
        &format!("{place}/extensions"),
        &format!("{place}/changes?about=events"),
        &format!("{place}/nowhere"),
        "/~0123456789012345678901/extensions",
    ] {
        let answer = world.send(request(path)).await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.text.contains("The console is locked") && answer.text.contains("baton status"));
        assert!(answer.header("set-cookie").is_empty());
    }
    for path in ["/extensions/web/pause", &format!("{place}/extensions/web/pause")] {
        let press = request(path).method(Method::POST);
        assert_eq!(world.send(press).await.status, 401, "{path}");
    }
    insta::assert_snapshot!("locked", steady(&world.send(request("/")).await.text));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_address_opens_the_console() {
    let world = World::empty().await;
    let url = world.console.url(&format!("http://127.0.0.1:{PORT}/"));
    assert_eq!(url, format!("http://127.0.0.1:{PORT}/?token={TOKEN}"));
    let place = &world.ticket.place;
    for (asked, page) in [
        ("/?", "/"),
        ("/events?q=a&", "/events?q=a"),
        (&format!("{place}/events?q=a&"), "/events?q=a"),
        ("/~of-another-time/events?", "/events"),
        ("//evil.example.com/?", "/"),
    ] {
        let request = Request::builder()
            .uri(format!("{asked}token={TOKEN}"))
            .header("host", format!("127.0.0.1:{PORT}"));
        let answer = world.send(request).await;
        assert_eq!(answer.status, 200);
        assert_eq!(Ticket::of(&answer, PORT).place, *place);
        let leads_on = format!("content=\"0; url={place}{page}\"");
        assert!(answer.sent.contains(&leads_on), "{}", answer.sent);
        assert!(!answer.sent.contains(TOKEN), "the token doesn't stay in the page");
    }
    assert_eq!(world.visit("/").await.status, 200);
    assert_eq!(world.visit("").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_not_its_own_leads_nowhere() {
    let world = World::empty().await;
    for host in ["evil.example.com", "evil.example.com:8443", "127.0.0.1:1"] {
        let request = Request::builder()
            .uri(format!("/?token={TOKEN}"))
            .header("host", host);
        let answer = world.send(request).await;
        assert_eq!(answer.status, 421, "{host}");
        assert!(answer.header("set-cookie").is_empty());
        let mut rebound = world.opened(Method::GET, "/");
        let headers = rebound.headers_mut().expect("headers");
        headers.insert("host", host.parse().expect("a value"));
        let answer = world.send(rebound).await;
        assert_eq!(answer.status, 421, "{host}");
        assert!(!answer.sent.contains("name=\"key\"") && !answer.sent.contains(&world.ticket.place));
        let asset = Request::builder().uri("/assets/console.css").header("host", host);
        assert_eq!(world.send(asset).await.status, 421, "{host}");
    }
    let nameless = Request::builder().uri("/");
    assert_eq!(world.send(nameless).await.status, 421);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_forms_of_the_console_change_anything() {
    let world = World::empty().await;
    let key = world.form_key().await;
    let own = format!("http://127.0.0.1:{PORT}");
    let press = |origin: Option<&str>, form: String| {
        let mut request = world.opened(Method::POST, "/theme");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        world.send_with(request, form)
    };
    let sound = format!("key={key}&theme=dark&back=/events");
    for (origin, form, status) in [
        (Some(own.as_str()), sound.clone(), 303),
        (None, sound.clone(), 303),
        (Some("http://evil.example.com"), sound.clone(), 403),
        (Some("null"), sound.clone(), 403),
        (Some(own.as_str()), "theme=dark".to_owned(), 403),
        (Some(own.as_str()), "key=wrong&theme=dark".to_owned(), 403),
        (
            Some(own.as_str()),
            format!("{sound}&more={}", "a".repeat(20_000)),
            413,
        ),
    ] {
        let answer = press(origin, form).await;
        assert_eq!(answer.status, status, "{origin:?}: {}", answer.text);
    }
    let answer = press(Some(&own), sound).await;
    assert_eq!(answer.leads_to(&world), "/events");
    assert!(
        answer
            .header("set-cookie")
            .starts_with("baton_theme=dark; Path=/; HttpOnly; SameSite=Strict")
    );
    let foreign = press(
        Some(&own),
        format!("key={key}&theme=dark&back=//evil.example.com"),
    )
    .await;
    assert_eq!(foreign.leads_to(&world), "/");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_keeps_others_away() {
    let world = World::empty().await;
    let host = format!("127.0.0.1:{PORT}");
    let locked = Request::builder().uri("/").header("host", &host);
    let script = Request::builder()
        .uri("/assets/htmx.min.js")
        .header("host", &host);
    for answer in [
        world.visit("/").await,
        world.visit("/nowhere").await,
        world.send(locked).await,
        world.send(script).await,
    ] {
        assert_eq!(
            answer.header("content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
             base-uri 'none'; frame-ancestors 'none'"
        );
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("referrer-policy"), "same-origin");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin");
    }
    assert_eq!(world.visit("/").await.header("cache-control"), "no-store");
    let asset = |path: &str| world.send(Request::builder().uri(path).header("host", &host));
    let css = asset("/assets/console.css").await;
    assert_eq!(css.header("content-type"), "text/css; charset=utf-8");
    assert!(
        asset("/assets/htmx.LICENSE")
            .await
            .text
            .starts_with("Zero-Clause BSD")
    );
    assert_eq!(asset("/assets/other").await.status, 404);
    for path in [
        "/",
        "/catalogs",
        "/packages",
        "/extensions",
        "/resources",
        "/events",
    ] {
        let page = world.visit(path).await.text;
        for forbidden in ["style=\"", "<style", "onclick", "javascript:", "<script>"] {
            assert!(!page.contains(forbidden), "{path} has {forbidden}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_page_understands_is_refused() {
    let world = World::empty().await;
    assert_eq!(world.send(world.opened(Method::PUT, "/")).await.status, 405);
    assert_eq!(world.press("/extensions", &[]).await.status, 405);
    assert_eq!(world.visit("/extensions/web/pause").await.status, 405);
    let long = format!("/packages?q={}", "a".repeat(3000));
    assert_eq!(world.visit(&long).await.status, 414);
    for about in ["", "?about=secrets", "?about=resources/a"] {
        assert_eq!(
            world.visit(&format!("/changes{about}")).await.status,
            400,
            "{about}"
        );
    }
    let odd = world.visit("/resources/example.com/v1/Shop/a%2Fb/c").await;
    assert_eq!(odd.status, 400, "{}", odd.text);
    assert_eq!(
        world
            .visit("/packages?q=%3Cscript%3Ealert(1)%3C/script%3E")
            .await
            .status,
        200
    );
    let echoed = world
        .visit("/packages?q=%3Cscript%3Ealert(1)%3C/script%3E")
        .await
        .text;
    assert!(!echoed.contains("<script>alert"), "{echoed}");
}
