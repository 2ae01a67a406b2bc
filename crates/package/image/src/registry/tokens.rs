//! Tokens for clients that look at `/v2/` once and then know whether, and how, to log in.
//!
//! Docker, Podman and their kin ask `/v2/` first. Where it says that all is well they never send a password, also not when
//! a push is refused later; where it asks for one (`Basic`), Docker doesn't even pull without. So a registry that strangers may
//! read answers as the large ones do: it asks for a token, and gives one to everybody. That of a stranger is good for
//! reading; that of a user, who shows name and password for it, for everything.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{ALLOW, CACHE_CONTROL, HOST, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use serde_json::json;

use super::access::{self, Access, Caller, Peer};
use super::push::next_piece;
use super::refusal::{ErrorCode, Refusal};
use super::routes::Query;
use super::{Registry, listing, requests};

/// Where tokens are given; no repository has such a name.
pub(super) const PATH: &str = "/v2/_token";

/// How long a token is good for: a client that takes longer asks for another one by itself.
const LIFETIME: Duration = Duration::from_mins(5);

/// The longest form that asks for a token: a name, a password and a handful of scopes.
const LONGEST_FORM: usize = 16 << 10;

/// The longest token that is read: one that was given has a few hundred bytes.
const LONGEST_TOKEN: usize = 4 << 10;

/// Makes and reads tokens; those of an earlier process are worth nothing.
pub(super) struct Tokens {
    key: hmac::Key,
}

impl Tokens {
    pub(super) fn new(key: hmac::Key) -> Self {
        Self { key }
    }

    /// A token that says who somebody is, and until when that is believed.
    fn give(&self, caller: &Caller, now: SystemTime) -> String {
        let until = seconds(now).saturating_add(LIFETIME.as_secs());
        // A stranger has no name, and no user has an empty one.
        let said = format!("{until}:{}", caller.user().unwrap_or_default());
        let tag = hmac::sign(&self.key, said.as_bytes());
        format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(&said),
            URL_SAFE_NO_PAD.encode(tag)
        )
    }

    /// Who showed a token; `None` for one that isn't ours, or isn't good any more.
    pub(super) fn read(&self, token: &str, now: SystemTime) -> Option<Caller> {
        if token.len() > LONGEST_TOKEN {
            return None;
        }
        let (said, tag) = token.split_once('.')?;
        let said = URL_SAFE_NO_PAD.decode(said).ok()?;
        hmac::verify(&self.key, &said, &URL_SAFE_NO_PAD.decode(tag).ok()?).ok()?;
        let said = String::from_utf8(said).ok()?;
        let (until, name) = said.split_once(':')?;
        (seconds(now) < until.parse().ok()?).then(|| match name {
            "" => Caller::Stranger,
            name => Caller::User(name.to_owned()),
        })
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What sends a client here.
pub(super) fn challenge(headers: &HeaderMap, peer: Option<Peer>) -> String {
    let scheme = if peer.is_some_and(|peer| peer.is_tls) {
        "https"
    } else {
        "http"
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    // What could end the quotes is no host.
    let is_plain = |host: &&str| {
        host.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
    };
    let host = host.filter(is_plain).unwrap_or("localhost");
    format!("Bearer realm=\"{scheme}://{host}{PATH}\",service=\"baton registry\"")
}

/// Answers a request for a token.
pub(super) async fn answer(State(registry): State<Registry>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let answered = give(&registry, &parts, &mut body).await;
    requests::finish(answered, &mut body).await
}

async fn give(
    registry: &Registry,
    request: &http::request::Parts,
    body: &mut Body,
) -> Result<Response, Refusal> {
    requests::admit_host(registry, request)?;
    let access = &registry.0.options.access;
    let Access::Users { users, .. } = access else {
        return Err(no_tokens());
    };
    if !access.knows_strangers() {
        return Err(no_tokens());
    }
    let peer = request.extensions.get::<Peer>().copied();
    let caller = match request.method {
        Method::GET => access.identify(&request.headers, peer).await?,
        Method::POST => {
            let form = read_form(body).await?;
            match (form.first("username"), form.first("password")) {
                (Some(name), Some(password)) => Caller::User(users.admit(name, password).await?),
                _ => {
                    return Err(access::refusal(
                        "there are no tokens that last here: send a name and a password, with grant_type=password",
                    ));
                }
            }
        }
        _ => {
            return Err(Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                ErrorCode::Unsupported,
                format_args!("{PATH:?} does not support {}", request.method),
                json!({ "method": request.method.as_str() }),
            )
            .with_header(ALLOW, "GET, POST"));
        }
    };
    let token = users.tokens.give(&caller, SystemTime::now());
    let mut response = listing::json_response(
        "application/json",
        &json!({ "token": token, "access_token": token, "expires_in": LIFETIME.as_secs() }),
    );
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response.into_response())
}

fn no_tokens() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        ErrorCode::Unsupported,
        "this registry gives no tokens: it takes a name and a password with each request, or asks for nothing",
        json!(null),
    )
}

async fn read_form(body: &mut Body) -> Result<Query, Refusal> {
    let mut bytes = Vec::new();
    while let Some(piece) = next_piece(body).await {
        bytes.extend_from_slice(&piece?);
        if bytes.len() > LONGEST_FORM {
            return Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                ErrorCode::SizeInvalid,
                format_args!("the form is larger than {LONGEST_FORM} bytes"),
                json!({ "limit": LONGEST_FORM }),
            ));
        }
    }
    Ok(Query::parse(std::str::from_utf8(&bytes).ok()))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;

    use super::*;

    fn tokens() -> Tokens {
        Tokens::new(hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).unwrap())
    }

    #[test]
    fn a_token_says_who_it_was_given_to_for_a_while() {
        let tokens = tokens();
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        for caller in [
            Caller::Stranger,
            Caller::User("ann".to_owned()),
            Caller::User("a:b".to_owned()),
        ] {
            let token = tokens.give(&caller, now);
            assert_eq!(tokens.read(&token, now), Some(caller.clone()));
            assert_eq!(
                tokens.read(&token, now + LIFETIME.saturating_sub(Duration::from_secs(1))),
                Some(caller)
            );
            assert_eq!(tokens.read(&token, now + LIFETIME), None, "it is too old");
            assert_eq!(super::tests::tokens().read(&token, now), None, "another process");
        }
    }

    #[test]
    fn a_token_that_was_changed_is_none() {
        let tokens = tokens();
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let token = tokens.give(&Caller::Stranger, now);
        let (said, tag) = token.split_once('.').unwrap();
        let other = URL_SAFE_NO_PAD.encode("99999999999:ann");
        for forged in [
            format!("{other}.{tag}"),
            said.to_owned(),
            format!("{said}."),
            format!(".{tag}"),
            format!("{said}.{said}"),
            String::new(),
            "x".repeat(LONGEST_TOKEN + 1),
        ] {
            assert_eq!(tokens.read(&forged, now), None, "{forged}");
        }
    }

    #[test]
    fn clients_are_sent_to_the_name_that_they_asked() {
        for (host, expected) in [
            ("127.0.0.1:5000", "http://127.0.0.1:5000/v2/_token"),
            ("[::1]:5000", "http://[::1]:5000/v2/_token"),
            ("evil\",x=\"y", "http://localhost/v2/_token"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).unwrap());
            assert_eq!(
                challenge(&headers, None),
                format!("Bearer realm=\"{expected}\",service=\"baton registry\"")
            );
        }
    }
}
