"""The real Kubernetes for the bench scripts: its server, its controllers, and a node on which every pod runs at once."""

import collections
import concurrent.futures
import http.client
import json
import re
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

from api_client import MERGE, ApiClient
from measuring import REAL, free_port, stop

ADMINISTRATOR, MEASURED, NODE = "bench-token", "measured-token", "node-token"

# How many pods the node looks after at the same time.
NODE_HANDS = 4


def wait_until_ready(url, begun):
    """Waits for a server; returns how many seconds after `begun` it was ready."""
    context = ssl._create_unverified_context()
    while time.monotonic() - begun < 120:
        try:
            if urllib.request.urlopen(f"{url}/readyz", context=context, timeout=5).status == 200:
                return time.monotonic() - begun
        except OSError:
            time.sleep(0.002)
    sys.exit(f"{url} did not become ready")


def start_server(folder, log, tokens, etcd_flags=(), server_flags=()):
    """Starts etcd and kube-apiserver on an empty store; returns them, the address, and the key of service accounts."""
    client, peer, port = free_port(), free_port(), free_port()
    keys = folder / "sa.key"
    subprocess.run(["openssl", "genrsa", "-out", keys, "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(
        "".join(f"{token},{name},{name},system:masters\n" for token, name in tokens.items()))
    etcd = subprocess.Popen(
        [REAL / "etcd", f"--data-dir={folder / 'etcd'}", f"--listen-client-urls=http://127.0.0.1:{client}",
         f"--advertise-client-urls=http://127.0.0.1:{client}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
         f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}", f"--initial-cluster=default=http://127.0.0.1:{peer}",
         *etcd_flags],
        stdout=log, stderr=log)
    server = subprocess.Popen(
        [REAL / "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{client}", f"--secure-port={port}",
         "--bind-address=127.0.0.1", f"--cert-dir={folder / 'certificates'}", f"--service-account-key-file={keys}",
         f"--service-account-signing-key-file={keys}", "--service-account-issuer=https://kubernetes.default.svc",
         f"--token-auth-file={folder / 'tokens.csv'}", "--authorization-mode=RBAC",
         "--service-cluster-ip-range=10.0.0.0/16", *server_flags],
        stdout=log, stderr=log)
    return [etcd, server], port, keys


class RealCluster(ApiClient):
    """The real server with its controllers and a node. What the measured program asks is counted, request by request."""

    def __init__(self, folder):
        self.folder, self.is_over = folder, False
        self.audit = folder / "audit.log"
        (folder / "audit.yaml").write_text(
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
            "rules: [{level: Metadata, users: [measured]}, {level: None}]\n")
        log = (folder / "log").open("wb")
        begun = time.monotonic()
        self.processes, port, keys = start_server(
            folder, log, {ADMINISTRATOR: "admin", MEASURED: "measured", NODE: "node"},
            etcd_flags=["--unsafe-no-fsync"],
            server_flags=["--disable-admission-plugins=ServiceAccount", "--audit-log-maxsize=10000",
                          f"--audit-policy-file={folder / 'audit.yaml'}", f"--audit-log-path={self.audit}"])
        super().__init__(port, ADMINISTRATOR)
        wait_until_ready(f"https://127.0.0.1:{self.port}", begun)
        self.processes.append(subprocess.Popen(
            [REAL / "kube-controller-manager", f"--kubeconfig={self.kubeconfig('admin', ADMINISTRATOR)}",
             f"--service-account-private-key-file={keys}", "--use-service-account-credentials",
             "--bind-address=127.0.0.1", f"--secure-port={free_port()}", "--leader-elect=false",
             "--kube-api-qps=500", "--kube-api-burst=1000"],
            stdout=log, stderr=log))
        threading.Thread(target=self.run_pods, daemon=True).start()

    def kubeconfig(self, name, token):
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "bench",
            "clusters": [{"name": "bench", "cluster": {
                "server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}}],
            "users": [{"name": "bench", "user": {"token": token}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        }))
        return path

    def run_pods(self):
        """Lets every pod run as soon as it is there."""
        ready = {"status": {"phase": "Running", "conditions": [
            {"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady", "Initialized", "PodScheduled")]}}

        def start(pod):
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            self.ask("PATCH", f"/api/v1/namespaces/{namespace}/pods/{name}/status", ready, NODE, MERGE)

        with concurrent.futures.ThreadPoolExecutor(NODE_HANDS) as hands:
            while not self.is_over:
                try:
                    for event in self.watch("/api/v1/pods?fieldSelector=status.phase%3DPending", NODE):
                        if event["type"] == "ADDED":
                            hands.submit(start, event["object"])
                except (OSError, http.client.HTTPException, ValueError):
                    # A watch ends now and then, and the server may be on its way out.
                    time.sleep(0.01)

    def asked(self):
        """What the measured program asked so far, by verb and resource, watches left aside."""
        counted = collections.Counter()
        pattern = re.compile(r'"requestURI":"([^"?]*)[^"]*","verb":"(\w+)"')
        resource = re.compile(r'"objectRef":\{"resource":"(\w+)"')
        with self.audit.open() as lines:
            for line in lines:
                uri, verb = pattern.search(line).groups()
                about = resource.search(line)
                kind = about[1] if about else uri
                if about and (sub := re.search(r'"subresource":"(\w+)"', line)):
                    kind += f"/{sub[1]}"
                if verb != "watch":
                    counted[f"{verb} {kind}"] += 1
        return counted

    def requests(self):
        """How many requests the measured program made, watches left aside."""
        return self.asked().total()

    def stop(self):
        self.is_over = True
        stop(self.processes)
