"""How readers are told of a finding: verdict words with their marks, p-values, intervals, names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from rankwise.core.terminal import Style, brief, change, decimals, level_text


def is_missing(value: float | None) -> bool:
    """Return whether a number is null or NaN."""
    return value is None or math.isnan(value)


_LEAST = 1e-4


def p_value(p: float | None, alpha: float = 0.05) -> str:
    """Return a p-value with two significant digits, or more if rounding would cross alpha.

    >>> p_value(0.01234), p_value(1e-9), p_value(None), p_value(0.0499), p_value(0.0504), p_value(1.0)
    ('0.012', '<0.0001', '–', '0.0499', '0.0504', '1')
    """
    if p is None or math.isnan(p):
        return "–"
    if p < _LEAST:
        return f"<{_LEAST:.4f}"
    texts = (f"{p:.{digits}g}" for digits in range(2, 9))
    return next(
        (text for text in texts if float(text) != alpha and (float(text) < alpha) == (p < alpha)),
        f"{p:g}",
    )


def named_p(name: str, p: float, alpha: float = 0.05) -> str:
    """Return a p-value for a sentence.

    >>> named_p("p", 0.01234), named_p("adjusted p", 1e-9)
    ('p = 0.012', 'adjusted p < 0.0001')
    """
    text = p_value(p, alpha)
    return f"{name} < {text[1:]}" if text.startswith("<") else f"{name} = {text}"


def interval_text(
    row: Mapping[str, Any], text: Callable[[float | None, int | None], str] = brief
) -> str:
    """Return the interval of a difference as text, with its decimals; a dash if a limit is missing.

    >>> interval_text({"low": 0.0377, "high": 0.05341, "mean_baseline": 0.0203, "mean_system": 0.0659})
    '0.0377 to 0.0534'
    """
    if is_missing(row["low"]) or is_missing(row["high"]):
        return "–"
    return " to ".join(text(row[name], places(row)) for name in ("low", "high"))


NO_LIST = "no list from either system"
"""Why nothing is checked in a group without lists."""
VERDICT_STYLES: Mapping[str, Style] = {
    "better": "better",
    "worse": "worse",
    "better if": "better",
    "worse if": "worse",
    "different": "bold",
    "different if": "bold",
    "equivalent": "bold",
    "equivalent if": "bold",
    "not worse": "bold",
}
"""How verdicts are set."""
VERDICT_MARKS = {
    "better": "▲",
    "worse": "▼",
    "better if": "△",
    "worse if": "▽",
    "different": "◆",
    "different if": "◇",
}
"""The signs beside values that a verdict is about."""
OPEN_VERDICTS = ("not shown", "not checked")
"""The verdicts that say nothing of either side."""
_P_OF_MARGIN = {"equivalent": "p_equivalence_adjusted", "not worse": "p_non_inferior_adjusted"}


def verdict_tone(verdict: str | None) -> Literal["", "better", "worse"]:
    """Return the colour of a verdict in reports and charts."""
    if verdict in ("better", "better if"):
        return "better"
    return "worse" if verdict in ("worse", "worse if") else ""


DIFFERENT_IF = ("better if", "worse if", "different if")
"""The verdicts that a difference has as long as no unseen user loses more than a stated amount."""
CONDITIONAL = (*DIFFERENT_IF, "equivalent if")
"""All verdicts that hold under such a condition."""


def verdict_words(row: Mapping[str, Any]) -> str:
    """Return the verdict of a row, with its condition, or that it rests on a loss that was stated.

    >>> verdict_words({"verdict": "better if", "condition": 0.6342}), verdict_words({"verdict": "worse"})
    ('better if ≤ .63', 'worse')
    >>> verdict_words({"verdict": "better", "loss_stated": 0.5})
    'better (stated)'
    """
    verdict = str(row["verdict"])
    if verdict in CONDITIONAL:
        return f"{verdict} ≤ {loss_in_cells(row['condition'])}"
    stated = row.get("loss_stated")
    if is_missing(stated) or verdict in OPEN_VERDICTS:
        return verdict
    return f"{verdict} (stated)"


def loss_text(loss: float) -> str:
    """Return a largest loss for sentences: two digits, rounded down, so that it is never too large.

    >>> loss_text(0.6399), loss_text(4.87), loss_text(31.6), loss_text(0.0449)
    ('0.63', '4.8', '31', '0.044')
    """
    if not loss > 0 or not math.isfinite(loss):
        return "–" if math.isnan(loss) else f"{loss:g}"
    decimals_ = max(1 - math.floor(math.log10(loss)), 0)
    factor = 10**decimals_
    return f"{math.floor(loss * factor + 1e-9) / factor:.{decimals_}f}"


def rounded(count: int) -> int:
    """Return a planned number with two digits.

    >>> rounded(597), rounded(12_345)
    (600, 12000)
    """
    digits = 10 ** max(len(str(count)) - 2, 0)
    return int(round(count / digits) * digits)


def loss_in_cells(loss: float) -> str:
    """Return a largest loss for cells, without the leading zero.

    >>> loss_in_cells(0.6399), loss_in_cells(4.87)
    ('.63', '4.8')
    """
    text = loss_text(loss)
    return text.removeprefix("0") if text.startswith("0.") else text


def limits_text(low: float, high: float, text: Callable[[float], str]) -> str:
    """Return the limits of an interval as text; a dash where it is not known.

    >>> limits_text(-0.25, 0.5, brief), limits_text(math.nan, 0.5, brief)
    ('−0.250 to 0.500', '–')
    """
    return "–" if math.isnan(low) else f"{text(low)} to {text(high)}"


def level_of(rows: Sequence[Mapping[str, Any]]) -> float:
    """Return the confidence level of a family's intervals, except of margins; NaN if several."""
    levels = {row["confidence"] for row in rows if row["verdict"] not in _P_OF_MARGIN}
    levels = {level for level in levels or {row["confidence"] for row in rows} if level == level}
    levels.discard(None)
    return float(levels.pop()) if len(levels) == 1 else math.nan


