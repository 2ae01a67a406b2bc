"""What the bench scripts share: where things are, what a process costs, and figures beside their goals."""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
CORPUS = ROOT.parent / "shared" / "corpus"
BATON = TARGET / "dist" / "baton"
# The real Kubernetes, as `cargo run -p xtask -- realkube` leaves it (`--where` prints the folder).
REAL = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "baton" / "realkube" / "1.36.3"


def command_line(description):
    """The flags that every bench script has; the script adds its own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="end with 1 where a goal is missed")
    parser.add_argument("--built", action="store_true", help="take the programs as they are, without building them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, for programs")
    return parser


def provide(arguments, *packages, needs_real_server=False):
    """Builds what a script measures, or, with --built, makes sure that it is there."""
    if not arguments.built:
        build(*packages, needs_real_server=needs_real_server)
        return
    needed = [(TARGET / "dist" / package, f"cargo build --profile dist --package {package}") for package in packages]
    if needs_real_server:
        needed.append((REAL / "kube-apiserver", "cargo run --package xtask -- realkube"))
    missing = [f"{path} isn't there; `{command}` makes it" for path, command in needed if not path.exists()]
    if missing:
        sys.exit("\n".join(missing))


def build(*packages, needs_real_server=False):
    """Builds packages with the profile dist, and the real server where it is needed; the compiler says how far it is."""
    named = [word for package in packages for word in ("--package", package)]
    print(f"building {', '.join(packages)} with the profile dist, which takes minutes the first time", file=sys.stderr)
    subprocess.run(["cargo", "build", "--profile", "dist", *named], cwd=ROOT, check=True)
    if needs_real_server:
        print("making sure of the real Kubernetes, which takes ten minutes the first time", file=sys.stderr)
        subprocess.run(["cargo", "run", "--package", "xtask", "--", "realkube"], cwd=ROOT, check=True)


def run(*command, **options):
    """Runs a command to its end; returns what it wrote."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(part) for part in command)}: {done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def memory(process, field="VmRSS"):
    """The memory of a process in MiB: VmRSS is what it has, VmHWM the most it ever had, RssAnon what is its alone."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return 0


def processor(process):
    """The seconds of processor that a process took."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(what, holds, patience=300, pause=0.05):
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > patience:
            sys.exit(f"{what} did not come about in {patience} s")
        time.sleep(pause)


def stop(processes):
    """Asks processes to end, the youngest first, and each only when the one before is gone: a kube-apiserver whose etcd went
    first waits for it for minutes."""
    for process in reversed(processes):
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def least(told):
    """The number in what is told of a peer; of a range the lower end, which is the better one for the peer."""
    if told is None or isinstance(told, (int, float)):
        return told
    return float(re.match(r"[\d.,]+", told)[0].replace(",", ""))


class Figures:
    """Figures beside their goals and those of a peer, each told as soon as it is known."""

    def __init__(self, rows, peer="", is_beside=False):
        """Takes for each figure its name, what it is counted in, the most that it may be, and the peer's.

        The peer's figures were recorded earlier, unless both were measured by this run."""
        self.rows, self.peer, self.is_beside, self.is_any_missed = {row[0]: row[1:] for row in rows}, peer, is_beside, False
        self.width = max(map(len, self.rows), default=0)
        self.known = []

    def tell(self, name, value):
        unit, most, others = self.rows[name]
        is_missed = self.note(name, unit, value, others, most)
        goal = "" if most is None else f"at most {most}"
        beside = "" if others is None else f"{self.peer} {others}"
        verdict = "MISSED" if is_missed else ""
        print(f"{name:<{self.width}} {value:>10.2f} {unit:<4} {goal:<14} {beside:<28} {verdict}".rstrip(), flush=True)

    def note(self, name, unit, value, others=None, most=None, is_more_better=False):
        """Keeps a figure without telling it; returns whether it misses its goal."""
        is_missed = most is not None and value > most
        self.is_any_missed |= is_missed
        self.known.append({"name": name, "unit": unit, "value": value, "most": most, "peer": least(others),
                           "peer told": None if others is None else str(others), "more is better": is_more_better})
        return is_missed

    def end(self, arguments, **more):
        """Writes the figures down and ends the program; with 1 where a goal was missed, if that is checked."""
        if arguments.json:
            arguments.json.write_text(json.dumps(
                {"peer": self.peer, "beside": self.is_beside, "figures": self.known, **more}, indent=1))
        sys.exit(1 if arguments.check and self.is_any_missed else 0)
