//! The rules, one module for each subject: each looks at the picture and says what is wrong.

pub mod api_services;
pub mod budgets;
pub mod catalog_sources;
pub mod catalogs;
pub mod certificates;
pub mod custom_resources;
pub mod definitions;
pub mod departures;
pub mod extensions;
pub mod install_plans;
pub mod leases;
pub mod operator_conditions;
pub mod operator_groups;
pub mod pods;
pub mod releases;
pub mod revisions;
pub mod service_versions;
pub mod sight;
pub mod subscriptions;
#[cfg(test)]
pub(crate) mod testing;
pub mod two_olms;
pub mod webhooks;
pub mod workloads;

use crate::finding::Finding;
use crate::picture::Picture;

/// Everything that is looked for.
pub const ALL: [fn(&Picture) -> Vec<Finding>; 22] = [
    sight::look,
    two_olms::look,
    leases::look,
    catalogs::look,
    extensions::look,
    revisions::look,
    catalog_sources::look,
    subscriptions::look,
    install_plans::look,
    service_versions::look,
    operator_groups::look,
    operator_conditions::look,
    definitions::look,
    api_services::look,
    webhooks::look,
    certificates::look,
    workloads::look,
    pods::look,
    budgets::look,
    departures::look,
    releases::look,
    custom_resources::look,
];
