//! The node ports of Services.

use std::collections::HashMap;

use schema::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::{Allocation, Holder, random_below};
use crate::object::map_of;
use crate::status::Status;

/// The first port that Services get on nodes.
const FIRST: u16 = 30_000;

/// The last one.
const LAST: u16 = 32_767;

/// How many ports at the range's beginning are left to those who ask for one of them, as long as others are free.
const LEFT_FOR_THE_ASKING: u16 = 86;

/// What a dry run shows in place of a port: the first one after the range and a gap, as the real server does.
const DRY_RUN_PORT: u16 = 32_769;

fn has_type(service: &Value, types: &[&str]) -> bool {
    types.contains(&service["spec"]["type"].as_str().unwrap_or_default())
}

fn wants_ports(service: &Value) -> bool {
    has_type(service, &["NodePort", "LoadBalancer"])
}

/// Returns whether a Service gets ports it doesn't name.
fn gets_ports(service: &Value) -> bool {
    has_type(service, &["NodePort"])
        || (has_type(service, &["LoadBalancer"])
            && service["spec"]["allocateLoadBalancerNodePorts"].as_bool() != Some(false))
}

/// Returns whether load balancers ask each node for its health.
fn wants_health_check(service: &Value) -> bool {
    has_type(service, &["LoadBalancer"]) && service["spec"]["externalTrafficPolicy"] == "Local"
}

fn number(value: &Value) -> u16 {
    value
        .as_u64()
        .and_then(|port| u16::try_from(port).ok())
        .unwrap_or(0)
}

