//! A stage that listens, and a kubeconfig for programs that are told where.

use std::path::PathBuf;

use stage::Stage;
use stage::server::ServeOptions;

/// A stage in memory that listens on a port of its own; it ends with this.
pub(crate) struct ServedStage {
    /// The administrator's kubeconfig.
    pub(crate) kubeconfig: PathBuf,
    _folder: tempfile::TempDir,
    _serving: stage::server::Serving,
    _stage: Stage,
}

impl ServedStage {
    pub(crate) async fn start() -> Self {
        let stage = Stage::in_memory(stage::Options::default())
            .await
            .expect("a stage");
        let serving = stage
            .serve(([127, 0, 0, 1], 0).into(), &ServeOptions::default())
            .await
            .expect("a listening stage");
        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = folder.path().join("kubeconfig");
        serving.write_kubeconfig(&kubeconfig).expect("a kubeconfig");
        Self {
            kubeconfig,
            _folder: folder,
            _serving: serving,
            _stage: stage,
        }
    }
}
