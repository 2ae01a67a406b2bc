//! Passwords and what protects them: hashes, derived passwords, AES, private keys and random identifiers.

use aws_lc_rs::cipher::{
    AES_256, DecryptionContext, EncryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey,
    UnboundCipherKey,
};
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gotemplate::{Call, Failure, Function, IntegerKind, Type, Value};

use super::encodings::base64_decode;
use super::limits;
use crate::keys::PrivateKey;
use crate::source::{self, Source};

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("bcrypt", &[Type::String], |call| {
        call.charge(limits::PASSWORD_HASH_WORK)?;
        Ok(Value::string(bcrypt_hash(&*source::of(call), &call.text(0))))
    }),
    Function::new("htpasswd", &[Type::String, Type::String], |call| {
        let (user, password) = (call.text(0), call.text(1));
        if user.contains(&b':') {
            return Ok(Value::string([b"invalid username: ", &*user].concat()));
        }
        call.charge(limits::PASSWORD_HASH_WORK)?;
        let hash = bcrypt_hash(&*source::of(call), &password);
        Ok(Value::string([&*user, b":", hash.as_bytes()].concat()))
    }),
    Function::new("genPrivateKey", &[Type::String], gen_private_key),
    Function::new(
        "derivePassword",
        &[
            Type::Integer(IntegerKind::Uint32),
            Type::String,
            Type::String,
            Type::String,
            Type::String,
        ],
        |call| {
            call.charge(limits::PASSWORD_HASH_WORK)?;
            let counter = call.integer(0) as u32;
            let password_type = call.text(1);
            Ok(Value::string(derived(
                counter,
                &password_type,
                &call.text(2),
                &call.text(3),
                &call.text(4),
            )))
        },
    ),
    Function::new("encryptAES", &[Type::String, Type::String], |call| {
        let (password, text) = (call.text(0), call.text(1));
        if text.is_empty() {
            return Ok(Value::string(""));
        }
        let mut start = [0; BLOCK];
        source::of(call).random_bytes(&mut start);
        let encrypted = encrypt(&password, start, &text).ok_or("encryption failed")?;
        Ok(Value::string(STANDARD.encode([&start[..], &encrypted].concat())))
    }),
    Function::new("decryptAES", &[Type::String, Type::String], |call| {
        let (password, text) = (call.text(0), call.text(1));
        if text.is_empty() {
            return Ok(Value::string(""));
        }
        Ok(Value::string(decrypt(&password, &text)?))
    }),
    Function::new("randBytes", &[Type::INT], |call| {
        let count =
            usize::try_from(call.integer(0)).map_err(|_| "runtime error: makeslice: len out of range")?;
        limits::check_text(count)?;
        let mut bytes = vec![0; count];
        source::of(call).random_bytes(&mut bytes);
        limits::text(STANDARD.encode(bytes).into_bytes())
    })
    .heavy(),
    Function::new("uuidv4", &[], |call| {
        Ok(Value::string(random_identifier(&*source::of(call))))
    }),
];

/// The cost that Go's bcrypt package calls the default.
const BCRYPT_COST: u32 = 10;

/// The longest password that bcrypt can tell from others.
const BCRYPT_MAX_PASSWORD: usize = 72;

fn bcrypt_hash(source: &dyn Source, password: &[u8]) -> String {
    if password.len() > BCRYPT_MAX_PASSWORD {
        return format!(
            "failed to encrypt string with bcrypt: bcrypt: password length exceeds {BCRYPT_MAX_PASSWORD} bytes"
        );
    }
    let mut salt = [0; 16];
    source.random_bytes(&mut salt);
    match bcrypt::hash_with_salt(password, BCRYPT_COST, salt) {
        Ok(hash) => hash.format_for_version(bcrypt::Version::TwoA),
        Err(error) => format!("failed to encrypt string with bcrypt: {error}"),
    }
}

/// The size of the RSA keys that `genPrivateKey` makes.
const RSA_BITS: u32 = 4096;

