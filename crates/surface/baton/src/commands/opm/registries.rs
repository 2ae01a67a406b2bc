//! Registries as opm talks to them.

use image::policy::PolicySource;

use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::terminal::Terminal;

use super::command::Invocation;
use super::flags::Flag;

const SKIP_TLS: &str = "skip-tls";
const SKIP_TLS_VERIFY: &str = "skip-tls-verify";
const USE_HTTP: &str = "use-http";
const INSTEAD: &str = "use --use-http and --skip-tls-verify instead";

/// The flags that every command has.
pub(super) fn shared_flags() -> Vec<Flag> {
    vec![
        Flag::switch(
            SKIP_TLS,
            "skip TLS certificate verification for container image registries while pulling bundles or index",
        )
        .deprecated(INSTEAD),
        Flag::switch(
            SKIP_TLS_VERIFY,
            "skip TLS certificate verification for container image registries while pulling bundles",
        ),
        Flag::switch(
            USE_HTTP,
            "use plain HTTP for container image registries while pulling bundles",
        ),
    ]
}

/// The same flags as `opm alpha bundle unpack` describes them.
pub(super) fn own_flags() -> Vec<Flag> {
    vec![
        Flag::switch(SKIP_TLS, "use plain HTTP")
            .letter('s')
            .deprecated(INSTEAD),
        Flag::switch(SKIP_TLS_VERIFY, "disable TLS verification"),
        Flag::switch(USE_HTTP, "use plain HTTP"),
    ]
}

/// How registries are to be talked to.
#[derive(Clone)]
pub(super) struct Registries(ImageFlags);

impl Registries {
    /// Reads the flags, which must not contradict each other.
    pub(super) fn of(invocation: &Invocation<'_>) -> Result<Self, Failure> {
        let given = |name| invocation.given.has(name);
        let refused =
            |combination: &str| Err(Failure::new(format!("invalid flag combination: {combination}")));
        if given(SKIP_TLS) && given(USE_HTTP) {
            return refused("cannot use --use-http with --skip-tls");
        }
        if given(SKIP_TLS) && given(SKIP_TLS_VERIFY) {
            return refused("cannot use --skip-tls-verify with --skip-tls");
        }
        if invocation.is_on(SKIP_TLS_VERIFY) && invocation.is_on(USE_HTTP) {
            return refused("--use-http and --skip-tls-verify cannot both be true");
        }
        // opm accepts any certificate for each of them, and plain HTTP where there is no HTTPS.
        let is_open = [SKIP_TLS, SKIP_TLS_VERIFY, USE_HTTP]
            .iter()
            .any(|name| invocation.is_on(name));
        Ok(Self(ImageFlags {
            skip_tls_verify: is_open,
            image_cache: ["OLM_CACHE_DIR", "BATON_IMAGE_CACHE"]
                .iter()
                .find_map(|name| std::env::var_os(name).filter(|folder| !folder.is_empty()))
                .map(Into::into),
            ..ImageFlags::default()
        }))
    }

    /// Trusts one more certificate authority.
    pub(super) fn trust(&mut self, file: &str) {
        self.0.certificate_authority.push(file.into());
    }

    /// Opens the store of images; when images are to be fetched, there must be a policy that says which may be.
    pub(super) fn open(&self, fetches: bool, terminal: &Terminal) -> Result<Images, Failure> {
        let policy = if fetches {
            PolicySource::Required
        } else {
            PolicySource::Optional
        };
        Images::open(&self.0, policy, terminal.bars())
    }
}
