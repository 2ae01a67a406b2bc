//! The keys and certificates of a real cluster.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// What was written, as far as the cluster's starter needs it again.
pub(super) struct Certificates {
    pub(super) authority: String,
    pub(super) authority_file: PathBuf,
}

/// Writes an authority, the API server's certificate and the key that signs ServiceAccount tokens.
pub(super) fn write(folder: &Path, address: IpAddr) -> Result<Certificates, super::StartError> {
    let authority_key = KeyPair::generate()?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority
        .distinguished_name
        .push(DnType::CommonName, "contract-authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority_certificate = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);

    let server_key = KeyPair::generate()?;
    let mut server = CertificateParams::new(vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        address.to_string(),
        "10.96.0.1".to_owned(),
        "kubernetes".to_owned(),
        "kubernetes.default".to_owned(),
        "kubernetes.default.svc".to_owned(),
    ])?;
    server
        .distinguished_name
        .push(DnType::CommonName, "kube-apiserver");
    let server = server.signed_by(&server_key, &issuer)?.pem();

    let accounts = KeyPair::generate()?;
    let authority_file = folder.join("authority.crt");
    std::fs::write(&authority_file, &authority_certificate)?;
    std::fs::write(folder.join("apiserver.crt"), server)?;
    std::fs::write(folder.join("apiserver.key"), server_key.serialize_pem())?;
    std::fs::write(folder.join("accounts.key"), accounts.serialize_pem())?;
    std::fs::write(folder.join("accounts.pub"), accounts.public_key_pem())?;
    Ok(Certificates {
        authority: authority_certificate,
        authority_file,
    })
}
