//! The console: who may look, and that it is served until everything stops.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ::console::{Console, Token};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::kept_secret;
use crate::served_router::ServedRouter;

/// The file that keeps the token, so that a browser which was let in once is let in again.
const TOKEN_FILE: &str = "console.token";

/// Returns the token that a folder keeps, or a new one.
pub(super) fn token(folder: Option<&Path>) -> Result<Token, Failure> {
    let path = folder.map(|folder| folder.join(TOKEN_FILE));
    let text = kept_secret::read_or_make(path.as_deref())?;
    Token::from_text(&text).map_err(|error| {
        let place = path.map_or_else(String::new, |path| format!(" {}", path.display()));
        Failure::new(format!("cannot use{place}: {error}"))
    })
}

/// A console that is served.
pub(super) struct ServedConsole {
    console: Arc<Console>,
    watching: JoinHandle<()>,
    serving: ServedRouter,
}

impl ServedConsole {
    /// Serves a console until `stopped` becomes true. Called within a Tokio runtime.
    pub(super) fn start(
        console: Arc<Console>,
        listener: TcpListener,
        mut stopped: watch::Receiver<bool>,
    ) -> Self {
        let serving = ServedRouter::start(listener, ::console::router(Arc::clone(&console)));
        let watching = tokio::spawn(Arc::clone(&console).run(async move {
            // Nobody being left who could say so is as good as being told.
            stopped.wait_for(|stopped| *stopped).await.ok();
        }));
        Self {
            console,
            watching,
            serving,
        }
    }

    /// Where a browser finds it, with the token.
    pub(super) fn url(&self, listens_on: SocketAddr) -> String {
        self.console
            .url(&format!("http://{}", stage::server::local(listens_on)))
    }

    /// Waits until streams have ended, and then requests.
    pub(super) async fn stop(self) {
        // One that panicked has ended as well.
        let _ = self.watching.await;
        self.serving.stop().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_and_one_that_was_spoilt_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = token(Some(folder.path())).expect("a token");
        let again = token(Some(folder.path())).expect("a token");
        assert_eq!(first.as_str(), again.as_str());
        assert_ne!(first.as_str(), token(None).expect("a token").as_str());
        std::fs::write(folder.path().join(TOKEN_FILE), "short").expect("a file");
        let said = token(Some(folder.path())).expect_err("a failure").text();
        assert!(
            said.contains("console.token: a token of the console has"),
            "{said}"
        );
    }
}
