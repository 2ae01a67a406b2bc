//! Addresses to listen on: nothing is served to other machines unless somebody says so.

use std::io;
use std::net::SocketAddr;

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
