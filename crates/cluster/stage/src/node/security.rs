//! What a pod asks for of the user and the rights of its programs, and this node doesn't give.
//!
//! Programs run as the user who started the server, without capabilities. Who asks for something else isn't refused, because
//! nearly every operator does, but is told what is passed over.

use std::sync::Arc;

use serde_json::Value;

use super::images::Unpacked;
use super::requests::items;

/// The user and group whose rights programs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl Identity {
    /// Returns who this process runs as.
    pub fn own() -> Self {
        Self {
            user: rustix::process::getuid().as_raw(),
            group: rustix::process::getgid().as_raw(),
        }
    }

    /// Returns whether a number of a pod names another user or group than one.
    fn differs(field: &Value, own: u32) -> bool {
        field.as_u64().is_some_and(|wanted| wanted != u64::from(own))
    }
}

/// Says which fields of a pod that really runs are passed over; `None` where all is as it asks.
pub fn passed_over(pod: &Value, images: &[(String, Option<Arc<Unpacked>>)], own: Identity) -> Option<String> {
    let fields = ignored(pod, images, own);
    (!fields.is_empty()).then(|| {
        format!(
            "Programs of the pod run as who started the server (user {}, group {}) without capabilities, so these are ignored: \
             {}; where the user matters, start the server as the one that the pod asks for",
            own.user,
            own.group,
            fields.join(", ")
        )
    })
}

/// Returns the fields that are passed over, in the order of the pod.
fn ignored(pod: &Value, images: &[(String, Option<Arc<Unpacked>>)], own: Identity) -> Vec<String> {
    let mut fields = Vec::new();
    let of_pod = &pod["spec"]["securityContext"];
    let mut note = |place: &str, name: &str, is_ignored: bool| {
        if is_ignored {
            fields.push(format!("{place}.{name}"));
        }
    };
    let place = "spec.securityContext";
    for (name, is_ignored) in of_both(of_pod, own) {
        note(place, name, is_ignored);
    }
    note(place, "fsGroup", Identity::differs(&of_pod["fsGroup"], own.group));
    note(
        place,
        "supplementalGroups",
        items(&of_pod["supplementalGroups"]).any(|group| Identity::differs(group, own.group)),
    );
    for list in ["initContainers", "containers"] {
        for container in items(&pod["spec"][list]) {
            let name = container["name"].as_str().unwrap_or_default();
            let image = images.iter().find(|(image, _)| container["image"] == **image);
            let Some(image) = image.and_then(|(_, image)| image.as_ref()) else {
                continue;
            };
            let place = format!("spec.{list}[{name}].securityContext");
            let asked = &container["securityContext"];
            for (name, is_ignored) in of_both(asked, own) {
                note(&place, name, is_ignored);
            }
            note(&place, "privileged", asked["privileged"] == true);
            note(
                &place,
                "capabilities.add",
                items(&asked["capabilities"]["add"]).next().is_some(),
            );
            note(
                &place,
                "readOnlyRootFilesystem",
                asked["readOnlyRootFilesystem"] == true,
            );
            // What the pod says stands before what its image says.
            let says = asked["runAsUser"].is_u64() || of_pod["runAsUser"].is_u64();
            let place = format!("spec.{list}[{name}].image");
            note(&place, "User", !says && runs_as_root_instead(&image.user, own));
        }
    }
    fields
}

/// Returns the fields that pods and containers both have, and whether each is passed over.
fn of_both(asked: &Value, own: Identity) -> [(&'static str, bool); 3] {
    [
        ("runAsNonRoot", asked["runAsNonRoot"] == true && own.user == 0),
        ("runAsUser", Identity::differs(&asked["runAsUser"], own.user)),
        ("runAsGroup", Identity::differs(&asked["runAsGroup"], own.group)),
    ]
}

/// Returns whether a program runs as root though its image names another user, as `user` or `user:group`. Which user else it
/// is matters to images only where they write files of their own, which are the server's here.
fn runs_as_root_instead(user: &str, own: Identity) -> bool {
    let user = user.split(':').next().unwrap_or_default();
    // A name is the image's own, so it says nothing of this machine's.
    own.user == 0 && !matches!(user, "" | "root") && user.parse::<u32>() != Ok(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ROOT: Identity = Identity { user: 0, group: 0 };

    const USER: Identity = Identity {
        user: 1000,
        group: 1000,
    };

    fn fields(of_pod: &Value, of_container: &Value, user: &str, own: Identity) -> Vec<String> {
        let pod = json!({"spec": {"securityContext": of_pod, "containers": [
            {"name": "c", "image": "built", "securityContext": of_container},
            {"name": "simulated", "image": "other", "securityContext": {"privileged": true}},
        ]}});
        let image = Unpacked {
            user: user.to_owned(),
            ..Unpacked::default()
        };
        let images = [
            ("built".to_owned(), Some(Arc::new(image))),
            ("other".to_owned(), None),
        ];
        ignored(&pod, &images, own)
    }

    #[test]
    fn what_is_asked_for_and_not_given_is_named() {
        let none = json!({});
        for (of_pod, of_container, user, own, expected) in [
            (&none, &none, "", ROOT, &[][..]),
            (&json!({"runAsNonRoot": true}), &none, "", USER, &[]),
            (
                &json!({"runAsNonRoot": true}),
                &none,
                "",
                ROOT,
                &["spec.securityContext.runAsNonRoot"],
            ),
            (
                &json!({"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000, "supplementalGroups": [1000]}),
                &none,
                "65532",
                USER,
                &[],
            ),
            (
                &json!({"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3, "supplementalGroups": [1000, 4]}),
                &none,
                "1000",
                USER,
                &[
                    "spec.securityContext.runAsUser",
                    "spec.securityContext.runAsGroup",
                    "spec.securityContext.fsGroup",
                    "spec.securityContext.supplementalGroups",
                ],
            ),
            (
                &none,
                &json!({"runAsUser": 0, "privileged": true, "readOnlyRootFilesystem": true,
                    "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]}}),
                "",
                USER,
                &[
                    "spec.containers[c].securityContext.runAsUser",
                    "spec.containers[c].securityContext.privileged",
                    "spec.containers[c].securityContext.capabilities.add",
                    "spec.containers[c].securityContext.readOnlyRootFilesystem",
                ],
            ),
            (&none, &json!({"capabilities": {"drop": ["ALL"]}}), "", ROOT, &[]),
            (&none, &none, "1001:0", ROOT, &["spec.containers[c].image.User"]),
            (&none, &none, "nobody", ROOT, &["spec.containers[c].image.User"]),
            (&none, &none, "root", ROOT, &[]),
            (&none, &none, "0:0", ROOT, &[]),
            (&none, &none, "65532", USER, &[]),
            (&none, &json!({"runAsUser": 0}), "1001", ROOT, &[]),
        ] {
            assert_eq!(
                fields(of_pod, of_container, user, own),
                expected,
                "{of_pod} {of_container} {user}"
            );
        }
    }

    #[test]
    fn one_event_names_all_that_is_passed_over() {
        let pod = json!({"spec": {"securityContext": {"runAsNonRoot": true, "fsGroup": 5}}});
        assert_eq!(
            passed_over(&pod, &[], ROOT).as_deref(),
            Some(
                "Programs of the pod run as who started the server (user 0, group 0) without capabilities, so these are \
                 ignored: spec.securityContext.runAsNonRoot, spec.securityContext.fsGroup; where the user matters, \
                 start the server as the one that the pod asks for"
            )
        );
        assert_eq!(passed_over(&json!({}), &[], ROOT), None);
    }
}
