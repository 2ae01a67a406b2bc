//! The addresses that things listen on, and that a free port stays the same from one start to the next.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use stage::access::keys::write_private;
use tokio::net::TcpListener;

use crate::failure::Failure;
use crate::listening;

const FILE: &str = "addresses.json";

/// Where each thing listens.
#[derive(Args)]
#[command(next_help_heading = "Addresses")]
pub(crate) struct AddressFlags {
    /// Where the Kubernetes API listens; port 0 is any that is free, and stays the same from start to start
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    pub(crate) api: SocketAddr,
    /// Where the registry listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5000")]
    pub(crate) registry: SocketAddr,
    /// Where catalogs and metrics are served
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5001")]
    pub(crate) catalogs: SocketAddr,
    /// Where the console is served
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5002")]
    pub(crate) console: SocketAddr,
    /// Let other machines reach what is served: listen on addresses that aren't loopback
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// A name or address that clients use for this machine, for the certificate of the API; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) tls_san: Vec<String>,
}

impl AddressFlags {
    /// Refuses addresses that other machines can reach, unless that is wanted.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        [self.api, self.registry, self.catalogs, self.console]
            .into_iter()
            .try_for_each(|address| listening::check(address, self.allow_remote))
    }
}

/// The addresses of the last start. Images are named by that of the registry, and copies of the kubeconfig lead to that of
/// the API: a port that was any free one has to be the same again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Remembered {
    pub(crate) api: Option<SocketAddr>,
    pub(crate) registry: Option<SocketAddr>,
    pub(crate) catalogs: Option<SocketAddr>,
    pub(crate) console: Option<SocketAddr>,
}

impl Remembered {
    /// Reads what the last start wrote; what can't be read is as good as nothing.
    pub(crate) fn read(folder: &Path) -> Self {
        fs::read(file(folder))
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(self)?;
        write_private(&file(folder), &text).map_err(|error| Failure::new(error.to_string()))
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

/// The address to try first: that of the last start, where any port of the same host is asked for.
pub(crate) fn first_choice(asked: SocketAddr, last: Option<SocketAddr>) -> Option<SocketAddr> {
    last.filter(|last| asked.port() == 0 && last.ip() == asked.ip())
}

/// Listens where the last start did, if that will do, or else where `flag` says.
pub(crate) async fn bind(
    asked: SocketAddr,
    last: Option<SocketAddr>,
    flag: &str,
) -> Result<TcpListener, Failure> {
    if let Some(last) = first_choice(asked, last)
        && let Ok(listener) = listening::bind(last, flag).await
    {
        return Ok(listener);
    }
    listening::bind(asked, flag).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_port_is_the_one_of_the_last_start() {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        for (asked, last, expected) in [
            ("127.0.0.1:0", Some("127.0.0.1:4711"), Some("127.0.0.1:4711")),
            ("127.0.0.1:0", Some("127.0.0.2:4711"), None),
            ("127.0.0.1:5000", Some("127.0.0.1:4711"), None),
            ("127.0.0.1:0", None, None),
        ] {
            let chosen = first_choice(address(asked), last.map(address));
            assert_eq!(chosen, expected.map(address), "{asked} {last:?}");
        }
    }
}