fn gen_private_key(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let source = source::of(call);
    let kind = call.string(0);
    if matches!(kind.as_str(), "" | "rsa" | "dsa") {
        call.charge(limits::LARGE_KEY_WORK)?;
    }
    let key = match kind.as_str() {
        "" | "rsa" => PrivateKey::Rsa(source.rsa_private_key(RSA_BITS)),
        "dsa" => PrivateKey::Dsa(source.dsa_private_key()),
        "ecdsa" => PrivateKey::ecdsa_p256(source.ecdsa_p256_private_key()),
        "ed25519" => PrivateKey::Ed25519(source.ed25519_private_key()),
        _ => return Ok(Value::string(format!("Unknown type {kind}"))),
    };
    Ok(Value::string(key.to_pem()))
}

/// What the Master Password algorithm salts with.
const MASTER_PASSWORD_SCOPE: &[u8] = b"com.lyndir.masterpassword";

/// The patterns of each type of password; a letter stands for a class of characters.
fn password_patterns(password_type: &[u8]) -> Option<&'static [&'static str]> {
    Some(match password_type {
        b"maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        b"medium" => &["CvcnoCvc", "CvcCvcno"],
        b"short" => &["Cvcn"],
        b"basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        b"pin" => &["nnnn"],
        _ => return None,
    })
}

fn character_class(letter: char) -> &'static [u8] {
    match letter {
        'V' => b"AEIOU",
        'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        'v' => b"aeiou",
        'c' => b"bcdfghjklmnpqrstvwxyz",
        'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        'n' => b"0123456789",
        'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// Derives a site's password from a master password, as the Master Password algorithm does.
fn derived(counter: u32, password_type: &[u8], password: &[u8], user: &[u8], site: &[u8]) -> Vec<u8> {
    let Some(patterns) = password_patterns(password_type) else {
        return [b"cannot find password template ", password_type].concat();
    };
    let length = |text: &[u8]| (text.len() as u32).to_be_bytes();
    let salt = [MASTER_PASSWORD_SCOPE, &length(user), user].concat();
    let mut key = [0; 64];
    // 2 to the power of 15 rounds, blocks of 8, 2 lanes: the algorithm's constants.
    let stretched = scrypt::Params::new(15, 8, 2)
        .map_err(|error| error.to_string())
        .and_then(|params| {
            scrypt::scrypt(password, &salt, &params, &mut key).map_err(|error| error.to_string())
        });
    if let Err(error) = stretched {
        return format!("failed to derive password: {error}").into_bytes();
    }
    let message = [MASTER_PASSWORD_SCOPE, &length(site), site, &counter.to_be_bytes()].concat();
    let seed = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &message);
    let Some((&choice, numbers)) = seed.as_ref().split_first() else {
        return Vec::new();
    };
    let pattern = patterns
        .get(usize::from(choice) % patterns.len())
        .copied()
        .unwrap_or_default();
    let characters = pattern.chars().zip(numbers).filter_map(|(letter, number)| {
        let class = character_class(letter);
        class.get(usize::from(*number) % class.len()).copied()
    });
    characters.collect()
}

/// The size of AES's blocks.
const BLOCK: usize = 16;

/// Returns the password as a key: cut or filled with zeros to 256 bits.
fn aes_key(password: &[u8]) -> Option<UnboundCipherKey> {
    let mut key = [0; 32];
    for (byte, given) in key.iter_mut().zip(password) {
        *byte = *given;
    }
    UnboundCipherKey::new(&AES_256, &key).ok()
}

fn encrypt(password: &[u8], start: [u8; BLOCK], text: &[u8]) -> Option<Vec<u8>> {
    let key = PaddedBlockEncryptingKey::cbc_pkcs7(aes_key(password)?).ok()?;
    let mut content = text.to_vec();
    key.less_safe_encrypt(&mut content, EncryptionContext::Iv128(FixedLength::from(start)))
        .ok()?;
    Some(content)
}