def deciding_p(row: Mapping[str, Any]) -> float:
    """Return the adjusted p-value behind a verdict; for a margin, of its tests."""
    name = _P_OF_MARGIN.get(row["verdict"], "p_adjusted")
    return math.nan if row[name] is None else float(row[name])


def margin_mark(row: Mapping[str, Any]) -> str:
    """Return the mark of a p-value from the tests of the margin; empty for other verdicts.

    >>> margin_mark({"verdict": "equivalent"}), margin_mark({"verdict": "better"})
    (' (margin)', '')
    """
    return " (margin)" if row["verdict"] in _P_OF_MARGIN else ""


def margin_level(row: Mapping[str, Any]) -> str:
    """Return the level of the interval of a margin, in parentheses; empty for other verdicts.

    >>> margin_level({"verdict": "equivalent", "confidence": 0.9}), margin_level({"verdict": "better"})
    (' (90 %)', '')
    """
    return f" ({level_text(row['confidence'])})" if row["verdict"] in _P_OF_MARGIN else ""


def places(row: Mapping[str, Any]) -> int:
    """Return the decimals of differences: as for the means, or more to show that 0 is excluded.

    >>> places({"mean_baseline": 0.312, "mean_system": 0.312, "difference": 4e-4, "low": 2e-4, "high": 6e-4})
    4
    >>> places({"mean_baseline": 0.312, "mean_system": 0.312, "difference": 4e-4, "low": -2e-4, "high": 6e-4})
    3
    """
    usual = decimals(row["mean_baseline"], row["mean_system"])
    return _with_sign(usual, *(row.get(name) for name in ("difference", "low", "high")))


def _with_sign(usual: int, value: float | None, low: float | None, high: float | None) -> int:
    """Return the usual decimals, or more if rounding would hide that the limits exclude 0."""
    if value is None or low is None or high is None or not (low > 0 or high < 0):
        return usual
    least = min(abs(value), abs(low), abs(high))
    return (
        usual
        if not 0 < least < 1 or round(least, usual)
        else max(usual, min(math.ceil(-math.log10(least)), 6))
    )


def change_text(row: Mapping[str, Any]) -> str:
    """Return the relative difference, with its interval where that is known.

    >>> change_text({"lift": 2.246, "lift_low": 1.678, "lift_high": 3.081})
    '+225 % (168 to 308)'
    >>> change_text({"lift": 0.0006, "lift_low": 0.0002, "lift_high": 0.001})
    '+0.1 % (0.02 to 0.1)'
    """
    limits = [row["lift_low"], row["lift_high"]]
    if is_missing(row["lift"]) or any(map(is_missing, limits)):
        return change(row["lift"])
    tiny = _with_sign(1, *(100 * value for value in (row["lift"], *limits)))
    low, high = (change(limit, unit="", tiny=tiny) for limit in limits)
    if row["lift_low"] > 0:
        low, high = low.removeprefix("+"), high.removeprefix("+")
    return f"{change(row['lift'], tiny=tiny)} ({low} to {high})"


CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "hochberg": "Hochberg",
    "bh": "Benjamini–Hochberg",
    "by": "Benjamini–Yekutieli",
    "max_t": "max-t",
    "tukey": "randomised Tukey",
}
"""The names of corrections in text; without a correction there is none."""


NAMED = 3  # systems that one sentence names


def listing(names: Sequence[str], noun: str = "systems", named: int = NAMED) -> str:
    """Return names as a list, or how many there are.

    >>> listing(["ease"]), listing(["ease", "svd"]), listing(["a", "b", "c", "d"])
    ('ease', 'ease and svd', '4 systems')
    """
    if len(names) > named:
        return f"{len(names)} {noun}"
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


_TERCILES = ("low", "middle", "high")


def natural_key(group: str | None) -> tuple[Any, ...]:
    """Return the key that sorts groups of users: new ones first, then thirds, numbers and names.

    >>> sorted(["30 or more", "high", "b", "1 to 29", "new", "low", "a", None], key=natural_key)
    ['new', 'low', 'high', '1 to 29', '30 or more', 'a', 'b', None]
    """
    if group is None:
        return (4, 0.0, "")
    number = re.match(r"[-−]?\d+(?:\.\d+)?", group)
    if group in ("new", "none"):
        return (0, 0.0, group)
    if group in _TERCILES:
        return (1, float(_TERCILES.index(group)), "")
    return (2, float(number[0].replace("−", "-")), group) if number else (3, 0.0, group)


def group_name(group: str | None) -> str:
    """Return the name of a group of users; a dash for users without a group."""
    return "–" if group is None else group


def group_words(by: str, group: str | None) -> str:
    """Return whom a row within a group of users is about, in words.

    >>> group_words("country", "AT"), group_words("country", None)
    ('country AT', 'users without country')
    """
    return f"users without {by}" if group is None else f"{by} {group}"


def pair_name(row: Mapping[str, Any]) -> str:
    """Return the name of a pair of systems."""
    return f"{row['system']} − {row['baseline']}"
