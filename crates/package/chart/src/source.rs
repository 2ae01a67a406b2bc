//! Where a render gets its time, randomness and keys from; injected, so that a render can be repeated.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use gotemplate::Call;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::host::Host;
use crate::keys;

/// The time, randomness and keys of a render.
pub trait Source {
    /// Returns the present time.
    fn now(&self) -> Timestamp;

    /// Returns how long the program has been running, which Go prints as the monotonic reading of `now`.
    fn elapsed(&self) -> Duration;

    /// Returns the time zone that Go calls `Local`.
    fn local_zone(&self) -> TimeZone;

    /// Fills `buffer` with random bytes.
    fn random_bytes(&self, buffer: &mut [u8]);

    /// Returns a random number below `bound`, each equally likely; 0 for a `bound` of 0.
    fn random_below(&self, bound: u64) -> u64 {
        if bound <= 1 {
            return 0;
        }
        // The largest multiple of `bound` that fits: numbers from there on would favour the low results.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let mut bytes = [0; 8];
            self.random_bytes(&mut bytes);
            let number = u64::from_le_bytes(bytes);
            if number < limit {
                return number % bound;
            }
        }
    }

    /// Makes an RSA private key: PKCS#1 in DER.
    fn rsa_private_key(&self, bits: u32) -> Vec<u8> {
        keys::generate::rsa_private_key(&mut |buffer| self.random_bytes(buffer), bits)
    }

    /// Makes the scalar of an ECDSA P-256 private key, 32 bytes big-endian.
    fn ecdsa_p256_private_key(&self) -> [u8; 32] {
        keys::generate::ecdsa_p256_private_key(&mut |buffer| self.random_bytes(buffer))
    }

    /// Makes the seed of an Ed25519 private key.
    fn ed25519_private_key(&self) -> [u8; 32] {
        let mut seed = [0; 32];
        self.random_bytes(&mut seed);
        seed
    }

    /// Makes a DSA private key with a 2048-bit modulus and a 256-bit group, in OpenSSL's DER form.
    fn dsa_private_key(&self) -> Vec<u8> {
        keys::generate::dsa_private_key(&mut |buffer| self.random_bytes(buffer))
    }
}

/// Returns the source of the render that `call` belongs to; the machine's own outside of one.
pub(crate) fn of(call: &Call<'_, '_>) -> Rc<dyn Source> {
    Host::of(call).map_or_else(
        || Rc::new(SystemSource) as Rc<dyn Source>,
        |host| Rc::clone(&host.source),
    )
}

static PROGRAM_START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The machine's clock and time zone and the operating system's randomness.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemSource;

impl Source for SystemSource {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        PROGRAM_START.elapsed()
    }

    fn local_zone(&self) -> TimeZone {
        let zone = TimeZone::system();
        // Go falls back to UTC where the machine's zone cannot be read.
        if zone.is_unknown() { TimeZone::UTC } else { zone }
    }

    fn random_bytes(&self, buffer: &mut [u8]) {
        // No input decides this: a system without randomness cannot make keys, and Go stops there too.
        getrandom::fill(buffer).expect("the operating system gives random bytes");
    }
}

/// A source that gives the same answers, in the same order, each time it is made from the same seed.
#[derive(Debug)]
pub struct SeededSource {
    now: Timestamp,
    zone: TimeZone,
    generator: RefCell<ChaCha20Rng>,
}

impl SeededSource {
    /// Makes a source whose time stands still at `now`, in UTC.
    pub fn new(seed: &[u8], now: Timestamp) -> SeededSource {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, seed);
        let mut key = [0; 32];
        key.copy_from_slice(digest.as_ref());
        SeededSource {
            now,
            zone: TimeZone::UTC,
            generator: RefCell::new(ChaCha20Rng::from_seed(key)),
        }
    }

    /// Makes a source from a number.
    pub fn from_number(seed: u64, now: Timestamp) -> SeededSource {
        SeededSource::new(&seed.to_be_bytes(), now)
    }

    /// Puts `Local` into another time zone than UTC.
    pub fn in_zone(self, zone: TimeZone) -> SeededSource {
        SeededSource { zone, ..self }
    }
}

impl Source for SeededSource {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn local_zone(&self) -> TimeZone {
        self.zone.clone()
    }

    fn random_bytes(&self, buffer: &mut [u8]) {
        self.generator.borrow_mut().fill_bytes(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeded() -> SeededSource {
        SeededSource::from_number(7, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_seed_repeats_every_answer() {
        let (first, second) = (seeded(), seeded());
        let mut bytes = [[0; 40]; 2];
        first.random_bytes(&mut bytes[0]);
        second.random_bytes(&mut bytes[1]);
        assert_eq!(bytes[0], bytes[1]);
        assert_eq!(first.random_below(1000), second.random_below(1000));
        assert_eq!(first.ecdsa_p256_private_key(), second.ecdsa_p256_private_key());
        assert_eq!(first.rsa_private_key(512), second.rsa_private_key(512));
        assert_eq!(first.now(), second.now());
    }

    #[test]
    fn another_seed_gives_other_answers() {
        let mut bytes = [[0; 16]; 2];
        seeded().random_bytes(&mut bytes[0]);
        SeededSource::from_number(8, Timestamp::UNIX_EPOCH).random_bytes(&mut bytes[1]);
        assert_ne!(bytes[0], bytes[1]);
    }

    #[test]
    fn a_random_number_stays_below_its_bound_and_reaches_every_value() {
        let source = seeded();
        let mut seen = [false; 7];
        for _ in 0..500 {
            seen[source.random_below(7) as usize] = true;
        }
        assert_eq!(seen, [true; 7]);
        assert_eq!(source.random_below(0), 0);
        assert_eq!(source.random_below(1), 0);
    }
}
