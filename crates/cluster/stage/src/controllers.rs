//! The small controllers that make a cluster live.
//!
//! Each is `observe → decide → act` on one object at a time: [`work`] watches what it needs, keeps a queue of the objects
//! that have to be looked at, and tries again after failures.

pub mod api_services;
pub mod autoscalers;
pub mod certificates;
pub mod cluster_roles;
pub mod conditions;
pub mod cronjobs;
pub mod daemonsets;
pub mod definitions;
pub mod deployments;
pub mod disruption;
pub mod endpoint_slices;
pub mod endpoints;
pub mod expiry;
pub mod fractions;
pub mod garbage;
pub mod jobs;
pub mod namespaces;
pub mod nodes;
pub mod ownership;
pub mod pods;
pub mod policies;
pub mod quotas;
pub mod replicasets;
pub mod revisions;
pub mod root_certificate;
pub mod service_accounts;
pub mod service_addresses;
mod service_pods;
pub mod service_ranges;
pub mod statefulsets;
pub mod template_hash;
pub mod token_secrets;
pub mod volumes;
pub mod work;

use std::sync::Arc;

use crate::api::Api;

/// The controllers that run; they stop when this is dropped.
#[derive(Debug)]
pub struct Controllers {
    _running: Vec<work::Running>,
}

impl Controllers {
    /// Starts all controllers.
    pub async fn start(api: &Arc<Api>) -> Self {
        api_services::register(api).await;
        let mut running = vec![
            work::start(api, definitions::Definitions),
            work::start(api, api_services::ApiServices),
            work::start(api, policies::Policies),
        ];
        if !api.options.without_controllers {
            running.extend(Self::living(api));
        }
        Self { _running: running }
    }

    /// Starts what makes a cluster live, as against what the API itself needs.
    fn living(api: &Arc<Api>) -> Vec<work::Running> {
        let mut running = vec![work::Running::of(vec![crate::events::start(api)])];
        running.extend(Self::platform(api));
        running.extend(Self::workloads(api));
        running.push(crate::node::start(api));
        running
    }

    /// Starts what makes Pods.
    fn workloads(api: &Arc<Api>) -> Vec<work::Running> {
        vec![
            work::start(api, autoscalers::Autoscalers::default()),
            work::start(api, cronjobs::CronJobs::default()),
            work::start(api, daemonsets::DaemonSets::default()),
            work::start(api, deployments::Deployments::default()),
            work::start(api, disruption::Disruption::default()),
            work::start(api, jobs::Jobs::default()),
            work::start(api, replicasets::ReplicaSets::default()),
            work::start(api, replicasets::ReplicationControllers::default()),
            work::start(api, statefulsets::StatefulSets::default()),
        ]
    }

    /// Starts what the rest of a cluster lives on.
    fn platform(api: &Arc<Api>) -> Vec<work::Running> {
        vec![
            work::start(api, namespaces::Namespaces),
            work::start(api, nodes::Nodes::default()),
            work::start(api, nodes::eviction::TaintEviction::default()),
            garbage::start(api),
            work::start(api, certificates::Certificates),
            work::start(api, service_accounts::ServiceAccounts),
            work::start(api, root_certificate::RootCertificate),
            work::start(api, token_secrets::TokenSecrets),
            work::start(api, cluster_roles::ClusterRoles),
            work::start(api, endpoint_slices::EndpointSlices),
            work::start(api, endpoints::Endpoints),
            work::start(api, service_addresses::ServiceAddresses),
            work::start(api, service_ranges::ServiceRanges),
            work::start(api, volumes::Claims::default()),
            work::start(api, volumes::Volumes::default()),
            work::start(api, quotas::Quotas),
            expiry::start(api),
        ]
    }
}
