//! Which resource a kind is called in the API: what permissions name, and whether it lives in a namespace.

use std::collections::BTreeMap;

use serde_json::Value;

/// A resource of the Kubernetes API, as permissions name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource {
    /// The API group; empty for the core.
    pub group: String,
    /// The plural name, such as `deployments`.
    pub plural: String,
    /// Whether its objects live in namespaces; unknown kinds are taken to do so.
    pub namespaced: bool,
    /// How the name is known.
    pub origin: Origin,
}

/// How a resource's name is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It is Kubernetes' own, or that of a well-known operator.
    Known,
    /// The chart, or the author's tree, has its definition.
    Defined,
    /// It was made from the kind by Kubernetes' rule for plurals.
    Guessed,
}

const NAMESPACED: bool = true;
const CLUSTER: bool = false;

/// Group, kind, plural, and whether objects live in namespaces.
#[rustfmt::skip]
const KNOWN_KINDS: &[(&str, &str, &str, bool)] = &[
    ("", "ConfigMap", "configmaps", NAMESPACED),
    ("", "Endpoints", "endpoints", NAMESPACED),
    ("", "Event", "events", NAMESPACED),
    ("", "LimitRange", "limitranges", NAMESPACED),
    ("", "Namespace", "namespaces", CLUSTER),
    ("", "Node", "nodes", CLUSTER),
    ("", "PersistentVolume", "persistentvolumes", CLUSTER),
    ("", "PersistentVolumeClaim", "persistentvolumeclaims", NAMESPACED),
    ("", "Pod", "pods", NAMESPACED),
    ("", "PodTemplate", "podtemplates", NAMESPACED),
    ("", "ReplicationController", "replicationcontrollers", NAMESPACED),
    ("", "ResourceQuota", "resourcequotas", NAMESPACED),
    ("", "Secret", "secrets", NAMESPACED),
    ("", "Service", "services", NAMESPACED),
    ("", "ServiceAccount", "serviceaccounts", NAMESPACED),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", CLUSTER),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", CLUSTER),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", CLUSTER),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", CLUSTER),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", CLUSTER),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", CLUSTER),
    ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", CLUSTER),
    ("apiregistration.k8s.io", "APIService", "apiservices", CLUSTER),
    ("apps", "ControllerRevision", "controllerrevisions", NAMESPACED),
    ("apps", "DaemonSet", "daemonsets", NAMESPACED),
    ("apps", "Deployment", "deployments", NAMESPACED),
    ("apps", "ReplicaSet", "replicasets", NAMESPACED),
    ("apps", "StatefulSet", "statefulsets", NAMESPACED),
    ("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", NAMESPACED),
    ("autoscaling.k8s.io", "VerticalPodAutoscaler", "verticalpodautoscalers", NAMESPACED),
    ("batch", "CronJob", "cronjobs", NAMESPACED),
    ("batch", "Job", "jobs", NAMESPACED),
    ("certificates.k8s.io", "CertificateSigningRequest", "certificatesigningrequests", CLUSTER),
    ("coordination.k8s.io", "Lease", "leases", NAMESPACED),
    ("discovery.k8s.io", "EndpointSlice", "endpointslices", NAMESPACED),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema", "flowschemas", CLUSTER),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "prioritylevelconfigurations", CLUSTER),
    ("networking.k8s.io", "Ingress", "ingresses", NAMESPACED),
    ("networking.k8s.io", "IngressClass", "ingressclasses", CLUSTER),
    ("networking.k8s.io", "NetworkPolicy", "networkpolicies", NAMESPACED),
    ("node.k8s.io", "RuntimeClass", "runtimeclasses", CLUSTER),
    ("policy", "PodDisruptionBudget", "poddisruptionbudgets", NAMESPACED),
    ("policy", "PodSecurityPolicy", "podsecuritypolicies", CLUSTER),
    ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", CLUSTER),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", CLUSTER),
    ("rbac.authorization.k8s.io", "Role", "roles", NAMESPACED),
    ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings", NAMESPACED),
    ("resource.k8s.io", "DeviceClass", "deviceclasses", CLUSTER),
    ("resource.k8s.io", "ResourceClaim", "resourceclaims", NAMESPACED),
    ("resource.k8s.io", "ResourceClaimTemplate", "resourceclaimtemplates", NAMESPACED),
    ("scheduling.k8s.io", "PriorityClass", "priorityclasses", CLUSTER),
    ("snapshot.storage.k8s.io", "VolumeSnapshot", "volumesnapshots", NAMESPACED),
    ("snapshot.storage.k8s.io", "VolumeSnapshotClass", "volumesnapshotclasses", CLUSTER),
    ("storage.k8s.io", "CSIDriver", "csidrivers", CLUSTER),
    ("storage.k8s.io", "StorageClass", "storageclasses", CLUSTER),
    ("storage.k8s.io", "VolumeAttributesClass", "volumeattributesclasses", CLUSTER),
    // Operators whose kinds charts create when they are asked to.
    ("argoproj.io", "AnalysisTemplate", "analysistemplates", NAMESPACED),
    ("argoproj.io", "AppProject", "appprojects", NAMESPACED),
    ("argoproj.io", "Application", "applications", NAMESPACED),
    ("argoproj.io", "Rollout", "rollouts", NAMESPACED),
    ("cert-manager.io", "Certificate", "certificates", NAMESPACED),
    ("cert-manager.io", "ClusterIssuer", "clusterissuers", CLUSTER),
    ("cert-manager.io", "Issuer", "issuers", NAMESPACED),
    ("cilium.io", "CiliumClusterwideNetworkPolicy", "ciliumclusterwidenetworkpolicies", CLUSTER),
    ("cilium.io", "CiliumNetworkPolicy", "ciliumnetworkpolicies", NAMESPACED),
    ("external-secrets.io", "ClusterSecretStore", "clustersecretstores", CLUSTER),
    ("external-secrets.io", "ExternalSecret", "externalsecrets", NAMESPACED),
    ("external-secrets.io", "SecretStore", "secretstores", NAMESPACED),
    ("gateway.networking.k8s.io", "GRPCRoute", "grpcroutes", NAMESPACED),
    ("gateway.networking.k8s.io", "Gateway", "gateways", NAMESPACED),
    ("gateway.networking.k8s.io", "GatewayClass", "gatewayclasses", CLUSTER),
    ("gateway.networking.k8s.io", "HTTPRoute", "httproutes", NAMESPACED),
    ("gateway.networking.k8s.io", "ReferenceGrant", "referencegrants", NAMESPACED),
    ("gateway.networking.k8s.io", "TCPRoute", "tcproutes", NAMESPACED),
    ("gateway.networking.k8s.io", "TLSRoute", "tlsroutes", NAMESPACED),
    ("keda.sh", "ClusterTriggerAuthentication", "clustertriggerauthentications", CLUSTER),
    ("keda.sh", "ScaledJob", "scaledjobs", NAMESPACED),
    ("keda.sh", "ScaledObject", "scaledobjects", NAMESPACED),
    ("keda.sh", "TriggerAuthentication", "triggerauthentications", NAMESPACED),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets", NAMESPACED),
    ("monitoring.coreos.com", "AlertmanagerConfig", "alertmanagerconfigs", NAMESPACED),
    ("monitoring.coreos.com", "Alertmanager", "alertmanagers", NAMESPACED),
    ("monitoring.coreos.com", "PodMonitor", "podmonitors", NAMESPACED),
    ("monitoring.coreos.com", "Probe", "probes", NAMESPACED),
    ("monitoring.coreos.com", "Prometheus", "prometheuses", NAMESPACED),
    ("monitoring.coreos.com", "PrometheusRule", "prometheusrules", NAMESPACED),
    ("monitoring.coreos.com", "ScrapeConfig", "scrapeconfigs", NAMESPACED),
    ("monitoring.coreos.com", "ServiceMonitor", "servicemonitors", NAMESPACED),
    ("monitoring.coreos.com", "ThanosRuler", "thanosrulers", NAMESPACED),
    ("networking.istio.io", "DestinationRule", "destinationrules", NAMESPACED),
    ("networking.istio.io", "EnvoyFilter", "envoyfilters", NAMESPACED),
    ("networking.istio.io", "Gateway", "gateways", NAMESPACED),
    ("networking.istio.io", "ServiceEntry", "serviceentries", NAMESPACED),
    ("networking.istio.io", "Sidecar", "sidecars", NAMESPACED),
    ("networking.istio.io", "VirtualService", "virtualservices", NAMESPACED),
    ("operator.victoriametrics.com", "VMServiceScrape", "vmservicescrapes", NAMESPACED),
    ("ray.io", "RayCluster", "rayclusters", NAMESPACED),
    ("ray.io", "RayJob", "rayjobs", NAMESPACED),
    ("ray.io", "RayService", "rayservices", NAMESPACED),
    ("route.openshift.io", "Route", "routes", NAMESPACED),
    ("secrets-store.csi.x-k8s.io", "SecretProviderClass", "secretproviderclasses", NAMESPACED),
    ("security.istio.io", "AuthorizationPolicy", "authorizationpolicies", NAMESPACED),
    ("security.istio.io", "PeerAuthentication", "peerauthentications", NAMESPACED),
    ("security.istio.io", "RequestAuthentication", "requestauthentications", NAMESPACED),
    ("security.openshift.io", "SecurityContextConstraints", "securitycontextconstraints", CLUSTER),
    ("serving.knative.dev", "Service", "services", NAMESPACED),
    ("serving.kserve.io", "InferenceService", "inferenceservices", NAMESPACED),
    ("traefik.io", "IngressRoute", "ingressroutes", NAMESPACED),
    ("traefik.io", "Middleware", "middlewares", NAMESPACED),
];

