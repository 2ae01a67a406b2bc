"""Everything on this machine for the bench scripts: baton's registry, its stage and its controllers, and what is published."""

import json
import os
import subprocess
import sys

from api_client import ApiClient
from measuring import BATON, free_port, run, stop, wait_until

CATALOGS = "/apis/olm.operatorframework.io/v1/clustercatalogs"
EXTENSIONS = "/apis/olm.operatorframework.io/v1/clusterextensions"


def service_version(package, version):
    """A ClusterServiceVersion with one Deployment."""
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{package}.v{version}"},
        "spec": {
            "displayName": package,
            "version": version,
            "installModes": [{"type": kind, "supported": kind in ("AllNamespaces", "OwnNamespace")}
                             for kind in ("AllNamespaces", "MultiNamespace", "SingleNamespace", "OwnNamespace")],
            "install": {"strategy": "deployment", "spec": {"deployments": [{
                "name": package,
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": {"app": package}},
                    "template": {"metadata": {"labels": {"app": package}},
                                 "spec": {"containers": [{"name": "main", "image": f"example.com/{package}:{version}"}]}},
                },
            }]}},
        },
    }


def catalog(name, image, poll_minutes=None):
    """A ClusterCatalog."""
    polled = {} if poll_minutes is None else {"pollIntervalMinutes": poll_minutes}
    return {"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": {"name": name},
            "spec": {"source": {"type": "Image", "image": {"ref": image, **polled}}}}


def extension(name, namespace, package, version=None):
    """A ClusterExtension."""
    wanted = {"packageName": package, **({"version": version} if version else {})}
    return {"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "metadata": {"name": name},
            "spec": {"namespace": namespace, "source": {"sourceType": "Catalog", "catalog": wanted}}}


def holds(one, kind):
    """Whether a condition of an object is true."""
    conditions = one.get("status", {}).get("conditions", [])
    return any(condition["type"] == kind and condition["status"] == "True" for condition in conditions)


def installed_version(one):
    """The version that an extension has, if it is installed."""
    return one["status"]["install"]["bundle"]["version"] if holds(one, "Installed") else None


class Publisher:
    """Starts commands of baton in a folder, and publishes bundles and catalogs to `self.registry`."""

    def prepare(self, folder):
        self.folder, self.processes = folder, []
        # Registries and servers are on this machine.
        self.environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("proxy")}

    def log(self, name):
        return self.folder / f"{name}.log"

    def start(self, name, *command, cwd=None):
        """Starts a command of baton that stays."""
        log = self.log(name).open("ab")
        process = subprocess.Popen([str(part) for part in (BATON, *command)], cwd=cwd, env=self.environment,
                                   stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def publish(self, package, versions):
        """Pushes a bundle for each version; returns the objects of a catalog with all of them in one channel."""
        names = [f"{package}.v{version}" for version in versions]
        entries = [{"name": name, **({"replaces": before} if before else {})} for before, name in zip([None, *names], names)]
        blobs = [{"schema": "olm.package", "name": package, "defaultChannel": "stable"},
                 {"schema": "olm.channel", "package": package, "name": "stable", "entries": entries}]
        for name, version in zip(names, versions):
            folder = self.folder / "bundles" / name
            (folder / "manifests").mkdir(parents=True)
            manifest = json.dumps(service_version(package, version))
            (folder / "manifests" / "clusterserviceversion.yaml").write_text(manifest)
            image = f"{self.registry}/{package}-bundle:{version}"
            run(BATON, "opm", "alpha", "bundle", "build", "--directory", folder / "manifests", "--tag", image, "--package",
                package, "--channels", "stable", "--default", "stable", cwd=folder, env=self.environment)
            run(BATON, "bundle", "push", image, "--plain-http", cwd=folder, env=self.environment)
            blobs.append({"schema": "olm.bundle", "package": package, "name": name, "image": image, "properties": [
                {"type": "olm.package", "value": {"packageName": package, "version": version}}]})
        return blobs

    def push_catalog(self, name, blobs):
        """Pushes a catalog of these objects; returns its image."""
        folder = self.folder / "catalogs" / name.replace(":", "-")
        folder.mkdir(parents=True)
        (folder / "catalog.json").write_text("\n".join(map(json.dumps, blobs)))
        image = f"{self.registry}/{name}"
        run(BATON, "catalog", "push", image, "--from", folder, "--plain-http", cwd=self.folder, env=self.environment)
        return image


class OneMachine(ApiClient, Publisher):
    """A registry and a stage; controllers where they are wanted."""

    def __init__(self, folder):
        self.prepare(folder)
        self.registry = f"127.0.0.1:{free_port()}"
        self.start("registry", "registry", "serve", "--storage", folder / "registry", "--address", self.registry)
        port, data = free_port(), folder / "stage"
        self.stage = self.start("stage", "stage", "--data-dir", data, "--listen", f"127.0.0.1:{port}")
        self.kubeconfig = data / "baton.kubeconfig"
        wait_until("the stage", lambda: b"Kubernetes API at" in self.log("stage").read_bytes())
        super().__init__(port, (data / "keys" / "administrator.token").read_text().strip())

    def start_controllers(self, kubeconfig=None, *flags):
        controllers = self.start("controllers", "controllers", "--kubeconfig", kubeconfig or self.kubeconfig, "--data-dir",
                                 self.folder / "controllers", "--listen", "127.0.0.1:0", "--plain-http", *flags)
        wait_until("the controllers", lambda: b"catalogs are served" in self.log("controllers").read_bytes())
        return controllers

    def stop(self):
        for process in self.processes:
            if process.poll() is not None:
                print(f"{' '.join(process.args)} ended with {process.returncode}", file=sys.stderr)
        stop(self.processes)
