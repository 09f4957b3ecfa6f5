"""Repeated looks at a growing comparison: confidence sequences, and the record of earlier looks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rankwise.comparison.alignment import align_users
from rankwise.comparison.comparison import Comparison
from rankwise.core.saved_forms import LOOKS
from rankwise.core.terminal import as_json, level_text, signed
from rankwise.errors import FileError, ParameterError
from rankwise.findings.margins import margin_of, size_of
from rankwise.messages import parameter
from rankwise.results.intervals import range_of
from rankwise.stats.confidence_sequences import confidence_sequence
from rankwise.stats.differences import Differences, Interval
from rankwise.tables.storage import write_text


@dataclass(frozen=True)
class InterimAnalysis:
    """The outcome of one interim analysis of a pair of systems.

    Attributes
    ----------
    system, baseline, metric : str
        The pair, and the primary metric.
    outcome : {"passed", "failed", "not shown"}
        Passed: the loss is below the margin. Failed: the system is worse.
    why : str
        The interval of the sequence with its level, and how many looks there were.
    """

    system: str
    baseline: str
    metric: str
    outcome: str
    why: str


def record_interim_analysis(comparison: Comparison, file: Path) -> list[InterimAnalysis]:
    """Record an interim analysis of a comparison in a file, and return the outcome of each pair.

    "Passed" is wrong with a probability of at most alpha over all looks together, and so is
    "failed". A margin that is a share of the baseline is tested user by user, on x − (1 − share) ·
    y.

    Parameters
    ----------
    comparison : Comparison
        The comparison with a baseline, with a margin.
    file : Path
        The record of earlier looks, which this one is added to; a new file begins a record.

    Raises
    ------
    ParameterError
        If the comparison has no margin or groups, the metric has no bounds, or another question was
        looked at before.
    FileError
        If the file is not a record of looks.
    """
    design = comparison.design
    if design.margin is None or design.by is not None or not comparison.results:
        raise ParameterError(
            "looks need a comparison of all users, with a margin",
            found=f"{parameter('margin', design.margin)}, {parameter('by', design.by)}",
            hint=f"pass {parameter('margin')}",
        )
    if design.unit.is_of_requests:
        raise ParameterError(
            "looks are at means over users, and these means are over requests",
            found=parameter("mean_over", "requests"),
            hint=f"evaluate with {parameter('mean_over', 'users')}",
        )
    design.check_is_plain("a look")
    rows = comparison.table.to_dicts()
    for cell in dict.fromkeys(row["metric"] for row in rows if row["primary"]):
        _check_means(comparison, cell)
    record = _read(file) if file.exists() else {}
    looks: list[InterimAnalysis] = []
    for row in rows:
        if not row["primary"]:
            continue
        key = f"{row['system']} − {row['baseline']}: {row['metric']}"
        pairs = _pairs(comparison, row)
        rule = {
            "alpha": design.alpha,
            "margin": margin_of(design.margin, row["metric"]),
            "missing": design.missing,
        }
        entry = record.setdefault(key, {"rule": rule, "looks": []})
        _check_rule(entry["rule"], rule)
        looks.append(_looked(comparison, row, pairs, entry))
    write_text(file, as_json({LOOKS.key: LOOKS.version, "pairs": record}))
    return looks


def _check_means(comparison: Comparison, cell: str) -> None:
    """Raise unless a value is a mean over users in every result."""
    for name, result in comparison.results.items():
        if not result.is_mean_of_users(cell):
            raise ParameterError(
                "looks are at means over users, and this value is of all lists together",
                where=name,
                found=cell,
                hint="name a metric of users, such as ndcg@10",
            )


def _check_rule(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise if a setting differs from the first look, because looks would not be valid together."""
    changes = [
        f"{name}: {before.get(name)} before, {now[name]} now"
        for name in now
        if now[name] != before.get(name)
    ]
    if changes:
        raise ParameterError(
            "the settings differ from those of the first look",
            found="; ".join(changes),
            hint="use the same settings, or begin a new file",
        )


