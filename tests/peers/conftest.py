"""Keep pytest from importing what `compare.py` is made of: it runs as a script, from here."""

from __future__ import annotations

collect_ignore = [
    f"{name}.py"
    for name in ("agreement", "compare", "edge_data", "libraries", "page", "random_data")
]