/// API versions of well-known operators, so that a chart that asks for them before it uses them is seen using them.
pub const WELL_KNOWN_API_VERSIONS: &[&str] = &[
    "argoproj.io/v1alpha1",
    "autoscaling.k8s.io/v1",
    "cert-manager.io/v1",
    "cilium.io/v2",
    "external-secrets.io/v1",
    "external-secrets.io/v1beta1",
    "gateway.networking.k8s.io/v1",
    "gateway.networking.k8s.io/v1beta1",
    "keda.sh/v1alpha1",
    "monitoring.coreos.com/v1",
    "monitoring.coreos.com/v1alpha1",
    "networking.istio.io/v1",
    "networking.istio.io/v1beta1",
    "route.openshift.io/v1",
    "security.istio.io/v1",
    "security.openshift.io/v1",
    "snapshot.storage.k8s.io/v1",
    "traefik.io/v1alpha1",
];

/// The kinds whose resource is known: the table, and what definitions have added.
#[derive(Debug, Default, Clone)]
pub struct Kinds {
    defined: BTreeMap<(String, String), (String, bool)>,
}

impl Kinds {
    /// Adds the kind that a `CustomResourceDefinition` defines; other objects add nothing.
    pub fn learn(&mut self, definition: &Value) {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
        if text("/kind") != Some("CustomResourceDefinition") {
            return;
        }
        if let (Some(group), Some(kind), Some(plural)) = (
            text("/spec/group"),
            text("/spec/names/kind"),
            text("/spec/names/plural"),
        ) {
            let namespaced = text("/spec/scope") != Some("Cluster");
            self.defined.insert(
                (group.to_owned(), kind.to_owned()),
                (plural.to_owned(), namespaced),
            );
        }
    }

