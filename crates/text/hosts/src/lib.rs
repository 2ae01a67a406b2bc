//! The names by which a server is reached: the check of `Host` and `Origin` that keeps pages of the web out.
//!
//! What listens on this machine alone can still be reached by every page that a browser on it shows. Two headers tell:
//!
//! - `Host` is the name that the client thinks it talks to. A stranger can have a name of his own lead to 127.0.0.1 (DNS
//!   rebinding), and then his page reads the answers; but the name that is sent is still his.
//! - `Origin` is the page that a browser sends a request for. Programs send none, or that of the server.
//!
//! Every server of `baton up` asks [`Hosts::admit`] before it looks at a request.

use std::collections::BTreeSet;
use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, StatusCode, Uri};

/// How much of a name that was sent is shown in the refusal.
const LONGEST_SHOWN: usize = 255;

/// The names of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    names: BTreeSet<String>,
    /// Whether any address will do: one that is written as a number is no name that could be made to lead here.
    any_address: bool,
    /// Whether pages of other servers on the same machine may ask.
    any_port: bool,
}

/// Why a request isn't for this server, or not from somebody who may ask it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The request names no server, or more than one.
    #[error("the request must name one server, in one Host header: send the name that this server was given")]
    NoHost,
    /// The name is none of this server's.
    #[error(
        "this server isn't {0:?}: ask it as 127.0.0.1 or localhost, or have it started with the flag that gives it this name"
    )]
    Host(String),
    /// A page of another server wants something.
    #[error(
        "requests for the page {origin:?} are refused: only pages of {host:?} itself may ask this server"
    )]
    Origin {
        /// The page's server.
        origin: String,
        /// The name of this one.
        host: String,
    },
}

impl Refused {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::NoHost => StatusCode::BAD_REQUEST,
            Self::Host(_) => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin { .. } => StatusCode::FORBIDDEN,
        }
    }

    /// One word for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoHost => "NoHost",
            Self::Host(_) => "UnknownHost",
            Self::Origin { .. } => "ForeignOrigin",
        }
    }
}

impl Hosts {
    /// The names that a machine has for itself: `localhost`, and every loopback address.
    pub fn loopback() -> Self {
        Self {
            names: BTreeSet::from(["localhost".to_owned()]),
            any_address: false,
            any_port: false,
        }
    }

    /// The names of a server at an address: those of the machine for itself, and, where others can reach it, every address.
    pub fn of(listens_on: IpAddr) -> Self {
        Self {
            any_address: !is_loopback(listens_on),
            ..Self::loopback()
        }
    }

    /// Another name or address, without a port.
    #[must_use]
    pub fn with(mut self, name: &str) -> Self {
        self.names.insert(plain(name));
        self
    }

    /// Other names or addresses, without ports.
    #[must_use]
    pub fn with_all<S: AsRef<str>>(self, names: impl IntoIterator<Item = S>) -> Self {
        names
            .into_iter()
            .fold(self, |hosts, name| hosts.with(name.as_ref()))
    }

    /// Lets pages of these names ask from any port: for a server that asks everyone who he is, and that pages reach through a
    /// proxy, such as `kubectl proxy`, which passes on where the page is from.
    #[must_use]
    pub fn with_pages_of_any_port(self) -> Self {
        Self {
            any_port: true,
            ..self
        }
    }

    /// Returns whether a name without a port is one of this server.
    pub fn include(&self, name: &str) -> bool {
        let name = plain(name);
        self.names.contains(&name)
            || name
                .parse::<IpAddr>()
                .is_ok_and(|address| self.any_address || is_loopback(address))
    }

