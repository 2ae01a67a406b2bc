//! Bars on a terminal that show how far images are.

use std::collections::HashMap;
use std::sync::Mutex;

use image::digest::Digest;
use image::remote::{Direction, Outcome, Progress};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// A bar for every blob that is moved.
pub(crate) struct Bars {
    all: MultiProgress,
    moving: Mutex<HashMap<Digest, ProgressBar>>,
}

impl Bars {
    pub(crate) fn new() -> Self {
        Self {
            all: MultiProgress::new(),
            moving: Mutex::default(),
        }
    }

    fn with(&self, blob: &Digest, act: impl FnOnce(&ProgressBar)) {
        // A bar that can't be drawn is no reason to stop moving images.
        if let Some(bar) = self
            .moving
            .lock()
            .ok()
            .and_then(|moving| moving.get(blob).cloned())
        {
            act(&bar);
        }
    }
}

impl Progress for Bars {
    fn started(&self, direction: Direction, blob: &Digest, size: u64) {
        let style = ProgressStyle::with_template("{prefix:8} {msg} {bar:30} {bytes:>10} of {total_bytes}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = self.all.add(ProgressBar::new(size).with_style(style));
        bar.set_prefix(match direction {
            Direction::Download => "fetching",
            Direction::Upload => "pushing",
        });
        bar.set_message(blob.hex().chars().take(12).collect::<String>());
        if let Ok(mut moving) = self.moving.lock() {
            moving.insert(*blob, bar);
        }
    }

    fn reached(&self, blob: &Digest, position: u64) {
        self.with(blob, |bar| bar.set_position(position));
    }

    fn finished(&self, blob: &Digest, outcome: Outcome) {
        self.with(blob, |bar| {
            bar.set_prefix(match outcome {
                Outcome::Transferred => "done",
                Outcome::AlreadyThere => "there",
                Outcome::Mounted => "mounted",
            });
            bar.finish();
        });
    }
}
