//! The template function `lookup` on a cluster.

use chart::host::Lookup as _;
use release::lookup::ClusterLookup;
use serde_json::json;

use crate::world::{NAMESPACE, World};

#[tokio::test(flavor = "multi_thread")]
async fn templates_find_objects_of_the_cluster() {
    let world = World::new().await;
    world
        .create(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}),
        )
        .await;
    let (cluster, runtime) = (world.cluster.clone(), tokio::runtime::Handle::current());
    let looked = tokio::task::spawn_blocking(move || {
        let lookup = ClusterLookup::new(&cluster, runtime);
        let found = lookup
            .lookup("v1", "ConfigMap", NAMESPACE, "a")
            .expect("an answer");
        assert_eq!(found["data"]["x"], "1");
        assert_eq!(lookup.lookup("v1", "ConfigMap", NAMESPACE, "b"), Ok(json!({})));
        assert_eq!(
            lookup.lookup("v1", "ConfigMap", "", "a"),
            Ok(json!({})),
            "in no namespace"
        );
        let list = lookup
            .lookup("v1", "ConfigMap", NAMESPACE, "")
            .expect("an answer");
        assert_eq!(list["kind"], "ConfigMapList");
        let names: Vec<_> = list["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(|item| item["metadata"]["name"].clone())
            .collect();
        assert!(names.contains(&json!("a")), "{names:?}");
        assert!(
            lookup
                .lookup("v1", "Namespace", "", NAMESPACE)
                .expect("an answer")["metadata"]
                .is_object()
        );
        assert_eq!(lookup.lookup("v1", "Nothing", NAMESPACE, "a"), Ok(json!({})));
        let text = lookup
            .lookup("nothing.test/v1", "Nothing", NAMESPACE, "a")
            .expect_err("no such version");
        assert!(
            text.starts_with("unable to get apiresource from unstructured: nothing.test/v1, Kind=Nothing: "),
            "{text}"
        );
        assert_eq!(lookup.questions(), 7);
        for _ in 0..993 {
            lookup.lookup("v1", "Nothing", "", "").ok();
        }
        lookup
            .lookup("v1", "ConfigMap", NAMESPACE, "a")
            .expect_err("too often")
    })
    .await
    .expect("no panic");
    assert_eq!(
        looked,
        "the chart looks up more than 1000 times; the last one was \"ConfigMap\" \"a\""
    );
}
