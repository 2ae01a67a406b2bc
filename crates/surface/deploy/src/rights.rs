//! The rights that the components need, each with its reason: one table that roles, documentation and tests are made of.
//!
//! A bundle brings roles for its operator, and who may hand out rights that it doesn't have itself is as mighty as an
//! administrator. The rows that do so ([`Right::is_mighty`]) are told apart, so that people see what they agree to.

use std::fmt::Write as _;

use crate::component::Component;

/// Where a right holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// In the whole cluster.
    Cluster,
    /// In the namespace of the component.
    OwnNamespace,
    /// In `kube-system`.
    KubeSystem,
}

/// A right, and why it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    /// Where it holds.
    pub scope: Scope,
    /// The group of the API.
    pub group: &'static str,
    /// The resources, as paths name them.
    pub resources: &'static [&'static str],
    /// The only objects that it is about; none means all.
    pub names: &'static [&'static str],
    /// What may be done.
    pub verbs: &'static [&'static str],
    /// Why it is needed.
    pub reason: &'static str,
}

const CLUSTER: Scope = Scope::Cluster;
const OWN: Scope = Scope::OwnNamespace;

const OLM_V1: &str = "olm.operatorframework.io";
const OLM_V0: &str = "operators.coreos.com";
const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const DEFINITIONS: &str = "apiextensions.k8s.io";

const READ: &[&str] = &["get", "list", "watch"];
const KEEP: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];

/// Writes a row of the table.
const fn right(
    scope: Scope,
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    reason: &'static str,
) -> Right {
    Right {
        scope,
        group,
        resources,
        names: &[],
        verbs,
        reason,
    }
}

/// What every component needs.
const OF_ALL: &[Right] = &[
    right(
        CLUSTER,
        "",
        &["namespaces"],
        &["get"],
        "looks whether its namespaces are there",
    ),
    right(
        CLUSTER,
        "authentication.k8s.io",
        &["tokenreviews"],
        &["create"],
        "asks who wants to read metrics",
    ),
    right(
        CLUSTER,
        "authorization.k8s.io",
        &["subjectaccessreviews"],
        &["create"],
        "asks whether somebody may read metrics",
    ),
    right(
        OWN,
        "coordination.k8s.io",
        &["leases"],
        &["get", "list", "watch", "create", "update"],
        "agrees with other replicas who works",
    ),
    right(
        OWN,
        "",
        &["secrets"],
        &["get", "create", "update"],
        "keeps and renews the certificate that it serves with, and reads passwords for registries",
    ),
];

/// What the component for catalogs needs.
const OF_CATALOGS: &[Right] = &[
    right(
        CLUSTER,
        OLM_V1,
        &["clustercatalogs"],
        &["get", "list", "watch", "patch"],
        "looks after catalogs, their finalizer and the label with their name",
    ),
    right(
        CLUSTER,
        OLM_V1,
        &["clustercatalogs/status"],
        &["update"],
        "says how catalogs are",
    ),
];

/// What the component for extensions needs for itself.
const OF_EXTENSIONS: &[Right] = &[
    right(
        CLUSTER,
        OLM_V1,
        &["clustercatalogs"],
        READ,
        "has the content of catalogs at hand",
    ),
    right(
        CLUSTER,
        OLM_V1,
        &["clusterextensions"],
        &["get", "list", "watch", "patch", "update"],
        "looks after extensions and their finalizers",
    ),
    right(
        CLUSTER,
        OLM_V1,
        &["clusterobjectsets"],
        KEEP,
        "makes and archives the revisions of extensions",
    ),
    right(
        CLUSTER,
        OLM_V1,
        &["clusterextensions/status", "clusterobjectsets/status"],
        &["patch", "update"],
        "says how extensions and revisions are",
    ),
    right(
        CLUSTER,
        OLM_V1,
        &["clusterextensions/finalizers", "clusterobjectsets/finalizers"],
        &["update"],
        "makes them owners of what they install, which clusters with OwnerReferencesPermissionEnforcement ask for",
    ),
    right(
        CLUSTER,
        "",
        &["pods"],
        &["get", "list"],
        "says why the workloads of bundles aren't ready",
    ),
    right(
        CLUSTER,
        "events.k8s.io",
        &["events"],
        &["create", "patch"],
        "tells what happens where people look for it",
    ),
    right(
        OWN,
        "",
        &["secrets"],
        &["list", "watch", "patch", "delete"],
        "keeps the objects of revisions, and reads releases that upstream's Helm applier left",
    ),
];

