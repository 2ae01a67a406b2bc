//! Machines that can be cut off: network namespaces, joined by a bridge of this machine.
//!
//! ```text
//! bridge (10.213.N.1: API server, registry) ─┬─ veth ─ namespace 1 (10.213.N.2)
//!                                            ├─ veth ─ namespace 2 (10.213.N.3)
//!                                            └─ …
//! ```

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// What all names begin with.
const PREFIX: &str = "baton";

/// How many networks of this process there were.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A network of machines that ends with this value.
pub(crate) struct Network {
    /// Tells this one from those of other processes.
    mark: String,
    third: u8,
    machines: usize,
}

/// Runs `ip` with words.
fn ip(words: &str) -> Result<String, String> {
    let done = Command::new("ip").args(words.split_whitespace()).output();
    let done = done.map_err(|error| format!("ip {words}: {error}"))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        Err(format!("ip {words}: {}", String::from_utf8_lossy(&done.stderr)))
    }
}

impl Network {
    /// Makes a bridge and so many machines that are joined to it.
    pub(crate) fn make(machines: usize) -> Result<Self, String> {
        remove_what_was_left();
        let process = std::process::id();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut third = 0;
        for attempt in 0..200 {
            third = u8::try_from((process * 7 + count + attempt * 31) % 250).unwrap_or(0);
            if ip(&format!("route show 10.213.{third}.0/24"))?.is_empty() {
                break;
            }
        }
        let network = Self {
            mark: format!("{process}x{count}"),
            third,
            machines,
        };
        let bridge = network.bridge();
        ip(&format!("link add {bridge} type bridge"))?;
        ip(&format!("addr add {}/24 dev {bridge}", network.address()))?;
        ip(&format!("link set {bridge} up"))?;
        for machine in 0..machines {
            let (namespace, cable) = (network.namespace(machine), network.cable(machine));
            ip(&format!("netns add {namespace}"))?;
            ip(&format!(
                "link add {cable} type veth peer name eth0 netns {namespace}"
            ))?;
            ip(&format!("link set {cable} master {bridge}"))?;
            ip(&format!("link set {cable} up"))?;
            let address = format!("10.213.{third}.{}/24", machine + 2);
            ip(&format!("-n {namespace} addr add {address} dev eth0"))?;
            ip(&format!("-n {namespace} link set eth0 up"))?;
            ip(&format!("-n {namespace} link set lo up"))?;
        }
        Ok(network)
    }

    fn bridge(&self) -> String {
        format!("br{}", self.mark)
    }

    fn cable(&self, machine: usize) -> String {
        format!("v{machine}{}", self.mark)
    }

    /// The address under which all machines reach this one.
    pub(crate) fn address(&self) -> IpAddr {
        Ipv4Addr::new(10, 213, self.third, 1).into()
    }

    /// The name of a machine's network.
    pub(crate) fn namespace(&self, machine: usize) -> String {
        format!("{PREFIX}-{}-{machine}", self.mark)
    }

    /// Cuts a machine off: nothing arrives any more, and nobody is told.
    pub(crate) fn cut(&self, machine: usize) -> Result<(), String> {
        ip(&format!("link set {} down", self.cable(machine))).map(drop)
    }

    /// Joins it again.
    pub(crate) fn heal(&self, machine: usize) -> Result<(), String> {
        ip(&format!("link set {} up", self.cable(machine))).map(drop)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for machine in 0..self.machines {
            // The cable goes now and not when the last process in there has ended.
            let _ = ip(&format!("link del {}", self.cable(machine)));
            let _ = ip(&format!("netns del {}", self.namespace(machine)));
        }
        let _ = ip(&format!("link del {}", self.bridge()));
    }
}

/// Removes the networks of processes that were killed.
fn remove_what_was_left() {
    for line in ip("netns list").unwrap_or_default().lines() {
        let Some(name) = line.split_whitespace().next() else {
            continue;
        };
        let mark = name
            .strip_prefix(&format!("{PREFIX}-"))
            .and_then(|rest| rest.split_once('-'));
        let Some((mark, machine)) = mark else { continue };
        let process = mark.split('x').next().unwrap_or_default();
        if process.parse::<u32>().is_ok() && !std::path::Path::new(&format!("/proc/{process}")).exists() {
            let _ = ip(&format!("link del v{machine}{mark}"));
            let _ = ip(&format!("netns del {name}"));
            let _ = ip(&format!("link del br{mark}"));
        }
    }
}
