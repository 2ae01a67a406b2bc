//! Addresses to listen on: nothing is served to other machines unless somebody says so.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

use crate::failure::Failure;

/// Refuses an address that other machines can reach, unless that is wanted.
pub(crate) fn check(address: SocketAddr, allow_remote: bool) -> Result<(), Failure> {
    if allow_remote || address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    Err(remote(address))
}

/// What is said of an address that other machines can reach.
pub(crate) fn remote(address: SocketAddr) -> Failure {
    Failure::new(format!(
        "cannot listen on {address}: other machines could reach it; listen on a loopback address such as 127.0.0.1, or say \
         --allow-remote"
    ))
}

/// What is said of an address where something else listens; `flag` is what gives another one.
pub(crate) fn taken(address: SocketAddr, flag: &str) -> Failure {
    Failure::new(format!(
        "cannot listen on {address}: the port is in use; give another address with {flag}, or port 0 for any that is free"
    ))
}

/// Listens on an address that `flag` gave.
pub(crate) async fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => taken(address, flag),
            _ => Failure::new(format!(
                "cannot listen on {address}: {error}; give another address with {flag}"
            )),
        })
}

/// Whether `localhost` leads to an address.
pub(crate) fn is_localhost(address: SocketAddr) -> bool {
    let ip = address.ip();
    ip == IpAddr::V4(Ipv4Addr::LOCALHOST) || ip == IpAddr::V6(Ipv6Addr::LOCALHOST) || ip.is_unspecified()
}

/// Listens where `localhost` leads to besides `127.0.0.1` or `[::1]`, of which `address` is one: whoever else listened there would be
/// told what is meant for us, passwords too. There is nothing to hold where the machine lacks that address.
pub(crate) fn bind_twin(address: SocketAddr, flag: &str) -> Result<Option<TcpListener>, Failure> {
    let twin = match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST | Ipv4Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V4(_) | IpAddr::V6(_) => return Ok(None),
    };
    let twin = SocketAddr::new(twin, address.port());
    match std::net::TcpListener::bind(twin) {
        Ok(listener) => {
            listener.set_nonblocking(true)?;
            Ok(Some(TcpListener::from_std(listener)?))
        }
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(Failure::new(format!(
            "cannot listen on {twin}: the port is in use, and who listens there would be sent what is meant for localhost:{}, the \
             password of the registry too; end that program, or give another address with {flag}",
            address.port()
        ))),
        Err(_) => Ok(None),
    }
}
