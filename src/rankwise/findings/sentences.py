"""Sentences about findings: the word of a verdict with the numbers that it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rankwise.core.terminal import brief, change, signed
from rankwise.findings.words import change_text, interval_text, is_missing, named_p, places


def pair_sentence(
    row: Mapping[str, Any],
    *,
    inside: str = "",
    condition: str = "",
    per: str = "",
    p_name: str = "p",
    alpha: float = 0.05,
) -> str:
    """Return a finding as a sentence.

    Parameters
    ----------
    row : mapping
        The finding, as a row of its table.
    inside : str
        Among whom it is, and what it rests on, after the metric: ``" for country AT"``.
    condition : str
        The condition of the verdict: ``"no user loses more than 0.63"``; empty for any users.
    per : str
        What a mean is per, ``" per request"``; empty for users.
    p_name : str
        The name of the p-value, with its correction.
    alpha : float
        The significance level.

    Examples
    --------
    >>> row = {"system": "B", "baseline": "A", "metric": "ndcg@10", "verdict": "better",
    ...        "mean_system": 0.331, "mean_baseline": 0.321, "difference": 0.01, "low": 0.004,
    ...        "high": 0.016, "lift": 0.031, "lift_low": 0.012, "lift_high": 0.05}
    >>> pair_sentence(row)
    'B beats A on ndcg@10: 0.331 against 0.321, +3.1 % (1.2 to 5.0).'
    """
    one, other, on = row["system"], row["baseline"], f"on {row['metric']}{inside}"
    under = f" if {condition}" if condition else ""
    size = size_text(row)
    means = f"{brief(row['mean_system'])} against {brief(row['mean_baseline'])}{per}, {size}"
    match row["verdict"]:
        case "better" | "better if":
            return f"{one} beats {other} {on}{under}: {means}."
        case "worse" | "worse if":
            return f"{one} is worse than {other} {on}{under}: {means}."
        case "different" | "different if":
            neither = "neither direction of this metric is better"
            if row.get("higher_is_better") is not None:
                neither = "most differences are on the other side of 0 than their mean"
            return f"{one} and {other} differ {on}{under}: {means}; {neither}."
        case "equivalent" | "equivalent if":
            within = "within the margin" + (f",{under}" if under else "")
            return f"{one} and {other} are equivalent {on}, {within}: {means}."
        case "not worse":
            margin = f"{brief(row['margin'])}, the margin, or more"
            return f"{one} is not worse than {other} {on} by {margin}{under}: {means}."
        case "not checked":
            why = ", ".join(row["flags"]) or row["why"]
            return f"{one} is not tested against {other} {on}: {means}; {why}."
    p = named_p(p_name, row["p_adjusted"], alpha)
    would = "" if is_missing(row["minimum_detectable"]) else detectable_sentence(row)
    return f"{one} is not shown to differ from {other} {on}: {size}, {p}.{would}"


def size_text(row: Mapping[str, Any]) -> str:
    """Return the size of a difference: relative where its interval is known, else absolute."""
    names = ("lift", "lift_low", "lift_high")
    if all(row[name] is not None and math.isfinite(row[name]) for name in names):
        return change_text(row)
    limits = interval_text(row, signed)
    return signed(row["difference"], places(row)) + ("" if limits == "–" else f" ({limits})")


def detectable_sentence(row: Mapping[str, Any]) -> str:
    """Return the difference that would be found with a probability of 80 %."""
    size, mean = row["minimum_detectable"], abs(row["mean_baseline"])
    if math.isinf(size):
        return " With so few users, no difference within the range of the metric reaches a power of 80 %."
    share = f" ({change(size / mean).removeprefix('+')})" if mean else ""
    return (
        f" A difference of {brief(size)}{share} would be detected in 80 % of samples of this size."
    )