fn decrypt(password: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
    let bytes =
        base64_decode(text).map_err(|position| format!("illegal base64 data at input byte {position}"))?;
    let Some((start, content)) = bytes.split_first_chunk::<BLOCK>() else {
        let capacity = text.len() / 4 * 3;
        return Err(format!(
            "runtime error: slice bounds out of range [:{BLOCK}] with capacity {capacity}"
        ));
    };
    if !content.len().is_multiple_of(BLOCK) {
        return Err("crypto/cipher: input not full blocks".into());
    }
    let Some(final_block) = content.last_chunk::<BLOCK>() else {
        return Err("runtime error: index out of range [-1]".into());
    };
    // Sprig takes any padding, the library only its own: another block of that makes every text well padded.
    let whole = || {
        let mut content = content.to_vec();
        content.extend(encrypt(password, *final_block, b"")?);
        let key = PaddedBlockDecryptingKey::cbc_pkcs7(aes_key(password)?).ok()?;
        let from_start = DecryptionContext::Iv128(FixedLength::from(*start));
        key.decrypt(&mut content, from_start)
            .ok()
            .map(|decrypted| decrypted.to_vec())
    };
    let mut plain = whole().ok_or("decryption failed")?;
    let padding = plain.last().copied().map_or(0, usize::from);
    match plain.len().checked_sub(padding) {
        Some(length) => {
            plain.truncate(length);
            Ok(plain)
        }
        None => Err(format!(
            "runtime error: slice bounds out of range [:-{}]",
            padding - plain.len()
        )),
    }
}

/// Returns a random identifier of the UUID family, version 4.
fn random_identifier(source: &dyn Source) -> String {
    let mut bytes = [0; 16];
    source.random_bytes(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hexadecimal = format!("{:032x}", u128::from_be_bytes(bytes));
    let mut rest = hexadecimal.as_str();
    let mut parts = Vec::with_capacity(5);
    for length in [8, 4, 4, 4, 12] {
        let (part, after) = rest.split_at(length);
        parts.push(part);
        rest = after;
    }
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn passwords_and_ciphers_are_those_of_helm() {
        check(&[
            (
                r#"{{ derivePassword 1 "long" "password" "user" "example.com" }}{{ derivePassword 2 "maximum" "p" "u" "e" }}{{ derivePassword 1 "basic" "" "" "" }}{{ derivePassword 1 "pin" "p" "u" "s" }}{{ derivePassword 1 "short" "p" "u" "s" }}{{ derivePassword 1 "medium" "p" "u" "s" }}{{ derivePassword 1 "nope" "p" "u" "s" }}"#,
                Ok(
                    "ZedaFaxcZaso9*E8%!L8kNjlgdJYFhIG*eun78OYW22461Rud1Rud1@Nelcannot find password template nope",
                ),
            ),
            (
                r#"{{ htpasswd "a:b" "c" }}{{ htpasswd "u" "p" | len }}{{ bcrypt "x" | len }}{{ bcrypt (repeat 73 "x") }}{{ bcrypt "x" | trunc 7 }}"#,
                Ok(
                    "invalid username: a:b6260failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes$2a$10$",
                ),
            ),
            (
                r#"{{ encryptAES "k" "" }}{{ decryptAES "k" "" }}{{ encryptAES "k" "hello" | decryptAES "k" }}{{ encryptAES "k" (repeat 16 "x") | len }}"#,
                Ok("hello64"),
            ),
            (
                r#"{{ decryptAES "k" "!!" }}"#,
                Err("illegal base64 data at input byte 0"),
            ),
            (
                r#"{{ decryptAES "k" "aGVsbG8=" }}"#,
                Err("runtime error: slice bounds out of range [:16] with capacity 6"),
            ),
            (
                r#"{{ decryptAES "k" "MDEyMzQ1Njc4OTAxMjM0NQ==" }}"#,
                Err("runtime error: index out of range [-1]"),
            ),
            (
                r#"{{ decryptAES "k" "MDEyMzQ1Njc4OTAxMjM0NTY=" }}"#,
                Err("crypto/cipher: input not full blocks"),
            ),
            (
                r#"{{ decryptAES "k" "MDEyMzQ1Njc4OTAxMjM0NTAxMjM0NTY3ODkwMTIzNDU=" }}"#,
                Err("runtime error: slice bounds out of range [:-174]"),
            ),
            (
                r#"{{ decryptAES "secretkey" "30tEfhuJSVRhpG97XCuWgz2okj7L8vQ1s6V9zVUPeDQ=" }}"#,
                Ok("plaintext"),
            ),
            (
                "{{ randBytes 0 }}{{ randBytes 5 | len }}{{ uuidv4 | len }}",
                Ok("836"),
            ),
            (
                "{{ randBytes -1 }}",
                Err("runtime error: makeslice: len out of range"),
            ),
        ]);
    }
}
