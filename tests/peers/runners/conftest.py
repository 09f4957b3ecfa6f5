"""Keep pytest from importing the runners: each needs a library that is not here."""

from __future__ import annotations

collect_ignore_glob = ["*.py"]
