//! Ranges of sizes and costs. What doesn't fit into 64 bits stays at the largest number.

/// A range of sizes or of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Range {
    pub(crate) const ZERO: Self = Self::exactly(0);
    pub(crate) const UNKNOWN: Self = Self {
        least: 0,
        most: u64::MAX,
    };

    pub(crate) const fn exactly(number: u64) -> Self {
        Self {
            least: number,
            most: number,
        }
    }

    pub(crate) const fn between(least: u64, most: u64) -> Self {
        Self { least, most }
    }

    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
    }

    pub(crate) const fn times(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_mul(other.least),
            most: self.most.saturating_mul(other.most),
        }
    }

    /// Multiplies with what each unit costs, rounded up.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let scale = |number: u64| (number as f64 * factor).ceil() as u64;
        Self {
            least: scale(self.least),
            most: scale(self.most),
        }
    }

    /// Returns the range that holds both.
    pub(crate) fn union(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}
