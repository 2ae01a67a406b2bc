//! Private keys and certificates as Go's crypto packages read and write them.
//!
//! ```text
//! generate ─► PrivateKey ─► pem text          certificate: Template + issuer ─► DER ─► pem text
//!      pem text ─► PrivateKey                  certificate text ─► Issuer (subject, key identifier)
//!                 └─ der: the encoding underneath all of them
//! ```

pub(crate) mod certificate;
pub(crate) mod der;
pub(crate) mod generate;
mod identifiers;
mod montgomery;
pub(crate) mod pem;
mod private_key;

pub(crate) use private_key::PrivateKey;
