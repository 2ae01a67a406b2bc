//! What is agreed on with clients: versions, ciphers and curves, by the names of Mozilla's profiles as upstream has them.

use clap::{Args, ValueEnum};
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::version::{TLS12, TLS13};
use rustls::{ProtocolVersion, SupportedCipherSuite, SupportedProtocolVersion};

use crate::failure::Failure;

/// The curves by the names that the flag takes. What Go has beyond these, this program's TLS has not.
static CURVES: [(&str, &dyn SupportedKxGroup); 7] = [
    ("X25519MLKEM768", kx_group::X25519MLKEM768),
    ("SecP256r1MLKEM768", kx_group::SECP256R1MLKEM768),
    ("X25519", kx_group::X25519),
    ("prime256v1", kx_group::SECP256R1),
    ("secp256r1", kx_group::SECP256R1),
    ("secp384r1", kx_group::SECP384R1),
    ("P-256", kx_group::SECP256R1),
];

/// The versions that are spoken.
static BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// The newest version alone.
static NEWEST: [&SupportedProtocolVersion; 1] = [&TLS13];

/// Flags that say what is agreed on.
#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "the names are those of the flags")]
pub(crate) struct ProfileFlags {
    /// Which TLS is agreed on with clients, by Mozilla's names
    #[arg(long, value_enum, value_name = "PROFILE", default_value = "intermediate")]
    tls_profile: ProfileName,
    /// With --tls-profile=custom: the oldest version that is agreed on
    #[arg(
        long,
        value_enum,
        value_name = "VERSION",
        default_value = "TLSv1.2",
        ignore_case = true
    )]
    tls_custom_version: Oldest,
    /// With --tls-profile=custom: the ciphers of TLS 1.2, by their IANA names; all without it
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tls_custom_ciphers: Vec<String>,
    /// With --tls-profile=custom: the curves, the best first; all without it
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tls_custom_curves: Vec<String>,
}

/// Mozilla's profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProfileName {
    /// TLS 1.3 alone
    Modern,
    /// TLS 1.2 and newer
    Intermediate,
    /// The same: nothing older than TLS 1.2 is spoken
    Old,
    /// What the other flags say
    Custom,
}

/// The oldest version that is agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Oldest {
    #[value(name = "TLSv1.0", help = "As TLSv1.2: nothing older is spoken")]
    Tls10,
    #[value(name = "TLSv1.1", help = "As TLSv1.2: nothing older is spoken")]
    Tls11,
    #[value(name = "TLSv1.2")]
    Tls12,
    #[value(name = "TLSv1.3")]
    Tls13,
}

/// What is agreed on with clients.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    with_tls12: bool,
    ciphers: Vec<SupportedCipherSuite>,
    curves: Vec<&'static dyn SupportedKxGroup>,
}

impl Default for Profile {
    /// TLS 1.2 and newer, with every cipher and curve that is safe.
    fn default() -> Self {
        Self {
            with_tls12: true,
            ciphers: aws_lc_rs::DEFAULT_CIPHER_SUITES.to_vec(),
            curves: aws_lc_rs::DEFAULT_KX_GROUPS.to_vec(),
        }
    }
}

impl Profile {
    /// The ciphers and curves.
    pub(super) fn provider(&self) -> CryptoProvider {
        CryptoProvider {
            cipher_suites: self.ciphers.clone(),
            kx_groups: self.curves.clone(),
            ..aws_lc_rs::default_provider()
        }
    }

    /// The versions.
    pub(super) fn versions(&self) -> &'static [&'static SupportedProtocolVersion] {
        if self.with_tls12 { &BOTH } else { &NEWEST }
    }
}

impl ProfileFlags {
    /// What the flags ask for.
    pub(super) fn profile(&self) -> Result<Profile, Failure> {
        let profile = Profile::default();
        let custom = [
            ("--tls-custom-ciphers", &self.tls_custom_ciphers),
            ("--tls-custom-curves", &self.tls_custom_curves),
        ];
        if self.tls_profile != ProfileName::Custom {
            if let Some((flag, _)) = custom.into_iter().find(|(_, names)| !names.is_empty()) {
                return Err(Failure::new(format!(
                    "{flag} means something only with --tls-profile=custom; add that, or leave {flag} out"
                )));
            }
            let with_tls12 = self.tls_profile != ProfileName::Modern;
            return Ok(Profile {
                with_tls12,
                ..profile
            });
        }
        Ok(Profile {
            with_tls12: self.tls_custom_version != Oldest::Tls13,
            ciphers: ciphers(&self.tls_custom_ciphers)?,
            curves: curves(&self.tls_custom_curves)?,
        })
    }
}

