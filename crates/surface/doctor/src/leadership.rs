//! Who leads: a line for each of baton's components, or why nobody does.

use deploy::component::Component;

use crate::finding::Severity;
use crate::kinds;
use crate::moment::{seconds_since, words};
use crate::picture::Picture;
use crate::question::Question;
use crate::rules::leases::{
    Holder, awaited, component_at_work, does_upstream_work, holder, is_known_to_be_missing, of_component,
    works,
};
use crate::subject::Subject;

/// Who does the work of a component, as far as a picture shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leadership {
    /// Whose work it is.
    pub component: Component,
    /// Whether something waits for the component, and nobody looks after it.
    pub is_missed: bool,
    /// One line for people: who leads, or why nobody does, and what to do about that.
    pub words: String,
}

/// Tells who leads. The picture holds what [`crate::question::of_leaders`] asks for.
pub fn tell(picture: &Picture) -> Vec<Leadership> {
    Component::ALL
        .into_iter()
        .map(|component| tell_of(picture, component))
        .collect()
}

fn tell_of(picture: &Picture, component: Component) -> Leadership {
    let duty = component.duty();
    let said = |is_missed: bool, words: String| Leadership {
        component,
        is_missed,
        words: format!("{duty}: {words}"),
    };
    let at_work = of_component(picture, component).find_map(|lease| match holder(picture, lease) {
        Holder::Works(name) => Some((name, lease)),
        Holder::Nobody | Holder::Silent(..) => None,
    });
    if let Some((name, lease)) = at_work {
        let sign = seconds_since(lease, "/spec/renewTime", picture.now)
            .map(|seconds| format!(", and gave a sign {} ago", words(seconds)));
        let subject = Subject::of(lease);
        return said(
            false,
            format!("{name} leads{} ({subject})", sign.unwrap_or_default()),
        );
    }
    if let Some(finding) = component_at_work(picture, component) {
        let is_missed = finding.severity == Severity::Broken;
        let (object, cause, next) = (&finding.object, &finding.cause, &finding.next);
        return said(is_missed, format!("nobody leads. {object}: {cause}; {next}"));
    }
    if does_upstream_work(picture, component) {
        return said(false, "upstream's programs look after them".to_owned());
    }
    if component == Component::Catalogs && works(picture, Component::Extensions) {
        return said(false, "whoever leads extensions looks after them".to_owned());
    }
    if is_known_to_be_missing(picture, component) {
        return said(
            false,
            format!(
                "nobody leads, and nobody is missed: there are no {}",
                awaited(component)
            ),
        );
    }
    let asked = Question::of(kinds::LEASE).named(component.lease());
    let unseen = picture.unseen.iter().find(|unseen| unseen.question == asked);
    let cause = unseen.map_or("it wasn't looked at", |unseen| unseen.cause.as_str());
    said(
        false,
        format!(
            "who leads isn't known, because Lease {:?} can't be read: {cause}",
            component.lease()
        ),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::question;
    use crate::rules::testing::{blank, object};

    fn seen(objects: Vec<Value>) -> Picture {
        let mut picture = blank();
        for question in question::of_leaders() {
            picture.answer(question);
        }
        for object in objects {
            picture.put(object);
        }
        picture
    }

    fn lease(component: Component, holder: &str, renewed: &str) -> Value {
        let spec =
            json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}});
        object(
            "coordination.k8s.io/v1",
            "Lease",
            "olmv1-system",
            component.lease(),
            spec,
        )
    }

    fn olm(kind: &str) -> Value {
        object("olm.operatorframework.io/v1", kind, "", "web", json!({}))
    }

    #[test]
    fn each_component_says_who_leads_or_why_nobody_does() {
        let [catalogs, extensions, subscriptions] = Component::ALL;
        let namespace = || object("v1", "Namespace", "", "olmv1-system", json!({}));
        let just_now = "2026-06-01T11:59:50.000000Z";
        let next = "see whether the controllers run: kubectl get pods -A -l app.kubernetes.io/part-of=olm; or start them: \
                    baton controllers";
        for (objects, component, is_missed, expected) in [
            (
                vec![lease(extensions, "baton-up", just_now)],
                extensions,
                false,
                "extensions: baton-up leads, and gave a sign 10 s ago (Lease olmv1-system/9c4404e7.operatorframework.io)"
                    .to_owned(),
            ),
            (
                vec![lease(extensions, "baton-up", just_now), olm("ClusterCatalog")],
                catalogs,
                false,
                "catalogs: whoever leads extensions looks after them".to_owned(),
            ),
            (
                vec![lease(extensions, "one", "2026-06-01T11:00:00Z"), olm("ClusterExtension"), namespace()],
                extensions,
                true,
                format!(
                    "extensions: nobody leads. Lease olmv1-system/9c4404e7.operatorframework.io: one held it, and has given \
                     no sign for 60 min: nobody looks after ClusterExtensions (1 there); {next}"
                ),
            ),
            (
                vec![olm("ClusterExtension")],
                extensions,
                true,
                format!(
                    "extensions: nobody leads. Lease olmv1-system/9c4404e7.operatorframework.io: there is no namespace \
                     olmv1-system, which it would be in: nobody looks after ClusterExtensions (1 there); {next}"
                ),
            ),
            (
                vec![],
                subscriptions,
                false,
                "subscriptions: nobody leads, and nobody is missed: there are no Subscriptions and CatalogSources".to_owned(),
            ),
        ] {
            let expected = Leadership {
                component,
                is_missed,
                words: expected,
            };
            assert_eq!(tell_of(&seen(objects), component), expected);
        }
    }

    #[test]
    fn who_may_not_see_leases_is_told_so_and_nothing_else() {
        let mut picture = blank();
        picture.put(olm("ClusterExtension"));
        for question in question::of_leaders() {
            picture.refuse(question, "forbidden".to_owned());
        }
        assert!(tell(&picture).iter().all(|told| !told.is_missed
            && told.words.contains("who leads isn't known")
            && told.words.ends_with("can't be read: forbidden")));
    }
}
