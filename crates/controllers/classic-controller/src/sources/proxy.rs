//! The way to a catalog's server through a proxy, where the environment names one: `GRPC_PROXY`, unless `NO_PROXY` excepts it.

use std::net::IpAddr;

use http::Uri;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tower::Service;

/// The port of a proxy that names none.
const HTTP_PORT: u16 = 80;

/// The port of a SOCKS proxy that names none.
const SOCKS_PORT: u16 = 1080;

/// The proxies that servers are reached through.
#[derive(Debug)]
pub struct Proxies(Matcher);

/// A proxy that leads to a server.
#[derive(Debug, Clone)]
pub struct Proxy(Intercept);

impl Proxies {
    /// What the environment says, in capitals or not.
    pub fn of_environment() -> Self {
        let read = |names: [&str; 2]| {
            let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
            values.find(|value| !value.is_empty()).unwrap_or_default()
        };
        Self::new(
            &read(["GRPC_PROXY", "grpc_proxy"]),
            &read(["NO_PROXY", "no_proxy"]),
        )
    }

    /// One proxy for all servers but those of a list.
    fn new(proxy: &str, except: &str) -> Self {
        Self(Matcher::builder().all(proxy).no(except).build())
    }

    /// Returns the proxy to `host:port`; none leads to this machine.
    pub fn to(&self, address: &str) -> Option<Proxy> {
        let server = uri(address)?;
        let host = server.host()?;
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        if host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback()) {
            return None;
        }
        self.0.intercept(&server).map(Proxy)
    }
}

impl Proxy {
    fn is_socks(&self) -> bool {
        let scheme = self.0.uri().scheme_str();
        scheme.is_some_and(|scheme| scheme.starts_with("socks"))
    }

    /// Where the proxy itself listens.
    pub fn address(&self) -> String {
        let uri = self.0.uri();
        let port = if self.is_socks() { SOCKS_PORT } else { HTTP_PORT };
        format!(
            "{}:{}",
            uri.host().unwrap_or_default(),
            uri.port_u16().unwrap_or(port)
        )
    }

    /// Leads through the proxy to `host:port`; `connect` is what connects to the proxy itself.
    ///
    /// # Errors
    ///
    /// If the proxy can't be reached or doesn't lead there.
    pub async fn lead<C>(&self, connect: C, address: &str) -> Result<C::Response, std::io::Error>
    where
        C: Service<Uri, Error = std::io::Error> + Clone + Send + 'static,
        C::Future: Send + 'static,
        C::Response: Read + Write + Unpin + Send + 'static,
    {
        let server = uri(address).ok_or_else(|| std::io::Error::other("invalid address"))?;
        let proxy = self.0.uri().clone();
        let refused = |cause: String| {
            std::io::Error::other(format!("proxy {} doesn't lead there: {cause}", self.address()))
        };
        if self.is_socks() {
            let mut socks = SocksV5::new(proxy, connect);
            if let Some((user, password)) = self.0.raw_auth() {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            return socks
                .call(server)
                .await
                .map_err(|fault| refused(fault.to_string()));
        }
        let mut tunnel = Tunnel::new(proxy, connect);
        if let Some(authorization) = self.0.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        tunnel
            .call(server)
            .await
            .map_err(|fault| refused(fault.to_string()))
    }
}

fn uri(address: &str) -> Option<Uri> {
    format!("http://{address}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_leads_everywhere_but_to_this_machine_and_where_it_is_not_wanted() {
        let proxies = Proxies::new("http://proxy.example:3128", "cluster.local,10.0.0.0/8,.internal");
        for (address, proxy) in [
            ("catalog.example:50051", Some("proxy.example:3128")),
            ("models.olm.svc:50051", Some("proxy.example:3128")),
            ("models.olm.svc.cluster.local:50051", None),
            ("10.1.2.3:50051", None),
            ("a.internal:50051", None),
            ("localhost:50051", None),
            ("127.0.0.1:50051", None),
            ("[::1]:50051", None),
            ("no address", None),
        ] {
            let found = proxies.to(address).map(|proxy| proxy.address());
            assert_eq!(found.as_deref(), proxy, "{address}");
        }
        assert!(Proxies::new("", "").to("catalog.example:50051").is_none());
    }

    #[test]
    fn a_proxy_without_a_port_listens_at_the_usual_one() {
        for (proxy, address) in [
            ("http://proxy.example", "proxy.example:80"),
            ("socks5://proxy.example", "proxy.example:1080"),
            ("proxy.example:8080", "proxy.example:8080"),
        ] {
            let found = Proxies::new(proxy, "").to("catalog.example:50051");
            assert_eq!(found.map(|proxy| proxy.address()).as_deref(), Some(address));
        }
    }
}
