//! The catalogs of a flow, served over gRPC from their files as `opm serve` does it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use catalog::grpc::serving::{PreparedStore, ServeOptions, prepare};
use catalog::store::CurrentStore;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A catalog that is served.
struct Served {
    port: u16,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
    _store: PreparedStore,
    _folder: tempfile::TempDir,
}

/// All catalogs of a flow, by their names.
#[derive(Default)]
pub(crate) struct Catalogs {
    served: BTreeMap<String, Served>,
}

impl Catalogs {
    /// Serves a catalog from a file. One of that name is stopped before, and the new one takes its port.
    pub(crate) async fn serve(&mut self, name: &str, file: &Path) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::copy(file, folder.path().join("catalog.yaml")).expect("a copy");
        let source = folder.path().to_owned();
        let store = tokio::task::spawn_blocking(move || {
            prepare(&ServeOptions {
                source,
                ..ServeOptions::default()
            })
            .expect("a store")
        })
        .await
        .expect("a store");
        let port = match self.served.remove(name) {
            None => 0,
            Some(before) => {
                before.stop.send(()).ok();
                let ended = tokio::time::timeout(Duration::from_secs(2), before.running).await;
                ended.ok();
                before.port
            }
        };
        let listener = bind(port).await;
        let port = listener.local_addr().expect("an address").port();
        let current = Arc::new(CurrentStore::new(store.store.clone()));
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move {
            let stopped = async {
                stopped.await.ok();
            };
            catalog::grpc::serve(current, listener, stopped)
                .await
                .expect("served");
        });
        self.served.insert(
            name.to_owned(),
            Served {
                port,
                stop,
                running,
                _store: store,
                _folder: folder,
            },
        );
    }

    /// Returns where a catalog is served.
    pub(crate) fn address(&self, name: &str) -> Option<String> {
        let served = self.served.get(name)?;
        Some(format!("127.0.0.1:{}", served.port))
    }
}

/// Takes a port; the one who had it before may need a moment to let it go.
async fn bind(port: u16) -> TcpListener {
    for _ in 0..100 {
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)).await {
            return listener;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("port {port} is taken");
}
