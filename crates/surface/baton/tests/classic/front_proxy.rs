//! The certificate that kube-apiserver shows to servers of aggregated APIs, by which they know that it is the one who asks.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// The name that the certificate is for.
const NAME: &str = "front-proxy-client";

/// The arguments of kube-apiserver that name its certificate, and the headers that say for whom it asks.
pub(crate) fn arguments() -> Result<Vec<String>, String> {
    let folder = files()?;
    let file = |name: &str| folder.join(name).display().to_string();
    Ok(vec![
        format!("--requestheader-client-ca-file={}", file("authority.crt")),
        format!("--requestheader-allowed-names={NAME}"),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
        format!("--proxy-client-cert-file={}", file("client.crt")),
        format!("--proxy-client-key-file={}", file("client.key")),
    ])
}

/// The folder with the files; they are made once and serve all tests after that.
fn files() -> Result<PathBuf, String> {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = parent.join("front-proxy");
    if !folder.is_dir() {
        let failed = |error: std::io::Error| format!("no certificate for kube-apiserver: {error}");
        let unfinished = tempfile::tempdir_in(parent).map_err(failed)?;
        write(unfinished.path())?;
        // Somebody else may have been faster, and theirs is as good.
        let moved = std::fs::rename(unfinished.path(), &folder);
        if !folder.is_dir() {
            moved.map_err(failed)?;
        }
    }
    Ok(folder)
}

fn write(folder: &Path) -> Result<(), String> {
    let failed = |error: rcgen::Error| error.to_string();
    let mut of_authority = CertificateParams::default();
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    of_authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    of_authority
        .distinguished_name
        .push(DnType::CommonName, "front-proxy-authority");
    let authority_key = KeyPair::generate().map_err(failed)?;
    let authority = of_authority.self_signed(&authority_key).map_err(failed)?.pem();
    let issuer = Issuer::new(of_authority, authority_key);
    let mut of_client = CertificateParams::default();
    of_client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    of_client.distinguished_name.push(DnType::CommonName, NAME);
    let key = KeyPair::generate().map_err(failed)?;
    let client = of_client.signed_by(&key, &issuer).map_err(failed)?.pem();
    for (name, text) in [
        ("authority.crt", authority),
        ("client.crt", client),
        ("client.key", key.serialize_pem()),
    ] {
        std::fs::write(folder.join(name), text).map_err(|error| error.to_string())?;
    }
    Ok(())
}
