"""Numbers of a library held against rankwise under the library's convention, and nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

import rankwise as rw
from libraries import Library

__all__ = ["Outcome", "Verdict", "compare"]

Values: TypeAlias = Mapping[str, float]
Verdict: TypeAlias = Literal["equal", "equal, except", "differs", "not offered", "wrong"]


@dataclass(frozen=True)
class Outcome:
    """One metric of a library beside rankwise's.

    Attributes
    ----------
    metric : str
        The library's name, without a cut-off.
    rankwise : str
        rankwise's metric in full; empty if there is none.
    verdict : str
        ``"equal"`` in every case; ``"equal, except"`` and ``"differs"`` with the reason that the
        convention gives; ``"not offered"``; ``"wrong"`` where no reason is given.
    why : str
        The reason, or what was found.
    """

    metric: str
    rankwise: str
    verdict: Verdict
    why: str = ""


@cache
def tables(folder: Path) -> dict[str, Any]:
    """Read the tables of a case: what `rankwise.evaluate` takes, and the lists by view."""
    read = {path.stem: pl.read_csv(path) for path in folder.glob("*.csv")}
    vectors = pl.Series("features", np.load(folder / "features.npy").tolist())
    views = {"lists": read["lists"]}
    if (folder / "scores.npy").exists():
        scores = np.load(folder / "scores.npy")
        seen = np.zeros(scores.shape, dtype=bool)
        seen[read["train"]["user"], read["train"]["item"]] = True
        user, item = np.nonzero(~seen)
        views["matrix"] = pl.DataFrame({"user": user, "item": item, "score": scores[user, item]})
    given = {role: read[role] for role in ("truth", "train", "users", "reference")}
    return {"views": views, "given": {**given, "items": read["items"].with_columns(vectors)}}


def rankwise_values(library: Library, names: Iterable[str], folder: Path) -> dict[str, float | str]:
    """Return rankwise's values under the convention by the names of a library, or why there are none.

    Names of one view are evaluated together; if that raises, by halves, so that each says what is wrong.
    """
    by_view: dict[str, list[tuple[str, str, str]]] = {}
    for name in names:
        text = library.reads(name)
        if text is not None and _is_read(library, text):
            metric = rw.conventions()[library.convention].parse(text)
            k = name.partition("@")[2]
            if k and metric.cutoff != "none" and not metric.k:
                metric, text = metric @ int(k), f"{text}@{k}"
            by_view.setdefault(library.view(name), []).append(
                (name, text, f"{metric}{library.cell(name)}")
            )
    out: dict[str, float | str] = {}
    at = tables(folder)
    for view, asked in by_view.items():
        lists, waiting = at["views"].get(view, at["views"]["lists"]), [asked]
        while waiting:
            some = waiting.pop()
            texts = list(dict.fromkeys(text for _, text, _ in some))
            try:
                result = rw.evaluate(
                    lists, metrics=texts, convention=library.convention, **at["given"]
                )
                out |= {name: result[cell] for name, _, cell in some}
            except rw.RankwiseError as error:
                half = len(some) // 2
                waiting += [some[:half], some[half:]] if half else []
                out |= {} if half else {some[0][0]: str(error)}
    return out


def compare(library: Library, values: Mapping[str, Values], cases: Path) -> list[Outcome]:
    """Return an outcome for every metric that a library printed.

    Parameters
    ----------
    library : Library
        Which.
    values : mapping of str to mapping of str to float
        By ``SEED/CASE``, its numbers by name.
    cases : Path
        The folder with the data, ``SEED/CASE``.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for place, numbers in values.items():
        ours = rankwise_values(library, numbers, cases / place)
        for name, number in numbers.items():
            problems = found.setdefault(name.partition("@")[0], {"equal": [], "different": []})
            problem = _difference(library, ours.get(name), number)
            if problem is not None:
                kind = "different" if problem else "equal"
                problems[kind].append(f"{place} {name}: {problem}")
    return [_outcome(library, base, problems) for base, problems in found.items()]


def _difference(library: Library, value: float | str | None, number: float) -> str | None:
    """Return how rankwise's value differs, empty if it does not; None if there is none."""
    if value is None or (isinstance(value, str) and "needs a cut-off" in value):
        return None
    near = isinstance(value, float) and math.isclose(
        value, number, rel_tol=library.tolerance, abs_tol=library.tolerance
    )
    return "" if near else f"{number} beside {value}"


@cache
def _is_read(library: Library, text: str) -> bool:
    try:
        rw.conventions()[library.convention].parse(text)
    except rw.RankwiseError:
        return False
    return True


def _outcome(library: Library, base: str, found: Mapping[str, list[str]]) -> Outcome:
    convention = rw.conventions()[library.convention]
    text = library.reads(base)
    if text is None or not any(found.values()):
        return Outcome(base, "", "not offered", "" if text is None else _refusal(convention, text))
    metric = convention.parse(text)
    entry = convention.entry(metric @ 1 if metric.cutoff != "none" else metric)
    entry = convention.language.find_entry(text) or entry
    different = found["different"]
    if not different:
        return Outcome(base, str(metric), "equal")
    elsewhere = [line for line in different if not _is_undefined(library, line)]
    why = entry.note if elsewhere else convention.note
    if not why:
        return Outcome(base, str(metric), "wrong", "; ".join(elsewhere[:3]))
    return Outcome(base, str(metric), "equal, except" if found["equal"] else "differs", why)


def _is_undefined(library: Library, line: str) -> bool:
    place = line.partition(" ")[0]
    return place.rpartition("/")[2] in library.undefined


def _refusal(convention: rw.Convention, text: str) -> str:
    """Return why a name is refused; empty if the convention does not know it."""
    entry = convention.language.find_entry(text)
    return "" if entry is None else entry.refused


def summary(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Count the verdicts."""
    verdicts = [outcome.verdict for outcome in outcomes]
    return {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}


def recorded_names(library: Library, values: Values) -> dict[str, float]:
    """Return the numbers whose names the convention reads."""
    return {
        name: number
        for name, number in values.items()
        if (text := library.reads(name)) is not None
        and _is_read(library, text)
        and not re.search(r"needs", text)
    }