/// What the component for OLM v0 needs for itself.
const OF_SUBSCRIPTIONS: &[Right] = &[
    right(
        CLUSTER,
        OLM_V0,
        &[
            "catalogsources",
            "clusterserviceversions",
            "installplans",
            "olmconfigs",
            "operatorconditions",
            "operatorgroups",
            "operators",
            "subscriptions",
        ],
        KEEP,
        "looks after the kinds of OLM v0, and copies ClusterServiceVersions",
    ),
    right(
        CLUSTER,
        OLM_V0,
        &[
            "catalogsources/status",
            "clusterserviceversions/status",
            "installplans/status",
            "olmconfigs/status",
            "operatorconditions/status",
            "operatorgroups/status",
            "operators/status",
            "subscriptions/status",
        ],
        &["get", "patch", "update"],
        "says how they are",
    ),
    right(
        CLUSTER,
        OLM_V0,
        &[
            "catalogsources/finalizers",
            "clusterserviceversions/finalizers",
            "installplans/finalizers",
            "operatorconditions/finalizers",
            "subscriptions/finalizers",
        ],
        &["update"],
        "makes them owners of what they install, which clusters with OwnerReferencesPermissionEnforcement ask for",
    ),
    right(
        CLUSTER,
        "",
        &["namespaces"],
        &["list", "watch", "patch", "update"],
        "finds the namespaces of OperatorGroups, and labels them",
    ),
    right(
        CLUSTER,
        "",
        &["events"],
        &["create", "patch"],
        "tells what happens where people look for it",
    ),
    right(
        CLUSTER,
        "apiregistration.k8s.io",
        &["apiservices"],
        KEEP,
        "serves packages to the API server, and APIs that operators bring",
    ),
    Right {
        names: &["extension-apiserver-authentication"],
        ..right(
            Scope::KubeSystem,
            "",
            &["configmaps"],
            READ,
            "learns by which certificate the API server is known, to which alone packages are served",
        )
    },
    right(
        CLUSTER,
        "",
        &["serviceaccounts", "groups"],
        &["impersonate"],
        "installs with the rights of the ServiceAccount that an OperatorGroup names, and no others",
    ),
    right(
        CLUSTER,
        "*",
        &["*"],
        &["list"],
        "checks every stored resource of a definition before an InstallPlan changes its schema",
    ),
];

/// What installing bundles needs: the kinds that the format registry+v1 allows, and those that come of them.
const OF_BUNDLES: &[Right] = &[
    right(
        CLUSTER,
        "",
        &["configmaps", "secrets", "serviceaccounts", "services"],
        KEEP,
        "bundles hold them",
    ),
    right(CLUSTER, "apps", &["deployments"], KEEP, "operators run in them"),
    right(
        CLUSTER,
        DEFINITIONS,
        &["customresourcedefinitions"],
        KEEP,
        "bundles define the kinds of their operators",
    ),
    right(
        CLUSTER,
        RBAC,
        &["clusterroles", "clusterrolebindings", "roles", "rolebindings"],
        KEEP,
        "operators get the rights that their bundles ask for",
    ),
    right(
        CLUSTER,
        RBAC,
        &["clusterroles", "roles"],
        &["bind", "escalate"],
        "operators get rights that OLM itself doesn't have: on their own kinds, at least",
    ),
    right(
        CLUSTER,
        ADMISSION,
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        KEEP,
        "bundles define webhooks",
    ),
    right(
        CLUSTER,
        "networking.k8s.io",
        &["networkpolicies"],
        KEEP,
        "bundles hold them",
    ),
    right(
        CLUSTER,
        "policy",
        &["poddisruptionbudgets"],
        KEEP,
        "bundles hold them",
    ),
    right(
        CLUSTER,
        "scheduling.k8s.io",
        &["priorityclasses"],
        KEEP,
        "bundles hold them",
    ),
    right(
        CLUSTER,
        "monitoring.coreos.com",
        &["podmonitors", "prometheusrules", "servicemonitors"],
        KEEP,
        "bundles hold them",
    ),
    right(
        CLUSTER,
        "autoscaling.k8s.io",
        &["verticalpodautoscalers"],
        KEEP,
        "bundles hold them",
    ),
    right(
        CLUSTER,
        "console.openshift.io",
        &[
            "consoleclidownloads",
            "consolelinks",
            "consoleplugins",
            "consolequickstarts",
            "consoleyamlsamples",
        ],
        KEEP,
        "bundles hold them",
    ),
    right(
        CLUSTER,
        "cert-manager.io",
        &["certificates", "issuers"],
        KEEP,
        "cert-manager makes the certificates of webhooks",
    ),
];

impl Right {
    /// Whether it suffices to get every other right.
    pub fn is_mighty(&self) -> bool {
        let mighty = ["*", "bind", "escalate", "impersonate"];
        self.verbs.iter().any(|verb| mighty.contains(verb))
    }
}

/// What a component needs for its own work.
pub fn own(component: Component) -> impl Iterator<Item = &'static Right> {
    let own = match component {
        Component::Catalogs => OF_CATALOGS,
        Component::Extensions => OF_EXTENSIONS,
        Component::Subscriptions => OF_SUBSCRIPTIONS,
    };
    OF_ALL.iter().chain(own)
}

