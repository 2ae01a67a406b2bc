//! Secrets in texts, recognised by what they look like or by the name before them.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::CUT;
use super::secret_names::is_secret;

/// The shortest run of letters and digits that counts as a random key.
const RANDOM_LENGTH: usize = 32;

fn pattern(text: &str) -> Regex {
    // Each is written below, and a test reads them all.
    Regex::new(text).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Private keys with their frame, to the end of the text if it is cut off.
static PRIVATE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----|\z)",
    )
});

/// Addresses with a user and a password, or with a token in place of both.
static USER_INFO: LazyLock<Regex> = LazyLock::new(|| pattern(r#"([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@"'<>]+@"#));

/// What every service puts before its tokens, and JSON Web Tokens.
static TOKENS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)
        \beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(\.[A-Za-z0-9_-]*)?
        | \b(AKIA|ASIA|AIDA|AROA)[A-Z0-9]{12,}
        | \b(ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{16,} | \bgithub_pat_[A-Za-z0-9_]{16,}
        | \bglpat-[A-Za-z0-9_-]{16,}
        | \bxox[abeoprs]-[A-Za-z0-9-]{8,}
        | \bhf_[A-Za-z0-9]{16,}
        | \b(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}
        | \bAIza[A-Za-z0-9_-]{30,}
        | \bya29\.[A-Za-z0-9_-]{16,}
        | \b(hvs|hvb|s)\.[A-Za-z0-9_-]{24,}
        | \bnpm_[A-Za-z0-9]{16,} | \bpypi-[A-Za-z0-9_-]{16,} | \bdckr_pat_[A-Za-z0-9_-]{16,}
        | \$(2[abxy]|5|6|apr1|argon2id?)\$[^\s:\x22']{8,}
        ",
    )
});

/// `Authorization: Basic …` and its kin, wherever they stand.
static SCHEMES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(bearer|basic|negotiate|digest)(\s+)[A-Za-z0-9+/=_.~-]{8,}"));

/// A name with something behind it, in the ways in which files, flags, addresses and logs write it.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?P<name>[A-Za-z][A-Za-z0-9_.-]{0,100})(?P<between>\\?["']?[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3})"#,
    )
});

/// A flag with its value behind a space.
static FLAG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?P<dash>(?:^|[\s"'])--?)(?P<name>[A-Za-z][A-Za-z0-9_.-]{0,100})(?P<between>\s+|["'],\s*["'])(?P<value>[^\s"',-][^\s"',]*)"#,
    )
});

/// A run of letters and digits that may be random.
static RUN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9+/_-]{32,}={0,2}"));

/// A name with a block of lines behind it, as YAML has them: the value is what is indented more.
static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?P<indent>\s*(?:-\s+)?)["']?(?P<name>[A-Za-z][A-Za-z0-9_.-]{0,100})["']?\s*:\s*(?P<mark>[|>][+-]?[0-9]?)?\s*$"#,
    )
});

/// Returns a text without what looks like a secret.
pub fn redacted(text: &str) -> String {
    let text = PRIVATE_KEY.replace_all(text, "[redacted private key]");
    let text = blocks(&text);
    let text = USER_INFO.replace_all(&text, format!("${{1}}{CUT}@"));
    let text = TOKENS.replace_all(&text, CUT);
    let text = SCHEMES.replace_all(&text, format!("${{1}}${{2}}{CUT}"));
    let text = named(&text);
    let text = FLAG.replace_all(&text, |found: &Captures<'_>| {
        if is_secret(&found["name"]) {
            format!("{}{}{}{CUT}", &found["dash"], &found["name"], &found["between"])
        } else {
            found[0].to_owned()
        }
    });
    let text = RUN.replace_all(&text, |found: &Captures<'_>| {
        if is_random(&found[0]) {
            CUT.to_owned()
        } else {
            found[0].to_owned()
        }
    });
    text.into_owned()
}

/// Cuts the values of names that mean a secret.
///
/// Only those are read to their end: a harmless name may stand before a dangerous one, as in `msg=password:hunter2`.
fn named(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut place = 0;
    while let Some(found) = NAMED.captures_at(text, place) {
        let (Some(all), Some(name), Some(between)) =
            (found.get(0), found.name("name"), found.name("between"))
        else {
            break;
        };
        shown.push_str(text.get(place..all.end()).unwrap_or_default());
        place = all.end();
        if is_secret(name.as_str()) {
            let rest = text.get(place..).unwrap_or_default();
            let length = value_length(rest, between.as_str());
            shown.push_str(&cut(rest.get(..length).unwrap_or_default()));
            place += length;
        }
    }
    shown.push_str(text.get(place..).unwrap_or_default());
    shown
}

/// Returns how long the value at the start of a text is, given what stands between its name and it.
fn value_length(text: &str, between: &str) -> usize {
    let line = text.find(['\n', '\r']).unwrap_or(text.len());
    let closed_by = |mark: &str| {
        text.get(mark.len()..)
            .and_then(|rest| rest.find(mark))
            .map(|end| end + 2 * mark.len())
    };
    if text.starts_with("\\\"") {
        return closed_by("\\\"").unwrap_or(line);
    }
    if text.starts_with('"') {
        return quoted_length(text);
    }
    if text.starts_with('\'') {
        return closed_by("'").unwrap_or(line);
    }
    // A list or map: to where it ends, or to the end of its line.
    if text.starts_with(['[', '{']) {
        return text.find([']', '}']).map_or(line, |end| end + 1);
    }
    // With a space before it, as in YAML, the value may have spaces in it.
    if between.ends_with([' ', '\t']) {
        return line;
    }
    text.find(|character: char| character.is_whitespace() || ",;&\"'{}[]".contains(character))
        .unwrap_or(text.len())
}

