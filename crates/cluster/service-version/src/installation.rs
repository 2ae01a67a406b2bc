//! What is written to install a version: services, certificates, permissions, Deployments, APIs and webhooks.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::{ObjectId, at, text};
use apply::owners;
use classic::{Kind, World, Write, components, keys, names};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api_services::{self, port};
use crate::certificates::{self, Authority, Secrets, Stored};
use crate::deployments::{self, Serving};
use crate::ownership;
use crate::requirements::by_api_service;
use crate::version::ServiceVersion;
use crate::webhooks;

/// Everything that an installation writes.
#[derive(Debug, Default)]
pub struct Installation {
    /// What is written, in order.
    pub writes: Vec<Write>,
    /// When the first of its certificates must be replaced; none where it has none.
    pub rotate_at: Option<Timestamp>,
    /// Whether any of them is made anew.
    pub renews: bool,
}

/// Plans the installation of a version.
///
/// # Errors
///
/// Why it can't be installed, in upstream's words.
pub fn plan(
    world: &World,
    version: ServiceVersion<'_>,
    secrets: &dyn Secrets,
    now: Timestamp,
) -> Result<Installation, String> {
    let mut installation = Installation::default();
    let mut served: BTreeMap<&str, (Serving, Vec<u8>)> = BTreeMap::new();
    let mut authority = None;
    for description in version.deployments() {
        let name = text(description, "/name");
        let ports = service_ports(version, name);
        if ports.is_empty() {
            continue;
        }
        let mut making = Making {
            world,
            version,
            service: names::webhook_service(name),
            writes: &mut installation.writes,
        };
        making.service(description, &ports);
        let certificate = making.certificate(&mut authority, secrets, now)?;
        making.permissions(description);
        let secret = names::certificate_secret(&making.service);
        let due = installation.rotate_at.into_iter().chain(certificate.rotate_at);
        installation.rotate_at = due.min();
        installation.renews |= certificate.is_new;
        let authority_hash = certificates::authority_hash(&certificate.authority);
        served.insert(
            name,
            (
                Serving {
                    secret,
                    authority_hash,
                },
                certificate.authority,
            ),
        );
    }
    for description in version.deployments() {
        let serving = served.get(text(description, "/name")).map(|(serving, _)| serving);
        let mut object = deployments::expected(world, version, description, serving);
        deployments::join(world, version, &mut object);
        installation.writes.push(Write::Create {
            object,
            or_update: true,
        });
    }
    let trusted = |description: &Value| {
        served
            .get(text(description, "/deploymentName"))
            .map_or(&[][..], |(_, certificate)| certificate)
    };
    for description in by_api_service(version.owned_api_services()).into_values() {
        let object = api_services::expected(world, version, description, trusted(description))?;
        installation.writes.push(
            match world.get(Kind::ApiService, "", text(&object, "/metadata/name")) {
                Some(_) => Write::Update(object),
                None => Write::Create {
                    object,
                    or_update: false,
                },
            },
        );
    }
    for webhook in version.webhooks() {
        let writes = webhooks::writes(world, version, webhook, trusted(webhook))?;
        installation.writes.extend(writes);
    }
    installation.writes.extend(orphans(world, version));
    Ok(installation)
}

/// Deletes Deployments that a version made and no longer describes.
fn orphans(world: &World, version: ServiceVersion<'_>) -> Vec<Write> {
    let wanted: BTreeSet<&str> = version
        .deployments()
        .iter()
        .map(|description| text(description, "/name"))
        .collect();
    let key = version.key();
    world
        .labelled_with(&key)
        .filter(|(key, _)| key.kind == Kind::Deployment && key.namespace == version.namespace())
        .filter(|(key, object)| {
            !wanted.contains(key.name.as_str()) && owners::is_owned_by(object, version.object)
        })
        .map(|(_, object)| Write::Delete {
            id: ObjectId::of(object),
            uid: None,
        })
        .collect()
}

/// Returns the ports of the Service in front of a Deployment; none where it serves no API and no webhook.
fn service_ports(version: ServiceVersion<'_>, deployment: &str) -> Vec<Value> {
    let mut ports = Vec::new();
    let descriptions = by_api_service(version.owned_api_services())
        .into_values()
        .chain(version.webhooks());
    for description in descriptions.filter(|one| text(one, "/deploymentName") == deployment) {
        let number = port(description);
        let target = description.get("targetPort").filter(|target| !target.is_null());
        let entry = json!({
            "name": number.to_string(),
            "port": number,
            "targetPort": target.cloned().unwrap_or_else(|| Value::from(number)),
        });
        if !ports.contains(&entry) {
            ports.push(entry);
        }
    }
    ports
}