/// What a component needs to install bundles; nothing where it installs none.
pub fn for_bundles(component: Component) -> &'static [Right] {
    match component {
        Component::Catalogs => &[],
        Component::Extensions | Component::Subscriptions => OF_BUNDLES,
    }
}

/// The table as a page for people.
pub fn page() -> String {
    let mut page = "# Rights\n\n\
        What each component of baton may do in a cluster, and why. Generated from the table that the roles are made of.\n\n\
        Rows in **bold** suffice to get every other right: bundles bring roles for their operators, and who hands out \
        rights that it doesn't have itself could hand them to itself. Let nobody use these ServiceAccounts or run pods in \
        these namespaces whom you wouldn't make an administrator.\n"
        .to_owned();
    let mut section = |title: &str, rights: &mut dyn Iterator<Item = &'static Right>| {
        // Writing to a text can't fail.
        let _ = write!(
            page,
            "\n## {title}\n\n| where | group | resources | verbs | why |\n|---|---|---|---|---|\n"
        );
        for right in rights {
            page.push_str(&row(right));
        }
    };
    section("Every component", &mut OF_ALL.iter());
    section("catalogd-controller-manager", &mut OF_CATALOGS.iter());
    section(
        "operator-controller-controller-manager",
        &mut OF_EXTENSIONS.iter(),
    );
    section("olm-operator", &mut OF_SUBSCRIPTIONS.iter());
    section(
        "Installing bundles (operator-controller-controller-manager, olm-operator)",
        &mut OF_BUNDLES.iter(),
    );
    page.push_str(
        "\nA bundle of OLM v0 may bring kinds that aren't listed. Add a role for those, or deploy with the part \
         `cluster-admin`.\n",
    );
    page
}

fn row(right: &Right) -> String {
    let scope = match right.scope {
        Scope::Cluster => "cluster",
        Scope::OwnNamespace => "own namespace",
        Scope::KubeSystem => "kube-system",
    };
    let group = if right.group.is_empty() {
        "core"
    } else {
        right.group
    };
    let mut resources = right.resources.join(", ");
    if !right.names.is_empty() {
        resources = format!("{resources} ({})", right.names.join(", "));
    }
    let strong = if right.is_mighty() { "**" } else { "" };
    format!(
        "| {scope} | `{group}` | `{resources}` | {strong}{}{strong} | {} |\n",
        right.verbs.join(", "),
        right.reason
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds that bundles may hold, by the resources of the table.
    const KINDS: [(&str, &str); 20] = [
        ("configmaps", "ConfigMap"),
        ("secrets", "Secret"),
        ("serviceaccounts", "ServiceAccount"),
        ("services", "Service"),
        ("customresourcedefinitions", "CustomResourceDefinition"),
        ("clusterroles", "ClusterRole"),
        ("clusterrolebindings", "ClusterRoleBinding"),
        ("roles", "Role"),
        ("rolebindings", "RoleBinding"),
        ("networkpolicies", "NetworkPolicy"),
        ("poddisruptionbudgets", "PodDisruptionBudget"),
        ("priorityclasses", "PriorityClass"),
        ("podmonitors", "PodMonitor"),
        ("prometheusrules", "PrometheusRule"),
        ("servicemonitors", "ServiceMonitor"),
        ("verticalpodautoscalers", "VerticalPodAutoscaler"),
        ("consoleclidownloads", "ConsoleCLIDownload"),
        ("consolelinks", "ConsoleLink"),
        ("consoleplugins", "ConsolePlugin"),
        ("consolequickstarts", "ConsoleQuickStart"),
    ];

    #[test]
    fn what_bundles_may_hold_can_be_installed() {
        let resources: Vec<&str> = OF_BUNDLES
            .iter()
            .flat_map(|right| right.resources)
            .copied()
            .collect();
        for (resource, kind) in KINDS {
            assert!(bundle::supported_kinds::is_supported(kind), "{kind}");
            assert!(resources.contains(&resource), "{resource}");
        }
    }

    #[test]
    fn catalogs_are_looked_after_without_a_mighty_right() {
        assert!(!own(Component::Catalogs).any(Right::is_mighty));
        assert!(for_bundles(Component::Catalogs).is_empty());
        // Else the page would warn of nothing.
        assert!(for_bundles(Component::Extensions).iter().any(Right::is_mighty));
    }

    #[test]
    fn every_right_says_why_and_every_reason_reads_as_one() {
        for component in Component::ALL {
            for right in own(component).chain(for_bundles(component)) {
                assert!(
                    !right.reason.is_empty() && !right.reason.ends_with('.'),
                    "{right:?}"
                );
                assert!(
                    !right.verbs.is_empty() && !right.resources.is_empty(),
                    "{right:?}"
                );
            }
        }
    }
}
