//! The parts of an installation that somebody may want or not.

use std::fmt;
use std::str::FromStr;

/// A part of an installation that can be left out or added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The namespaces themselves.
    Namespaces,
    /// The CustomResourceDefinitions.
    Definitions,
    /// OLM v0: Subscriptions and what belongs to them.
    Classic,
    /// A `NetworkPolicy` for each component.
    NetworkPolicies,
    /// PodDisruptionBudgets.
    DisruptionBudgets,
    /// A PriorityClass for the pods.
    Priority,
    /// The admission policies of OLM v1.
    Policies,
    /// A `ServiceMonitor` for each component, alerts and a dashboard.
    Monitoring,
    /// The binding to `cluster-admin`, for bundles with kinds that the roles don't name.
    ClusterAdmin,
    /// An example of a policy that limits what a tenant may install.
    TenantLimits,
}

impl Part {
    /// Every part, in the order in which they are listed.
    pub const ALL: [Self; 10] = [
        Self::Namespaces,
        Self::Definitions,
        Self::Classic,
        Self::NetworkPolicies,
        Self::DisruptionBudgets,
        Self::Priority,
        Self::Policies,
        Self::Monitoring,
        Self::ClusterAdmin,
        Self::TenantLimits,
    ];

    /// The word by which people choose it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Definitions => "definitions",
            Self::Classic => "classic",
            Self::NetworkPolicies => "network-policies",
            Self::DisruptionBudgets => "disruption-budgets",
            Self::Priority => "priority",
            Self::Policies => "policies",
            Self::Monitoring => "monitoring",
            Self::ClusterAdmin => "cluster-admin",
            Self::TenantLimits => "tenant-limits",
        }
    }

    /// What it is, for people who choose.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Namespaces => {
                "the namespaces, with Pod Security's `restricted` for OLM v1 and `baseline` for OLM v0"
            }
            Self::Definitions => "the CustomResourceDefinitions",
            Self::Classic => "OLM v0: its Deployment, definitions, roles and groups",
            Self::NetworkPolicies => "NetworkPolicies that let in only what is served",
            Self::DisruptionBudgets => "PodDisruptionBudgets that keep one replica of each",
            Self::Priority => "a PriorityClass, so that operators go before what looks after them",
            Self::Policies => "the admission policies of OLM v1",
            Self::Monitoring => "ServiceMonitors, alerts and a dashboard; needs the Prometheus operator",
            Self::ClusterAdmin => {
                "a binding to cluster-admin, for bundles with kinds that the roles don't name"
            }
            Self::TenantLimits => "a policy that limits which extensions a group of tenants may ask for",
        }
    }

    /// Whether it is there unless somebody says otherwise.
    pub const fn is_usual(self) -> bool {
        !matches!(self, Self::Monitoring | Self::ClusterAdmin | Self::TenantLimits)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A word that names no part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no part {0:?}; there are {all}", all = Part::ALL.map(Part::name).join(", "))]
pub struct UnknownPart(String);

impl FromStr for Part {
    type Err = UnknownPart;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|part| part.name() == text)
            .ok_or_else(|| UnknownPart(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_by_its_name_and_nothing_else_is_one() {
        for part in Part::ALL {
            assert_eq!(part.name().parse(), Ok(part));
        }
        let error = "Classic".parse::<Part>().expect_err("no part").to_string();
        assert!(
            error.starts_with("there is no part \"Classic\"; there are namespaces, definitions"),
            "{error}"
        );
    }
}
