//! Packages as an API of the cluster: served to the API server alone, which is led here by an APIService.

use std::sync::Arc;
use std::time::Duration;

use apply::object::label;
use base64::Engine as _;
use classic::{Kind, keys};
use classic_controller::manifests::{Manifests, registration};
use classic_controller::watching::resource;
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch_objects};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::PackagePlace;
use crate::failure::Failure;
use crate::leadership::becomes_true;
use crate::listening;
use crate::olm::groundwork::apply;
use crate::served_router::ServedRouter;
use crate::tls::{self, KnownClients, OwnIdentity, Profile, Protocols};

/// The ConfigMap in which the API server says with whose certificates it comes.
const AUTHENTICATION: (&str, &str) = ("kube-system", "extension-apiserver-authentication");

/// The key of it with the authority's certificates.
const AUTHORITY: &str = "requestheader-client-ca-file";

/// How soon is tried again when the API server doesn't let itself be led here.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// Serves packages until `stop` becomes true. Where that can't be, it is told in the log, and everything else goes on.
pub(super) async fn serve(
    client: &Client,
    manifests: &Manifests,
    place: &PackagePlace,
    namespace: &str,
    stop: &watch::Receiver<bool>,
) {
    let clients = Arc::new(KnownClients::default());
    let mut is_known = false;
    // None until it was found out whether packages are served here or by somebody else.
    let mut served: Option<Option<ServedRouter>> = None;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), AUTHENTICATION.0);
    let only = watcher::Config::default().fields(&format!("metadata.name={}", AUTHENTICATION.1));
    let mut events = std::pin::pin!(watch_objects(maps, only).default_backoff());
    loop {
        if is_known && served.is_none() {
            match start(client, manifests, place, namespace, &clients).await {
                Ok(started) => served = Some(started),
                Err(failure) => tracing::warn!(cause = failure.text(), "packages aren't served yet"),
            }
        }
        let event = tokio::select! {
            event = events.next() => event,
            () = tokio::time::sleep(TRY_AGAIN), if is_known && served.is_none() => continue,
            () = becomes_true(stop.clone()) => break,
        };
        let map = match event {
            Some(Ok(Event::Apply(map) | Event::InitApply(map))) => map,
            Some(Ok(Event::InitDone)) if !is_known => {
                tracing::warn!(
                    "packages aren't served: the API server doesn't say in ConfigMap {}/{} by which certificates it is known",
                    AUTHENTICATION.0,
                    AUTHENTICATION.1
                );
                continue;
            }
            Some(_) => continue,
            None => break,
        };
        let authority = map.data.unwrap_or_default().remove(AUTHORITY).unwrap_or_default();
        match clients.know(&authority) {
            Ok(()) => is_known = true,
            Err(cause) => {
                tracing::warn!(%cause, "packages aren't served: the API server's certificate can't be checked");
            }
        }
    }
    if served.flatten().is_some() {
        withdraw(client).await;
    }
}

/// Listens, and leads the API server here; none where somebody else serves packages.
async fn start(
    client: &Client,
    manifests: &Manifests,
    place: &PackagePlace,
    namespace: &str,
    clients: &Arc<KnownClients>,
) -> Result<Option<ServedRouter>, Failure> {
    let name = format!(
        "{}.{}",
        classic_controller::manifests::VERSION,
        classic_controller::manifests::GROUP
    );
    let registered = read(client, Kind::ApiService, "", &name).await?;
    if let Some(owner) = registered.as_ref().and_then(|found| label(found, keys::OWNER)) {
        tracing::info!(owner, "packages are served by an operator of the cluster");
        return Ok(None);
    }
    let listener = listening::bind(place.listen, "--packages-listen").await?;
    let port = listener.local_addr()?.port();
    let hosts = classic::names::hosts(registration::SERVICE, namespace);
    let identity = OwnIdentity::make_for(hosts.to_vec())?;
    let authority = base64::engine::general_purpose::STANDARD.encode(identity.pem());
    let acceptor = tls::acceptor_for_known(
        &Profile::default(),
        Arc::new(identity),
        Protocols::Both,
        Arc::clone(clients),
    )?;
    let served = ServedRouter::start_with(listener, Some(acceptor), manifests.router());
    let service = read(client, Kind::Service, namespace, registration::SERVICE).await?;
    let port = if let Some(port) = service.as_ref().and_then(chosen_port) {
        port
    } else {
        let service = service_of(namespace, &place.host);
        apply(client, "Service", registration::SERVICE, &service).await?;
        port
    };
    let mut registration = registration::api_service(namespace, &authority);
    registration["spec"]["service"]["port"] = port.into();
    apply(client, "APIService", &name, &registration).await?;
    tracing::info!(host = place.host, port, "packages are served");
    Ok(Some(served))
}

/// The port of a Service that chooses pods: whoever made it knows where packages are served.
fn chosen_port(service: &Value) -> Option<u16> {
    let selector = service.pointer("/spec/selector").and_then(Value::as_object)?;
    if selector.is_empty() {
        return None;
    }
    let ports = service.pointer("/spec/ports").and_then(Value::as_array)?;
    let ports: Vec<u64> = ports.iter().filter_map(|port| port["port"].as_u64()).collect();
    let usual = u64::from(registration::PORT);
    let port = ports.iter().find(|port| **port == usual).or(ports.first())?;
    u16::try_from(*port).ok()
}

/// A Service that stands for a name outside the cluster's network; the API server takes the port from the APIService.
fn service_of(namespace: &str, host: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": registration::SERVICE, "namespace": namespace,
            "labels": {keys::MANAGED: keys::MANAGED_VALUE},
        },
        "spec": {"type": "ExternalName", "externalName": host},
    })
}

/// Leads the API server here no longer: an API that nobody serves stands in the way of deleting namespaces.
async fn withdraw(client: &Client) {
    let name = format!(
        "{}.{}",
        classic_controller::manifests::VERSION,
        classic_controller::manifests::GROUP
    );
    let services: Api<DynamicObject> = Api::all_with(client.clone(), &resource(Kind::ApiService));
    if let Err(fault) = services.delete(&name, &DeleteParams::default()).await {
        tracing::debug!(%fault, "APIService {name} can't be taken back");
    }
}

async fn read(client: &Client, kind: Kind, namespace: &str, name: &str) -> Result<Option<Value>, Failure> {
    let objects: Api<DynamicObject> = if namespace.is_empty() {
        Api::all_with(client.clone(), &resource(kind))
    } else {
        Api::namespaced_with(client.clone(), namespace, &resource(kind))
    };
    let found = objects.get_opt(name).await?;
    Ok(found.map(serde_json::to_value).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_chooses_pods_is_left_as_it_is() {
        let service = |selector: Value, ports: &[u16]| {
            let ports: Vec<Value> = ports.iter().map(|port| json!({"port": port})).collect();
            json!({"spec": {"selector": selector, "ports": ports}})
        };
        let pods = json!({"app": "baton"});
        for (service, port) in [
            (service(pods.clone(), &[443, 5443]), Some(5443)),
            (service(pods.clone(), &[443]), Some(443)),
            (service(pods, &[]), None),
            (service(json!({}), &[5443]), None),
            (service_of("olm", "localhost"), None),
        ] {
            assert_eq!(chosen_port(&service), port, "{service}");
        }
    }
}
