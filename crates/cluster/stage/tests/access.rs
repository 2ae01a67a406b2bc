//! Who may do what, asked as clients ask: tokens, impersonation, roles, and nobody granting what they don't have.

use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use stage::{Body, Options, Service, Stage};
use tower::ServiceExt as _;

struct World {
    stage: Stage,
    strangers: Service,
}

impl World {
    async fn start() -> Self {
        let stage = Stage::in_memory(Options {
            tokens: vec![(
                "alice-token".to_owned(),
                "alice".to_owned(),
                vec!["devs".to_owned()],
            )],
            ..Options::default()
        })
        .await
        .expect("a stage");
        let strangers = stage.stranger_service();
        Self { stage, strangers }
    }

    async fn ask(
        &self,
        token: &str,
        headers: &[(&str, &str)],
        method: Method,
        path: &str,
        body: Value,
    ) -> (u16, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", "application/json");
        if !token.is_empty() {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let body: Body = stage::wire::full_body(text);
        let request = request.body(body).expect("a request");
        let Ok(answer) = self.strangers.clone().oneshot(request).await;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn administrator(&self, method: Method, path: &str, body: Value) -> Value {
        let token = self.stage.api().access.administrator_token().to_owned();
        let (code, answer) = self.ask(&token, &[], method, path, body).await;
        assert!(code < 300, "{path}: {answer}");
        answer
    }

    async fn message(&self, token: &str, headers: &[(&str, &str)], path: &str) -> String {
        let (code, answer) = self.ask(token, headers, Method::GET, path, Value::Null).await;
        format!("{code}: {}", answer["message"].as_str().unwrap_or_default())
    }

    /// Gives alice rights in the whole cluster.
    async fn allow_alice(&self, name: &str, rules: Value) {
        let group = "/apis/rbac.authorization.k8s.io/v1";
        let role = json!({"metadata": {"name": name}, "rules": rules});
        self.administrator(Method::POST, &format!("{group}/clusterroles"), role)
            .await;
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
        });
        self.administrator(Method::POST, &format!("{group}/clusterrolebindings"), binding)
            .await;
    }
}

#[tokio::test]
async fn rights_hold_as_soon_as_they_are_written() {
    let world = World::start().await;
    let pods = "/api/v1/namespaces/default/pods";
    assert_eq!(
        world.message("alice-token", &[], pods).await,
        "403: pods is forbidden: User \"alice\" cannot list resource \"pods\" in API group \"\" in the namespace \
         \"default\""
    );
    let rule = json!([{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}]);
    world.allow_alice("reader", rule).await;
    assert_eq!(world.message("alice-token", &[], pods).await, "200: ");
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/reader";
    world.administrator(Method::DELETE, path, Value::Null).await;
    assert_eq!(
        world.message("alice-token", &[], pods).await,
        "403: pods is forbidden: User \"alice\" cannot list resource \"pods\" in API group \"\" in the namespace \
         \"default\": RBAC: clusterrole.rbac.authorization.k8s.io \"reader\" not found"
    );
}

