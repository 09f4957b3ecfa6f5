"""Repeated looks at a comparison: a record of them, and a gate that is valid over all looks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwise.core.view import as_json
from rankwise.errors import FileError, ParameterError
from rankwise.results.align_users import align_users
from rankwise.results.comparison import Comparison
from rankwise.results.margins import margin_of, size_of
from rankwise.results.plain_design import check_plain_design
from rankwise.stats.confidence_sequence import confidence_sequence_of
from rankwise.stats.differences import Differences
from rankwise.tables.atomic_files import write_text

__all__ = ["Look", "look_again"]

_VERSION = 1
_FORWARD = 4  # times the users of the first look: where the sequence is narrowest by default


@dataclass(frozen=True)
class Look:
    """What one more look shows of a pair of systems.

    Attributes
    ----------
    system, baseline, measure : str
        The pair, and the primary measure.
    outcome : {"passed", "failed", "not shown"}
        Passed: the loss is below the margin. Failed: the system is worse.
    why : str
        The interval of the sequence, and how many looks there were.
    """

    system: str
    baseline: str
    measure: str
    outcome: str
    why: str


def look_again(comparison: Comparison, file: Path, *, planned: int | None = None) -> list[Look]:
    """Return what a comparison shows at any number of looks, and record this one in a file.

    Parameters
    ----------
    comparison : Comparison
        The comparison with a baseline, with a margin.
    file : Path
        The record of earlier looks, which this one is added to; a new file begins a record.
    planned : int, optional
        The number of users to plan for; by default four times those of the first look. It is fixed
        with the first look, since the sequence is valid only if it does not follow the data.

    Raises
    ------
    ParameterError
        If the comparison has no margin or groups, or another question was looked at before.
    FileError
        If the file is not a record of looks.
    """
    settings = comparison.settings
    if settings["margin"] is None or settings["by"] is not None or not comparison.results:
        raise ParameterError(
            "looks need a comparison of all users, with a margin",
            found=f"margin={settings['margin']}, by={settings['by']}",
            hint="pass margin=",
        )
    check_plain_design(settings, "a look")
    rows = comparison.table.to_dicts()
    record = _read(file) if file.exists() else {}
    looks: list[Look] = []
    for row in rows:
        if not row["primary"]:
            continue
        key = f"{row['system']} − {row['baseline']}: {row['measure']}"
        pairs = _pairs(comparison, row)
        rule = {
            "alpha": settings["alpha"],
            "margin": margin_of(settings["margin"], row["measure"]),
            "missing": settings["missing"],
        }
        known = record.setdefault(key, {"planned": planned or _FORWARD * pairs.n, "rule": rule, "looks": []})
        _check_rule(known, rule, planned)
        looks.append(_looked(comparison, row, pairs, known))
    write_text(file, as_json({"version": _VERSION, "pairs": record}))
    return looks


def _check_rule(known: Mapping[str, Any], rule: Mapping[str, Any], planned: int | None) -> None:
    """Raise unless this look asks what the first one asked: else looks are not valid together."""
    asked = {**rule, "planned": planned or known["planned"]}
    before = {**known["rule"], "planned": known["planned"]}
    other = [f"{name}: {before[name]} before, {asked[name]} now" for name in asked if asked[name] != before.get(name)]
    if other:
        raise ParameterError(
            "the settings differ from those of the first look",
            found="; ".join(other),
            hint="use the same settings, or begin a new file",
        )


def _pairs(comparison: Comparison, row: Mapping[str, Any]) -> Differences:
    aligned = align_users(dict(comparison.results), row["measure"], comparison.settings["missing"]).values
    column = {name: at for at, name in enumerate(comparison.results)}
    return Differences(aligned[:, column[row["system"]]], aligned[:, column[row["baseline"]]])


def _looked(comparison: Comparison, row: Mapping[str, Any], pairs: Differences, known: dict[str, Any]) -> Look:
    """Return the outcome of a pair, and add the look to its record."""
    settings = comparison.settings
    alpha = settings["alpha"]
    size = size_of(margin_of(settings["margin"], row["measure"]), pairs.means[1])
    better = settings["directions"].get(row["measure"])
    if better is None or size is None:
        raise ParameterError(f"{row['measure']} has no direction, or no margin to clear")
    before = known["looks"]
    if before and pairs.n < before[-1]["users"]:
        raise ParameterError(
            "each look must include the users of all earlier looks",
            found=f"{before[-1]['users']:,} users before, {pairs.n:,} now",
            hint="compare all users so far, or begin a new file",
        )
    # Both sides together have the error alpha; a bound on one side alone may have it twice.
    interval = confidence_sequence_of(pairs, planned=known["planned"], confidence=1 - 2 * alpha)
    worst, best = (interval.low, interval.high) if better else (-interval.high, -interval.low)
    outcome = "passed" if worst > -size else "failed" if best < 0 else "not shown"
    before.append(
        {
            "users": pairs.n,
            "difference": pairs.mean,
            "low": _finite(interval.low),
            "high": _finite(interval.high),
            "margin": size,
            "outcome": outcome,
        }
    )
    why = f"look {len(before)}, {pairs.n:,} users: difference {pairs.mean:+.4f}, valid at all looks "
    why += f"from {interval.low:+.4f} to {interval.high:+.4f}, margin {size:.4g}"
    return Look(row["system"], row["baseline"], row["measure"], outcome, why)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _read(file: Path) -> dict[str, Any]:
    """Return the looks so far, by pair."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        pairs = content["pairs"]
        whole = content["version"] == _VERSION and all(
            isinstance(known["planned"], int)
            and isinstance(known["rule"], dict)
            and all(isinstance(look["users"], int) for look in known["looks"])
            for known in pairs.values()
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise FileError(
            "this file is no record of looks",
            where=str(file),
            found=str(error).splitlines()[0] if str(error) else None,
            hint="name a file that does not exist to begin one",
        ) from error
    if not whole:
        raise FileError("this file is no record of looks", where=str(file))
    return dict(pairs)