/// Returns how long a text in quotes is at the start of another; to its end, if it isn't closed.
fn quoted_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}

/// What stands for a value, in the quotes that it had.
fn cut(value: &str) -> String {
    // A switch is no secret, and neither is what is not there.
    if matches!(
        value,
        "" | "true" | "false" | "null" | "nil" | "<nil>" | "\"\"" | "''" | "[]" | "{}" | "|" | "|-" | ">"
    ) {
        return value.to_owned();
    }
    if value.starts_with("\\\"") {
        format!("\\\"{CUT}\\\"")
    } else if value.starts_with('"') {
        format!("\"{CUT}\"")
    } else if value.starts_with('\'') {
        format!("'{CUT}'")
    } else {
        CUT.to_owned()
    }
}

/// Cuts the lines below a name that means a secret.
fn blocks(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut inside: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let is_blank = line.trim().is_empty();
        if let Some(above) = inside {
            if is_blank || indent > above {
                if !is_blank {
                    shown.extend(std::iter::repeat_n(' ', indent));
                    shown.push_str(CUT);
                }
                shown.push_str(if line.ends_with('\n') { "\n" } else { "" });
                continue;
            }
            inside = None;
        }
        let plain = line.trim_end_matches(['\n', '\r']);
        if let Some(found) = BLOCK.captures(plain)
            && is_secret(&found["name"])
        {
            inside = Some(found["indent"].len());
        }
        shown.push_str(line);
    }
    shown
}

/// Returns whether a run of letters is random: words, digests in hexadecimal and names of objects have no capitals beside
/// small letters and digits, or they have them in an order.
fn is_random(run: &str) -> bool {
    let count = |is: fn(&u8) -> bool| run.bytes().filter(is).count();
    let (upper, lower, digits) = (
        count(u8::is_ascii_uppercase),
        count(u8::is_ascii_lowercase),
        count(u8::is_ascii_digit),
    );
    // A path is no key, however long it is.
    let slashes = run.bytes().filter(|byte| *byte == b'/').count();
    let is_path =
        slashes * 8 > run.len() || run.split('/').all(|part| part.len() < RANDOM_LENGTH) && slashes > 3;
    run.len() >= RANDOM_LENGTH && upper >= 3 && lower >= 3 && digits >= 2 && !is_path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_cut_and_the_rest_stays() {
        for (text, shown) in [
            ("nothing to hide here", "nothing to hide here"),
            ("password=hunter2 user=bob", "password=[redacted] user=bob"),
            (
                "{\"password\":\"hun\\\"ter2\",\"user\":\"bob\"}",
                "{\"password\":\"[redacted]\",\"user\":\"bob\"}",
            ),
            (
                "{\\\"token\\\":\\\"abc\\\",\\\"a\\\":1}",
                "{\\\"token\\\":\\\"[redacted]\\\",\\\"a\\\":1}",
            ),
            ("DB_PASSWORD: 'hunter2'", "DB_PASSWORD: '[redacted]'"),
            ("--api-key hunter2 --verbose", "--api-key [redacted] --verbose"),
            ("\"--token\", \"hunter2\"", "\"--token\", \"[redacted]\""),
            (
                "GET https://bob:hunter2@example.com/a",
                "GET https://[redacted]@example.com/a",
            ),
            (
                "https://x.example/?token=abc&page=2",
                "https://x.example/?token=[redacted]&page=2",
            ),
            ("Authorization: Bearer abcdefgh.ijk", "Authorization: [redacted]"),
            ("a=b=password=c d", "a=b=password=[redacted] d"),
            (
                "password: correct horse battery\nuser: bob",
                "password: [redacted]\nuser: bob",
            ),
            (
                "\"tokens\": [\"a\", \"b\"], \"c\": 1",
                "\"tokens\": [redacted], \"c\": 1",
            ),
            ("sent Basic dXNlcjpwYXNz to it", "sent Basic [redacted] to it"),
            (
                "key eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl ok",
                "key [redacted] ok",
            ),
            ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
            ("ghp_0123456789abcdefABCD", "[redacted]"),
            ("admin:$2y$05$abcdefghijklmnop", "admin:[redacted]"),
            ("msg=password:hunter2 done", "msg=password:[redacted] done"),
            (
                "automountServiceAccountToken: false",
                "automountServiceAccountToken: false",
            ),
            ("token=true", "token=true"),
            ("secretName: database", "secretName: database"),
            (
                "image r.example/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                "image r.example/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            ),
            ("Abc1Def2Ghi3Jkl4Mno5Pqr6Stu7Vwx8", "[redacted]"),
            (
                "a:\n  password: |\n    hunter\n\n    two\n  b: 1\n",
                "a:\n  password: |\n    [redacted]\n\n    [redacted]\n  b: 1\n",
            ),
        ] {
            assert_eq!(redacted(text), shown, "{text}");
        }
    }

    #[test]
    fn a_private_key_goes_with_its_frame() {
        let key = "before\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nafter";
        assert_eq!(redacted(key), "before\n[redacted private key]\nafter");
        let open = "before -----BEGIN PRIVATE KEY-----\nMIIE\nabc";
        assert_eq!(redacted(open), "before [redacted private key]");
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
        assert_eq!(redacted(certificate), certificate);
    }
}