    /// Fails unless a request is for this server, and from a program or a page of this server itself.
    pub fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let mut sent = headers.get_all(HOST).iter();
        let header = match (sent.next(), sent.next()) {
            (None, _) => None,
            (Some(value), None) => Some(authority(value.as_bytes()).ok_or(Refused::NoHost)?),
            (Some(_), Some(_)) => return Err(Refused::NoHost),
        };
        // HTTP/2 and requests to proxies name the server in the address; where both do, both count.
        let named = [uri.authority().cloned(), header];
        let mut asked = None;
        for authority in named.into_iter().flatten() {
            if !self.include(authority.host()) {
                return Err(Refused::Host(shown(authority.as_str())));
            }
            asked = Some(authority);
        }
        let Some(asked) = asked else {
            return Err(Refused::NoHost);
        };
        for origin in headers.get_all(ORIGIN) {
            if !self.is_of(origin.as_bytes(), &asked) {
                return Err(Refused::Origin {
                    origin: shown(&String::from_utf8_lossy(origin.as_bytes())),
                    host: shown(asked.as_str()),
                });
            }
        }
        Ok(())
    }

    /// Returns whether a page is of the server that was asked: the same name with the same port.
    fn is_of(&self, origin: &[u8], asked: &Authority) -> bool {
        let Some((scheme, rest)) = std::str::from_utf8(origin)
            .ok()
            .and_then(|text| text.split_once("://"))
        else {
            return false;
        };
        let usual = match scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => 80,
            "https" | "wss" => 443,
            _ => return false,
        };
        authority(rest.as_bytes()).is_some_and(|page| {
            if self.any_port {
                return self.include(page.host());
            }
            plain(page.host()) == plain(asked.host())
                && page.port_u16().unwrap_or(usual) == asked.port_u16().unwrap_or(usual)
        })
    }
}

fn authority(bytes: &[u8]) -> Option<Authority> {
    let authority = Authority::try_from(bytes).ok()?;
    // A name before `@` is nothing that clients send.
    (!authority.host().is_empty() && !authority.as_str().contains('@')).then_some(authority)
}

