//! The console in a real browser: no complaints, without scripts, by keyboard, and following the cluster.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::chromium::Chromium;
use crate::world::World;

/// A console that is really served.
struct Served {
    world: World,
    /// The address without anything behind it, as people write it.
    bare: String,
    /// Where the pages are.
    base: String,
    url: String,
}

impl Served {
    async fn new() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let world = World::with_olm_v0(port).await;
        let router = console::router(Arc::clone(&world.console));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let bare = format!("http://127.0.0.1:{port}");
        Self {
            url: world.console.url(&bare),
            base: format!("{bare}{}", world.ticket.place),
            world,
            bare,
        }
    }

    /// Opens the printed address, and waits until it has led on to the first page.
    async fn enter(&self, browser: &mut Chromium) {
        browser.open(&self.url).await;
        browser.wait_place(&format!("{}/", self.base)).await;
        assert!(browser.html().await.contains("<h1>Overview</h1>"));
    }
}

const SHOP: &str = "/resources/example.com/v1alpha1/Shop/shop/books";

/// Every page, with the name of its picture.
fn pages() -> Vec<(&'static str, String)> {
    [
        ("overview", "/"),
        ("catalogs", "/catalogs"),
        ("catalog", "/catalogs/main"),
        ("packages", "/packages?q=web"),
        ("package", "/packages/main/web-operator"),
        ("package-fast", "/packages/main/web-operator?channel=fast"),
        ("extensions", "/extensions"),
        ("extension", "/extensions/web"),
        ("extension-rolling-out", "/extensions/shop"),
        ("extension-lost", "/extensions/lost"),
        ("plan", "/extensions/web/plan"),
        ("versions", "/extensions/web/versions"),
        ("resources", "/resources"),
        ("resource-list", "/resources/example.com/v1alpha1/Shop"),
        ("resource", SHOP),
        ("olm-v0", "/classic"),
        ("subscriptions", "/classic/subscriptions"),
        ("subscription", "/classic/subscriptions/dep/alpha"),
        ("subscription-waiting", "/classic/subscriptions/mixed/alpha"),
        ("subscription-stopped", "/classic/subscriptions/unsat/alpha"),
        ("install-plans", "/classic/plans"),
        ("install-plan-waiting", "/classic/plans/mixed/install-m4x9q"),
        ("install-plan", "/classic/plans/dep/install-b7d2k"),
        ("service-versions", "/classic/versions"),
        ("service-versions-copies", "/classic/versions?copies=1"),
        ("service-version", "/classic/versions/dep/alpha.v1.0.0"),
        ("service-version-pending", "/classic/versions/manual/alpha.v1.0.0"),
        ("service-version-copied", "/classic/versions/copy0/alpha.v1.0.0"),
        ("dependencies", "/classic/dependencies/dep"),
        ("dependencies-planned", "/classic/dependencies?namespace=mixed"),
        ("dependencies-missing", "/classic/dependencies/miss"),
        ("events", "/events"),
        ("fault", "/extensions/none"),
    ]
    .into_iter()
    .map(|(name, path)| (name, path.to_owned()))
    .chain([
        ("resource-diff", format!("{SHOP}/revisions/2")),
        ("resource-logs", format!("{SHOP}/logs")),
    ])
    .collect()
}

/// Where pictures go, if anybody wants them.
fn gallery() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("BATON_SCREENSHOTS")?);
    std::fs::create_dir_all(&folder).expect("a folder");
    Some(folder)
}

async fn keep_picture(browser: &mut Chromium, name: &str) {
    if let Some(folder) = gallery() {
        let picture = browser.picture().await;
        std::fs::write(folder.join(format!("{name}.png")), picture).expect("a picture");
    }
}