#[tokio::test]
async fn a_list_of_one_name_is_a_wish_for_that_object() {
    let world = World::start().await;
    let rule = json!([{
        "verbs": ["list", "watch"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"],
    }]);
    world.allow_alice("one", rule).await;
    let path = "/api/v1/namespaces/default/configmaps";
    let named = format!("{path}?fieldSelector=metadata.name%3Da");
    assert_eq!(world.message("alice-token", &[], &named).await, "200: ");
    assert!(world.message("alice-token", &[], path).await.starts_with("403"));
}

#[tokio::test]
async fn impersonation_is_refused_in_the_words_of_the_first_mode() {
    let world = World::start().await;
    let pods = "/api/v1/pods";
    let as_bob = [("Impersonate-User", "bob")];
    assert_eq!(
        world.message("alice-token", &as_bob, pods).await,
        "403: pods is forbidden: User \"alice\" cannot impersonate-on:user-info:list resource \"pods\" in API group \
         \"\" at the cluster scope"
    );
    let robot = [("Impersonate-User", "system:serviceaccount:a:b")];
    assert_eq!(
        world.message("alice-token", &robot, "/version").await,
        "403: forbidden: User \"alice\" cannot impersonate-on:serviceaccount:get path \"/version\""
    );
    let rule = json!([{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"]}]);
    world.allow_alice("actor", rule).await;
    assert_eq!(
        world.message("alice-token", &as_bob, pods).await,
        "403: pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\" at the cluster scope"
    );
    // Who had success in the old way is refused in the old way.
    assert_eq!(
        world
            .message("alice-token", &[("Impersonate-User", "carol")], pods)
            .await,
        "403: users \"carol\" is forbidden: User \"alice\" cannot impersonate resource \"users\" in API group \"\" at \
         the cluster scope"
    );
}

#[tokio::test]
async fn nobody_grants_what_they_do_not_have() {
    let world = World::start().await;
    let rules = json!([
        {"verbs": ["create", "update", "patch", "get"], "apiGroups": ["rbac.authorization.k8s.io"],
         "resources": ["clusterroles", "clusterrolebindings"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
    ]);
    world.allow_alice("granter", rules).await;
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let role = |name: &str, verbs: &[&str]| {
        json!({
            "metadata": {"name": name}, "rules": [{"verbs": verbs, "apiGroups": [""], "resources": ["pods"]}],
        })
    };
    let (code, _) = world
        .ask("alice-token", &[], Method::POST, path, role("small", &["get"]))
        .await;
    assert_eq!(code, 201);
    let (code, answer) = world
        .ask(
            "alice-token",
            &[],
            Method::POST,
            path,
            role("large", &["get", "delete"]),
        )
        .await;
    assert_eq!(code, 403);
    assert_eq!(
        answer["message"],
        "clusterroles.rbac.authorization.k8s.io \"large\" is forbidden: user \"alice\" (groups=[\"devs\" \
         \"system:authenticated\"]) is attempting to grant RBAC permissions not currently \
         held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}"
    );
    let binding = json!({
        "metadata": {"name": "mine"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let (code, answer) = world.ask("alice-token", &[], Method::POST, path, binding).await;
    assert_eq!(code, 403);
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(
        message.ends_with(
            "{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}"
        ),
        "{message}"
    );
}

#[tokio::test]
async fn the_token_of_a_secret_is_good_while_the_secret_has_it() {
    let world = World::start().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = json!({"metadata": {"name": "robot"}});
    world.administrator(Method::POST, accounts, account).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "metadata": {"name": "robot-token", "annotations": {"kubernetes.io/service-account.name": "robot"}},
        "type": "kubernetes.io/service-account-token",
    });
    world.administrator(Method::POST, secrets, secret).await;
    let path = format!("{secrets}/robot-token");
    let token = loop {
        let secret = world.administrator(Method::GET, &path, Value::Null).await;
        if let Some(token) = secret["data"]["token"].as_str() {
            use base64::Engine as _;
            let bytes = base64::engine::general_purpose::STANDARD.decode(token);
            break String::from_utf8(bytes.expect("base64")).expect("a text");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (code, answer) = world.ask(&token, &[], Method::POST, who, json!({})).await;
    assert_eq!(code, 201);
    assert_eq!(
        answer["status"]["userInfo"]["username"],
        "system:serviceaccount:default:robot"
    );
    world.administrator(Method::DELETE, &path, Value::Null).await;
    assert_eq!(world.message(&token, &[], "/version").await, "401: Unauthorized");
}

#[tokio::test]
async fn a_token_of_a_pod_dies_with_the_pod() {
    let world = World::start().await;
    let base = "/api/v1/namespaces/default";
    let account = json!({"metadata": {"name": "robot"}});
    world
        .administrator(Method::POST, &format!("{base}/serviceaccounts"), account)
        .await;
    let pod = json!({
        "metadata": {"name": "worker"},
        "spec": {"serviceAccountName": "robot", "containers": [{"name": "a", "image": "b"}]},
    });
    world
        .administrator(Method::POST, &format!("{base}/pods"), pod)
        .await;
    let request = json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "worker"}}});
    let path = format!("{base}/serviceaccounts/robot/token");
    let answer = world.administrator(Method::POST, &path, request).await;
    let token = answer["status"]["token"].as_str().expect("a token").to_owned();
    let who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (_, answer) = world.ask(&token, &[], Method::POST, who, json!({})).await;
    let extra = &answer["status"]["userInfo"]["extra"];
    assert_eq!(extra["authentication.kubernetes.io/pod-name"], json!(["worker"]));
    let id = extra["authentication.kubernetes.io/credential-id"][0]
        .as_str()
        .unwrap_or_default();
    assert!(id.starts_with("JTI="), "{id}");
    let path = format!("{base}/pods/worker?gracePeriodSeconds=0");
    world.administrator(Method::DELETE, &path, Value::Null).await;
    assert_eq!(world.message(&token, &[], "/version").await, "401: Unauthorized");
}