/// Returns the name of the service account that a described Deployment runs as.
fn account(description: &Value) -> &str {
    match text(description, "/spec/template/spec/serviceAccountName") {
        "" => "default",
        named => named,
    }
}

/// The certificate that a Deployment gets.
struct Certificate {
    /// The certificate of its authority as PEM.
    authority: Vec<u8>,
    rotate_at: Option<Timestamp>,
    is_new: bool,
}

/// Makes what stands around one Deployment that serves.
struct Making<'a> {
    world: &'a World,
    version: ServiceVersion<'a>,
    service: String,
    writes: &'a mut Vec<Write>,
}

impl Making<'_> {
    fn apply(&mut self, object: Value) {
        self.writes.push(Write::Apply {
            object,
            field_manager: keys::INSTALL_FIELD_MANAGER,
        });
    }

    /// Writes an object of ours; one that has other owners keeps having none of ours.
    fn put(&mut self, mut object: Value) {
        let (name, namespace) = (
            text(&object, "/metadata/name"),
            text(&object, "/metadata/namespace"),
        );
        let kind = Kind::named(text(&object, "/kind"));
        let existing = kind.and_then(|kind| self.world.get(kind, namespace, name));
        let is_ours =
            existing.is_none_or(|existing| owners::names(existing, "ClusterServiceVersion").next().is_some());
        if is_ours {
            let owner = ownership::reference(self.version.object, false);
            object["metadata"]["ownerReferences"] = json!([owner]);
            components::join(&mut object, self.version.object);
        }
        self.writes.push(Write::Create {
            object,
            or_update: true,
        });
    }

    fn service(&mut self, description: &Value, ports: &[Value]) {
        let mut object = ownership::managed(Kind::Service, self.version.namespace(), &self.service);
        object["metadata"]["ownerReferences"] = json!([ownership::reference(self.version.object, false)]);
        let selector = at(description, "/spec/selector/matchLabels");
        object["spec"] = json!({"ports": ports, "selector": selector.cloned().unwrap_or_else(|| json!({}))});
        self.apply(object);
    }

    /// Takes the certificate that is there while it is good, or makes one.
    fn certificate<'s>(
        &mut self,
        authority: &mut Option<Authority<'s>>,
        secrets: &'s dyn Secrets,
        now: Timestamp,
    ) -> Result<Certificate, String> {
        let namespace = self.version.namespace();
        let name = names::certificate_secret(&self.service);
        let hosts = names::hosts(&self.service, namespace);
        let existing = self.world.get(Kind::Secret, namespace, &name);
        if let Some(stored) = existing.and_then(|secret| Stored::read(secret))
            && stored.is_good(&hosts, now)
        {
            return Ok(Certificate {
                rotate_at: stored.rotate_at(),
                authority: stored.authority,
                is_new: false,
            });
        }
        let authority = match authority {
            Some(authority) => authority,
            None => authority.insert(Authority::new(secrets, now).map_err(|error| error.to_string())?),
        };
        let pair = authority.sign(&hosts).map_err(|error| error.to_string())?;
        let mut object = ownership::managed(Kind::Secret, namespace, &name);
        let hash = certificates::authority_hash(authority.certificate.as_bytes());
        object["metadata"]["annotations"] = json!({keys::CERTIFICATE_AUTHORITY_HASH: hash});
        object["type"] = Value::from("kubernetes.io/tls");
        object["data"] = json!(certificates::secret_data(&pair, &authority.certificate));
        let certificate = Certificate {
            authority: authority.certificate.clone().into_bytes(),
            rotate_at: Some(authority.rotate_at()),
            is_new: true,
        };
        self.put(object);
        Ok(certificate)
    }

    fn permissions(&mut self, description: &Value) {
        const GROUP: &str = "rbac.authorization.k8s.io";
        let namespace = self.version.namespace();
        let secret = names::certificate_secret(&self.service);
        let subjects =
            json!([{"kind": "ServiceAccount", "name": account(description), "namespace": namespace}]);
        let role_reference = |kind: &str, name: &str| json!({"apiGroup": GROUP, "kind": kind, "name": name});

        let mut role = ownership::managed(Kind::Role, namespace, &secret);
        role["rules"] = json!([
            {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret]},
        ]);
        self.put(role);
        let mut binding = ownership::managed(Kind::RoleBinding, namespace, &secret);
        binding["subjects"] = subjects.clone();
        binding["roleRef"] = role_reference("Role", &secret);
        self.put(binding);

        let name = names::authentication_delegator(&self.service);
        let mut delegator = ownership::managed(Kind::ClusterRoleBinding, "", &name);
        ownership::add_labels(&mut delegator, &self.version.key());
        delegator["subjects"] = subjects.clone();
        delegator["roleRef"] = role_reference("ClusterRole", "system:auth-delegator");
        self.apply(delegator);

        let name = names::authentication_reader(&self.service);
        let mut reader = ownership::managed(Kind::RoleBinding, names::KUBE_SYSTEM, &name);
        reader["subjects"] = subjects;
        reader["roleRef"] = role_reference("Role", "extension-apiserver-authentication-reader");
        self.apply(reader);
    }
}

