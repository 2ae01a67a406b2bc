//! When a kept certificate is renewed, and how: decisions without a client.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::Pem;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// How many days a certificate is good for.
const LIFETIME_DAYS: i32 = 90;

/// How many days before its end a certificate is renewed: a month, in which people can notice that it can't be.
const MARGIN_DAYS: i32 = 30;

/// How many days an authority is good for.
const AUTHORITY_LIFETIME_DAYS: i32 = 3_650;

/// How many days before its end an authority is renewed: whoever trusts it has that long to read the new one.
const AUTHORITY_MARGIN_DAYS: i32 = 365;

/// How far clocks may differ.
const SKEW: SignedDuration = SignedDuration::from_hours(1);

/// The most certificates of authorities that are kept: the current one, and the one before it.
const AUTHORITIES: usize = 2;

/// What a Secret holds, as PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) certificate: String,
    pub(super) key: String,
    /// The authorities that clients trust, the current one first.
    pub(super) authorities: String,
    pub(super) authority_key: String,
}

/// The keys of the Secret, the first three as cert-manager has them.
const KEYS: [&str; 4] = ["tls.crt", "tls.key", "ca.crt", "ca.key"];

impl Kept {
    /// Reads what a Secret holds; what it lacks is empty.
    pub(super) fn of(data: &BTreeMap<String, Vec<u8>>) -> Self {
        let [certificate, key, authorities, authority_key] = KEYS.map(|key| {
            data.get(key)
                .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
                .unwrap_or_default()
        });
        Self {
            certificate,
            key,
            authorities,
            authority_key,
        }
    }

    /// What a Secret shall hold.
    pub(super) fn data(&self) -> BTreeMap<String, Vec<u8>> {
        let values = [
            &self.certificate,
            &self.key,
            &self.authorities,
            &self.authority_key,
        ];
        let entries = KEYS.into_iter().zip(values);
        entries
            .map(|(key, value)| (key.to_owned(), value.clone().into_bytes()))
            .collect()
    }
}

/// What has to be made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    Certificate,
    /// The authority, and with it the certificate.
    Authority,
}

/// Decides what has to be made anew.
pub(super) fn decide(kept: Option<&Kept>, hosts: &[String], now: Timestamp) -> Due {
    let Some(kept) = kept else {
        return Due::Authority;
    };
    let lasts =
        |pem: &str, days: i32| read(pem).is_some_and(|read| read.until.duration_since(now) > DAY * days);
    if kept.authority_key.is_empty() || !lasts(&kept.authorities, AUTHORITY_MARGIN_DAYS) {
        return Due::Authority;
    }
    let names_all =
        read(&kept.certificate).is_some_and(|read| hosts.iter().all(|host| read.hosts.contains(host)));
    if kept.key.is_empty() || !names_all || !lasts(&kept.certificate, MARGIN_DAYS) {
        return Due::Certificate;
    }
    Due::Nothing
}

/// What is read of a certificate.
struct Read {
    until: Timestamp,
    hosts: Vec<String>,
}

/// Reads the first certificate of a text; none where there is none.
fn read(pem: &str) -> Option<Read> {
    let pem = Pem::iter_from_buffer(pem.as_bytes()).next()?.ok()?;
    let certificate = pem.parse_x509().ok()?;
    let until = Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()?;
    let names = certificate.subject_alternative_name().ok().flatten();
    let names = names
        .into_iter()
        .flat_map(|extension| &extension.value.general_names);
    let hosts = names.filter_map(|name| match name {
        GeneralName::DNSName(host) => Some((*host).to_owned()),
        _ => None,
    });
    Some(Read {
        until,
        hosts: hosts.collect(),
    })
}

/// Makes anew what is due.
pub(super) fn renew(due: Due, kept: Kept, hosts: &[String], now: Timestamp) -> Result<Kept, String> {
    let mut renewed = kept;
    if due == Due::Authority {
        let key = KeyPair::generate().map_err(said)?;
        let mut parameters = authority_parameters();
        limit(&mut parameters, now, AUTHORITY_LIFETIME_DAYS);
        let authority = parameters.self_signed(&key).map_err(said)?;
        let mut authorities = vec![authority.pem()];
        authorities.extend(certificates(&renewed.authorities));
        authorities.truncate(AUTHORITIES);
        renewed.authorities = authorities.concat();
        renewed.authority_key = key.serialize_pem();
    }
    let authority_key = KeyPair::from_pem(&renewed.authority_key).map_err(said)?;
    // An issuer is its name and its key; both are known without reading its certificate.
    let issuer = Issuer::new(authority_parameters(), authority_key);
    let key = KeyPair::generate().map_err(said)?;
    let mut parameters = CertificateParams::new(hosts.to_vec()).map_err(said)?;
    parameters.distinguished_name = named(hosts.first().map_or("baton", String::as_str));
    limit(&mut parameters, now, LIFETIME_DAYS);
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    renewed.certificate = parameters.signed_by(&key, &issuer).map_err(said)?.pem();
    renewed.key = key.serialize_pem();
    Ok(renewed)
}

