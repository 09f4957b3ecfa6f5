"""Compare the version of each library that a convention reproduces with the newest one on the package index.

``python scripts/check_versions.py`` prints one line per convention and exits with 1 if a library
has a newer version. It asks the index through pip, so that mirrors and proxies of its configuration
hold. ``trec_eval`` is no package: its releases are those of https://github.com/usnistgov/trec_eval.
"""

from __future__ import annotations

import re
import subprocess
import sys

import rankwise as rw

PACKAGES = {
    "warprec": "warprec",
    "recbole": "recbole",
    "elliot": "elliot",
    "rectools": "rectools",
    "replay": "replay-rec",
    "lenskit": "lenskit",
    "recommenders": "recommenders",
    "rexmex": "rexmex",
    "cornac": "cornac",
    "implicit": "implicit",
    "surprise": "scikit-surprise",
    "ranx": "ranx",
    "trec_eval-9": "pytrec-eval-terrier",
    "ir_measures": "ir-measures",
    "torchmetrics": "torchmetrics",
    "sklearn": "scikit-learn",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "catboost": "catboost",
    "torch_ignite": "pytorch-ignite",
    "llama_index": "llama-index-core",
    "haystack": "haystack-ai",
    "mlflow": "mlflow",
    "sentence_transformers": "sentence-transformers",
    "beir": "beir",
    "mteb": "mteb",
    "evidently": "evidently",
}
"""The package of each convention; earlier versions and ``trec_eval`` have none."""


def version_run(library: str) -> str:
    """Return the version in the description of a library: its last number.

    >>> version_run("trec_eval 9.0.8 through pytrec_eval-terrier 0.5.11")
    '0.5.11'
    """
    return str(re.findall(r"\d+(?:\.\d+)+", library)[-1])


def newest(package: str) -> str | None:
    """Return the newest version on the package index, also for other Pythons; None if it does not answer."""
    options = ("--ignore-requires-python", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "index", "versions", package, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    match = re.match(r"\S+ \(([^)]+)\)", done.stdout)
    return match[1] if match else None


def is_newer(version: str, than: str) -> bool:
    """Return whether a version has larger numbers than another one, as far as that is written."""
    left, right = ([int(number) for number in re.findall(r"\d+", text)] for text in (version, than))
    return left[: len(right)] > right


def main() -> int:
    """Print the versions; 1 if one of the index is newer."""
    behind = 0
    for name, package in PACKAGES.items():
        run, there = version_run(rw.conventions()[name].library), newest(package)
        says = (
            "not on the index" if there is None else "newer" if is_newer(there, run) else "the same"
        )
        behind += says == "newer"
        print(f"{name:<14} {package:<20} run: {run:<10} index: {there or '-':<10} {says}")
    return int(behind > 0)


if __name__ == "__main__":
    sys.exit(main())