/// Returns the Deployments of a version as they shall be, with the certificates that are in use.
///
/// # Errors
///
/// What is missing to say how they shall be; installing again makes it.
pub fn expected_deployments(world: &World, version: ServiceVersion<'_>) -> Result<Vec<Value>, String> {
    let mut served: BTreeMap<&str, Serving> = BTreeMap::new();
    let mut serve = |deployment: &'_ str, authority: Option<Vec<u8>>, what: String| {
        let Some(authority) = authority else {
            return Err(format!("could not retrieve caBundle for {what}"));
        };
        let described = version
            .deployments()
            .iter()
            .map(|description| text(description, "/name"))
            .find(|name| *name == deployment);
        let Some(described) = described else {
            return Err(format!(
                "strategyDetailsDeployment is missing deployment {deployment} for {what}"
            ));
        };
        let secret = names::certificate_secret(&names::webhook_service(deployment));
        if world.get(Kind::Secret, version.namespace(), &secret).is_none() {
            return Err(format!("unable to get secret {secret}"));
        }
        let authority_hash = certificates::authority_hash(&authority);
        served.insert(
            described,
            Serving {
                secret,
                authority_hash,
            },
        );
        Ok(())
    };
    for description in version.owned_api_services() {
        let name = crate::requirements::api_service_name(description);
        let authority = world
            .get(Kind::ApiService, "", &name)
            .and_then(|service| certificates::bytes(service, "/spec/caBundle"))
            .filter(|authority| !authority.is_empty());
        let what = format!("owned APIServices {name}");
        serve(text(description, "/deploymentName"), authority, what)?;
    }
    for webhook in version.webhooks() {
        let authority = webhooks::authority(world, version, webhook);
        let what = format!("WebhookDescription {}", text(webhook, "/generateName"));
        serve(text(webhook, "/deploymentName"), authority, what)?;
    }
    let expected = |description: &Value| {
        let serving = served.get(text(description, "/name"));
        deployments::expected(world, version, description, serving)
    };
    Ok(version.deployments().iter().map(expected).collect())
}

/// Returns the Services in front of Deployments that serve, each with the certificate that is there.
fn stored<'a>(
    world: &'a World,
    version: ServiceVersion<'a>,
) -> impl Iterator<Item = (String, Option<Stored>)> {
    let names = version
        .deployments()
        .iter()
        .map(|description| text(description, "/name"));
    let serving = names.filter(move |name| !service_ports(version, name).is_empty());
    serving.map(move |name| {
        let service = names::webhook_service(name);
        let secret = names::certificate_secret(&service);
        let secret = world.get(Kind::Secret, version.namespace(), &secret);
        let stored = secret.and_then(|secret| Stored::read(secret));
        (service, stored)
    })
}

/// Returns whether a certificate of a version is missing, wrong, or good for less than a day.
pub fn needs_certificates(world: &World, version: ServiceVersion<'_>, now: Timestamp) -> bool {
    stored(world, version).any(|(service, stored)| {
        let hosts = names::hosts(&service, version.namespace());
        !stored.is_some_and(|stored| stored.is_good(&hosts, now))
    })
}

/// Returns when the first certificate of a version must be replaced, whatever its status says.
pub fn rotate_at(world: &World, version: ServiceVersion<'_>) -> Option<Timestamp> {
    stored(world, version)
        .filter_map(|(_, stored)| stored?.rotate_at())
        .min()
}