    /// Adds a kind by its names.
    pub fn define(&mut self, group: &str, kind: &str, plural: &str, namespaced: bool) {
        self.defined.insert(
            (group.to_owned(), kind.to_owned()),
            (plural.to_owned(), namespaced),
        );
    }

    /// The resource of a kind.
    pub fn resource(&self, group: &str, kind: &str) -> Resource {
        if let Some((plural, namespaced)) = self.defined.get(&(group.to_owned(), kind.to_owned())) {
            return Resource {
                group: group.to_owned(),
                plural: plural.clone(),
                namespaced: *namespaced,
                origin: Origin::Defined,
            };
        }
        // Kinds kept their names when they moved out of `extensions`.
        let known = KNOWN_KINDS
            .iter()
            .find(|known| known.1 == kind && (known.0 == group || group == "extensions"));
        match known {
            Some((_, _, plural, namespaced)) => Resource {
                group: group.to_owned(),
                plural: (*plural).to_owned(),
                namespaced: *namespaced,
                origin: Origin::Known,
            },
            None => Resource {
                group: group.to_owned(),
                plural: guessed_plural(kind),
                namespaced: true,
                origin: Origin::Guessed,
            },
        }
    }

    /// The groups that have a kind of this name; the table's order, definitions last.
    pub fn groups_of(&self, kind: &str) -> Vec<String> {
        let known = KNOWN_KINDS
            .iter()
            .filter(|known| known.1 == kind)
            .map(|known| known.0);
        let defined = self
            .defined
            .keys()
            .filter(|(_, name)| name == kind)
            .map(|(group, _)| group.as_str());
        let mut groups: Vec<String> = known.chain(defined).map(str::to_owned).collect();
        groups.dedup();
        groups
    }

