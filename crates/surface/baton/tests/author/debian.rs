//! Debian's registry.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::registries::{Registry, free_address};

/// Debian's registry.
pub(crate) struct Debian {
    _folder: TempDir,
    process: Child,
    address: SocketAddr,
}

impl Debian {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // A port that was free a moment ago: this registry can't be asked for one.
        let address = free_address();
        let configuration = folder.path().join("configuration.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: \"{address}\"}}\n",
            folder.path().join("storage").display()
        );
        fs::write(&configuration, text).expect("written");
        let mut process = Command::new("docker-registry")
            .arg("serve")
            .arg(configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("docker-registry starts");
        while TcpStream::connect(address).is_err() {
            let ended = process.try_wait().expect("a process");
            assert!(
                ended.is_none(),
                "docker-registry ended before it listened: {ended:?}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            _folder: folder,
            process,
            address,
        }
    }
}

impl Registry for Debian {
    fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Debian {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
