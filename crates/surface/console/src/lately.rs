//! What was found out a moment ago, so that a page that changes often doesn't ask the cluster as often.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// How old what is known of the whole cluster may be on a page that shows only some of it.
pub(crate) const STILL_NEW: Duration = Duration::from_secs(10);

/// What was found out a moment ago.
pub(crate) struct Lately<T>(Mutex<Option<(Instant, Arc<T>)>>);

impl<T> Default for Lately<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Lately<T> {
    /// Returns what is known, or looks again if that is too old.
    pub(crate) async fn get<E>(&self, look: impl Future<Output = Result<T, E>>) -> Result<Arc<T>, E> {
        let mut last = self.0.lock().await;
        if let Some((when, known)) = last.as_ref()
            && when.elapsed() < STILL_NEW
        {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(look.await?);
        *last = Some((Instant::now(), Arc::clone(&found)));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_just_found_out_is_not_asked_again_and_a_failure_is() {
        let lately = Lately::default();
        assert_eq!(lately.get(async { Err::<i32, _>("no") }).await, Err("no"));
        assert_eq!(lately.get(async { Ok::<_, &str>(1) }).await, Ok(Arc::new(1)));
        assert_eq!(lately.get(async { Ok::<_, &str>(2) }).await, Ok(Arc::new(1)));
    }
}