fn authority_parameters() -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = named("baton-ca");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    parameters
}

/// A name of at most 64 characters, which is all that a common name may have.
fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    let short: String = name.chars().take(64).collect();
    names.push(DnType::CommonName, short);
    names
}

/// The certificates of a text, one by one.
fn certificates(pem: &str) -> Vec<String> {
    const END: &str = "-----END CERTIFICATE-----\n";
    let parts = pem.split_inclusive(END);
    parts
        .filter(|part| part.ends_with(END))
        .map(str::to_owned)
        .collect()
}

/// Sets from when until when something is good that is made now.
fn limit(parameters: &mut CertificateParams, now: Timestamp, days: i32) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let since_epoch =
        |at: Timestamp| std::time::Duration::from_secs(u64::try_from(at.as_second()).unwrap_or_default());
    parameters.not_before = epoch + since_epoch(now - SKEW);
    parameters.not_after = epoch + since_epoch(now + DAY * days);
}

fn said(error: rcgen::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Vec<String> {
        vec!["catalogd-service.olmv1-system.svc".to_owned()]
    }

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).expect("a moment")
    }

    fn made() -> Kept {
        renew(Due::Authority, Kept::default(), &hosts(), now()).expect("a certificate")
    }

    #[test]
    fn a_certificate_is_renewed_a_month_before_its_end_and_an_authority_a_year_before() {
        let kept = made();
        for (days, due) in [
            (0, Due::Nothing),
            (59, Due::Nothing),
            (61, Due::Certificate),
            (3_280, Due::Certificate),
            (3_286, Due::Authority),
        ] {
            assert_eq!(
                decide(Some(&kept), &hosts(), now() + DAY * days),
                due,
                "after {days} days"
            );
        }
    }

    #[test]
    fn what_is_missing_broken_or_for_others_is_made_anew() {
        let kept = made();
        let broken = |change: fn(&mut Kept)| {
            let mut kept = kept.clone();
            change(&mut kept);
            decide(Some(&kept), &hosts(), now())
        };
        assert_eq!(decide(None, &hosts(), now()), Due::Authority);
        assert_eq!(broken(|kept| kept.authority_key.clear()), Due::Authority);
        assert_eq!(
            broken(|kept| kept.authorities = "no certificate".to_owned()),
            Due::Authority
        );
        assert_eq!(broken(|kept| kept.certificate.clear()), Due::Certificate);
        assert_eq!(broken(|kept| kept.key.clear()), Due::Certificate);
        let others = vec!["olm-operator-metrics.olm.svc".to_owned()];
        assert_eq!(decide(Some(&kept), &others, now()), Due::Certificate);
    }

    #[test]
    fn who_trusts_the_authority_trusts_every_certificate_of_it() {
        let kept = made();
        let later = now() + DAY * 61;
        let renewed = renew(Due::Certificate, kept.clone(), &hosts(), later).expect("a certificate");
        assert_eq!(renewed.authorities, kept.authorities);
        assert_ne!(renewed.certificate, kept.certificate);
        for kept in [&kept, &renewed] {
            assert!(is_signed(&kept.certificate, &kept.authorities));
        }
        let much_later = now() + DAY * 3_300;
        let replaced = renew(Due::Authority, renewed.clone(), &hosts(), much_later).expect("a certificate");
        assert_eq!(certificates(&replaced.authorities).len(), 2);
        assert!(replaced.authorities.ends_with(&kept.authorities));
        assert!(is_signed(&replaced.certificate, &replaced.authorities));
        assert_eq!(Kept::of(&replaced.data()), replaced);
    }

    /// Whether the first authority signed the certificate.
    fn is_signed(certificate: &str, authorities: &str) -> bool {
        let first = |pem: &str| {
            let pem = Pem::iter_from_buffer(pem.as_bytes()).next();
            pem.expect("a certificate").expect("PEM")
        };
        let (certificate, authority) = (first(certificate), first(authorities));
        let authority = authority.parse_x509().expect("a certificate");
        let certificate = certificate.parse_x509().expect("a certificate");
        certificate.issuer() == authority.subject()
            && certificate.verify_signature(Some(authority.public_key())).is_ok()
    }
}
