//! The pages of OLM v0, and the button that approves a plan.

use std::time::Duration;

use api::definitions;
use classic::Kind;
use http::Method;
use kube::api::{Patch, PatchParams};
use regex::Regex;
use serde_json::{Value, json};

use crate::recorded::{objects, restore, restore_in, served};
use crate::world::{PORT, World, apply};

const PLAN: &str = "/classic/plans/mixed/install-m4x9q";

/// A cluster with everything that was recorded, which the console has seen.
async fn recorded() -> World {
    let world = World::with_olm_v0(PORT).await;
    restore_in(&world).await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_olm_v0_shows_what_was_recorded() {
    let world = recorded().await;
    for (name, path) in [
        ("olm_v0", "/classic"),
        ("subscriptions", "/classic/subscriptions"),
        ("subscriptions_found", "/classic/subscriptions?q=UNSAT"),
        (
            "subscriptions_not_found",
            "/classic/subscriptions?q=nothing-is-called-this",
        ),
        ("subscription", "/classic/subscriptions/dep/beta-stable-cat-dep"),
        ("subscription_that_waits", "/classic/subscriptions/mixed/alpha"),
        ("subscription_that_stopped", "/classic/subscriptions/unsat/alpha"),
        ("install_plans", "/classic/plans"),
        ("install_plan", "/classic/plans/dep/install-b7d2k"),
        ("install_plan_that_waits", PLAN),
        ("service_versions", "/classic/versions"),
        (
            "service_versions_with_copies",
            "/classic/versions?copies=1&q=copy",
        ),
        ("service_version", "/classic/versions/dep/alpha.v1.0.0"),
        (
            "service_version_that_lacks_rights",
            "/classic/versions/manual/alpha.v1.0.0",
        ),
        (
            "service_version_with_copies",
            "/classic/versions/copy0/alpha.v1.0.0",
        ),
        ("dependencies", "/classic/dependencies/dep"),
        ("dependencies_of_a_plan", "/classic/dependencies?namespace=mixed"),
        ("dependencies_that_are_missing", "/classic/dependencies/miss"),
        ("dependencies_of_nobody", "/classic/dependencies/nowhere"),
    ] {
        let answer = world.visit(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        insta::assert_snapshot!(name, steady(&answer.content()));
    }
    let copy = world.visit("/classic/versions/copy1/alpha.v1.0.0").await;
    assert_eq!(
        (copy.status, copy.leads_to(&world)),
        (303, "/classic/versions/copy0/alpha.v1.0.0")
    );
    let overview = world.visit("/").await.text;
    for text in [
        "href=\"/classic\"",
        "InstallPlan <strong>mixed/install-m4x9q</strong>",
        "Subscription <strong>unsat/alpha</strong>",
        "CatalogSource <strong>badc/broken</strong>",
    ] {
        assert!(
            overview.contains(text),
            "the overview has no {text:?}:\n{overview}"
        );
    }
    for (path, text) in [
        (
            "/classic/subscriptions/dep/none",
            "Subscription dep/none isn&#39;t there; in this namespace there are alpha, beta",
        ),
        (
            "/classic/plans/nowhere/none",
            "InstallPlan nowhere/none isn&#39;t there, and none is in this namespace",
        ),
        (
            "/classic/versions/copy1/beta.v1.0.0",
            "ClusterServiceVersion copy1/beta.v1.0.0 isn&#39;t there",
        ),
    ] {
        let answer = world.visit(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(
            answer.text.contains(text),
            "{path} has no {text:?}:\n{}",
            answer.text
        );
    }
}

/// Replaces the version of an object, which is another one with every run.
fn steady(text: &str) -> String {
    let seen = Regex::new(r#"name="seen" value="[^"]+""#).expect("a pattern");
    seen.replace_all(text, r#"name="seen" value="SEEN""#).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_olm_v0_a_page_says_so_until_it_comes() {
    let world = World::empty().await;
    for path in [
        "/classic",
        "/classic/subscriptions",
        "/classic/plans",
        "/classic/plans/a/b",
        "/classic/versions",
        "/classic/versions/a/b",
        "/classic/dependencies",
        "/classic/dependencies/a",
    ] {
        let answer = world.visit(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert!(
            answer.text.contains("There is no OLM v0 in this cluster"),
            "{path}: {}",
            answer.text
        );
    }
    insta::assert_snapshot!("olm_v0_absent", world.visit("/classic").await.content());
    assert!(
        !world.visit("/").await.content().contains("/classic"),
        "the overview leaves it out"
    );
    for definition in definitions::OLM_V0 {
        apply(&world.client, definition.object()).await;
    }
    world
        .page_with("/classic/subscriptions", "No Subscription yet")
        .await;
    world.page_with("/classic/dependencies", "No operator here").await;
    // Kinds come one after the other, and the page says which are missing until then.
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    let empty = loop {
        let page = world.visit("/classic").await;
        if !page.text.contains("Not everything is shown") {
            break page;
        }
        assert!(tokio::time::Instant::now() < deadline, "{}", page.text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    insta::assert_snapshot!("olm_v0_empty", empty.content());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_strangers_write_stays_text() {
    let world = World::with_olm_v0(PORT).await;
    restore(&world.client).await;
    let status = json!({"status": {"phase": "<script>alert(1)</script>", "reason": "\"><b>", "message": "<img src=x>"}});
    let versions = objects(&world.client, Kind::ClusterServiceVersion, "dep");
    let patched = versions
        .patch_status("beta.v1.0.0", &PatchParams::default(), &Patch::Merge(&status))
        .await;
    patched.expect("a status");
    world
        .page_with("/classic/versions", "&#60;script&#62;alert(1)")
        .await;
    for path in [
        "/classic/versions",
        "/classic/versions/dep/beta.v1.0.0",
        "/classic/dependencies/dep",
    ] {
        let page = world.visit(path).await.text;
        for forbidden in ["<script>alert", "<img src=x", "\"><b>", "style=\"", "onclick"] {
            assert!(!page.contains(forbidden), "{path} has {forbidden}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_has_pages() {
    let world = World::with_olm_v0(PORT).await;
    restore(&world.client).await;
    for number in 0..60 {
        apply(
            &world.client,
            json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
                "metadata": {"name": format!("many-{number:02}"), "namespace": "unsat"},
                "spec": {"name": "many", "source": "cat", "sourceNamespace": "unsat"},
            }),
        )
        .await;
    }
    world
        .page_with("/classic/subscriptions?q=many&page=2", "51–60 of 60")
        .await;
    let first = world.visit("/classic/subscriptions?q=many").await.text;
    assert!(
        first.contains("1–50 of 60") && first.contains("?q=many&#38;page=2"),
        "{first}"
    );
}

impl World {
    async fn plan(&self) -> Value {
        let plans = objects(&self.client, Kind::InstallPlan, "mixed");
        let plan = plans.get("install-m4x9q").await.expect("a plan");
        serde_json::to_value(plan).expect("JSON")
    }

    async fn version(&self) -> String {
        let plan = self.plan().await;
        plan["metadata"]["resourceVersion"]
            .as_str()
            .expect("a version")
            .to_owned()
    }

    /// The state of the plan that a page shows, as its form carries it.
    async fn seen(&self) -> String {
        let page = self.page_with(PLAN, "name=\"seen\"").await.text;
        let seen = Regex::new(r#"name="seen" value="([^"]+)""#).expect("a pattern");
        seen.captures(&page).expect("a form")[1].to_owned()
    }

    /// The same, once the page shows the plan as it is.
    async fn seen_now(&self) -> String {
        let version = self.version().await;
        self.page_with(PLAN, &format!("value=\"{version}\"")).await;
        version
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_approved_as_it_was_seen_and_by_nobody_else() {
    let world = recorded().await;
    let approve = format!("{PLAN}/approve");
    let seen = world.seen().await;

    // Neither without the token nor with a form of somebody else.
    let stranger = http::Request::builder()
        .method(Method::POST)
        .uri(format!("{}{approve}", world.ticket.place))
        .header("host", format!("127.0.0.1:{PORT}"));
    assert_eq!(
        world.send_with(stranger, format!("seen={seen}")).await.status,
        401
    );
    for form in [format!("seen={seen}"), format!("key=wrong&seen={seen}")] {
        assert_eq!(
            world
                .send_with(world.opened(Method::POST, &approve), form)
                .await
                .status,
            403
        );
    }
    let elsewhere = world
        .opened(Method::POST, &approve)
        .header("origin", "http://evil.example.com");
    let key = world.form_key().await;
    let foreign = world.send_with(elsewhere, format!("key={key}&seen={seen}")).await;
    assert_eq!(foreign.status, 403);
    assert_eq!(
        world.visit(&approve).await.status,
        405,
        "looking approves nothing"
    );
    let unseen = world.press(&approve, &[]).await;
    assert_eq!(unseen.status, 400);
    assert!(
        unseen.text.contains("which state of the plan was seen"),
        "{}",
        unseen.text
    );

    // A plan that somebody changed meanwhile is looked at again first.
    let plans = objects(&world.client, Kind::InstallPlan, "mixed");
    let change = json!({"metadata": {"labels": {"touched": "yes"}}});
    let touched = plans
        .patch("install-m4x9q", &PatchParams::default(), &Patch::Merge(&change))
        .await;
    touched.expect("changed");
    let stale = world.press(&approve, &[("seen", &seen)]).await;
    assert_eq!(stale.status, 409);
    assert!(
        stale.text.contains("has changed since its page was shown"),
        "{}",
        stale.text
    );
    assert_eq!(world.plan().await["spec"]["approved"], false);

    let seen = world.seen_now().await;
    let approved = world.press(&approve, &[("seen", &seen)]).await;
    assert_eq!(
        (approved.status, approved.leads_to(&world)),
        (303, format!("{PLAN}?done=plan-approved").as_str())
    );
    assert_eq!(world.plan().await["spec"]["approved"], true);
    let page = world
        .page_with(&format!("{PLAN}?done=plan-approved"), "Approved</span>")
        .await
        .text;
    assert!(
        page.contains("The plan is approved") && !page.contains("/approve\""),
        "{page}"
    );
    let again = world.press(&approve, &[("seen", &world.version().await)]).await;
    assert_eq!(again.status, 409);
    assert!(
        again
            .text
            .contains("doesn&#39;t wait for approval: it is approved already"),
        "{}",
        again.text
    );
    let missing = world
        .press("/classic/plans/mixed/none/approve", &[("seen", "1")])
        .await;
    assert_eq!(missing.status, 404, "{}", missing.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_operator_of_a_plan_is_approved_alone() {
    let world = recorded().await;
    let approve = format!("{PLAN}/approve");
    let seen = world.seen_now().await;
    let other = world
        .press(&approve, &[("seen", &seen), ("only", "gamma.v1.0.0")])
        .await;
    assert_eq!(other.status, 409);
    assert!(
        other
            .text
            .contains("doesn&#39;t install gamma.v1.0.0; it installs"),
        "{}",
        other.text
    );
    let alone = world
        .press(&approve, &[("seen", &seen), ("only", "alpha.v1.0.0")])
        .await;
    assert_eq!(
        (alone.status, alone.leads_to(&world)),
        (303, format!("{PLAN}?done=version-approved").as_str())
    );
    let plan = world.plan().await;
    assert_eq!(plan["spec"]["approved"], false);
    assert_eq!(
        plan["metadata"]["annotations"]["classic.baton.dev/approved-versions"],
        "alpha.v1.0.0"
    );
    let page = world.page_with(PLAN, "Approved alone").await.text;
    assert!(
        page.contains("Approve only beta.v1.0.0") && !page.contains("Approve only alpha.v1.0.0"),
        "{page}"
    );
}

/// A catalog of one operator, its namespace, and a Subscription whose plans must be approved.
fn scene() -> Vec<Value> {
    let version = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": "web.v1.0.0", "namespace": "placeholder"},
        "spec": {
            "displayName": "Web", "version": "1.0.0",
            "installModes": [{"type": "OwnNamespace", "supported": true}, {"type": "SingleNamespace", "supported": true},
                {"type": "MultiNamespace", "supported": true}, {"type": "AllNamespaces", "supported": true}],
            "install": {"strategy": "deployment", "spec": {"deployments": [{"name": "web", "spec": {
                "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "manager", "image": "registry.example.com/web:1"}]},
                },
            }}]}},
        },
    });
    let package = json!({"packageName": "web", "defaultChannel": "stable",
        "channels": [{"name": "stable", "currentCSV": "web.v1.0.0"}]});
    let (alpha, place) = ("operators.coreos.com/v1alpha1", "live");
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "packages", "namespace": place}, "data": {
            "customResourceDefinitions": "[]", "clusterServiceVersions": json!([version]).to_string(),
            "packages": json!([package]).to_string(),
        }}),
        json!({"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "own", "namespace": place}, "spec": {"targetNamespaces": [place]}}),
        json!({"apiVersion": alpha, "kind": "CatalogSource", "metadata": {"name": "cat", "namespace": place},
            "spec": {"sourceType": "configmap", "configMap": "packages"}}),
        json!({"apiVersion": alpha, "kind": "Subscription", "metadata": {"name": "web", "namespace": place}, "spec": {
            "name": "web", "channel": "stable", "source": "cat", "sourceNamespace": place, "installPlanApproval": "Manual",
        }}),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_plan_is_carried_out_by_the_controller() {
    let world = World::with_olm_v0(PORT).await;
    served(&world.client).await;
    let options = classic_controller::controller::Options::new(world.client.clone());
    let controller = classic_controller::controller::Controller::new(options);
    tokio::spawn(async move { controller.run(std::future::pending()).await });
    for object in scene() {
        apply(&world.client, object).await;
    }
    let page = "/classic/subscriptions/live/web";
    let waiting = world.page_with(page, "A plan waits for approval").await.text;
    let plan = Regex::new(r#"class="button primary" href="([^"]+)""#).expect("a pattern");
    let plan = plan.captures(&waiting).expect("a link to the plan")[1].to_owned();
    let shown = world.page_with(&plan, "Approve</button>").await.text;
    assert!(shown.contains("ClusterServiceVersion web.v1.0.0"), "{shown}");
    let seen = Regex::new(r#"name="seen" value="([^"]+)""#).expect("a pattern");
    let seen = seen.captures(&shown).expect("a form")[1].to_owned();
    let approved = world.press(&format!("{plan}/approve"), &[("seen", &seen)]).await;
    assert_eq!(approved.status, 303, "{}", approved.text);
    world.page_with(&plan, "Complete</span>").await;
    let done = world.page_with(page, "Installed</span>").await.text;
    assert!(done.contains("/classic/versions/live/web.v1.0.0"), "{done}");
    let version = world
        .page_with("/classic/versions/live/web.v1.0.0", "1 of 1 replicas available")
        .await
        .text;
    assert!(
        version.contains("InstallSucceeded") && version.contains("Succeeded</span>"),
        "{version}"
    );
}
