//! What a chart is rendered with to learn about it: time, chance and clusters that are the same each time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use chart::capabilities::Capabilities;
use chart::source::{SeededSource, Source};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::kinds::WELL_KNOWN_API_VERSIONS;

/// A cluster in which the operators are installed that charts most often ask for.
pub(super) fn with_well_known_operators() -> Capabilities {
    let mut able = Capabilities::default();
    able.api_versions
        .extend(WELL_KNOWN_API_VERSIONS.iter().map(ToString::to_string));
    able
}

/// Time that stands still and chance that repeats, with each size of key made only once: keys are slow to make.
pub(super) struct RepeatableSource {
    seeded: SeededSource,
    keys: RefCell<HashMap<u32, Vec<u8>>>,
    dsa_key: RefCell<Option<Vec<u8>>>,
}

impl Default for RepeatableSource {
    fn default() -> Self {
        Self {
            seeded: SeededSource::from_number(0, Timestamp::UNIX_EPOCH),
            keys: RefCell::default(),
            dsa_key: RefCell::default(),
        }
    }
}

impl Source for RepeatableSource {
    fn now(&self) -> Timestamp {
        self.seeded.now()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn local_zone(&self) -> TimeZone {
        TimeZone::UTC
    }

    fn random_bytes(&self, buffer: &mut [u8]) {
        self.seeded.random_bytes(buffer);
    }

    fn rsa_private_key(&self, bits: u32) -> Vec<u8> {
        // What a chart does with a key doesn't depend on its size, and the largest take seconds.
        let bits = bits.min(1024);
        let mut keys = self.keys.borrow_mut();
        keys.entry(bits)
            .or_insert_with(|| self.seeded.rsa_private_key(bits))
            .clone()
    }

    fn dsa_private_key(&self) -> Vec<u8> {
        let mut key = self.dsa_key.borrow_mut();
        key.get_or_insert_with(|| self.seeded.dsa_private_key()).clone()
    }
}
