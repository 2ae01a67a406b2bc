//! Flows that don't go as recorded: where they lead instead, and what is waited for otherwise on the way.

/// What a flow leads to where upstream doesn't get there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Everything is as it was before a step.
    BeforeStep(usize),
    /// Everything is as in another flow that has other names.
    OfFlow {
        flow: &'static str,
        names: &'static [(&'static str, &'static str)],
    },
}

/// Flows that upstream doesn't bring to their end, and where they should lead.
const ENDINGS: &[(&str, Ending, &str)] = &[
    (
        "delete-csv",
        Ending::BeforeStep(5),
        "a version that is deleted while its Subscription stays is installed again; upstream waits for ever",
    ),
    (
        "webhook-csv",
        Ending::BeforeStep(5),
        "a webhook's configuration that is deleted is made again at once, and so is the version; upstream waits for the \
         next resynchronisation, or for ever",
    ),
    (
        "scoped-serviceaccount-missing",
        Ending::OfFlow {
            flow: "scoped-serviceaccount",
            names: &[("scoped2", "scoped"), ("127.0.0.1:51400", "127.0.0.1:51360")],
        },
        "a service account that comes later is seen at once; upstream doesn't see it",
    ),
];

/// Returns where a flow should lead if not where it was recorded to.
pub(crate) fn ending(flow: &str) -> Option<Ending> {
    let found = ENDINGS.iter().find(|(known, ..)| *known == flow);
    found.map(|(_, ending, _)| *ending)
}

/// Steps before which ours rests in another state than upstream, for a reason above.
const RESTS: &[(&str, usize)] = &[
    ("csv-by-hand", 7),
    ("missing-required-crd", 4),
    ("og-selector", 6),
    ("webhook-csv", 6),
];

/// Returns whether ours rests in another state before a step.
pub(crate) fn rests_differently(flow: &str, step: usize) -> bool {
    RESTS.contains(&(flow, step))
}

/// Steps whose recorder waited for something that upstream had not done when they were done.
const IN_VAIN: &[(&str, usize, &str)] = &[
    (
        "scoped-serviceaccount-missing",
        6,
        "upstream doesn't see the account that it was waited for to use",
    ),
    (
        "unsupported-kind",
        8,
        "of two catalogs, only the first was waited for",
    ),
];

/// Returns the flows that something is said of here.
pub(super) fn flows() -> impl Iterator<Item = &'static str> {
    let ending = ENDINGS.iter().map(|(flow, ..)| *flow);
    let resting = RESTS.iter().map(|(flow, _)| *flow);
    ending
        .chain(resting)
        .chain(IN_VAIN.iter().map(|(flow, ..)| *flow))
}

/// Returns whether something was waited for in vain before a step.
pub(crate) fn is_in_vain(flow: &str, step: usize) -> bool {
    IN_VAIN
        .iter()
        .any(|(known, position, _)| (*known, *position) == (flow, step))
}
