"""The custom resources that the bench scripts change: stacks of the example, whose values nothing checks."""

import shutil

from measuring import ROOT, free_port, wait_until
from one_machine import holds

STACKS = "/apis/models.example.com/v1alpha1/namespaces/stacks/inferencestacks"
WATCHES = "- group: models.example.com\n  version: v1alpha1\n  kind: InferenceStack\n  chart: chart\n"


def stack(name):
    return {"apiVersion": "models.example.com/v1alpha1", "kind": "InferenceStack", "metadata": {"name": name},
            "spec": {"applications": {"chat": {"readerConfig": {
                "modelName": "example/small-chat-7b", "maxSequenceLength": 512}}}}}


def is_settled(one):
    """Whether a stack is deployed as it is written now."""
    return holds(one, "Deployed") and one["status"].get("observedGeneration") == one["metadata"]["generation"]


def stack_definition():
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "inferencestacks.models.example.com"},
            "spec": {"group": "models.example.com", "scope": "Namespaced",
                     "names": {"plural": "inferencestacks", "singular": "inferencestack", "kind": "InferenceStack",
                               "listKind": "InferenceStackList"},
                     "versions": [{"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": {
                                       "type": "object", "properties": {"spec": free, "status": free}}}}]}}


def start_operator(place):
    """Starts an operator for stacks, with the example's chart; returns its process and where it tells its metrics."""
    tree = place.folder / "tree"
    shutil.copytree(ROOT / "examples" / "inference-stack", tree)
    (tree / "watches.yaml").write_text(WATCHES)
    place.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", stack_definition())
    wait_until("the definition", lambda: place.ask("GET", STACKS)[0] == 200)
    place.make("/api/v1/namespaces", {"metadata": {"name": "stacks"}})
    metrics = f"127.0.0.1:{free_port()}"
    process = place.start("operator", "operator", "run", "--watches-file", "watches.yaml", "--kubeconfig", place.kubeconfig,
                          "--metrics-bind-address", metrics, "--health-probe-bind-address", "0", cwd=tree)
    return process, f"http://{metrics}/metrics"
