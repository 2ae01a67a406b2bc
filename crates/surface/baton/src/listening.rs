//! Addresses to listen on: nothing is served to other machines unless somebody says so.

use std::net::SocketAddr;

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
