//! Certificates: authorities, self-signed and signed ones, and certificates that the user brings along.

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gotemplate::format::print_value;
use gotemplate::{Call, Failure, Function, Kind, Object, Text, Type, Value};

use super::limits;
use crate::keys::certificate::{Issuer, Template};
use crate::keys::{PrivateKey, pem};
use crate::source;
use crate::time::{Location, Time};

const CERTIFICATE: Type = Type::Named("sprig.certificate", Kind::Struct);

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("buildCustomCert", &[Type::String, Type::String], build_custom),
    Function::new("genCA", &[Type::String, Type::INT], |call| {
        let key = new_key(call)?;
        authority(call, &key)
    }),
    Function::new("genCAWithKey", &[Type::String, Type::INT, Type::String], |call| {
        let key = given_key(call, 2)?;
        authority(call, &key)
    }),
    Function::new(
        "genSelfSignedCert",
        &[Type::String, Type::List, Type::List, Type::INT],
        |call| {
            let key = new_key(call)?;
            self_signed(call, &key)
        },
    ),
    Function::new(
        "genSelfSignedCertWithKey",
        &[Type::String, Type::List, Type::List, Type::INT, Type::String],
        |call| {
            let key = given_key(call, 4)?;
            self_signed(call, &key)
        },
    ),
    Function::new(
        "genSignedCert",
        &[Type::String, Type::List, Type::List, Type::INT, CERTIFICATE],
        |call| {
            let key = new_key(call)?;
            signed(call, &key)
        },
    ),
    Function::new(
        "genSignedCertWithKey",
        &[
            Type::String,
            Type::List,
            Type::List,
            Type::INT,
            CERTIFICATE,
            Type::String,
        ],
        |call| {
            let key = given_key(call, 5)?;
            signed(call, &key)
        },
    ),
];

/// The size of the keys that Sprig makes for certificates.
const KEY_BITS: u32 = 2048;

/// A certificate and its private key, both as PEM: Sprig's `certificate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Certificate {
    certificate: Text,
    key: Text,
}

impl Object for Certificate {
    fn type_name(&self) -> &'static str {
        "sprig.certificate"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Cert", Value::String(self.certificate.clone())),
            ("Key", Value::String(self.key.clone())),
        ]
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn new_key(call: &mut Call<'_, '_>) -> Result<PrivateKey, Failure> {
    call.charge(limits::RSA_2048_WORK)?;
    Ok(PrivateKey::Rsa(source::of(call).rsa_private_key(KEY_BITS)))
}

fn given_key(call: &Call<'_, '_>, index: usize) -> Result<PrivateKey, Failure> {
    Ok(PrivateKey::parse_pem(&call.text(index)).map_err(|error| format!("parsing private key: {error}"))?)
}

fn authority(call: &Call<'_, '_>, key: &PrivateKey) -> Result<Value, Failure> {
    let template = Template {
        is_authority: true,
        ..template(call, None, None, call.integer(1))?
    };
    certificate(&template, key, None, key)
}

fn self_signed(call: &Call<'_, '_>, key: &PrivateKey) -> Result<Value, Failure> {
    let template = template(call, Some(1), Some(2), call.integer(3))?;
    certificate(&template, key, None, key)
}

fn signed(call: &Call<'_, '_>, key: &PrivateKey) -> Result<Value, Failure> {
    let authority = call.arguments.get(4).and_then(Value::as_object::<Certificate>);
    let authority = authority.cloned().unwrap_or_default();
    let block = pem::decode(&authority.certificate).ok_or("unable to decode certificate")?;
    let issuer = Issuer::parse(&block.data)
        .map_err(|error| format!("error parsing certificate: decodedSignerCert.Bytes: {error}"))?;
    let signer = PrivateKey::parse_pem(&authority.key)
        .map_err(|error| format!("error parsing private key: {error}"))?;
    let template = template(call, Some(1), Some(2), call.integer(3))?;
    certificate(&template, key, Some(&issuer), &signer)
}

fn certificate(
    template: &Template,
    key: &PrivateKey,
    issuer: Option<&Issuer>,
    signer: &PrivateKey,
) -> Result<Value, Failure> {
    let bytes = template
        .sign(key, issuer, signer)
        .map_err(|error| format!("error creating certificate: {error}"))?;
    let pair = Certificate {
        certificate: pem::encode("CERTIFICATE", &bytes).into(),
        key: key.to_pem().into(),
    };
    Ok(Value::Object(Rc::new(pair)))
}

