"""Measure rankwise beside every peer: ``python benchmarks/run.py --size small``.

Each peer has an environment of its own, made on the first run, and each run of a peer is a new
process, followed by one of rankwise that computes the same metrics under the peer's convention.
No time counts before the values agree. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "contest"))

import contest_page  # noqa: E402 - it lies in the folder above
from data import SIZES, write_data  # noqa: E402
from environments import PEERS, interpreter  # noqa: E402
from timing import claim_memory, write_bytecode  # noqa: E402

RESULTS = HERE / "results"
STEPS = ("import", "construction", "first call", "later call", "memory")
LIMIT = 900
"""Seconds after which a process is ended."""
MEMORY = 18 << 30
"""Bytes beyond which a process gets no more memory."""
ROUNDS = {"small": 5, "ml1m": 3, "ml20m": 1}
READY = {"small": 1 << 30, "ml1m": 2 << 30, "ml20m": 8 << 30}
"""Bytes of memory that each process finds ready."""

Found: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True)
class Opponent:
    """What a peer computes, and what rankwise is asked for beside it.

    Attributes
    ----------
    task : {"lists", "factors", "search"}
        Lists and ground truth to means; factors to means, without the items of train; or factors to
        the best ten items alone.
    convention : str, optional
        The convention under which rankwise gives the peer's numbers.
    tolerance : float, default=1e-9
        The largest relative difference; larger where the peer computes in 32 bits.
    """

    task: str
    convention: str | None = None
    tolerance: float = 1e-9


OPPONENTS = {
    "plain_python": Opponent("lists"),
    "polars": Opponent("lists"),
    "ranx": Opponent("lists", "ranx"),
    "pytrec_eval": Opponent("lists", "trec_eval"),
    "ir_measures": Opponent("lists", "ir_measures"),
    "rectools": Opponent("lists", "rectools"),
    "replay": Opponent("lists", "replay"),
    "recommenders": Opponent("lists", "recommenders"),
    "lenskit": Opponent("lists", "lenskit"),
    "torchmetrics": Opponent("lists", "torchmetrics", 1e-5),
    "implicit": Opponent("factors", "implicit", 1e-5),
    "cornac": Opponent("factors", "cornac", 1e-5),
    "recbole": Opponent("factors", "recbole", 1e-5),
    "warprec": Opponent("factors", "warprec", 1e-5),
    "recometrics": Opponent("factors", None, 1e-5),
    "faiss": Opponent("search", None, 1e-5),
}


class CannotRunError(Exception):
    """A peer that could not be installed, failed, or took too long."""


def run(python: Path, program: str, folder: Path, *arguments: str) -> Found:
    """Run a program in a new process and return what it printed."""
    command = [str(python), str(HERE / "contest" / f"with_{program}.py"), str(folder), *arguments]
    try:
        done = subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRunError(f"took more than {LIMIT // 60} minutes") from error
    except subprocess.CalledProcessError as error:
        last = [line for line in error.stderr.splitlines() if line.strip()][-1:]
        raise CannotRunError(*(last or [f"ended with {error.returncode}"])) from error
    return dict(json.loads(done.stdout))


def against(peer: str, folder: Path, rounds: int, ready: int) -> Found:
    """Run a peer and rankwise in turns; return their times, and the ratios of neighbours.

    Each process finds ``ready`` bytes of memory that the machine has had before (`claim_memory`).
    """
    opponent = OPPONENTS[peer]
    python, version = _environment(peer)
    theirs, mine = [], []
    for _ in range(rounds):
        claim_memory(ready)
        theirs.append(run(python, peer, folder))
        asked = ["--task", opponent.task, "--metrics", *theirs[0]["values"]]
        if opponent.convention:
            asked += ["--convention", opponent.convention]
        claim_memory(ready)
        mine.append(run(Path(sys.executable), "rankwise", folder, *asked))
        _check(theirs[-1]["values"], mine[-1]["values"], opponent.tolerance)
    steps = [step for step in STEPS if all(each[step] is not None for each in theirs)]
    return {
        "task": opponent.task,
        "version": version,
        "rounds": rounds,
        "metrics": [*theirs[0]["values"]],
        "peer": {step: statistics.median(each[step] for each in theirs) for step in steps},
        "rankwise": {step: statistics.median(each[step] for each in mine) for step in steps},
        "ratio": {
            step: statistics.median(a[step] / b[step] for a, b in zip(theirs, mine, strict=True))
            for step in steps
        },
    }


def _environment(peer: str) -> tuple[Path, str]:
    """Return the interpreter of a peer and the version that it has."""
    if peer not in PEERS:  # nothing but what rankwise itself needs
        version = importlib.metadata.version(peer) if peer != "plain_python" else ""
        return Path(sys.executable), version or ".".join(map(str, sys.version_info[:3]))
    try:
        python = interpreter(peer)
    except subprocess.CalledProcessError as error:
        raise CannotRunError(f"cannot be installed: {error.stderr.splitlines()[-1]}") from error
    name = {"faiss": "faiss-cpu", "pytrec_eval": "pytrec-eval-terrier", "replay": "replay-rec"}
    code = f"import importlib.metadata as m; print(m.version({name.get(peer, peer)!r}))"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return python, done.stdout.strip()


def _check(theirs: dict[str, float], mine: dict[str, float], tolerance: float) -> None:
    differ = [
        f"{name}: {value:.12g}, rankwise {mine[name]:.12g}"
        for name, value in theirs.items()
        if not math.isclose(value, mine[name], rel_tol=tolerance)
    ]
    if differ:
        raise CannotRunError("other values: " + "; ".join(differ))


def measure(size: str, peers: list[str], rounds: int) -> Found:
    """Metric peers at one size."""
    found: dict[str, Found] = {}
    with tempfile.TemporaryDirectory() as name:
        rows = write_data(size, Path(name))
        for peer in peers:
            print(f"{size}: {peer} …", file=sys.stderr, flush=True)
            try:
                found[peer] = against(peer, Path(name), rounds, READY[size])
            except CannotRunError as error:
                found[peer] = {"task": OPPONENTS[peer].task, "why": str(error)}
            print(f"  {_said(found[peer])}", file=sys.stderr, flush=True)
    return {
        "users": SIZES[size],
        "rows": rows,
        "processors": len(os.sched_getaffinity(0)),
        "python": ".".join(map(str, sys.version_info[:3])),
        "rankwise": importlib.metadata.version("rankwise"),
        "peers": found,
    }


def _said(found: Found) -> str:
    if "why" in found:
        return str(found["why"])
    return ", ".join(f"{step} {value:.2f}×" for step, value in found["ratio"].items())


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure rankwise beside its peers.")
    parser.add_argument("--size", choices=SIZES, action="append", help="default: small, ml1m")
    parser.add_argument("--peer", choices=OPPONENTS, action="append", help="default: all")
    parser.add_argument("--rounds", type=int, help="how often each pair runs")
    parser.add_argument("--page", action="store_true", help="only write docs/benchmarks.md anew")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    write_bytecode()  # as pip did for the peers
    for size in () if options.page else options.size or ("small", "ml1m"):
        path = RESULTS / f"{size}.json"
        found = measure(size, options.peer or [*OPPONENTS], options.rounds or ROUNDS[size])
        if options.peer and path.exists():  # the others stay
            found["peers"] = json.loads(path.read_text())["peers"] | found["peers"]
        path.write_text(json.dumps(found, indent=1) + "\n")
    contest_page.write(RESULTS)


if __name__ == "__main__":
    main()
