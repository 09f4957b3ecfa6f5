"""A virtual environment for each peer, for their requirements exclude each other."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

__all__ = ["PEERS", "interpreter"]

_FOLDER = Path(__file__).resolve().parents[2] / "build" / "peers"
PEERS: dict[str, dict[str, list[Any]]] = tomllib.loads(
    Path(__file__).with_name("peers.toml").read_text()
)
"""What is installed for each peer."""


def interpreter(peer: str) -> Path:
    """Return the Python of a peer's environment, which is made if it is not there as asked for.

    Raises
    ------
    subprocess.CalledProcessError
        If a package cannot be installed; its ``stderr`` says why.
    """
    asked, folder = PEERS[peer], _FOLDER / peer
    python, done = folder / "bin" / "python", folder / "installed.json"
    if done.exists() and json.loads(done.read_text()) == asked:
        return python
    _run(sys.executable, "-m", "venv", "--clear", str(folder))
    install = (str(python), "-m", "pip", "install", "--quiet")
    _run(*install, *asked["packages"])
    if "no_deps" in asked:
        _run(*install, "--no-deps", *asked["no_deps"])
    for name, old, new in asked.get("edits", ()):
        (path,) = folder.glob(f"lib/*/site-packages/{name}")
        path.write_text(path.read_text().replace(old, new))
    done.write_text(json.dumps(asked))
    return python


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
