//! Certificates: authorities, self-signed and signed ones, and certificates that the user brings along.

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gotemplate::format::print_value;
use gotemplate::{Call, Failure, Function, Kind, Object, Text, Type, Value};

use crate::keys::certificate::{Issuer, Template};
use crate::keys::{PrivateKey, pem};
use crate::source;
use crate::time::{Location, Time};

const CERTIFICATE: Type = Type::Named("sprig.certificate", Kind::Struct);

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("buildCustomCert", &[Type::String, Type::String], build_custom),
    Function::new("genCA", &[Type::String, Type::INT], |call| {
        let key = new_key(call);
        authority(call, &key)
    }),
    Function::new("genCAWithKey", &[Type::String, Type::INT, Type::String], |call| {
        let key = given_key(call, 2)?;
        authority(call, &key)
    }),
    Function::new("genSelfSignedCert", &[Type::String, Type::List, Type::List, Type::INT], |call| {
        let key = new_key(call);
        self_signed(call, &key)
    }),
    Function::new(
        "genSelfSignedCertWithKey",
        &[Type::String, Type::List, Type::List, Type::INT, Type::String],
        |call| {
            let key = given_key(call, 4)?;
            self_signed(call, &key)
        },
    ),
    Function::new("genSignedCert", &[Type::String, Type::List, Type::List, Type::INT, CERTIFICATE], |call| {
        let key = new_key(call);
        signed(call, &key)
    }),
    Function::new(
        "genSignedCertWithKey",
        &[Type::String, Type::List, Type::List, Type::INT, CERTIFICATE, Type::String],
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
        vec![("Cert", Value::String(self.certificate.clone())), ("Key", Value::String(self.key.clone()))]
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn new_key(call: &Call<'_, '_>) -> PrivateKey {
    PrivateKey::Rsa(source::of(call).rsa_private_key(KEY_BITS))
}

fn given_key(call: &Call<'_, '_>, index: usize) -> Result<PrivateKey, Failure> {
    Ok(PrivateKey::parse_pem(&call.text(index)).map_err(|error| format!("parsing private key: {error}"))?)
}

fn authority(call: &Call<'_, '_>, key: &PrivateKey) -> Result<Value, Failure> {
    let template = Template { is_authority: true, ..template(call, None, None, call.integer(1))? };
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
    let pair =
        Certificate { certificate: pem::encode("CERTIFICATE", &bytes).into(), key: key.to_pem().into() };
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
            format!("error processing alternate dns name: {} is not a string", shown(item))
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
        let digits: Vec<u8> =
            call.text(index).iter().copied().filter(|byte| !b"\r\n".contains(byte)).collect();
        STANDARD.decode(digits).map_err(|_| format!("unable to decode base64 {what}"))
    };
    let certificate = decode(0, "certificate")?;
    let key = decode(1, "private key")?;
    let block = pem::decode(&certificate).ok_or("unable to decode certificate")?;
    Issuer::parse(&block.data)
        .map_err(|error| format!("error parsing certificate: decodedCert.Bytes: {error}"))?;
    PrivateKey::parse_pem(&key).map_err(|error| format!("error parsing private key: {error}"))?;
    Ok(Value::Object(Rc::new(Certificate { certificate: certificate.into(), key: key.into() })))
}
