"""Run real libraries on random data, and hold their numbers against rankwise's conventions.

``python compare.py --environments DIR`` makes the data, runs the script of every library whose
environment is ``DIR/LIBRARY`` and prints what agrees, what differs and why, and which libraries
could not run. The exit code is 1 if a number differs without a reason that the convention gives.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import agreement
import edge_data
from page import implementations, written_page

from libraries import LIBRARIES, Library

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
DOCS = HERE.parents[1] / "docs" / "libraries.md"
CANNOT = 3
"""The exit code of a script for a case that its library cannot express."""


def run(library: Library, python: Path, folder: Path, cutoffs: Sequence[int]) -> dict[str, Any]:
    """Run a library's script on one case.

    Returns
    -------
    dict
        What it printed; without values if the library cannot express the case.
    """
    script = HERE / "runners" / f"run_{library.script}.py"
    command = [str(python), str(script), str(folder), "--k", *map(str, cutoffs)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode == CANNOT:
        return {"values": {}, "version": ""}
    if done.returncode:
        sys.exit(f"{library.runner}: its script failed under {python} on {folder}")
    return dict(json.loads(done.stdout))


def interpreter(environments: Path, library: Library) -> Path | None:
    """Return the interpreter of a library's environment; None if it was not made."""
    python = environments / library.runner / "bin" / "python"
    return python if python.exists() else None


def printed(library: Library, python: Path, cases: Path, cutoffs: Sequence[int]) -> dict[str, Any]:
    """Run a library on all cases.

    Returns
    -------
    dict
        ``library``, ``version`` and ``values`` by ``SEED/CASE``: those that the convention reads.
    """
    values, version = {}, ""
    for folder in sorted(cases.glob("*/*")):
        one = run(library, python, folder, cutoffs)
        place = f"{folder.parent.name}/{folder.name}"
        values[place] = agreement.recorded_names(library, one["values"])
        version = one["version"] or version
    return {"library": library.runner, "version": version, "values": values}


def recorded() -> dict[str, dict[str, Any]]:
    """Return what the libraries printed when they were last recorded."""
    return {
        name: json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
        for name in LIBRARIES
    }


def outcomes_of(
    outputs: Mapping[str, Mapping[str, Any]], cases: Path
) -> dict[str, list[agreement.Outcome]]:
    """Hold outputs of libraries against rankwise."""
    return {
        name: agreement.compare(LIBRARIES[name], output["values"], cases)
        for name, output in outputs.items()
    }


def say(
    outputs: Mapping[str, Mapping[str, Any]], found: Mapping[str, list[agreement.Outcome]]
) -> bool:
    """Print what was found.

    Returns
    -------
    bool
        Whether all is as the conventions say.
    """
    wrong = False
    for name, outcomes in found.items():
        counts = ", ".join(f"{n} {verdict}" for verdict, n in agreement.summary(outcomes).items())
        sys.stdout.write(f"{name} {outputs[name]['version']}: {counts}\n")
        for outcome in outcomes:
            if outcome.verdict != "equal":
                sys.stdout.write(f"  {outcome.metric}: {outcome.verdict}; {outcome.why}\n")
            wrong |= outcome.verdict == "wrong"
    missing = [name for name in LIBRARIES if name not in outputs]
    sys.stdout.writelines(f"{name}: could not run, no environment\n" for name in missing)
    return not wrong


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--environments", type=Path, help="the folder with an environment each")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of the data")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10], help="for the scripts")
    parser.add_argument(
        "--record", action="store_true", help="keep what seed 0 gave, for the tests"
    )
    parser.add_argument("--page", action="store_true", help="write the page from what was recorded")
    parser.add_argument(
        "--metrics", action="store_true", help="print how many libraries give each metric"
    )
    return parser.parse_args()


def main() -> None:
    """Make the data, run the libraries, compare."""
    arguments = read_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        cases = Path(temporary)
        for seed in arguments.seeds:
            edge_data.write_cases(cases / str(seed), seed)
        outputs = (
            recorded()
            if arguments.environments is None
            else {
                name: printed(library, python, cases, arguments.k)
                for name, library in LIBRARIES.items()
                if (python := interpreter(arguments.environments, library)) is not None
            }
        )
        if arguments.record:
            for name, output in outputs.items():
                kept = {p: v for p, v in output["values"].items() if p.startswith("0/")}
                text = json.dumps(
                    {**output, "date": date.today().isoformat(), "values": kept},
                    indent=0,
                    sort_keys=True,
                )
                (RECORDED / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        if arguments.page:
            kept = recorded()
            DOCS.write_text(written_page(kept, outcomes_of(kept, cases)), encoding="utf-8")
        outcomes = outcomes_of(outputs, cases)
        if arguments.metrics:
            sys.stdout.write(implementations(outcomes))
            return
        sys.exit(not say(outputs, outcomes))


if __name__ == "__main__":
    main()