def _pairs(comparison: Comparison, row: Mapping[str, Any]) -> Differences:
    aligned = align_users(dict(comparison.results), row["metric"], comparison.design.missing).values
    column = {name: at for at, name in enumerate(comparison.results)}
    return Differences(aligned[:, column[row["system"]]], aligned[:, column[row["baseline"]]])


def _looked(
    comparison: Comparison, row: Mapping[str, Any], pairs: Differences, entry: dict[str, Any]
) -> InterimAnalysis:
    """Return the outcome of a pair, and add the look to its record."""
    before = entry["looks"]
    if before and pairs.n < before[-1]["users"]:
        raise ParameterError(
            "each look must include the users of all earlier looks",
            found=f"{before[-1]['users']:,} users before, {pairs.n:,} now",
            hint="compare all users so far, or begin a new file",
        )
    margin = margin_of(comparison.design.margin, row["metric"])
    size = size_of(margin, pairs.means[1])
    better = comparison.design.directions.get(row["metric"])
    if better is None or size is None:
        raise ParameterError(f"{row['metric']} has no direction, or no margin to clear")
    interval, gain, spare = _sequences(comparison, row["metric"], pairs, margin, better)
    outcome = "passed" if spare.low > 0 else "failed" if gain.high < 0 else "not shown"
    before.append(
        {
            "users": pairs.n,
            "difference": pairs.mean,
            "low": interval.low,
            "high": interval.high,
            "confidence": interval.confidence,
            "margin": size,
            "outcome": outcome,
        }
    )
    why = f"look {len(before)}, {pairs.n:,} users: difference {signed(pairs.mean)}, "
    why += f"{level_text(interval.confidence)} confidence sequence, valid at all looks, "
    why += f"from {signed(interval.low)} to {signed(interval.high)}, margin {size:.4g}"
    return InterimAnalysis(row["system"], row["baseline"], row["metric"], outcome, why)


def _sequences(
    comparison: Comparison,
    metric: str,
    pairs: Differences,
    margin: float | str | None,
    higher_is_better: bool,
) -> tuple[Interval, Interval, Interval]:
    """Return the confidence sequences of the difference, the gain, and the gain plus the margin."""
    lowest, highest = range_of(
        (m for result in comparison.results.values() for m in result.metrics), metric
    )
    width, relative = highest - lowest, isinstance(margin, str)
    if not math.isfinite(width):
        raise ParameterError(
            f"{metric} has no valid confidence sequence, because its values have no bounds",
            found=f"range {lowest:g} to {highest:g}",
            hint="look at a bounded metric, or fix the number of users before, and compare once "
            "without looks",
        )
    if relative and lowest < 0:
        raise ParameterError(
            f"{metric} can be negative, so a share of it is no margin at looks",
            found=parameter("margin", margin),
            hint="pass a number as the margin",
        )
    # Of both outcomes at most one can be wrong, so that either side may err with alpha.
    sequence = partial(confidence_sequence, confidence=1 - 2 * comparison.design.alpha)
    interval = sequence(pairs.d, lowest=-width, highest=width)
    gain = (
        interval if higher_is_better else replace(interval, low=-interval.high, high=-interval.low)
    )
    share = size_of(margin, 1.0) or 0.0
    if not relative:
        return interval, gain, replace(gain, low=gain.low + share, high=gain.high + share)
    spare = (pairs.d if higher_is_better else -pairs.d) + share * pairs.y
    return (
        interval,
        gain,
        sequence(spare, lowest=share * lowest - width, highest=share * highest + width),
    )


def _read(file: Path) -> dict[str, Any]:
    """Return the looks so far, by pair."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        version = LOOKS.version_of(content)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _no_record(file, error) from error
    LOOKS.check(version, str(file))
    try:
        pairs = LOOKS.upgrade(content, version)["pairs"]
        valid = all(
            isinstance(entry["rule"], dict)
            and all(isinstance(look["users"], int) for look in entry["looks"])
            for entry in pairs.values()
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _no_record(file, error) from error
    if not valid:
        raise _no_record(file)
    return dict(pairs)


def _no_record(file: Path, error: Exception | None = None) -> FileError:
    return FileError(
        "this file is no record of looks",
        where=str(file),
        found=str(error).splitlines()[0] if str(error or "") else None,
        hint="name a file that does not exist to begin one",
    )
