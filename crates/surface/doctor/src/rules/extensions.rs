//! `ClusterExtension`s: what keeps them from their version, and what is said against the one they have.

use api::keys;
use apply::object::{annotation, is_terminating, label, text};
use serde_json::Value;

use crate::conditions::{Said, condition, deprecations};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Note, Risky};
use crate::kinds;
use crate::moment::{FIRST_LOOK_SECONDS, seconds_since, words};
use crate::picture::Picture;
use crate::rules::leases;
use crate::subject::Subject;

/// What the resolver says where no bundle fits.
const NOTHING_FITS: &str = "no bundles found";

/// Looks at all `ClusterExtension`s.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let extensions = picture.all(kinds::CLUSTER_EXTENSION);
    let mut findings = Vec::new();
    for extension in extensions.filter(|extension| !is_terminating(extension)) {
        findings.extend(progress(picture, extension));
        findings.extend(availability(picture, extension));
        findings.extend(standing_still(extension));
        findings.extend(deprecated(extension));
    }
    findings
}

fn progress(picture: &Picture, extension: &Value) -> Option<Finding> {
    let name = text(extension, "/metadata/name");
    let Some(progressing) = condition(extension, "Progressing") else {
        let age = seconds_since(extension, "/metadata/creationTimestamp", picture.now)?;
        return (age > FIRST_LOOK_SECONDS).then(|| {
            Finding::new(Broken, "extension-not-looked-at", extension)
                .at("status.conditions")
                .because(format!("no controller has looked at it in {}", words(age)))
                .next("see that the controllers run: kubectl get deployments -A -l app.kubernetes.io/part-of=olm; or run `baton controllers`")
                .suspecting(leases::of_extensions(picture))
        });
    };
    // What waits for somebody's word is blocked by design.
    if annotation(extension, keys::WAITING).is_some() {
        return None;
    }
    let is_stopped = progressing.is_false();
    if !is_stopped && progressing.reason != "Retrying" {
        return None;
    }
    let installed = text(extension, "/status/install/bundle/version");
    let severity = if is_stopped || installed.is_empty() {
        Broken
    } else {
        Risky
    };
    let stays = match installed {
        "" => "nothing is installed".to_owned(),
        version => format!("it stays at {version}"),
    };
    let finding = if progressing.message.contains(NOTHING_FITS) {
        Finding::new(severity, "extension-pinned-to-nothing", extension)
            .at("spec.source.catalog")
            .because(format!("{stays}, since {}", wanted(extension, &progressing)))
            .next(format!(
                "see what there is and what excludes it: baton explain {name}; or search: baton catalog search {}",
                text(extension, "/spec/source/catalog/packageName")
            ))
            .suspecting(broken_catalogs(picture, &progressing))
    } else {
        Finding::new(severity, "extension-not-progressing", extension)
            .at_condition("Progressing")
            .because(format!(
                "{stays}; {}: {}",
                reason(&progressing),
                progressing.words()
            ))
            .next(format!(
                "see what it waits for: baton status {name}; and why: baton explain {name}"
            ))
            .suspecting(named_catalogs(picture, &progressing))
            .suspecting(revisions(picture, name))
    };
    Some(finding)
}

/// What an extension asks for that no catalog has.
fn wanted(extension: &Value, progressing: &Said<'_>) -> String {
    let filter = |field: &str| text(extension, &format!("/spec/source/catalog/{field}"));
    let version = filter("version");
    let channels: Vec<&str> = extension
        .pointer("/spec/source/catalog/channels")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let package = filter("packageName");
    let asked = match (version, channels.is_empty()) {
        ("", true) => format!("no catalog has package {package}"),
        ("", false) => format!("package {package} has nothing in channel {}", channels.join(", ")),
        (version, true) => format!("no channel of package {package} has version {version}"),
        (version, false) => format!(
            "channel {} of package {package} has no version {version}",
            channels.join(", ")
        ),
    };
    format!("{asked} ({})", progressing.words())
}

