//! The kubeconfig of the administrator.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::access::Access;

/// The name of the cluster, the user and the context.
const NAME: &str = "baton";

/// Returns a kubeconfig that leads the administrator to an address.
pub(super) fn of(url: &str, access: &Access) -> String {
    let keys = &access.keys;
    let authority = STANDARD.encode(keys.authority.certificate_pem());
    let certificate = STANDARD.encode(keys.administrator.certificate_pem());
    let key = STANDARD.encode(keys.administrator.key_pem());
    format!(
        "apiVersion: v1\n\
         clusters:\n\
         - cluster:\n    \
             certificate-authority-data: {authority}\n    \
             server: {url}\n  \
           name: {NAME}\n\
         contexts:\n\
         - context:\n    \
             cluster: {NAME}\n    \
             user: {NAME}\n  \
           name: {NAME}\n\
         current-context: {NAME}\n\
         kind: Config\n\
         preferences: {{}}\n\
         users:\n\
         - name: {NAME}\n  \
           user:\n    \
             client-certificate-data: {certificate}\n    \
             client-key-data: {key}\n"
    )
}
