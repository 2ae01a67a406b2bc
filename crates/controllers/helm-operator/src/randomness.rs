//! Random values of charts, the same at every render of a release.
//!
//! A chart that makes a password gives another one at each render, and with it another manifest: every look at the
//! resource would be an upgrade. So the first render of a release draws a seed, from which the clock and all random values
//! come; the seed is kept with the release as a label of its record, which Helm carries from revision to revision.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use chart::source::{SeededSource, Source, SystemSource};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The label of a release's record that holds the seed; there only if the chart uses chance or the time.
pub const LABEL: &str = "seed.baton-olm.dev";

/// How many random bytes a seed has: enough that nobody guesses the passwords that come from it.
const RANDOM_BYTES: usize = 24;

/// The digits of a seed in its label.
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// What the random values and the time of a release come from.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed {
    second: u32,
    random: [u8; RANDOM_BYTES],
}

impl fmt::Debug for Seed {
    /// Leaves out what passwords come from.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Seed")
            .field("second", &self.second)
            .finish_non_exhaustive()
    }
}

impl Seed {
    /// Draws a seed.
    pub fn draw() -> Self {
        let mut random = [0; RANDOM_BYTES];
        SystemSource.random_bytes(&mut random);
        Self {
            // The 32 bits last until the year 2106.
            second: u32::try_from(SystemSource.now().as_second()).unwrap_or_default(),
            random,
        }
    }

    /// Reads the seed in a label.
    pub fn from_label(text: &str) -> Option<Self> {
        let mut bits: u64 = 0;
        let mut count = 0;
        let mut bytes = Vec::new();
        for digit in text.bytes() {
            let value = DIGITS.iter().position(|known| *known == digit)?;
            bits = (bits << 5) | u64::try_from(value).ok()?;
            count += 5;
            if count >= 8 {
                count -= 8;
                bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
            }
        }
        let (second, random) = bytes.split_first_chunk::<4>()?;
        Some(Self {
            second: u32::from_be_bytes(*second),
            random: random.try_into().ok()?,
        })
    }

    /// Writes the seed as the value of a label.
    pub fn to_label(&self) -> String {
        let mut text = String::new();
        let mut bits: u64 = 0;
        let mut count = 0;
        let bytes = self.second.to_be_bytes().into_iter().chain(self.random);
        let digit = |bits: u64| char::from(DIGITS[usize::try_from(bits & 31).unwrap_or_default()]);
        for byte in bytes {
            bits = (bits << 8) | u64::from(byte);
            count += 8;
            while count >= 5 {
                count -= 5;
                text.push(digit(bits >> count));
            }
        }
        if count > 0 {
            text.push(digit(bits << (5 - count)));
        }
        text
    }

    /// Returns the source of a render.
    pub fn source(&self) -> Rc<WatchedSource> {
        let now = Timestamp::from_second(i64::from(self.second)).unwrap_or_default();
        Rc::new(WatchedSource {
            inner: SeededSource::new(&self.random, now),
            was_asked: Cell::new(false),
        })
    }
}

/// A source that knows whether it was asked.
pub struct WatchedSource {
    inner: SeededSource,
    was_asked: Cell<bool>,
}

impl WatchedSource {
    /// Returns whether the render depends on chance or on the time.
    pub fn was_asked(&self) -> bool {
        self.was_asked.get()
    }
}

impl Source for WatchedSource {
    fn now(&self) -> Timestamp {
        self.was_asked.set(true);
        self.inner.now()
    }

    fn elapsed(&self) -> Duration {
        self.inner.elapsed()
    }

    fn local_zone(&self) -> TimeZone {
        self.inner.local_zone()
    }

    fn random_bytes(&self, buffer: &mut [u8]) {
        self.was_asked.set(true);
        self.inner.random_bytes(buffer);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_seed_survives_its_label(second: u32, random: [u8; RANDOM_BYTES]) {
            let seed = Seed { second, random };
            let label = seed.to_label();
            prop_assert!(label.len() <= 63, "a label has at most 63 characters");
            prop_assert_eq!(Seed::from_label(&label), Some(seed));
        }

        #[test]
        fn any_text_is_a_seed_or_none(text in "\\PC{0,80}") {
            let _ = Seed::from_label(&text);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_values() {
        let seed = Seed::draw();
        let (one, two) = (seed.source(), seed.source());
        assert!(!one.was_asked());
        let mut bytes = [[0; 16]; 2];
        one.random_bytes(&mut bytes[0]);
        two.random_bytes(&mut bytes[1]);
        assert_eq!(bytes[0], bytes[1]);
        assert!(one.was_asked());
    }
}