fn reason(progressing: &Said<'_>) -> &'static str {
    match progressing.reason {
        "InvalidConfiguration" => "its configuration is refused",
        "ProgressDeadlineExceeded" => "the rollout took longer than it may",
        "Retrying" => "it is tried again and again",
        _ => "it can't go on",
    }
}

fn broken_catalogs(picture: &Picture, progressing: &Said<'_>) -> Vec<Subject> {
    let mut suspects = named_catalogs(picture, progressing);
    let all = picture.all(kinds::CLUSTER_CATALOG);
    suspects.extend(
        all.filter(|catalog| condition(catalog, "Serving").is_none_or(|said| !said.is_true()))
            .map(Subject::of),
    );
    suspects
}

fn named_catalogs(picture: &Picture, progressing: &Said<'_>) -> Vec<Subject> {
    let is_named = |catalog: &&Value| {
        let name = text(catalog, "/metadata/name");
        let mut words = progressing
            .message
            .split(|character: char| !character.is_ascii_alphanumeric() && !"-.".contains(character));
        words.any(|word| word == name)
    };
    let all = picture.all(kinds::CLUSTER_CATALOG);
    all.filter(is_named).map(Subject::of).collect()
}

/// The revisions of an extension, the newest first.
fn revisions(picture: &Picture, extension: &str) -> Vec<Subject> {
    let mut revisions: Vec<&Value> = picture
        .all(kinds::CLUSTER_OBJECT_SET)
        .filter(|set| label(set, keys::OWNER_NAME) == Some(extension))
        .collect();
    revisions.sort_by_key(|set| {
        let number = set.pointer("/spec/revision").and_then(Value::as_i64);
        std::cmp::Reverse(number)
    });
    revisions.into_iter().map(Subject::of).collect()
}

fn availability(picture: &Picture, extension: &Value) -> Option<Finding> {
    let name = text(extension, "/metadata/name");
    let available = condition(extension, "Available").filter(Said::is_false)?;
    // A rollout that is under way says so itself.
    let is_rolling = condition(extension, "Progressing").is_some_and(|said| said.reason == "RollingOut");
    (!is_rolling).then(|| {
        Finding::new(Broken, "extension-not-available", extension)
            .at_condition("Available")
            .because(format!("what it installed doesn't work: {}", available.words()))
            .next(format!("see which objects aren't ready: baton status {name}"))
            .suspecting(revisions(picture, name))
    })
}

fn standing_still(extension: &Value) -> Option<Finding> {
    let name = text(extension, "/metadata/name");
    let is_paused = annotation(extension, keys::PAUSE) == Some("true");
    let waiting = annotation(extension, keys::WAITING);
    match (is_paused, waiting) {
        (true, waiting) => Some(
            Finding::new(Note, "extension-paused", extension)
                .at(format!("metadata.annotations[{}]", keys::PAUSE))
                .because(match waiting {
                    Some(version) => format!("it is paused, and version {version} waits"),
                    None => "it is paused: no other version is installed".to_owned(),
                })
                .next(format!("to let it go on: baton resume {name}")),
        ),
        (false, Some(version)) => Some(
            Finding::new(Note, "extension-waits", extension)
                .at(format!("metadata.annotations[{}]", keys::WAITING))
                .because(match annotation(extension, keys::WINDOW) {
                    Some(window) => {
                        format!("version {version} waits for somebody's word, or for its time: {window}")
                    }
                    None => format!("version {version} waits for somebody's word"),
                })
                .next(format!(
                    "see what it would change: baton plan {name}; then: baton approve {name}"
                )),
        ),
        (false, None) => None,
    }
}

fn deprecated(extension: &Value) -> Option<Finding> {
    let name = text(extension, "/metadata/name");
    let (kind, said) = deprecations(extension)?;
    Some(
        Finding::new(Risky, "extension-deprecated", extension)
            .at_condition(kind)
            .because(format!("what is installed is deprecated: {said}"))
            .next(format!(
                "see where it can go from here: baton explain {name}; then: baton upgrade {name}"
            )),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{conditions, object, picture, told};

    fn extension(said: &[(&str, &str, &str, &str)], installed: Option<&str>, annotations: Value) -> Value {
        let mut rest = conditions(said);
        if let Some(version) = installed {
            rest["status"]["install"] = json!({"bundle": {"name": "web.v1", "version": version}});
        }
        rest["spec"] =
            json!({"source": {"catalog": {"packageName": "web", "version": "9.x", "channels": ["stable"]}}});
        rest["metadata"] = json!({"annotations": annotations});
        object("olm.operatorframework.io/v1", "ClusterExtension", "", "web", rest)
    }

    #[test]
    fn an_extension_says_what_keeps_it() {
        let well = ("Progressing", "True", "Succeeded", "fine");
        let nothing = (
            "Progressing",
            "True",
            "Retrying",
            "no bundles found for package \"web\" matching version \"9.x\"",
        );
        for (extension, expected) in [
            (extension(&[well], Some("1.0.0"), json!({})), &[][..]),
            (
                extension(&[nothing], Some("1.0.0"), json!({})),
                &[
                    "risky extension-pinned-to-nothing ClusterExtension web: it stays at 1.0.0, since channel stable of package web has no version 9.x (no bundles found for package \"web\" matching version \"9.x\")",
                ][..],
            ),
            (
                extension(
                    &[("Progressing", "False", "Blocked", "collision")],
                    None,
                    json!({}),
                ),
                &[
                    "broken extension-not-progressing ClusterExtension web: nothing is installed; it can't go on: collision",
                ][..],
            ),
            (
                extension(
                    &[well, ("Available", "False", "ProbeFailure", "not ready")],
                    Some("1.0.0"),
                    json!({}),
                ),
                &[
                    "broken extension-not-available ClusterExtension web: what it installed doesn't work: not ready",
                ][..],
            ),
            (
                extension(
                    &[
                        ("Progressing", "True", "RollingOut", ""),
                        ("Available", "False", "ProbeFailure", ""),
                    ],
                    None,
                    json!({}),
                ),
                &[][..],
            ),
            (
                extension(
                    &[("Progressing", "False", "Blocked", "")],
                    Some("1.0.0"),
                    json!({keys::WAITING: "1.1.0"}),
                ),
                &["note extension-waits ClusterExtension web: version 1.1.0 waits for somebody's word"][..],
            ),
            (
                extension(&[well], Some("1.0.0"), json!({keys::PAUSE: "true"})),
                &["note extension-paused ClusterExtension web: it is paused: no other version is installed"]
                    [..],
            ),
            (
                extension(
                    &[
                        well,
                        ("ChannelDeprecated", "True", "Deprecated", "take v2"),
                        ("BundleDeprecated", "False", "", ""),
                    ],
                    Some("1.0.0"),
                    json!({}),
                ),
                &[
                    "risky extension-deprecated ClusterExtension web: what is installed is deprecated: take v2",
                ][..],
            ),
        ] {
            assert_eq!(told(&look(&picture([extension]))), expected);
        }
    }

    #[test]
    fn a_catalog_is_suspected_if_it_is_named_or_not_served() {
        let catalog = |name: &str, serving: &str| {
            let said = conditions(&[
                ("Serving", serving, "", ""),
                ("Progressing", "True", "Retrying", "gone"),
            ]);
            object("olm.operatorframework.io/v1", "ClusterCatalog", "", name, said)
        };
        let suspects = |message: &str| {
            let extension = extension(&[("Progressing", "True", "Retrying", message)], None, json!({}));
            let picture = picture([extension, catalog("good", "True"), catalog("bad", "False")]);
            let findings = look(&picture);
            findings[0]
                .suspects
                .iter()
                .map(|one| one.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(suspects("no bundles found for package \"web\""), ["bad"]);
        assert_eq!(suspects("catalog \"good\" has no content"), ["good"]);
        assert_eq!(suspects("goodness"), Vec::<String>::new());
    }
}