/// The ciphers with these names, and those of TLS 1.3, which nobody chooses, as in Go.
fn ciphers(names: &[String]) -> Result<Vec<SupportedCipherSuite>, Failure> {
    let known = aws_lc_rs::ALL_CIPHER_SUITES;
    if names.is_empty() {
        return Ok(known.to_vec());
    }
    let is_tls13 = |cipher: &&SupportedCipherSuite| cipher.version().version == ProtocolVersion::TLSv1_3;
    let mut chosen: Vec<SupportedCipherSuite> = known.iter().filter(is_tls13).copied().collect();
    for name in names {
        let found = known.iter().find(|cipher| name_of(cipher) == *name);
        match found {
            Some(cipher) if chosen.contains(cipher) => {}
            Some(cipher) => chosen.push(*cipher),
            None => {
                let known: Vec<String> = known.iter().map(name_of).collect();
                return Err(unknown("--tls-custom-ciphers", "cipher", name, &known));
            }
        }
    }
    Ok(chosen)
}

/// The name of a cipher in IANA's list.
fn name_of(cipher: &SupportedCipherSuite) -> String {
    let name = cipher.suite().as_str().unwrap_or_default();
    name.replace("TLS13_", "TLS_")
}

/// The curves with these names.
fn curves(names: &[String]) -> Result<Vec<&'static dyn SupportedKxGroup>, Failure> {
    if names.is_empty() {
        return Ok(aws_lc_rs::DEFAULT_KX_GROUPS.to_vec());
    }
    names
        .iter()
        .map(|name| {
            let found = CURVES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, curve)| *curve).ok_or_else(|| {
                let known: Vec<String> = CURVES.iter().map(|(known, _)| (*known).to_owned()).collect();
                unknown("--tls-custom-curves", "curve", name, &known)
            })
        })
        .collect()
}

fn unknown(flag: &str, what: &str, name: &str, known: &[String]) -> Failure {
    Failure::new(format!(
        "{flag} names the {what} {name:?}, which is not there; known are {}",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(profile: ProfileName, ciphers: &[&str], curves: &[&str]) -> ProfileFlags {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        ProfileFlags {
            tls_profile: profile,
            tls_custom_version: Oldest::Tls12,
            tls_custom_ciphers: owned(ciphers),
            tls_custom_curves: owned(curves),
        }
    }

    #[test]
    fn a_profile_has_what_its_name_says() {
        let versions = |flags: &ProfileFlags| flags.profile().expect("a profile").versions().len();
        assert_eq!(versions(&flags(ProfileName::Modern, &[], &[])), 1);
        assert_eq!(versions(&flags(ProfileName::Intermediate, &[], &[])), 2);
        let custom = flags(
            ProfileName::Custom,
            &["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"],
            &["secp256r1", "SecP256r1MLKEM768"],
        );
        let profile = custom.profile().expect("a profile");
        let names: Vec<String> = profile.ciphers.iter().map(name_of).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        assert!(names.contains(&"TLS_AES_128_GCM_SHA256".to_owned()), "{names:?}");
        assert!(
            names.contains(&"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256".to_owned()),
            "{names:?}"
        );
        assert_eq!(profile.curves.len(), 2);
    }

    #[test]
    fn what_is_not_known_is_told_with_what_is() {
        for (flags, said) in [
            (
                flags(ProfileName::Custom, &["TLS_RSA_WITH_RC4_128_SHA"], &[]),
                "--tls-custom-ciphers names the cipher \"TLS_RSA_WITH_RC4_128_SHA\", which is not there; known are TLS_AES_256",
            ),
            (
                flags(ProfileName::Custom, &[], &["secp521r1"]),
                "--tls-custom-curves names the curve \"secp521r1\", which is not there; known are X25519MLKEM768",
            ),
            (
                flags(ProfileName::Modern, &[], &["X25519"]),
                "--tls-custom-curves means something only with --tls-profile=custom",
            ),
        ] {
            let failure = flags.profile().expect_err("refused").text();
            assert!(failure.contains(said), "{failure}");
        }
    }
}
