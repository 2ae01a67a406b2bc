//! What is meant to differ from the recordings, one by one, with the reason.

use crate::comparing::Difference;

/// A difference that is meant.
struct Known {
    /// The flow; `*` for all.
    flow: &'static str,
    /// What its place begins with; `*` stands for anything.
    place: &'static str,
}

const fn known(flow: &'static str, place: &'static str) -> Known {
    Known { flow, place }
}

const KNOWN: &[Known] = &[
    // Upstream leaves out the rules of a service account whose Role it made itself, by accident.
    known(
        "*",
        "ClusterServiceVersion * /status/requirementStatus/*/dependents",
    ),
    // A definition no longer names a version that is gone; upstream forgets it when something else happens to the
    // definition.
    known("*", "CustomResourceDefinition * /metadata/annotations"),
    // When upstream collects what the version before owned, the new one loses its permissions for a moment.
    known("channel-switch", "ClusterServiceVersion chsw/alpha.v2.0.0 story"),
    known("skips-upgrade", "ClusterServiceVersion skp/alpha.v3.0.0 story"),
    known("upgrade-replaces", "ClusterServiceVersion upg/alpha.v3.0.0 story"),
    // Upstream looks for the certificate before it has seen it, and installs twice.
    known(
        "conversion-webhook",
        "ClusterServiceVersion conv/alpha.v1.0.0 story",
    ),
    known("webhook-csv", "ClusterServiceVersion hook/alpha.v1.0.0 story"),
    // Upstream leaves this behind.
    known(
        "conversion-webhook",
        "RoleBinding kube-system/alpha-service-auth-reader",
    ),
    known("webhook-csv", "RoleBinding kube-system/alpha-service-auth-reader"),
    // The recording leaves out what depends on a certificate.
    known(
        "webhook-csv",
        "Deployment hook/alpha /metadata/labels/olm.deployment-spec-hash",
    ),
    // Upstream goes back and forth for ever; ours rests.
    known("crd-owner-conflict", "ClusterServiceVersion owner/b.v1.0.0 story"),
    known(
        "crd-owner-conflict",
        "ClusterServiceVersion owner/b.v1.0.0 /status/",
    ),
    // Upstream has to be poked, ours is done before; the poke then changes what is installed.
    known("csv-by-hand", "ClusterServiceVersion hand/perms.v1.0.0 story"),
    known(
        "missing-required-crd",
        "ClusterServiceVersion miss/hand.v1.0.0 story",
    ),
    // Which of two operators comes first is chance upstream; ours begins with what was asked for.
    known("dependency-gvk", "OperatorGroup dep/og story"),
    // While more replicas start, a Deployment is short of what it wants for a moment; what is seen of it is chance.
    known(
        "deployment-drift",
        "ClusterServiceVersion drift/alpha.v1.0.0 story",
    ),
    // A label that a Namespace gets counts at once.
    known("og-selector", "ClusterServiceVersion sel0/alpha.v1.0.0 story"),
    known("og-selector", "OperatorGroup sel0/og story"),
    // Upstream goes on saying that it can't resolve after it could.
    known(
        "operatorcondition-blocks",
        "Subscription cond/alpha /status/conditions",
    ),
    known(
        "operatorcondition-blocks",
        "Operator /alpha.cond /status/components/refs",
    ),
    // Upstream installs before it knows of the Subscription, and then again with its configuration.
    known(
        "subscription-config",
        "ClusterServiceVersion conf/alpha.v1.0.0 story",
    ),
    // Definitions are checked before anything is written: nothing of a version is made whose definition can't be.
    known(
        "crd-upgrade-too-strict",
        "ClusterServiceVersion crds/alpha.v1.0.0 story",
    ),
    known("crd-upgrade-too-strict", "Subscription crds/alpha"),
    known(
        "crd-upgrade-too-strict",
        "Operator /alpha.crds /status/components/refs",
    ),
    known("crd-upgrade-unsafe", "* crdup/alpha.v1.0.0"),
    known("crd-upgrade-unsafe", "* crdup/alpha.v2.0.0"),
    known("crd-upgrade-unsafe", "* /alpha.v2.0.0-"),
    known("crd-upgrade-unsafe", "OperatorGroup crdup/og"),
    known("crd-upgrade-unsafe", "ClusterRole /olm.og.og."),
    known("crd-upgrade-unsafe", "Subscription crdup/alpha"),
    known("crd-upgrade-unsafe", "InstallPlan crdup/install-<2> /status/plan"),
    known(
        "crd-upgrade-unsafe",
        "Operator /alpha.crdup /status/components/refs",
    ),
];

/// Flows that are compared up to a step, because of what ours does better from there on.
const LENGTHS: &[(&str, usize)] = &[
    // A version that is deleted while its Subscription stays is installed again; upstream waits for ever.
    ("delete-csv", 5),
    // A webhook's configuration that is deleted is made again at once; upstream waits for the next resynchronisation.
    ("webhook-csv", 5),
    // A service account that comes later is seen at once; upstream doesn't see it.
    ("scoped-serviceaccount-missing", 5),
];

/// Returns how many steps of a flow are compared.
pub(crate) fn length(flow: &str) -> usize {
    let found = LENGTHS.iter().find(|(known, _)| *known == flow);
    found.map_or(usize::MAX, |(_, length)| *length)
}

/// Steps before which ours rests in another state than upstream, for a reason above.
const RESTS: &[(&str, usize)] = &[
    ("crd-upgrade-too-strict", 7),
    ("csv-by-hand", 7),
    ("missing-required-crd", 4),
    ("og-selector", 6),
];

/// Returns whether ours rests in another state before a step.
pub(crate) fn rests_differently(flow: &str, step: usize) -> bool {
    RESTS.contains(&(flow, step))
}

/// Returns whether a difference is meant.
pub(crate) fn is_known(flow: &str, difference: &Difference) -> bool {
    let place = difference.place();
    KNOWN
        .iter()
        .any(|known| (known.flow == flow || known.flow == "*") && matches(known.place, &place))
}

/// Returns whether a text begins with a pattern.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => text.starts_with(pattern),
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len())
                .filter(|position| tail.is_char_boundary(*position))
                .any(|position| matches(rest, &tail[position..]))
        }),
    }
}
