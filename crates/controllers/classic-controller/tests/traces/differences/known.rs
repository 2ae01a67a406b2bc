//! What differs and is meant to, by the reason: in which flows, and where in them.

use super::Known;
use super::Why::{Always, Chance};

/// What a version says of the permissions that it needs.
const DEPENDENTS: &str = "ClusterServiceVersion * /status/requirementStatus/*/dependents";

/// Everything that is meant to differ.
pub(super) const KNOWN: &[Known] = &[
    Known {
        why: Always,
        reason: "upstream leaves out the rules of a service account whose Role it made itself, by accident",
        places: &[
            ("automatic-install", &[DEPENDENTS]),
            ("channel-switch", &[DEPENDENTS]),
            ("copied-csvs", &[DEPENDENTS]),
            ("copied-csvs-allnamespaces", &[DEPENDENTS]),
            ("delete-csv", &[DEPENDENTS]),
            ("deployment-drift", &[DEPENDENTS]),
            ("manual-approval", &[DEPENDENTS]),
            ("no-operatorgroup", &[DEPENDENTS]),
            ("og-selector", &[DEPENDENTS]),
            ("operatorcondition-blocks", &[DEPENDENTS]),
            ("skips-upgrade", &[DEPENDENTS]),
            ("starting-csv", &[DEPENDENTS]),
            ("two-operatorgroups", &[DEPENDENTS]),
            ("unsupported-install-mode", &[DEPENDENTS]),
            ("upgrade-replaces", &[DEPENDENTS]),
        ],
    },
    Known {
        why: Always,
        reason: "a definition no longer names a version that is gone; upstream forgets it when something else happens to the definition",
        places: &[
            (
                "conversion-webhook",
                &["CustomResourceDefinition /alphas.demo.baton.test /metadata/annotations"],
            ),
            (
                "operatorcondition-blocks",
                &[
                    "CustomResourceDefinition /alphas.demo.baton.test /metadata/annotations/operatorframework.io~1installed-alongside-",
                ],
            ),
            (
                "crd-upgrade-too-strict",
                &[
                    "CustomResourceDefinition /alphas.demo.baton.test /metadata/annotations/operatorframework.io~1installed-alongside-",
                ],
            ),
            (
                "uninstall",
                &["CustomResourceDefinition /alphas.demo.baton.test /metadata/annotations"],
            ),
        ],
    },
    Known {
        why: Always,
        reason: "when upstream collects what the version before owned, the new one loses its permissions for a moment, since it had relied on those of the version before",
        places: &[
            (
                "channel-switch",
                &[
                    "ClusterServiceVersion chsw/alpha.v2.0.0 story",
                    "ClusterServiceVersion chsw/alpha.v2.0.0 events",
                ],
            ),
            (
                "skips-upgrade",
                &[
                    "ClusterServiceVersion skp/alpha.v3.0.0 story",
                    "ClusterServiceVersion skp/alpha.v3.0.0 events",
                ],
            ),
            (
                "upgrade-replaces",
                &[
                    "ClusterServiceVersion upg/alpha.v3.0.0 story",
                    "ClusterServiceVersion upg/alpha.v3.0.0 events",
                ],
            ),
        ],
    },
    Known {
        why: Always,
        reason: "upstream looks for the certificate before it has seen it, and installs twice",
        places: &[(
            "conversion-webhook",
            &[
                "ClusterServiceVersion conv/alpha.v1.0.0 story",
                "ClusterServiceVersion conv/alpha.v1.0.0 events",
            ],
        )],
    },
    Known {
        why: Always,
        reason: "upstream leaves this behind",
        places: &[(
            "conversion-webhook",
            &["RoleBinding kube-system/alpha-service-auth-reader"],
        )],
    },
    Known {
        why: Always,
        reason: "the recording leaves out what depends on a certificate",
        places: &[(
            "webhook-csv",
            &["Deployment hook/alpha /metadata/labels/olm.deployment-spec-hash"],
        )],
    },
    Known {
        why: Always,
        reason: "upstream goes back and forth for ever; ours rests",
        places: &[(
            "crd-owner-conflict",
            &[
                "ClusterServiceVersion owner/b.v1.0.0 story",
                "ClusterServiceVersion owner/b.v1.0.0 events",
                "ClusterServiceVersion owner/b.v1.0.0 /status/",
            ],
        )],
    },
    Known {
        why: Always,
        reason: "upstream has to be poked, ours is done before; the poke then changes what is installed",
        places: &[
            (
                "csv-by-hand",
                &[
                    "ClusterServiceVersion hand/perms.v1.0.0 story",
                    "ClusterServiceVersion hand/perms.v1.0.0 events",
                ],
            ),
            (
                "missing-required-crd",
                &[
                    "ClusterServiceVersion miss/hand.v1.0.0 story",
                    "ClusterServiceVersion miss/hand.v1.0.0 events",
                ],
            ),
        ],
    },
    Known {
        why: Always,
        reason: "upstream only logs that a namespace has not exactly one group, and users wonder why nothing happens",
        places: &[
            ("no-operatorgroup", &["Namespace /noog events"]),
            ("two-operatorgroups", &["Namespace /twoog events"]),
        ],
    },
    Known {
        why: Always,
        reason: "which of two operators comes first is chance upstream; ours begins with what was asked for",
        places: &[("dependency-gvk", &["OperatorGroup dep/og story"])],
    },
    Known {
        why: Chance,
        reason: "while more replicas start, a Deployment is short of what it wants; whether a version sees that, and long enough to be installed again, is chance",
        places: &[(
            "deployment-drift",
            &[
                "ClusterServiceVersion drift/alpha.v1.0.0 story",
                "ClusterServiceVersion drift/alpha.v1.0.0 events",
            ],
        )],
    },
    Known {
        why: Always,
        reason: "a label that a Namespace gets counts at once",
        places: &[(
            "og-selector",
            &[
                "ClusterServiceVersion sel0/alpha.v1.0.0 story",
                "ClusterServiceVersion sel0/alpha.v1.0.0 events",
                "OperatorGroup sel0/og story",
            ],
        )],
    },
    Known {
        why: Always,
        reason: "upstream goes on saying that it can't resolve after it could",
        places: &[(
            "operatorcondition-blocks",
            &[
                "Subscription cond/alpha /status/conditions",
                "Operator /alpha.cond /status/components/refs",
                "Namespace /cond events",
            ],
        )],
    },
    Known {
        why: Always,
        reason: "upstream installs before it knows of the Subscription, and then again with its configuration",
        places: &[(
            "subscription-config",
            &[
                "ClusterServiceVersion conf/alpha.v1.0.0 story",
                "ClusterServiceVersion conf/alpha.v1.0.0 events",
            ],
        )],
    },
    Known {
        why: Always,
        reason: "definitions are checked before anything is written: nothing of a version is made whose definition can't be",
        places: &[(
            "crd-upgrade-unsafe",
            &[
                "ClusterServiceVersion crdup/alpha.v1.0.0 story",
                "ClusterServiceVersion crdup/alpha.v1.0.0 events",
                "ClusterServiceVersion crdup/alpha.v1.0.0 /status/",
                "ClusterServiceVersion crdup/alpha.v2.0.0",
                "OperatorCondition crdup/alpha.v2.0.0",
                "Role crdup/alpha.v2.0.0 ",
                "RoleBinding crdup/alpha.v2.0.0 ",
                "OperatorGroup crdup/og story",
                "OperatorGroup crdup/og /metadata/annotations/olm.providedAPIs",
                "ClusterRole /olm.og.og.admin-* /aggregationRule/",
                "ClusterRole /olm.og.og.edit-* /aggregationRule/",
                "ClusterRole /olm.og.og.view-* /aggregationRule/",
                "Subscription crdup/alpha story",
                "Subscription crdup/alpha /status/",
                "InstallPlan crdup/install-<2> /status/plan/0/status",
                "Operator /alpha.crdup /status/components/refs",
            ],
        )],
    },
    Known {
        why: Always,
        reason: "what was deleted and what it owned is made once more, and is another object then",
        places: &[
            (
                "delete-csv",
                &["* /metadata/uid", "* /metadata/ownerReferences/0/uid"],
            ),
            (
                "webhook-csv",
                &["* /metadata/uid", "* /metadata/ownerReferences/0/uid"],
            ),
        ],
    },
    Known {
        why: Always,
        reason: "what was deleted is made once more, so it goes the same way twice",
        places: &[
            (
                "delete-csv",
                &[
                    "ClusterServiceVersion del/alpha.v1.0.0 story",
                    "OperatorGroup del/og story",
                    "Subscription del/alpha story",
                ],
            ),
            (
                "webhook-csv",
                &[
                    "ClusterServiceVersion hook/alpha.v1.0.0 story",
                    "ClusterServiceVersion hook/alpha.v1.0.0 events",
                    "OperatorGroup hook/og story",
                    "Subscription hook/alpha story",
                ],
            ),
        ],
    },
    Known {
        why: Always,
        reason: "what was deleted is made once more by a plan of its own",
        places: &[
            (
                "delete-csv",
                &[
                    "Subscription del/alpha /status/installPlan",
                    "Subscription del/alpha /status/installplan/",
                    "InstallPlan del/install-<1> /metadata/labels",
                    "InstallPlan del/install-<2>",
                    "Operator /alpha.del /status/components/refs/5/name",
                ],
            ),
            (
                "webhook-csv",
                &[
                    "Subscription hook/alpha /status/installPlan",
                    "Subscription hook/alpha /status/installplan/",
                    "InstallPlan hook/install-<1> /metadata/labels",
                    "InstallPlan hook/install-<2>",
                    "Operator /alpha.hook /status/components/refs/4/name",
                ],
            ),
        ],
    },
    Known {
        why: Always,
        reason: "the hash is one of the namespace, too, and this was recorded in another",
        places: &[(
            "scoped-serviceaccount-missing",
            &[
                "ClusterRole /olm.og.og.",
                "Deployment scoped/alpha /metadata/labels/olm.deployment-spec-hash",
            ],
        )],
    },
];
