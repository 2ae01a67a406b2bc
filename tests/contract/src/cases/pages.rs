//! Long lists in pages.

use crate::context::Context;
use serde_json::json;

cases![
    pages_together_are_the_whole_list,
    pages_don_t_see_what_was_written_after_the_first,
    a_table_comes_in_pages_too,
    metadata_comes_in_pages_too,
    pages_of_a_field_selection_are_whole,
];

async fn fill(c: &Context, count: usize) {
    c.namespace().await;
    for number in 0..count {
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("s{number:02}"), "labels": {"even": (number % 2 == 0).to_string()}}});
        c.post("secrets", &secret).await.expect(201);
    }
}

/// Follows the continue tokens and returns the names on each page.
async fn pages(c: &Context, query: &[(&str, &str)], accept: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut token = String::new();
    loop {
        let mut request = c.get("secrets").accept(accept);
        for (name, value) in query {
            request = request.query(name, value);
        }
        if !token.is_empty() {
            request = request.query("continue", &token);
        }
        let answer = request.await.expect(200);
        pages.push(answer.names());
        let list = answer.json();
        list["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut token);
        if token.is_empty() {
            return pages;
        }
        assert!(pages.len() < 100, "the pages have no end");
    }
}

fn names(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers.map(|number| format!("s{number:02}")).collect()
}

async fn pages_together_are_the_whole_list(c: &Context) {
    fill(c, 23).await;
    let pages = pages(c, &[("limit", "5")], "application/json").await;
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 5, 5, 3]);
    assert_eq!(pages.concat(), names(0..23));
}

async fn pages_don_t_see_what_was_written_after_the_first(c: &Context) {
    fill(c, 6).await;
    let first = c.get("secrets").query("limit", "2").await.expect(200).json();
    for name in ["s03", "s04"] {
        c.delete(&format!("secrets/{name}")).await.expect(200);
    }
    let late = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s021"}});
    c.post("secrets", &late).await.expect(201);
    let token = first["metadata"]["continue"].as_str().expect("a token");
    let rest = c
        .get("secrets")
        .query("limit", "10")
        .query("continue", token)
        .await
        .expect(200);
    assert_eq!(rest.names(), names(2..6));
    // All pages are of one moment.
    assert_eq!(
        rest.json()["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
}

async fn a_table_comes_in_pages_too(c: &Context) {
    fill(c, 5).await;
    let pages = pages(
        c,
        &[("limit", "2")],
        "application/json;as=Table;v=v1;g=meta.k8s.io",
    )
    .await;
    assert_eq!(pages, [names(0..2), names(2..4), names(4..5)]);
}

async fn metadata_comes_in_pages_too(c: &Context) {
    fill(c, 5).await;
    let accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    assert_eq!(
        pages(c, &[("limit", "3")], accept).await,
        [names(0..3), names(3..5)]
    );
}

async fn pages_of_a_field_selection_are_whole(c: &Context) {
    fill(c, 10).await;
    let pages = pages(
        c,
        &[("limit", "2"), ("labelSelector", "even=true")],
        "application/json",
    )
    .await;
    assert_eq!(pages.concat(), names((0..10).step_by(2)));
}