pub(crate) async fn a_browser_shows_every_page_without_complaint() {
    let served = Served::new().await;
    let mut browser = Chromium::start().await;
    browser.size(1280, 900).await;
    browser.open(&format!("{}/", served.bare)).await;
    // The browser says that a page was refused, which is so.
    assert!(browser.html().await.contains("The console is locked"));
    keep_picture(&mut browser, "locked").await;
    browser.complaints.clear();
    served.enter(&mut browser).await;
    keep_picture(&mut browser, "empty-light").await;
    served.world.fill().await;
    crate::recorded::restore_in(&served.world).await;
    for scheme in ["light", "dark"] {
        browser.prefer(scheme).await;
        for (name, path) in pages() {
            browser.open(&format!("{}{path}", served.base)).await;
            // Two frames: whatever the styles refuse is told by then.
            browser
                .evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
                .await;
            if name == "fault" {
                browser.complaints.retain(|text| !text.contains("404"));
            }
            assert_eq!(browser.complaints, Vec::<String>::new(), "{path}");
            let is_dark = browser
                .evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
                .await;
            assert_eq!(is_dark, scheme == "dark");
            let wide = browser
                .evaluate("document.documentElement.scrollWidth <= innerWidth")
                .await;
            assert_eq!(wide, true, "{path} is wider than the window");
            let unnamed = "[...document.querySelectorAll('a, button, input:not([type=hidden]), select')].filter((one) => \
                           !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length)).length";
            assert_eq!(
                browser.evaluate(unnamed).await,
                0,
                "{path} has controls without a name"
            );
            keep_picture(&mut browser, &format!("{name}-{scheme}")).await;
        }
    }
    // A complaint would have been heard.
    browser
        .evaluate("document.body.setAttribute('style', 'color: red')")
        .await;
    while browser.complaints.is_empty() {
        browser.evaluate("true").await;
    }
    assert!(
        browser.complaints.iter().all(|text| text.contains("style")),
        "{:?}",
        browser.complaints
    );
    browser.size(390, 844).await;
    for (name, path) in pages() {
        browser.open(&format!("{}{path}", served.base)).await;
        let fits = browser
            .evaluate("document.documentElement.scrollWidth <= innerWidth")
            .await;
        assert_eq!(fits, true, "{path} is wider than a telephone");
        let moved = "[...document.querySelectorAll('.scroll > table')].filter((one) => \
                     one.parentElement.scrollWidth > one.parentElement.clientWidth).length";
        assert_eq!(
            browser.evaluate(moved).await,
            0,
            "{path} has a list that must be moved sideways to be read"
        );
        keep_picture(&mut browser, &format!("{name}-narrow")).await;
    }
}

pub(crate) async fn everything_works_without_scripts_and_by_keyboard() {
    let served = Served::new().await;
    served.world.fill().await;
    crate::recorded::restore_in(&served.world).await;
    let mut browser = Chromium::start().await;
    browser.disable_scripts(true).await;
    served.enter(&mut browser).await;
    for (_, path) in pages() {
        browser.open(&format!("{}{path}", served.base)).await;
        let html = browser.html().await;
        assert!(
            html.contains("<h1>") && html.contains("</main>"),
            "{path}: {html}"
        );
    }

    // A search, by keyboard alone.
    browser.open(&format!("{}/", served.base)).await;
    browser.focus("#search").await;
    for letter in ["s", "h", "o", "p"] {
        browser.press(letter).await;
    }
    let before = browser.loads();
    browser.press("Enter").await;
    browser.wait_loaded(before).await;
    assert_eq!(browser.place().await, format!("{}/packages?q=shop", served.base));
    assert!(browser.html().await.contains("shop-operator"));

    // The looks, kept in a cookie.
    let before = browser.loads();
    browser.focus("button[value=dark]").await;
    browser.press("Enter").await;
    browser.wait_loaded(before).await;
    assert!(browser.html().await.contains("data-theme=\"dark\""));

    // A button that changes the cluster.
    browser.open(&format!("{}/extensions/web", served.base)).await;
    let before = browser.loads();
    browser.focus("form[action$=pause] button").await;
    browser.press("Enter").await;
    browser.wait_loaded(before).await;
    assert_eq!(
        browser.place().await,
        format!("{}/extensions/web?done=paused", served.base)
    );
    let paused = served.world.extension("web", |extension| {
        crate::world::annotation(extension, "baton-olm.dev/pause").as_deref() == Some("true")
    });
    paused.await;

    // A plan that waits, approved by keyboard alone.
    let plan = format!("{}/classic/plans/mixed/install-m4x9q", served.base);
    browser.open(&plan).await;
    let before = browser.loads();
    browser.focus("form[action$=approve] button").await;
    browser.press("Enter").await;
    browser.wait_loaded(before).await;
    assert_eq!(browser.place().await, format!("{plan}?done=plan-approved"));
    assert!(browser.html().await.contains("The plan is approved"));

    // With scripts there are shortcuts, and the order of the keyboard is that of the page.
    browser.disable_scripts(false).await;
    browser.complaints.clear();
    browser.open(&format!("{}/", served.base)).await;
    let mut order = Vec::new();
    for _ in 0..10 {
        browser.press("Tab").await;
        let focused = browser
            .evaluate("document.activeElement.textContent.trim() || document.activeElement.id")
            .await;
        order.push(focused.as_str().expect("text").to_owned());
        let outline = browser
            .evaluate("getComputedStyle(document.activeElement).outlineStyle")
            .await;
        assert_ne!(outline, "none", "{order:?}: the focus can't be seen");
    }
    assert_eq!(
        order,
        [
            "Skip to the content",
            "baton",
            "Overview",
            "Catalogs",
            "Packages",
            "Extensions",
            "Resources",
            "OLM v0",
            "Events",
            "search",
        ]
    );
    browser.open(&format!("{}/", served.base)).await;
    browser.press("Tab").await;
    browser.press("Enter").await;
    browser.wait_for("document.activeElement.id === 'main'").await;
    browser.press("/").await;
    browser
        .wait_for("document.activeElement.id === 'search' && document.activeElement.value === ''")
        .await;
    browser.press("Escape").await;
    browser.wait_for("document.activeElement === document.body").await;
    let before = browser.loads();
    // In one call: they mean something only where they come soon after each other, and this machine may do much else.
    let keys = "for (const key of 'ge') document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))";
    browser.evaluate(keys).await;
    browser.wait_loaded(before).await;
    assert_eq!(browser.place().await, format!("{}/extensions", served.base));
    assert_eq!(browser.complaints, Vec::<String>::new());

    // Whoever writes the address by hand is led to the pages.
    browser.open(&format!("{}/catalogs", served.bare)).await;
    browser.wait_place(&format!("{}/catalogs", served.base)).await;

    // Out, by keyboard, and in again with the token in the form.
    let before = browser.loads();
    browser.focus("form.leave button").await;
    browser.press("Enter").await;
    browser.wait_loaded(before).await;
    assert!(browser.html().await.contains("You are logged out"));
    browser.open(&format!("{}/events", served.base)).await;
    assert!(browser.html().await.contains("The console is locked"));
    let before = browser.loads();
    browser.focus("#token").await;
    for letter in crate::world::TOKEN.chars() {
        browser.press(&letter.to_string()).await;
    }
    browser.press("Enter").await;
    browser.wait_loaded(before).await;
    assert_eq!(browser.place().await, format!("{}/events", served.base));
    assert!(browser.html().await.contains("<h1>Events</h1>"));
}