fn template(
    call: &Call<'_, '_>,
    addresses: Option<usize>,
    dns_names: Option<usize>,
    days_valid: i64,
) -> Result<Template, Failure> {
    let items = |index: Option<usize>| index.and_then(|index| call.list(index));
    let mut parsed_addresses: Vec<IpAddr> = Vec::new();
    for item in items(addresses).iter().flat_map(|list| list.iter()) {
        let text = item
            .as_text()
            .ok_or_else(|| format!("error parsing ip: {} is not a string", shown(item)))?
            .to_str();
        parsed_addresses.push(text.parse().map_err(|_| format!("error parsing ip: {text}"))?);
    }
    let mut names = Vec::new();
    for item in items(dns_names).iter().flat_map(|list| list.iter()) {
        let text = item.as_text().ok_or_else(|| {
            format!(
                "error processing alternate dns name: {} is not a string",
                shown(item)
            )
        })?;
        names.push(text.to_vec());
    }
    let source = source::of(call);
    let mut serial_number = [0; 16];
    source.random_bytes(&mut serial_number);
    Ok(Template {
        common_name: call.text(0).to_vec(),
        addresses: parsed_addresses,
        dns_names: names,
        serial_number,
        not_before: Time::from_unix(source.now().as_second(), 0, Location::Utc),
        days_valid,
        is_authority: false,
    })
}

fn shown(value: &Value) -> String {
    String::from_utf8_lossy(&print_value(value)).into_owned()
}

