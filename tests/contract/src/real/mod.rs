//! A real Kubernetes: etcd, kube-apiserver, kube-controller-manager and a small test node, started for one test run
//! and gone with it.

pub(crate) mod binaries;
mod certificates;
mod node;
mod process;

pub use binaries::{Binaries, BuildError, RELEASE, find, folder, workspace};
pub use process::Supervised;

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The token of the administrator (group system:masters) of every real cluster.
pub const ADMIN_TOKEN: &str = "admin-token";

/// The file of what is audited.
const AUDIT_LOG: &str = "audit.log";

/// Generous: a loaded machine takes ten times as long as an idle one.
const START_DEADLINE: Duration = Duration::from_mins(3);

/// What kind of cluster to start.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether etcd waits for the disk. Tests don't need it; a comparison of speed does.
    pub durable: bool,
    /// Whether the controllers run.
    pub controllers: bool,
    /// Whether a test node makes Pods run.
    pub node: bool,
    /// The address that the API is served on.
    pub address: IpAddr,
    /// Administrators beside the usual one, each with a kubeconfig of its own: [`RealCluster::kubeconfig_of`].
    pub administrators: Vec<String>,
    /// What is written to [`RealCluster::audit_log`], as a policy of kube-apiserver; nothing is the usual.
    pub audit_policy: Option<String>,
    /// Arguments that kube-apiserver gets in addition.
    pub apiserver_arguments: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durable: false,
            controllers: true,
            node: true,
            address: Ipv4Addr::LOCALHOST.into(),
            administrators: Vec::new(),
            audit_policy: None,
            apiserver_arguments: Vec::new(),
        }
    }
}

/// A real cluster. Dropping it ends its processes and removes its files.
#[derive(Debug)]
pub struct RealCluster {
    /// Where the API is served, as `https://address:port`.
    pub url: String,
    /// The certificate authority of the API's address, in PEM.
    pub authority: String,
    /// A kubeconfig of the administrator.
    pub kubeconfig: PathBuf,
    binaries: Binaries,
    // Dropped in this order: the node before the servers it talks to, the folder last.
    _node: Option<node::TestNode>,
    controllers: Option<Supervised>,
    apiserver: Supervised,
    etcd: Supervised,
    folder: tempfile::TempDir,
}

/// Why a real cluster did not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The programs are not there.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A file, port or process could not be had.
    #[error("starting a real cluster: {0}")]
    System(#[from] std::io::Error),
    /// Keys or certificates could not be made.
    #[error("starting a real cluster: making certificates: {0}")]
    Certificates(#[from] rcgen::Error),
    /// The HTTP client could not be made.
    #[error("starting a real cluster: the HTTP client: {0}")]
    Client(#[from] reqwest::Error),
    /// kube-apiserver did not become ready in time.
    #[error("kube-apiserver was not ready after {} s; its last words:\n{last_words}", START_DEADLINE.as_secs())]
    NotReady {
        /// The end of its log.
        last_words: String,
    },
}

impl RealCluster {
    /// Starts a cluster on free ports, in a folder of its own.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let binaries = Binaries::locate()?;
        let folder = tempfile::Builder::new().prefix("realkube-").tempdir()?;
        let root = folder.path();
        let certificates = certificates::write(root, options.address)?;
        let [client_port, peer_port, api_port] = free_ports(options.address)?;

        let etcd_url = format!("http://127.0.0.1:{client_port}");
        let peer_url = format!("http://127.0.0.1:{peer_port}");
        let mut etcd_arguments = vec![
            format!("--data-dir={}", root.join("etcd").display()),
            format!("--listen-client-urls={etcd_url}"),
            format!("--advertise-client-urls={etcd_url}"),
            format!("--listen-peer-urls={peer_url}"),
            format!("--initial-advertise-peer-urls={peer_url}"),
            format!("--initial-cluster=default={peer_url}"),
        ];
        if !options.durable {
            etcd_arguments.push("--unsafe-no-fsync".to_owned());
        }
        let etcd = Supervised::start(&binaries.program("etcd"), &etcd_arguments, &root.join("etcd.log"))?;

        let url = format!("https://{}:{api_port}", options.address);
        let tokens = root.join("tokens.csv");
        let mut known = format!(
            "{ADMIN_TOKEN},admin,admin,\"system:masters\"\nalice-token,alice,alice,\"devs\"\nbob-token,bob,bob\n"
        );
        for name in &options.administrators {
            let _ = writeln!(known, "{name}-token,{name},{name},\"system:masters\"");
        }
        std::fs::write(&tokens, known)?;
        let mut arguments = apiserver_arguments(root, &etcd_url, (options.address, api_port), &tokens);
        if let Some(policy) = &options.audit_policy {
            let file = root.join("audit-policy.yaml");
            std::fs::write(&file, policy)?;
            arguments.push(format!("--audit-policy-file={}", file.display()));
            arguments.push(format!("--audit-log-path={}", root.join(AUDIT_LOG).display()));
        }
        arguments.extend(options.apiserver_arguments.iter().cloned());
        let apiserver = Supervised::start(
            &binaries.program("kube-apiserver"),
            &arguments,
            &root.join("apiserver.log"),
        )?;
        let authority = &certificates.authority_file;
        let kubeconfig = root.join("admin.kubeconfig");
        std::fs::write(&kubeconfig, kubeconfig_text(&url, authority, ADMIN_TOKEN))?;
        for name in &options.administrators {
            let text = kubeconfig_text(&url, authority, &format!("{name}-token"));
            std::fs::write(root.join(format!("{name}.kubeconfig")), text)?;
        }

        let client = crate::server::https_client(&certificates.authority)?;
        wait_until_ready(&client, &url, &apiserver).await?;

        let node = options.node.then(|| node::TestNode::start(client, &url));
        let mut cluster = Self {
            url,
            authority: certificates.authority,
            kubeconfig,
            binaries,
            _node: node,
            controllers: None,
            apiserver,
            etcd,
            folder,
        };
        if options.controllers {
            cluster.start_controllers()?;
        }
        Ok(cluster)
    }

    /// Starts the controllers of a cluster that was started without them. Those that look after custom resources know at
    /// once of the kinds that are defined by then; of others they learn within half a minute.
    pub fn start_controllers(&mut self) -> Result<(), StartError> {
        let root = self.folder.path();
        self.controllers = Some(start_controllers(&self.binaries, root, &self.kubeconfig)?);
        Ok(())
    }

    /// The programs this cluster was started from; `kubectl` is one of them.
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// The kubeconfig of one of the administrators that were asked for.
    pub fn kubeconfig_of(&self, administrator: &str) -> PathBuf {
        self.folder.path().join(format!("{administrator}.kubeconfig"))
    }

    /// Where kube-apiserver writes what its audit policy asks for, an event in each line.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.path().join(AUDIT_LOG)
    }

    /// The process ids of etcd, kube-apiserver and, if it runs, kube-controller-manager.
    pub fn pids(&self) -> (u32, u32, Option<u32>) {
        (
            self.etcd.pid(),
            self.apiserver.pid(),
            self.controllers.as_ref().map(Supervised::pid),
        )
    }
}

