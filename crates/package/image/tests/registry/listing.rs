use serde_json::json;

use crate::World;

#[tokio::test]
async fn tags_are_listed_in_pages() {
    let world = World::new();
    for tag in ["b", "a", "C", "d"] {
        world.push_image("team/x", tag, b"layer").await;
    }
    let all = world.get("/v2/team/x/tags/list").await;
    assert_eq!(
        all.json(),
        json!({ "name": "team/x", "tags": ["C", "a", "b", "d"] })
    );
    assert_eq!(all.header("link"), "");
    let first = world.get("/v2/team/x/tags/list?n=2").await;
    assert_eq!(first.json()["tags"], json!(["C", "a"]));
    assert_eq!(
        first.header("link"),
        "</v2/team/x/tags/list?last=a&n=2>; rel=\"next\""
    );
    let second = world.get("/v2/team/x/tags/list?last=a&n=2").await;
    assert_eq!(second.json()["tags"], json!(["b", "d"]));
    assert_eq!(second.header("link"), "");
    let none = world.get("/v2/team/x/tags/list?n=0").await;
    assert_eq!(none.json()["tags"], json!([]));
    assert_eq!(none.header("link"), "");
    for n in ["-1", "x", ""] {
        assert_eq!(
            world.get(&format!("/v2/team/x/tags/list?n={n}")).await.status,
            400,
            "{n:?}"
        );
    }
}

#[tokio::test]
async fn a_repository_without_tags_has_an_empty_list() {
    let world = World::new();
    world.push_blob("a", b"blob").await;
    assert_eq!(
        world.get("/v2/a/tags/list").await.json(),
        json!({ "name": "a", "tags": [] })
    );
}

#[tokio::test]
async fn the_catalog_lists_what_was_published() {
    let world = World::new();
    assert_eq!(
        world.get("/v2/_catalog").await.json(),
        json!({ "repositories": [] })
    );
    for name in ["b", "a/c", "a", "a-b", "a/b/c"] {
        world.push_image(name, "v1", b"layer").await;
    }
    world.push_blob("only-a-blob", b"blob").await;
    let all = world.get("/v2/_catalog").await;
    assert_eq!(
        all.json(),
        json!({ "repositories": ["a", "a-b", "a/b/c", "a/c", "b"] })
    );
    let page = world.get("/v2/_catalog?n=2&last=a").await;
    assert_eq!(page.json(), json!({ "repositories": ["a-b", "a/b/c"] }));
    assert_eq!(
        page.header("link"),
        "</v2/_catalog?last=a%2Fb%2Fc&n=2>; rel=\"next\""
    );
}