pub(crate) async fn a_server_on_another_port_is_not_shown_the_cookie() {
    let served = Served::new().await;
    // Somebody else's server on this machine, which notes what browsers send.
    let shown = Arc::new(Mutex::new(Vec::<String>::new()));
    let noted = Arc::clone(&shown);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let elsewhere = format!("http://{}", listener.local_addr().expect("an address"));
    let router = axum::Router::new().fallback(async move |headers: http::HeaderMap| {
        let cookies = headers.get_all("cookie").iter();
        let cookies = cookies.map(|cookie| cookie.to_str().expect("text").to_owned());
        noted.lock().expect("no test panicked").extend(cookies);
        "hello"
    });
    tokio::spawn(async move { axum::serve(listener, router).await });

    let mut browser = Chromium::start().await;
    served.enter(&mut browser).await;
    let before = browser.loads();
    browser.focus("button[value=dark]").await;
    browser.press("Enter").await;
    browser.wait_loaded(before).await;
    for path in ["/", "/extensions", "/~/", "/assets/console.css"] {
        browser.open(&format!("{elsewhere}{path}")).await;
    }
    let shown = shown.lock().expect("no test panicked").join("; ");
    assert!(
        shown.contains("baton_theme=dark"),
        "browsers do show cookies to other ports: {shown:?}"
    );
    assert!(!shown.contains("baton_console"), "{shown:?}");
    browser.open(&format!("{}/", served.base)).await;
    assert!(
        browser.html().await.contains("<h1>Overview</h1>"),
        "the session goes on"
    );
}

pub(crate) async fn a_page_follows_the_cluster_by_itself() {
    let served = Served::new().await;
    let mut browser = Chromium::start().await;
    served.enter(&mut browser).await;
    browser.open(&format!("{}/catalogs", served.base)).await;
    browser
        .wait_for("document.getElementById('following').textContent === 'Live'")
        .await;
    browser.evaluate("window.stayed = true").await;
    crate::world::apply(&served.world.client, json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": "fresh"},
        "spec": {"source": {"type": "Image", "image": {"ref": "registry.example.com/fresh:latest"}}},
    }))
    .await;
    browser
        .wait_for("document.querySelector('#live tbody a')?.textContent === 'fresh'")
        .await;
    assert_eq!(
        browser.evaluate("window.stayed").await,
        true,
        "the page was not loaded again"
    );
    browser
        .open(&format!("{}/classic/subscriptions", served.base))
        .await;
    browser
        .wait_for("document.getElementById('following').textContent === 'Live'")
        .await;
    crate::world::apply(
        &served.world.client,
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "fresh", "namespace": "default"},
            "spec": {"name": "fresh", "source": "cat", "sourceNamespace": "default"},
        }),
    )
    .await;
    browser
        .wait_for("document.querySelector('#live tbody a')?.textContent === 'fresh'")
        .await;
    assert_eq!(browser.complaints, Vec::<String>::new());
}
