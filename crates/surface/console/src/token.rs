//! The token: what a visitor shows once to be let in.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

/// Random bytes of a secret: nobody guesses 192 bits.
const SECRET_BYTES: usize = 24;

/// What a visitor must know.
#[derive(Clone)]
pub struct Token(String);

/// A text that is no token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "a token of the console has 32 or more letters, digits, dashes and underscores; delete the file that keeps it to get a new one"
)]
pub struct NoToken;

impl Token {
    /// Makes a token that nobody can guess.
    ///
    /// # Errors
    ///
    /// If the operating system has no randomness to give.
    pub fn random() -> Result<Self, getrandom::Error> {
        secret().map(Self)
    }

    /// Takes a token that was kept from an earlier start.
    ///
    /// # Errors
    ///
    /// If it is too short to be one, or has characters that no address may have.
    pub fn from_text(text: &str) -> Result<Self, NoToken> {
        let is_sound = text.len() >= 32
            && text.len() <= 256
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        is_sound.then(|| Self(text.to_owned())).ok_or(NoToken)
    }

    /// Returns the token as it stands in the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the token, in a time that doesn't tell how much of it is right.
    pub(crate) fn is(&self, shown: &str) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), shown.as_bytes()).is_ok()
    }

    /// Something else that only those know who know the token, and that doesn't give the token away.
    pub(crate) fn derived(&self, purpose: &[u8]) -> hmac::Tag {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        hmac::sign(&key, purpose)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(***)")
    }
}

/// A text that nobody can guess, for an address or a cookie.
pub(crate) fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_never_printed_by_accident() {
        let token = Token::random().expect("randomness");
        assert_eq!(token.as_str().len(), 32);
        assert_eq!(format!("{token:?}"), "Token(***)");
        assert!(Token::from_text(token.as_str()).is_ok());
        for text in ["", "short", "with spaces in it, and long enough to be one"] {
            assert_eq!(Token::from_text(text).err(), Some(NoToken), "{text:?}");
        }
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::from_text("abcdefghijklmnopqrstuvwxyz-0123456").expect("a token");
        assert!(token.is("abcdefghijklmnopqrstuvwxyz-0123456"));
        for other in [
            "",
            "a",
            "abcdefghijklmnopqrstuvwxyz-012345",
            "abcdefghijklmnopqrstuvwxyz-0123457",
        ] {
            assert!(!token.is(other), "{other:?}");
        }
    }
}