/// A name as it is compared: addresses without brackets, names in lower case and without the dot of the root.
fn plain(name: &str) -> String {
    let name = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(name);
    let name = name.strip_suffix('.').unwrap_or(name);
    name.to_ascii_lowercase()
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn shown(text: &str) -> String {
    text.chars().take(LONGEST_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn ask(hosts: &Hosts, uri: &str, headers: &[(&http::HeaderName, &str)]) -> Result<(), &'static str> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        let uri: Uri = uri.parse().expect("an address");
        hosts.admit(&uri, &map).map_err(|refused| refused.reason())
    }

    #[test]
    fn a_server_of_this_machine_is_asked_by_its_names_alone() {
        let hosts = Hosts::loopback().with("Baton.example.com");
        for (host, expected) in [
            ("localhost", Ok(())),
            ("localhost:5000", Ok(())),
            ("LOCALHOST.:5000", Ok(())),
            ("127.0.0.1:5000", Ok(())),
            ("127.8.9.10", Ok(())),
            ("[::1]:5000", Ok(())),
            ("[::ffff:127.0.0.1]:5000", Ok(())),
            ("baton.example.com:1", Ok(())),
            ("evil.example.com", Err("UnknownHost")),
            ("evil.example.com:5000", Err("UnknownHost")),
            ("localhost.evil.example.com", Err("UnknownHost")),
            ("127.0.0.1.evil.example.com", Err("UnknownHost")),
            ("evil.localhost", Err("UnknownHost")),
            ("192.0.2.1", Err("UnknownHost")),
            ("[2001:db8::1]:5000", Err("UnknownHost")),
            ("0.0.0.0:5000", Err("UnknownHost")),
            ("2130706433", Err("UnknownHost")),
            ("localhost@evil.example.com", Err("NoHost")),
            ("localhost:5000/path", Err("NoHost")),
            ("", Err("NoHost")),
        ] {
            assert_eq!(ask(&hosts, "/", &[(&HOST, host)]), expected, "{host:?}");
        }
        assert_eq!(ask(&hosts, "/", &[]), Err("NoHost"));
        let two = [(&HOST, "localhost"), (&HOST, "localhost")];
        assert_eq!(ask(&hosts, "/", &two), Err("NoHost"));
    }

    #[test]
    fn the_address_of_a_request_counts_as_well_as_its_header() {
        let hosts = Hosts::loopback();
        for (uri, host, expected) in [
            ("https://127.0.0.1:6443/api", None, Ok(())),
            ("https://evil.example.com/api", None, Err("UnknownHost")),
            ("http://localhost/", Some("evil.example.com"), Err("UnknownHost")),
            ("http://evil.example.com/", Some("localhost"), Err("UnknownHost")),
        ] {
            let headers: Vec<_> = host.map(|host| (&HOST, host)).into_iter().collect();
            assert_eq!(ask(&hosts, uri, &headers), expected, "{uri} {host:?}");
        }
    }

    #[test]
    fn pages_of_others_are_refused() {
        let hosts = Hosts::loopback();
        for (host, origin, expected) in [
            ("localhost:5000", "http://localhost:5000", Ok(())),
            ("localhost:5000", "HTTP://LOCALHOST:5000", Ok(())),
            ("localhost", "http://localhost:80", Ok(())),
            ("localhost:443", "https://localhost", Ok(())),
            ("localhost:5000", "http://localhost:5001", Err("ForeignOrigin")),
            ("localhost:5000", "http://127.0.0.1:5000", Err("ForeignOrigin")),
            ("localhost:5000", "http://localhost", Err("ForeignOrigin")),
            ("localhost:5000", "https://evil.example.com", Err("ForeignOrigin")),
            ("localhost:5000", "null", Err("ForeignOrigin")),
            ("localhost:5000", "", Err("ForeignOrigin")),
            ("localhost:5000", "file://localhost:5000", Err("ForeignOrigin")),
            ("localhost:5000", "http://x@localhost:5000", Err("ForeignOrigin")),
        ] {
            let headers = [(&HOST, host), (&ORIGIN, origin)];
            assert_eq!(ask(&hosts, "/", &headers), expected, "{host} {origin:?}");
        }
        let both = [
            (&HOST, "localhost"),
            (&ORIGIN, "http://localhost"),
            (&ORIGIN, "http://evil.example.com"),
        ];
        assert_eq!(ask(&hosts, "/", &both), Err("ForeignOrigin"));
    }

    #[test]
    fn pages_behind_a_proxy_are_of_the_same_machine() {
        let hosts = Hosts::loopback().with_pages_of_any_port();
        for (origin, expected) in [
            ("http://localhost:8001", Ok(())),
            ("http://127.0.0.1:8001", Ok(())),
            ("https://evil.example.com", Err("ForeignOrigin")),
            ("null", Err("ForeignOrigin")),
        ] {
            let headers = [(&HOST, "127.0.0.1:6443"), (&ORIGIN, origin)];
            assert_eq!(ask(&hosts, "/", &headers), expected, "{origin}");
        }
    }

    #[test]
    fn a_server_that_others_reach_is_asked_by_any_address_but_by_no_other_name() {
        let hosts = Hosts::of("0.0.0.0".parse().expect("an address")).with_all(["baton.example.com"]);
        for (host, expected) in [
            ("192.0.2.1:5000", Ok(())),
            ("[2001:db8::1]", Ok(())),
            ("localhost", Ok(())),
            ("baton.example.com", Ok(())),
            ("evil.example.com", Err("UnknownHost")),
        ] {
            assert_eq!(ask(&hosts, "/", &[(&HOST, host)]), expected, "{host}");
        }
        assert_eq!(
            Hosts::of("127.0.0.1".parse().expect("an address")),
            Hosts::loopback()
        );
    }

    proptest! {
        #[test]
        fn no_name_of_others_gets_in(host in "[a-z0-9.:@\\[\\]/-]{0,40}", origin in "[a-z0-9.:@\\[\\]/-]{0,40}") {
            let headers = [(&HOST, host.as_str()), (&ORIGIN, origin.as_str())];
            if ask(&Hosts::loopback(), "/", &headers).is_ok() {
                let name = plain(Authority::try_from(host.as_str()).expect("a name").host());
                prop_assert!(name == "localhost" || name.parse::<IpAddr>().is_ok_and(is_loopback));
                prop_assert!(origin.contains(&name));
            }
        }
    }
}
