//! Names of fields, variables and flags whose value is a secret.

/// Words that mean a secret wherever they stand in a name.
const WORDS: [&str; 22] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "accountkey",
    "sharedkey",
    "signingkey",
    "encryptionkey",
    "privatekey",
    "licensekey",
    "credential",
    "authorization",
    "cookie",
    "connectionstring",
    "htpasswd",
    "dockercfg",
    "dockerconfigjson",
    "kubeconfig",
];

/// Names that mean a secret if they are nothing else.
const WHOLE: [&str; 12] = [
    "pass", "pwd", "pw", "auth", "bearer", "dsn", "jwt", "pat", "sas", "salt", "pin", "otp",
];

/// Ends of names that say where a secret is, not what it is.
const REFERENCES: [&str; 12] = [
    "name",
    "names",
    "namespace",
    "ref",
    "refs",
    "keyref",
    "path",
    "file",
    "mode",
    "type",
    "kind",
    "seconds",
];

/// Names of Kubernetes with such a word in them, whose value is none.
const HARMLESS: [&str; 10] = [
    "automountserviceaccounttoken",
    "imagepullsecrets",
    "secretkeyref",
    "secretref",
    "secretname",
    "secrets",
    "serviceaccounttoken",
    "certificaterequests",
    "tokenreviews",
    "credentialname",
];

/// Returns whether the value behind a name is a secret.
pub fn is_secret(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|character| character.to_ascii_lowercase())
        .collect();
    if HARMLESS.contains(&plain.as_str()) {
        return false;
    }
    let is_reference = REFERENCES.iter().any(|end| plain.ends_with(end));
    let has_word = WORDS.iter().any(|word| plain.contains(word));
    let ends_with_whole = name
        .split(|character: char| !character.is_ascii_alphanumeric())
        .rfind(|word| !word.is_empty())
        .is_some_and(|last| is_whole(last) || last_hump(last).is_some_and(is_whole));
    (has_word || ends_with_whole || is_whole(&plain)) && !is_reference
}

fn is_whole(word: &str) -> bool {
    WHOLE.contains(&word.to_ascii_lowercase().as_str())
}

/// The last word of a name in camel case: `Pwd` of `adminPwd`.
fn last_hump(word: &str) -> Option<&str> {
    let start = word
        .char_indices()
        .rfind(|(_, character)| character.is_ascii_uppercase())?;
    word.get(start.0..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_of_places() {
        for name in [
            "password",
            "POSTGRES_PASSWORD",
            "db-passwd",
            "apiKey",
            "API_KEY",
            "aws_secret_access_key",
            "clientSecret",
            "auth",
            "registry.auth",
            "adminPwd",
            "HF_TOKEN",
            "githubToken",
            "Authorization",
            "DATABASE_DSN",
            "storageAccountKey",
            ".dockerconfigjson",
            "session_cookie",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "secretName",
            "imagePullSecrets",
            "secretKeyRef",
            "automountServiceAccountToken",
            "tokenExpirationSeconds",
            "passwordSecretRef",
            "tokenPath",
            "author",
            "authenticated",
            "replicas",
            "image",
            "compass",
            "spin",
            "",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
