//! The programs that run in a cluster: one binary, three Deployments with upstream's names.
//!
//! Each competes for a Lease of its own, so that losing one node stops at most one of them for as long as a Lease lasts.

use serde_json::{Value, json};

use crate::settings::{ServingCertificates, Settings};

/// A Deployment of baton, by what it looks after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// `ClusterCatalog`s: what upstream's catalogd does.
    Catalogs,
    /// `ClusterExtension`s and `ClusterObjectSet`s: what upstream's operator-controller does.
    Extensions,
    /// OLM v0: what upstream's olm-operator, catalog-operator and packageserver do.
    Subscriptions,
}

/// A port that a component serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: &'static str,
    /// Its number in the pod.
    pub number: u16,
    /// Its number at the Service; none where no Service leads to it.
    pub service: Option<u16>,
}

/// What everything of the installation is labelled with: by it, baton knows its own installation from upstream's.
pub const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "baton");

/// The label that all of OLM v1 has.
pub const PART_OF: (&str, &str) = ("app.kubernetes.io/part-of", "olm");

/// Where files of certificates are in the pods.
const CERTIFICATES_FOLDER: &str = "/var/certs";

/// Where catalogs and images are kept.
pub const CACHE_FOLDER: &str = "/var/cache/baton";

impl Component {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Catalogs, Self::Extensions, Self::Subscriptions];

    /// Its name among the labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Catalogs => "catalogd",
            Self::Extensions => "operator-controller",
            Self::Subscriptions => "olm-operator",
        }
    }

    /// What `baton controllers --duties` calls it.
    pub const fn duty(self) -> &'static str {
        match self {
            Self::Catalogs => "catalogs",
            Self::Extensions => "extensions",
            Self::Subscriptions => "subscriptions",
        }
    }

    /// The name of its Deployment, PodDisruptionBudget and NetworkPolicy.
    pub const fn deployment(self) -> &'static str {
        match self {
            Self::Catalogs => "catalogd-controller-manager",
            Self::Extensions => "operator-controller-controller-manager",
            Self::Subscriptions => "olm-operator",
        }
    }

    /// The name of its container.
    pub const fn container(self) -> &'static str {
        match self {
            Self::Catalogs | Self::Extensions => "manager",
            Self::Subscriptions => "olm-operator",
        }
    }

    /// Who it is.
    pub const fn service_account(self) -> &'static str {
        match self {
            Self::Catalogs => "catalogd-controller-manager",
            Self::Extensions => "operator-controller-controller-manager",
            Self::Subscriptions => "olm-operator-serviceaccount",
        }
    }

    /// The Service that leads to it.
    pub const fn service(self) -> &'static str {
        match self {
            Self::Catalogs => "catalogd-service",
            Self::Extensions => "operator-controller-service",
            Self::Subscriptions => "olm-operator-metrics",
        }
    }

    /// The Secret with its certificate.
    pub const fn certificate_secret(self) -> &'static str {
        match self {
            Self::Catalogs => "catalogd-service-cert",
            Self::Extensions => "operator-controller-cert",
            Self::Subscriptions => "olm-operator-cert",
        }
    }

    /// The Lease by which its replicas agree who works; the first two are upstream's.
    pub const fn lease(self) -> &'static str {
        match self {
            Self::Catalogs => "catalogd-operator-lock",
            Self::Extensions => "9c4404e7.operatorframework.io",
            Self::Subscriptions => "classic.baton.dev",
        }
    }

    /// What it asks of a node: processor and memory, as upstream asks for the same work.
    const fn requests(self) -> (&'static str, &'static str) {
        match self {
            Self::Catalogs => ("100m", "200Mi"),
            Self::Extensions => ("10m", "64Mi"),
            Self::Subscriptions => ("10m", "160Mi"),
        }
    }

    /// The port that says whether it is well.
    pub const fn health_port(self) -> u16 {
        match self {
            // Catalogs and health are served at one address.
            Self::Catalogs => 8443,
            Self::Extensions | Self::Subscriptions => 8081,
        }
    }

    /// The port with its metrics, as upstream has it.
    pub const fn metrics_port(self) -> u16 {
        match self {
            Self::Catalogs => 7443,
            Self::Extensions | Self::Subscriptions => 8443,
        }
    }

    /// Everything that it serves.
    pub fn ports(self) -> Vec<Port> {
        let port = |name, number, service| Port {
            name,
            number,
            service,
        };
        let metrics = port("metrics", self.metrics_port(), Some(self.metrics_port()));
        match self {
            Self::Catalogs => vec![port("https", self.health_port(), Some(443)), metrics],
            Self::Extensions => vec![port("health", self.health_port(), None), metrics],
            Self::Subscriptions => vec![
                port("health", self.health_port(), None),
                metrics,
                port("packages", PACKAGES_PORT, None),
            ],
        }
    }

    /// The labels of everything that belongs to it.
    pub fn labels(self) -> Value {
        json!({
            "app.kubernetes.io/name": self.name(),
            PART_OF.0: PART_OF.1,
            MANAGED_BY.0: MANAGED_BY.1,
        })
    }

    /// The labels by which its Deployment knows its pods, which never change.
    pub fn selector(self) -> Value {
        match self {
            Self::Catalogs | Self::Extensions => json!({"control-plane": self.deployment()}),
            Self::Subscriptions => json!({"app": self.name()}),
        }
    }

    /// Names under which its Service is reached.
    pub fn hosts(self, namespace: &str) -> [String; 2] {
        let host = format!("{}.{namespace}.svc", self.service());
        let whole = format!("{host}.cluster.local");
        [host, whole]
    }

    /// The arguments of its container.
    pub fn arguments(self, settings: &Settings) -> Vec<String> {
        let namespace = settings.namespace_of(self);
        let mut arguments = vec![
            "controllers".to_owned(),
            format!("--duties={}", self.duty()),
            format!("--system-namespace={namespace}"),
            // Definitions and roles are part of the installation, and no program may change its own rights.
            "--no-definitions".to_owned(),
            format!("--data-dir={CACHE_FOLDER}"),
            format!("--listen=0.0.0.0:{}", self.health_port()),
            format!("--metrics-bind-address=0.0.0.0:{}", self.metrics_port()),
            "--allow-remote".to_owned(),
        ];
        match self {
            Self::Catalogs => {
                arguments.push(format!("--external-address=https://{}", self.hosts(namespace)[0]));
            }
            Self::Extensions => {}
            Self::Subscriptions => arguments.extend([
                format!("--global-catalog-namespace={namespace}"),
                format!("--packages-listen=0.0.0.0:{PACKAGES_PORT}"),
                // Only the replica that leads knows what catalogs hold: the API server has to be led to that one.
                "--packages-host=$(POD_IP)".to_owned(),
            ]),
        }
        match settings.certificates {
            ServingCertificates::Own => {
                arguments.push(format!("--tls-secret={namespace}/{}", self.certificate_secret()));
                arguments.extend(self.hosts(namespace).map(|host| format!("--tls-host={host}")));
            }
            ServingCertificates::CertManager => arguments.extend([
                format!("--tls-cert={CERTIFICATES_FOLDER}/tls.crt"),
                format!("--tls-key={CERTIFICATES_FOLDER}/tls.key"),
            ]),
        }
        arguments
    }

    /// The container.
    pub(crate) fn container_of(self, settings: &Settings) -> Value {
        let probe = |path: &str, delay: u32, period: u32| {
            json!({
                "httpGet": {"path": path, "port": self.health_port(), "scheme": "HTTPS"},
                "initialDelaySeconds": delay, "periodSeconds": period,
            })
        };
        let ports: Vec<Value> = self
            .ports()
            .into_iter()
            .map(|port| json!({"name": port.name, "containerPort": port.number, "protocol": "TCP"}))
            .collect();
        let (processor, memory) = self.requests();
        let mut mounts = vec![
            json!({"name": "cache", "mountPath": CACHE_FOLDER}),
            json!({"name": "tmp", "mountPath": "/tmp"}),
        ];
        if settings.certificates == ServingCertificates::CertManager {
            mounts.push(json!({"name": "certificate", "mountPath": CERTIFICATES_FOLDER, "readOnly": true}));
        }
        json!({
            "name": self.container(),
            "image": settings.image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["/baton"],
            "args": self.arguments(settings),
            "env": [
                {"name": "HOME", "value": "/tmp"},
                {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            ],
            "ports": ports,
            "livenessProbe": probe("/healthz", 15, 20),
            "readinessProbe": probe("/readyz", 5, 10),
            "resources": {"requests": {"cpu": processor, "memory": memory}},
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
            },
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": mounts,
        })
    }

    /// What its container mounts.
    pub(crate) fn volumes(self, settings: &Settings) -> Vec<Value> {
        let mut volumes = vec![
            json!({"name": "cache", "emptyDir": {}}),
            json!({"name": "tmp", "emptyDir": {}}),
        ];
        if settings.certificates == ServingCertificates::CertManager {
            volumes.push(json!({"name": "certificate", "secret": {"secretName": self.certificate_secret()}}));
        }
        volumes
    }
}

/// Where packages are served for the API server, as upstream has it.
pub const PACKAGES_PORT: u16 = 5443;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_serves_with_its_own_certificate_or_with_cert_managers() {
        let mut settings = Settings::default();
        let own = Component::Catalogs.arguments(&settings);
        assert!(
            own.contains(&"--tls-secret=olmv1-system/catalogd-service-cert".to_owned()),
            "{own:?}"
        );
        assert!(
            own.contains(&"--tls-host=catalogd-service.olmv1-system.svc".to_owned()),
            "{own:?}"
        );
        settings.certificates = ServingCertificates::CertManager;
        let theirs = Component::Catalogs.arguments(&settings);
        assert!(
            theirs.contains(&"--tls-cert=/var/certs/tls.crt".to_owned()),
            "{theirs:?}"
        );
        assert!(
            !theirs.iter().any(|argument| argument.starts_with("--tls-secret")),
            "{theirs:?}"
        );
        assert_eq!(Component::Catalogs.volumes(&settings).len(), 3);
    }

    #[test]
    fn ports_of_a_component_differ() {
        for component in Component::ALL {
            let mut numbers: Vec<u16> = component.ports().iter().map(|port| port.number).collect();
            let count = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), count, "{component:?}");
        }
    }
}