    /// Whether any group has a kind of this name.
    pub fn knows(&self, kind: &str) -> bool {
        KNOWN_KINDS.iter().any(|known| known.1 == kind) || self.defined.keys().any(|(_, name)| name == kind)
    }
}

/// Where a kind that left the group `extensions` has gone; other groups stay what they are.
pub fn present_group<'a>(group: &'a str, kind: &str) -> &'a str {
    if group != "extensions" {
        return group;
    }
    KNOWN_KINDS
        .iter()
        .find(|known| known.1 == kind)
        .map_or(group, |known| known.0)
}

/// The group of an API version: `apps` of `apps/v1`, nothing of `v1`.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The version of an API version: `v1` of both `apps/v1` and `v1`.
pub fn version_of(api_version: &str) -> &str {
    api_version
        .split_once('/')
        .map_or(api_version, |(_, version)| version)
}

/// The plural that Kubernetes' clients guess for a kind they can't look up.
pub fn guessed_plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    if singular.ends_with("endpoints") {
        return singular;
    }
    match singular.chars().last() {
        Some('s') => singular + "es",
        Some('y') => format!("{}ies", &singular[..singular.len() - 1]),
        _ => singular + "s",
    }
}

/// The plural for a new kind, as an English speaker would say it.
pub fn plural_of_new_kind(kind: &str) -> String {
    let singular = kind.to_lowercase();
    let before_last = singular.chars().rev().nth(1);
    let hisses = ["s", "x", "z", "ch", "sh"]
        .iter()
        .any(|end| singular.ends_with(end));
    match singular.chars().last() {
        Some('y') if !before_last.is_some_and(|letter| "aeiou".contains(letter)) => {
            format!("{}ies", &singular[..singular.len() - 1])
        }
        _ if hisses => singular + "es",
        _ => singular + "s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_kinds_are_listed_once() {
        let mut seen = std::collections::BTreeSet::new();
        for (group, kind, plural, _) in KNOWN_KINDS {
            assert!(seen.insert((group, kind)), "{group} {kind} is listed twice");
            assert_eq!(*plural, plural.to_lowercase());
        }
    }

    #[test]
    fn plurals_follow_kubernetes_rule_for_strangers_and_english_for_new_kinds() {
        for (kind, guessed, new) in [
            ("InferenceStack", "inferencestacks", "inferencestacks"),
            ("Policy", "policies", "policies"),
            ("Gateway", "gatewaies", "gateways"),
            ("Prometheus", "prometheuses", "prometheuses"),
            ("Box", "boxs", "boxes"),
            ("Endpoints", "endpoints", "endpointses"),
        ] {
            assert_eq!(
                (guessed_plural(kind).as_str(), plural_of_new_kind(kind).as_str()),
                (guessed, new)
            );
        }
    }

    #[test]
    fn a_definition_beats_the_rule_and_the_table() {
        let mut kinds = Kinds::default();
        assert_eq!(kinds.resource("example.com", "Ox").plural, "oxs");
        kinds.learn(&serde_json::json!({
            "kind": "CustomResourceDefinition",
            "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Ox", "plural": "oxen"}}
        }));
        let ox = kinds.resource("example.com", "Ox");
        assert_eq!(
            (ox.plural.as_str(), ox.namespaced, ox.origin),
            ("oxen", false, Origin::Defined)
        );
    }
}