fn ports(service: &Value) -> &[Value] {
    service["spec"]["ports"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn node_ports(service: &Value) -> Vec<u16> {
    let numbers = ports(service).iter().map(|port| number(&port["nodePort"]));
    numbers.filter(|&port| port != 0).collect()
}

/// Returns the node ports that a Service has.
pub(super) fn of(service: &Value) -> Vec<u16> {
    if !wants_ports(service) {
        return Vec::new();
    }
    let mut all = node_ports(service);
    if wants_health_check(service) {
        all.extend(Some(number(&service["spec"]["healthCheckNodePort"])).filter(|&port| port != 0));
    }
    all
}

/// Returns whether a Service has this node port.
pub(super) fn has(service: &Value, port: u16) -> bool {
    of(service).contains(&port)
}

/// Takes over the old node ports where an update names none, so that clients that don't know them don't lose them.
pub(super) fn keep(new: &mut Value, old: &Value) {
    if wants_ports(old) && wants_ports(new) {
        let after = node_ports(new);
        let still_used: Vec<u16> = node_ports(old)
            .into_iter()
            .filter(|port| after.contains(port))
            .collect();
        let before: HashMap<&str, u16> = ports(old)
            .iter()
            .map(|port| {
                (
                    port["name"].as_str().unwrap_or_default(),
                    number(&port["nodePort"]),
                )
            })
            .collect();
        if let Some(ports) = new["spec"]["ports"].as_array_mut() {
            for port in ports.iter_mut().filter(|port| number(&port["nodePort"]) == 0) {
                let kept = before.get(port["name"].as_str().unwrap_or_default());
                if let Some(&kept) = kept.filter(|kept| **kept != 0 && !still_used.contains(*kept)) {
                    map_of(port).insert("nodePort".into(), kept.into());
                }
            }
        }
    }
    if wants_health_check(old)
        && wants_health_check(new)
        && number(&new["spec"]["healthCheckNodePort"]) == 0
        && number(&old["spec"]["healthCheckNodePort"]) != 0
    {
        let kept = old["spec"]["healthCheckNodePort"].clone();
        map_of(&mut new["spec"]).insert("healthCheckNodePort".into(), kept);
    }
}

impl Allocation<'_> {
    /// Gives a Service the node ports it asks for, or any.
    pub(super) fn give_ports(&mut self, new: &mut Value, old: Option<&Value>) -> Result<(), Status> {
        let held = old.map(of).unwrap_or_default();
        if wants_ports(new) {
            let held = old.map(node_ports).unwrap_or_default();
            match old {
                None => self.give_new_ports(new)?,
                Some(_) => self.give_more_ports(new, &held)?,
            }
        }
        let needed = old.is_some_and(wants_health_check);
        if wants_health_check(new) && !needed {
            let asked = number(&new["spec"]["healthCheckNodePort"]);
            let port = match asked {
                0 => self.any_port().map_err(|why| {
                    Status::internal(format_args!("failed to allocate a HealthCheck NodePort 0: {why}"))
                })?,
                asked if held.contains(&asked) => asked,
                asked => {
                    self.take_port(asked).map_err(|why| {
                        Status::internal(format_args!(
                            "failed to allocate requested HealthCheck NodePort {asked}: {why}"
                        ))
                    })?;
                    asked
                }
            };
            map_of(&mut new["spec"]).insert("healthCheckNodePort".into(), port.into());
        }
        Ok(())
    }

    /// Gives a new Service its ports: those that share a port, as TCP and UDP may, share the node port.
    fn give_new_ports(&mut self, new: &mut Value) -> Result<(), Status> {
        let gets = gets_ports(new);
        let asked: Vec<(i64, u16)> = ports(new)
            .iter()
            .map(|port| {
                (
                    port["port"].as_i64().unwrap_or_default(),
                    number(&port["nodePort"]),
                )
            })
            .collect();
        let mut given: HashMap<i64, u16> = HashMap::new();
        for (index, &(port, node_port)) in asked.iter().enumerate() {
            if node_port == 0 && !gets {
                continue;
            }
            let shared = given.get(&port).copied();
            let chosen = match shared {
                None => {
                    let requested = asked
                        .iter()
                        .find(|(other, node_port)| *other == port && *node_port != 0);
                    let chosen = match requested {
                        Some(&(_, requested)) => self.take_port_of(new, index, requested)?,
                        None => self.any_port().map_err(no_port)?,
                    };
                    given.insert(port, chosen);
                    chosen
                }
                Some(shared) if node_port == 0 || node_port == shared => shared,
                Some(_) => self.take_port_of(new, index, node_port)?,
            };
            map_of(&mut new["spec"]["ports"][index]).insert("nodePort".into(), chosen.into());
        }
        Ok(())
    }

    fn give_more_ports(&mut self, new: &mut Value, held: &[u16]) -> Result<(), Status> {
        let gets = gets_ports(new);
        let mut taken: Vec<u16> = Vec::new();
        for index in 0..ports(new).len() {
            let asked = number(&ports(new)[index]["nodePort"]);
            if asked == 0 && !gets {
                continue;
            }
            if asked == 0 {
                let port = self.any_port().map_err(no_port)?;
                map_of(&mut new["spec"]["ports"][index]).insert("nodePort".into(), port.into());
            } else if !held.contains(&asked) && !taken.contains(&asked) {
                self.take_port_of(new, index, asked)?;
                taken.push(asked);
            }
        }
        Ok(())
    }

    fn take_port_of(&mut self, service: &Value, index: usize, port: u16) -> Result<u16, Status> {
        self.take_port(port).map_err(|why| {
            let field = FieldPath::new("spec")
                .child("ports")
                .index(index)
                .child("nodePort");
            let name = service["metadata"]["name"].as_str().unwrap_or_default();
            let error = FieldError::invalid(field, &json!(port), why);
            Status::invalid("", "Service", name, &[error])
        })?;
        Ok(port)
    }

    fn take_port(&mut self, port: u16) -> Result<(), String> {
        // A dry run checks nothing, as on the real server.
        if self.dry_run {
            self.claim.ports.push(port);
            return Ok(());
        }
        if !(FIRST..=LAST).contains(&port) {
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {FIRST}-{LAST}"
            ));
        }
        if !self.pools.ports.is_free(self.store, port) {
            return Err("provided port is already allocated".to_owned());
        }
        self.note_port(port);
        Ok(())
    }

    fn any_port(&mut self) -> Result<u16, &'static str> {
        if self.dry_run {
            let port = self
                .claim
                .ports
                .iter()
                .max()
                .map_or(DRY_RUN_PORT, |last| last.saturating_add(1));
            self.claim.ports.push(port);
            return Ok(port);
        }
        let first = FIRST + LEFT_FOR_THE_ASKING;
        let dynamic = LAST - first + 1;
        let start = u16::try_from(random_below(u32::from(dynamic))).unwrap_or(0);
        let free = (0..dynamic)
            .map(|step| first + (start + step) % dynamic)
            .chain(FIRST..first)
            .find(|port| self.pools.ports.is_free(self.store, *port));
        let port = free.ok_or("range is full")?;
        self.note_port(port);
        Ok(port)
    }

    fn note_port(&mut self, port: u16) {
        self.pools.ports.taken.insert(port, Holder::Write);
        self.claim.ports.push(port);
    }
}

fn no_port(why: &str) -> Status {
    Status::internal(format_args!("failed to allocate a nodePort: {why}"))
}
