//! Whether the disk takes what is written, as far as the last writes tell.

use std::time::{Duration, Instant};

/// For how long a refusal counts that no larger write has disproved: what was as large may not be written again for hours.
const COUNTS_FOR: Duration = Duration::from_mins(1);

/// Why the disk took nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskTrouble {
    /// There is no space left.
    Full,
    /// It fails.
    Fails,
}

/// What the last commits came to. It has no clock.
#[derive(Debug, Default)]
pub(super) struct DiskHealth {
    refused: Option<Refusal>,
}

#[derive(Debug)]
struct Refusal {
    trouble: DiskTrouble,
    /// How much was to be written: a disk that has no space for it may have some for less.
    bytes: usize,
    at: Instant,
}

impl DiskHealth {
    /// The disk took some bytes.
    pub(super) fn took(&mut self, bytes: usize) {
        if self
            .refused
            .as_ref()
            .is_some_and(|refused| bytes >= refused.bytes)
        {
            self.refused = None;
        }
    }

    /// The disk took none of some bytes.
    pub(super) fn refused(&mut self, trouble: DiskTrouble, bytes: usize, now: Instant) {
        self.refused = Some(Refusal {
            trouble,
            bytes,
            at: now,
        });
    }

    /// Returns what is wrong with the disk, if anything is known to be.
    pub(super) fn trouble(&self, now: Instant) -> Option<DiskTrouble> {
        let refused = self.refused.as_ref()?;
        (now.duration_since(refused.at) < COUNTS_FOR).then_some(refused.trouble)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_full_until_it_takes_as_much_again_or_nobody_hears_of_it_for_a_while() {
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        let mut health = DiskHealth::default();
        assert_eq!(health.trouble(at(0)), None);
        health.refused(DiskTrouble::Full, 1000, at(0));
        health.took(10);
        assert_eq!(health.trouble(at(1)), Some(DiskTrouble::Full), "it takes less");
        health.took(1000);
        assert_eq!(health.trouble(at(1)), None);

        health.refused(DiskTrouble::Full, 1000, at(10));
        health.refused(DiskTrouble::Fails, 500, at(20));
        assert_eq!(health.trouble(at(20)), Some(DiskTrouble::Fails));
        health.took(500);
        assert_eq!(
            health.trouble(at(20)),
            None,
            "what counts is what was refused last"
        );

        health.refused(DiskTrouble::Full, 1000, at(30));
        assert_eq!(health.trouble(at(89)), Some(DiskTrouble::Full));
        assert_eq!(health.trouble(at(90)), None);
    }
}
