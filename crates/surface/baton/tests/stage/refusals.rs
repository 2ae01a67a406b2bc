//! Those without rights, over the network.

use serde_json::{Value, json};

use crate::running::{Running, answer, client, kubeconfig};
use crate::world::World;

fn refused(code: u16, reason: &str, message: &str, details: &Value) -> (u16, Value) {
    let mut status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    });
    if !details.is_null() {
        status["details"] = details.clone();
    }
    (code, status)
}

#[test]
fn someone_without_rights_is_told_in_the_real_words() {
    let world = World::new();
    let running = Running::start(&world, &[]);
    let config = kubeconfig(&world, "baton.kubeconfig");
    let (administrator, stranger) = (client(&config, true), client(&config, false));
    let url = |path: &str| format!("{}{path}", running.url);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        // A ServiceAccount's token is good, and gives no rights by itself.
        let make = administrator
            .post(url("/api/v1/namespaces/default/serviceaccounts/default/token"))
            .header("Content-Type", "application/json")
            .body("{}");
        let mut made = answer(make.try_clone().expect("a request")).await.expect("an answer");
        for _ in 0..100 {
            if made.0 == 201 {
                break;
            }
            // The account is made by a controller.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            made = answer(make.try_clone().expect("a request")).await.expect("an answer");
        }
        let token = made.1["status"]["token"].as_str().expect("a token").to_owned();
        let account = "system:serviceaccount:default:default";
        let names = json!({"kind": "secrets"});
        let secrets = url("/api/v1/namespaces/kube-system/secrets");
        let namespaces = url("/api/v1/namespaces");

        let anonymous = answer(stranger.get(&secrets)).await.expect("an answer");
        let text = "secrets is forbidden: User \"system:anonymous\" cannot list resource \"secrets\" in API group \"\" in the \
                    namespace \"kube-system\"";
        assert_eq!(anonymous, refused(403, "Forbidden", text, &names));

        let wrong = answer(stranger.get(&secrets).bearer_auth("wrong")).await.expect("an answer");
        assert_eq!(wrong, refused(401, "Unauthorized", "Unauthorized", &Value::Null));
        let broken = format!("{}x", token.get(..token.len() - 8).unwrap_or_default());
        let wrong = answer(stranger.get(&secrets).bearer_auth(broken)).await.expect("an answer");
        assert_eq!(wrong, refused(401, "Unauthorized", "Unauthorized", &Value::Null));

        let limited = answer(stranger.get(&namespaces).bearer_auth(&token)).await.expect("an answer");
        let text = format!(
            "namespaces is forbidden: User \"{account}\" cannot list resource \"namespaces\" in API group \"\" at the cluster \
             scope"
        );
        assert_eq!(limited, refused(403, "Forbidden", &text, &json!({"kind": "namespaces"})));

        // The body is nobody's business before the rights are.
        let create = stranger.post(&secrets).bearer_auth(&token).body("garbage");
        let text = format!(
            "secrets is forbidden: User \"{account}\" cannot create resource \"secrets\" in API group \"\" in the namespace \
             \"kube-system\""
        );
        assert_eq!(answer(create).await.expect("an answer"), refused(403, "Forbidden", &text, &names));

        let named = json!({"name": "admin", "group": "rbac.authorization.k8s.io", "kind": "clusterroles"});
        let role = url("/apis/rbac.authorization.k8s.io/v1/clusterroles/admin");
        let delete = stranger.delete(role).bearer_auth(&token);
        let text = format!(
            "clusterroles.rbac.authorization.k8s.io \"admin\" is forbidden: User \"{account}\" cannot delete resource \
             \"clusterroles\" in API group \"rbac.authorization.k8s.io\" at the cluster scope"
        );
        assert_eq!(answer(delete).await.expect("an answer"), refused(403, "Forbidden", &text, &named));

        let metrics = answer(stranger.get(url("/metrics")).bearer_auth(&token)).await.expect("an answer");
        let text = format!("forbidden: User \"{account}\" cannot get path \"/metrics\"");
        assert_eq!(metrics, refused(403, "Forbidden", &text, &json!({})));

        let other = stranger.get(&namespaces).bearer_auth(&token).header("Impersonate-User", "kubernetes-admin");
        let text = format!(
            "namespaces is forbidden: User \"{account}\" cannot impersonate-on:user-info:list resource \"namespaces\" in API \
             group \"\" at the cluster scope"
        );
        let forbidden = refused(403, "Forbidden", &text, &json!({"kind": "namespaces"}));
        assert_eq!(answer(other).await.expect("an answer"), forbidden);

        // What everybody may know.
        let (code, version) = answer(stranger.get(url("/version"))).await.expect("an answer");
        assert_eq!((code, &version["major"]), (200, &"1".into()));
    });
}
