//! The time by the clock that a render may take, for those who render what strangers wrote.

use std::time::{Duration, Instant};

use gotemplate::Interrupt;

/// How long a render may take. All the steps that it may take are seconds of work; this is for what they don't count,
/// such as a machine that has no time for it, and a cluster that is slow to answer `lookup`.
pub const MAX_RENDER_TIME: Duration = Duration::from_mins(1);

/// Ends a render when its time is over.
pub struct Deadline {
    limit: Duration,
    started: Instant,
}

impl Deadline {
    /// Lets a render take so long from now on.
    pub fn after(limit: Duration) -> Deadline {
        Deadline {
            limit,
            started: Instant::now(),
        }
    }
}

impl Interrupt for Deadline {
    fn reason_to_stop(&self) -> Option<String> {
        (self.started.elapsed() >= self.limit).then(|| {
            format!(
                "the render takes more than {} seconds; give it smaller values, or have the chart's author look at what \
                 this template goes over again and again",
                self.limit.as_secs()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_is_over_is_a_reason_to_stop() {
        let reason = Deadline::after(Duration::ZERO).reason_to_stop();
        assert!(reason.is_some_and(|reason| reason.starts_with("the render takes more than 0 seconds; ")));
        assert_eq!(Deadline::after(Duration::MAX).reason_to_stop(), None);
    }
}
