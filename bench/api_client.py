"""A client of a Kubernetes API for the bench scripts: requests on connections that stay, and watches."""

import http.client
import json
import ssl
import sys
import threading

MERGE = "application/merge-patch+json"


def read(body):
    """The object in an answer; a text where it is none, as for paths that no kind is served at."""
    try:
        return json.loads(body or b"null")
    except ValueError:
        return body.decode(errors="replace")


class ApiClient:
    """Asks a server of this machine as one user; from several threads if need be."""

    def __init__(self, port, token):
        self.port, self.token, self.local = port, token, threading.local()

    def connect(self):
        context = ssl._create_unverified_context()
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=60)

    def ask(self, method, path, body=None, token=None, kind="application/json"):
        """Asks the server; returns the status and the answer."""
        for _ in range(3):
            connection = getattr(self.local, "connection", None) or self.connect()
            self.local.connection = connection
            try:
                connection.request(method, path, body=None if body is None else json.dumps(body),
                                   headers={"Authorization": f"Bearer {token or self.token}", "Content-Type": kind})
                answer = connection.getresponse()
                return answer.status, read(answer.read())
            except (OSError, http.client.HTTPException):
                self.local.connection = None
        sys.exit(f"{method} {path} failed three times")

    def get(self, path):
        """Reads an object; None where there is none."""
        status, answer = self.ask("GET", path)
        return answer if status == 200 else None

    def make(self, path, body):
        """Makes an object, which must not be refused."""
        status, answer = self.ask("POST", path, body)
        if status != 201:
            sys.exit(f"{path} refused an object: {answer}")
        return answer

    def change(self, path, patch):
        """Changes an object by a merge patch, which must not be refused."""
        status, answer = self.ask("PATCH", path, patch, kind=MERGE)
        if status != 200:
            sys.exit(f"{path} refused a change: {answer}")
        return answer

    def watch(self, path, token=None, accept="application/json"):
        """Follows objects from what is there now, event by event; the watch is open when this returns."""
        connection = self.connect()
        connection.timeout = None
        separator = "&" if "?" in path else "?"
        connection.request("GET", f"{path}{separator}watch=true",
                           headers={"Authorization": f"Bearer {token or self.token}", "Accept": accept})
        answer = connection.getresponse()
        return (json.loads(line) for line in answer)
