//! What every page shows.

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn every_page_shows_what_the_cluster_holds() {
    let world = World::empty().await;
    world.fill().await;
    world.page_with("/extensions/web", "Version 1.2.0 waits").await;
    world.page_with("/extensions/shop", "Rolling out").await;
    let shop = "/resources/example.com/v1alpha1/Shop/shop/books";
    for (name, path) in [
        ("catalogs", "/catalogs"),
        ("catalog", "/catalogs/main"),
        ("catalog_that_is_broken", "/catalogs/broken"),
        ("packages", "/packages"),
        ("packages_found", "/packages?q=SELLS"),
        ("packages_not_found", "/packages?q=nothing-is-called-this"),
        ("package", "/packages/main/web-operator"),
        (
            "package_in_another_channel",
            "/packages/main/web-operator?channel=fast",
        ),
        (
            "package_that_is_not_installed_completely",
            "/packages/main/shop-operator",
        ),
        ("extensions", "/extensions"),
        ("extension_plan", "/extensions/web/plan"),
        ("extension_versions", "/extensions/web/versions"),
        ("resource_kinds", "/resources"),
        ("resources", "/resources/example.com/v1alpha1/Shop"),
        ("resource_revision", &format!("{shop}/revisions/2")),
        ("resource_first_revision", &format!("{shop}/revisions/1")),
        ("resource_logs", &format!("{shop}/logs")),
    ] {
        let answer = world.visit(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        insta::assert_snapshot!(name, answer.content());
    }
    // What happened is another thing with every run; that it is told isn't.
    for (path, texts) in [
        (
            "/",
            &[
                "3</span>",
                "Needs somebody",
                "version 1.2.0 waits for approval",
                "Latest events",
                "/extensions/lost",
            ][..],
        ),
        (
            "/extensions/web",
            &[
                "Version 1.2.0 waits",
                "Review what 1.2.0 changes",
                "web-1",
                "phase done",
                "Deployment web-system/web-operator",
            ],
        ),
        (
            "/extensions/shop",
            &[
                "Rolling out",
                "phase current",
                "Deployment shop-system/shop-operator",
                "Waits",
                "nothing",
            ],
        ),
        (
            "/extensions/lost",
            &["Retrying", "Nothing is rolled out", "baton explain lost"],
        ),
        (
            shop,
            &[
                "greeting: hello",
                "somebody else was here",
                "data.greeting",
                "Deployment shop/books",
                "Upgrade complete",
                "Diff",
                "All objects",
            ],
        ),
        ("/events", &["ClusterExtension web", "Only warnings"]),
        ("/events?warnings=1&q=no-such-event", &["No such event"]),
    ] {
        let answer = world.visit(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        for text in texts {
            assert!(
                answer.text.contains(text),
                "{path} has no {text:?}:\n{}",
                answer.text
            );
        }
    }
    for (path, text) in [
        (
            "/catalogs/none",
            "ClusterCatalog &#34;none&#34; isn&#39;t there; there are broken, main",
        ),
        ("/packages/main/none", "has no package &#34;none&#34;"),
        ("/extensions/none", "there are lost, shop, web"),
        (
            "/resources/example.com/v1/Nothing",
            "the cluster has no kind Nothing",
        ),
        ("/resources/example.com/v1alpha1/Shop/shop/none", "not found"),
        (
            &format!("{shop}/revisions/7"),
            "revision 7 of Shop shop/books isn&#39;t kept any more; there are 1, 2",
        ),
        (
            &format!("{shop}/logs?pod=other"),
            "has no pod &#34;other&#34; any more",
        ),
        ("/nowhere", "no page at this address"),
    ] {
        let answer = world.visit(path).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text);
        assert!(
            answer.text.contains(text),
            "{path} has no {text:?}:\n{}",
            answer.text
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_nothing_a_page_says_what_to_do() {
    let world = World::empty().await;
    for (name, path) in [
        ("empty_overview", "/"),
        ("empty_catalogs", "/catalogs"),
        ("empty_packages", "/packages"),
        ("empty_extensions", "/extensions"),
        ("empty_resources", "/resources"),
    ] {
        let answer = world.visit(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        insta::assert_snapshot!(name, answer.content());
    }
}
