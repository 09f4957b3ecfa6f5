"""Compare rankwise with other libraries, measure by measure, on the same random data.

``python compare.py --python rectools=ENV/bin/python ...`` makes the data, runs each library's script
in ``runners/`` with the interpreter that has it, evaluates with rankwise what `mapping` names, and
prints a table. It ends with exit code 1 if values differ that should not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import random_data
from mapping import LIBRARIES
from ours import Data, Ours
from verdicts import KINDS, Judge, Row, Tolerance

if TYPE_CHECKING:
    from verdicts import Values

Output: TypeAlias = dict[str, Any]

RUNNERS = Path(__file__).parent / "runners"
USUAL = Tolerance(1e-9, 1e-12)
TOLERANCES = {"warprec": Tolerance(1e-5, 5e-7)}
"""WarpRec works in 32 bits, where numbers near 1 are 6e-8 apart: what is a small difference of such
numbers, as the MAD measures are, has an error of some of these steps however small it is itself."""


def by_measure(values: dict[str, float]) -> dict[str, Values]:
    """Split names at the cut-off.

    Parameters
    ----------
    values : dict
        Values by name, ``precision@5``.

    Returns
    -------
    dict
        Values by cut-off by measure.
    """
    found: dict[str, Values] = {}
    for name, value in values.items():
        base, _, k = name.partition("@")
        found.setdefault(base, {})[int(k) if k else None] = value
    return found


def compare(output: Output, ours: Ours) -> list[Row]:
    """Hold all measures of a library against ours.

    Parameters
    ----------
    output : dict
        What its runner printed.
    ours : Ours
        rankwise's values.

    Returns
    -------
    list of Row

    Raises
    ------
    SystemExit
        If the mapping does not know a name.
    """
    library = output["library"]
    matches = LIBRARIES[library]
    found = by_measure(output["values"])
    unknown = sorted(found.keys() - matches.keys())
    if unknown:
        sys.exit(f"{library}: the mapping has no entry for {', '.join(unknown)}")
    judge = Judge(ours, TOLERANCES.get(library, USUAL))
    rows = [judge.judge(name, theirs, matches[name]) for name, theirs in found.items()]
    reasons = dict(output["failed"])
    tried = found.keys() | {name.partition("@")[0] for name in reasons}
    reasons |= dict.fromkeys(sorted(matches.keys() - tried), "the runner does not print it")
    for name, why in reasons.items():
        verdict = f"no value: {why}"
        rows.append(Row(measure=name, kind="no value", verdict=verdict, theirs={}, values={}))
    return rows


def table(rows: list[Row]) -> str:
    """Write rows as a Markdown table with straight columns.

    Parameters
    ----------
    rows : list of Row
        What to write.

    Returns
    -------
    str
    """
    cutoffs = sorted({k for row in rows for k in row.theirs}, key=lambda k: k or 0)
    heads = [f"{whose}@{k}" if k else whose for k in cutoffs for whose in ("theirs", "ours")]
    head = ["measure", "rankwise", "view", *heads, "rel. diff.", "by default", "verdict"]
    body = [
        [
            *(row.measure, row.ours, row.view),
            *(
                f"{values[k]:.7g}" if k in values else ""
                for k in cutoffs
                for values in (row.theirs, row.values)
            ),
            *(row.difference, row.default, row.verdict),
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    lines = [head, ["-" * width for width in widths], *body]
    return "".join(
        "| " + " | ".join(map(str.ljust, line, widths)).rstrip() + " |\n" for line in lines
    )


def summary(rows: list[Row]) -> str:
    """Count the verdicts.

    Parameters
    ----------
    rows : list of Row
        Of one library.

    Returns
    -------
    str
        In one line.
    """
    counts = Counter(row.kind for row in rows)
    by_default = sum(row.kind == "equal" and row.default == "same" for row in rows)
    parts = [f"{counts[kind]} {kind}" for kind in KINDS]
    return ", ".join([f"{parts[0]} ({by_default} of them by default)", *parts[1:]])


def run(library: str, python: str, folder: Path, cutoffs: list[int]) -> Output:
    """Run a library's script.

    Parameters
    ----------
    library, python : str
        Which, and the interpreter that has it.
    folder : Path
        The data.
    cutoffs : list of int
        Lengths of the lists.

    Returns
    -------
    dict
        What it printed.

    Raises
    ------
    SystemExit
        If it fails; its own words are on stderr.
    """
    script = str(RUNNERS / f"run_{library}.py")
    command = [python, script, str(folder), "--k", *map(str, cutoffs)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode:
        sys.exit(f"{library}: its runner failed under {python}")
    return dict(json.loads(done.stdout))


def read_outputs(folder: Path) -> list[Output]:
    """Read what runners printed before, from files named for the libraries."""
    paths = [folder / f"{library}.json" for library in LIBRARIES]
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
    return found or sys.exit(f"{folder}: none of {', '.join(path.name for path in paths)} is there")


def report(outputs: list[Output], folder: Path) -> bool:
    """Compare and print.

    Parameters
    ----------
    outputs : list of dict
        What the runners printed.
    folder : Path
        The data.

    Returns
    -------
    bool
        Whether all is as the mapping says.
    """
    ours = Ours(Data(folder))
    compared = {f"{one['library']} {one['version']}": compare(one, ours) for one in outputs}
    for title, rows in compared.items():
        sys.stdout.write(f"## {title}\n\n{table(rows)}\n")
    for title, rows in compared.items():
        sys.stdout.write(f"- {title}: {summary(rows)}\n")
    ran = {one["library"] for one in outputs}
    sys.stdout.writelines(f"- {library}: left out\n" for library in LIBRARIES if library not in ran)
    return not any(row.kind == "wrong" for rows in compared.values() for row in rows)


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", default=[], metavar="LIBRARY=INTERPRETER")
    parser.add_argument("--outputs", type=Path, help="read LIBRARY.json here and run nothing")
    parser.add_argument("--data", type=Path, help="the data; made anew if it is not given")
    parser.add_argument("--seed", type=int, default=0, help="of the data that is made")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10], help="for the runners")
    arguments = parser.parse_args()
    arguments.python = dict(pair.partition("=")[::2] for pair in arguments.python)
    if arguments.python.keys() - LIBRARIES.keys() or not all(arguments.python.values()):
        parser.error(f"--python takes LIBRARY=INTERPRETER, of {', '.join(LIBRARIES)}")
    if bool(arguments.python) == bool(arguments.outputs):
        parser.error("give interpreters with --python, or saved outputs with --outputs")
    if arguments.outputs and not arguments.data:
        parser.error("--outputs needs --data, the data that they were computed from")
    return arguments


def main() -> None:
    """Make the data, run the libraries, compare."""
    arguments = read_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.data or Path(temporary)
        if not arguments.data:
            random_data.write_all(folder, arguments.seed)
        if arguments.outputs:
            outputs = read_outputs(arguments.outputs)
        else:
            runs = arguments.python.items()
            outputs = [run(name, python, folder, arguments.k) for name, python in runs]
        sys.exit(not report(outputs, folder))


if __name__ == "__main__":
    main()