fn build_custom(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let decode = |index: usize, what: &str| {
        let digits: Vec<u8> = call
            .text(index)
            .iter()
            .copied()
            .filter(|byte| !b"\r\n".contains(byte))
            .collect();
        STANDARD
            .decode(digits)
            .map_err(|_| format!("unable to decode base64 {what}"))
    };
    let certificate = decode(0, "certificate")?;
    let key = decode(1, "private key")?;
    let block = pem::decode(&certificate).ok_or("unable to decode certificate")?;
    Issuer::parse(&block.data)
        .map_err(|error| format!("error parsing certificate: decodedCert.Bytes: {error}"))?;
    PrivateKey::parse_pem(&key).map_err(|error| format!("error parsing private key: {error}"))?;
    Ok(Value::Object(Rc::new(Certificate {
        certificate: certificate.into(),
        key: key.into(),
    })))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{
        ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey, VerificationAlgorithm,
    };

    use crate::functions::testing::{check, complaint, render};
    use crate::keys::der::{BIT_STRING, CONTEXT_0, Reader, SEQUENCE};
    use crate::keys::pem;

    #[test]
    fn a_certificate_that_is_brought_along_is_checked_as_in_helm() {
        check(&[
            (
                r#"{{ buildCustomCert "!!" "" }}"#,
                Err("unable to decode base64 certificate"),
            ),
            (
                r#"{{ buildCustomCert "aGVsbG8=" "!!" }}"#,
                Err("unable to decode base64 private key"),
            ),
            (
                r#"{{ buildCustomCert "aGVsbG8=" "aGVsbG8=" }}"#,
                Err("unable to decode certificate"),
            ),
            (
                r#"{{ buildCustomCert (b64enc "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n") "aGVsbG8=" }}"#,
                Err("error parsing certificate: decodedCert.Bytes: x509: malformed certificate"),
            ),
            (
                r#"{{ $c := buildCustomCert "x" "y" }}"#,
                Err("unable to decode base64 certificate"),
            ),
        ]);
    }

    /// The parts of a certificate that its issuer's key vouches for.
    struct Signed {
        message: Vec<u8>,
        signature: Vec<u8>,
        public_key: Vec<u8>,
    }

    fn read(certificate: &str) -> Signed {
        let bytes = pem::decode(certificate.as_bytes()).expect("PEM").data;
        let mut whole = Reader::new(&bytes).enter(SEQUENCE).expect("a certificate");
        let message = whole.expect(SEQUENCE).expect("what is signed");
        whole.expect(SEQUENCE).expect("an algorithm");
        let signature = whole.expect(BIT_STRING).expect("a signature").content[1..].to_vec();
        let mut fields = Reader::new(message.content);
        fields.expect(CONTEXT_0).expect("a version");
        for _ in 0..5 {
            fields.next().expect("a field");
        }
        let mut key = fields.enter(SEQUENCE).expect("a public key");
        key.expect(SEQUENCE).expect("an algorithm");
        let public_key = key.expect(BIT_STRING).expect("the key's bits").content[1..].to_vec();
        Signed {
            message: message.whole.to_vec(),
            signature,
            public_key,
        }
    }

    fn verify(algorithm: &'static dyn VerificationAlgorithm, issuer: &str, certificate: &str) {
        let signed = read(certificate);
        let key = UnparsedPublicKey::new(algorithm, read(issuer).public_key);
        key.verify(&signed.message, &signed.signature)
            .expect("the issuer's signature");
    }

    #[test]
    fn an_authority_of_each_kind_of_key_signs_itself_and_others() {
        let algorithms: [(&str, &'static dyn VerificationAlgorithm); 2] =
            [("ecdsa", &ECDSA_P256_SHA256_ASN1), ("ed25519", &ED25519)];
        for (kind, algorithm) in algorithms {
            let text = render(&format!(
                r#"{{{{ $k := genPrivateKey "{kind}" }}}}{{{{ $ca := genCAWithKey "ca" 365 $k }}}}{{{{ $ca.Cert }}}}|{{{{
                genSignedCertWithKey "x" (list "10.0.0.1" "::1") (list "a.b") 1 $ca $k | toJson | fromJson | dig "Cert" "" }}}}"#
            ))
            .expect("certificates");
            let (authority, certificate) = text.split_once('|').expect("two certificates");
            verify(algorithm, authority, authority);
            verify(algorithm, authority, certificate);
        }
    }

    #[test]
    fn a_new_authority_has_an_rsa_key_of_its_own() {
        let text =
            render(r#"{{ $ca := genCA "ca" 365 }}{{ $ca.Cert }}{{ $ca.Key }}"#).expect("a certificate");
        assert!(text.contains("-----BEGIN RSA PRIVATE KEY-----\n"));
        verify(&RSA_PKCS1_2048_8192_SHA256, &text, &text);
    }

    #[test]
    fn the_same_seed_gives_the_same_certificate() {
        let template = r#"{{ (genCAWithKey "ca" 365 (genPrivateKey "ecdsa")).Cert }}"#;
        assert_eq!(render(template), render(template));
    }

    #[test]
    fn the_fields_of_a_certificate_are_those_of_sprig() {
        let text = render(
            r#"{{ (genSelfSignedCertWithKey "a*" (list "10.0.0.1") (list "a.b") 365 (genPrivateKey "ed25519")).Cert }}"#,
        )
        .expect("a certificate");
        let message = read(&text).message;
        let holds = |bytes: &[u8]| message.windows(bytes.len()).any(|window| window == bytes);
        assert!(holds(b"\x0c\x02a*"), "a name with an asterisk is UTF-8");
        assert!(
            holds(b"\x17\x0d240202223000Z\x17\x0d250201223000Z"),
            "valid from now on, for 365 days"
        );
        assert!(
            holds(b"\x06\x03\x55\x1d\x0f\x01\x01\xff\x04\x04\x03\x02\x05\xa0"),
            "critical key usage"
        );
        assert!(
            holds(b"\x06\x03\x55\x1d\x13\x01\x01\xff\x04\x02\x30\x00"),
            "no authority"
        );
        assert!(
            holds(b"\x82\x03a.b\x87\x04\x0a\x00\x00\x01"),
            "names before addresses"
        );
    }

    #[test]
    fn what_is_wrong_with_the_arguments_is_told_in_sprigs_words() {
        for (template, expected) in [
            (
                r#"{{ genCAWithKey "x" 1 "bogus" }}"#,
                "parsing private key: no PEM data in input",
            ),
            (
                r#"{{ genCAWithKey "x" 1 "-----BEGIN FOO PRIVATE KEY-----\naGVsbG8=\n-----END FOO PRIVATE KEY-----\n" }}"#,
                "parsing private key: invalid private key type FOO PRIVATE KEY",
            ),
            (
                r#"{{ genCAWithKey "x" 1 "-----BEGIN EC PRIVATE KEY-----\nMAA=\n-----END EC PRIVATE KEY-----\n" }}"#,
                "parsing private key: parsing EC private key from PEM: x509: failed to parse EC private key: asn1: \
                 syntax error: sequence truncated",
            ),
            (
                r#"{{ genCAWithKey "x" 1 (genPrivateKey "ecdsa" | replace "EC PRIVATE" "RSA PRIVATE") }}"#,
                "parsing private key: parsing RSA private key from PEM: x509: failed to parse private key (use \
                 ParseECPrivateKey instead for this key format)",
            ),
            (
                r#"{{ genCAWithKey "x" 1 (genPrivateKey "ed25519" | replace "PRIVATE" "EC PRIVATE") }}"#,
                "parsing private key: parsing EC private key from PEM: x509: failed to parse private key (use \
                 ParsePKCS8PrivateKey instead for this key format)",
            ),
            (
                r#"{{ genSelfSignedCertWithKey "x" (list "1.2.3") nil 1 (genPrivateKey "ecdsa") }}"#,
                "error parsing ip: 1.2.3",
            ),
            (
                r#"{{ genSelfSignedCertWithKey "x" nil (list nil) 1 (genPrivateKey "ecdsa") }}"#,
                "error processing alternate dns name: <nil> is not a string",
            ),
            (
                r#"{{ genSelfSignedCertWithKey "x" nil (list "é") 1 (genPrivateKey "ecdsa") }}"#,
                "error creating certificate: x509: \"é\" cannot be encoded as an IA5String",
            ),
        ] {
            assert_eq!(complaint(template), expected, "{template}");
        }
    }
}