fn apiserver_arguments(
    root: &Path,
    etcd_url: &str,
    (address, port): (IpAddr, u16),
    tokens: &Path,
) -> Vec<String> {
    let file = |name: &str| root.join(name).display().to_string();
    vec![
        format!("--etcd-servers={etcd_url}"),
        format!("--secure-port={port}"),
        format!("--bind-address={address}"),
        format!("--cert-dir={}", file("certificates")),
        format!("--tls-cert-file={}", file("apiserver.crt")),
        format!("--tls-private-key-file={}", file("apiserver.key")),
        format!("--client-ca-file={}", file("authority.crt")),
        format!("--service-account-key-file={}", file("accounts.pub")),
        format!("--service-account-signing-key-file={}", file("accounts.key")),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--token-auth-file={}", tokens.display()),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/12".to_owned(),
        "--allow-privileged=true".to_owned(),
        // The suite sends all its cases at once; fairness between users is not what it asks about.
        "--max-requests-inflight=3000".to_owned(),
        "--max-mutating-requests-inflight=2000".to_owned(),
    ]
}

fn start_controllers(binaries: &Binaries, root: &Path, kubeconfig: &Path) -> std::io::Result<Supervised> {
    let arguments = [
        format!("--kubeconfig={}", kubeconfig.display()),
        format!(
            "--service-account-private-key-file={}",
            root.join("accounts.key").display()
        ),
        format!("--root-ca-file={}", root.join("authority.crt").display()),
        format!("--cert-dir={}", root.join("certificates").display()),
        "--use-service-account-credentials".to_owned(),
        // Nobody asks them anything, and a port that was free when the cluster was started may be in use by now.
        "--secure-port=0".to_owned(),
        "--leader-elect=false".to_owned(),
        // Hundreds of namespaces come and go in a minute.
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
        "--concurrent-namespace-syncs=20".to_owned(),
    ];
    Supervised::start(
        &binaries.program("kube-controller-manager"),
        &arguments,
        &root.join("controller-manager.log"),
    )
}

async fn wait_until_ready(
    client: &reqwest::Client,
    url: &str,
    apiserver: &Supervised,
) -> Result<(), StartError> {
    let begun = Instant::now();
    while begun.elapsed() < START_DEADLINE {
        let answer = client
            .get(format!("{url}/readyz"))
            .bearer_auth(ADMIN_TOKEN)
            .send()
            .await;
        if answer.is_ok_and(|answer| answer.status().is_success()) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(StartError::NotReady {
        last_words: apiserver.last_words(),
    })
}

/// Ports that were free a moment ago: all are held until all are known, so that no two are the same.
fn free_ports(address: IpAddr) -> std::io::Result<[u16; 3]> {
    let mut listeners = Vec::with_capacity(3);
    let mut ports = [0; 3];
    for port in &mut ports {
        // Free on both: some of the programs listen on this machine alone.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        if !address.is_loopback() {
            listeners.push(TcpListener::bind((address, *port))?);
        }
        listeners.push(listener);
    }
    Ok(ports)
}

fn kubeconfig_text(url: &str, authority: &Path, token: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
current-context: real
clusters:
- name: real
  cluster: {{server: {url:?}, certificate-authority: '{}'}}
contexts:
- name: real
  context: {{cluster: real, user: admin}}
users:
- name: admin
  user: {{token: {token}}}
",
        authority.display()
    )
}
