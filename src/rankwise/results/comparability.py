"""Whether results can be compared: candidate sets, splits, settings, tables and ground truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rankwise.errors import MeasureError, ParameterError
from rankwise.results.align_users import check_ids
from rankwise.results.result import Result
from rankwise.tables.protocol import PASSED

__all__ = ["check_comparable", "check_questions", "common_cells", "different_truth"]

_SETTINGS = ("convention", "relevance_threshold", "exclude_seen", "catalogue", "order_by", "ids", "score_precision")
_FORCE = "; force=True compares them anyway"


def check_comparable(results: Mapping[str, Result]) -> None:
    """Raise if values are different quantities, so that their difference means nothing."""
    check_ids(results)
    check_questions(results)
    _check_truth(results)


def check_questions(results: Mapping[str, Result]) -> None:
    """Raise if results are of other candidates, splits, settings or tables; users are not read."""
    _check_users(results)
    _check_candidates(results)
    cards = {name: result.split for name, result in results.items() if result.split is not None}
    _check_same(
        {name: card["id"] for name, card in cards.items()},
        {name: results[name].tested_on for name in cards},
        "these results are of different splits",
        "evaluate every model on the same split",
    )
    settings = {name: result.provenance["settings"] for name, result in results.items()}
    _check_rules(results)
    conventions = {name: result.provenance.get("convention") for name, result in results.items()}
    for key in _SETTINGS:
        values = {name: known[key] for name, known in settings.items() if key in known}
        _check_same(
            {name: repr(value) for name, value in values.items()},
            values,
            f"these results were evaluated with different settings of {key}",
            "evaluate all with the same settings",
        )
    _check_same(
        {name: repr(saved) for name, saved in conventions.items()},
        {name: "rankwise's" if saved is None else saved["name"] for name, saved in conventions.items()},
        "these results are of different conventions",
        "evaluate all under the same convention",
    )
    inputs = {name: result.provenance["inputs"] for name, result in results.items()}
    for role in ("train", "items"):
        rows = {name: cards[role]["rows"] for name, cards in inputs.items() if role in cards}
        _check_same(
            rows,
            {name: f"{count} rows" for name, count in rows.items()},
            f"these results were evaluated with different {role}",
            "evaluate all with the same tables",
        )


def _check_rules(results: Mapping[str, Result]) -> None:
    """Raise if a measure is averaged over users by different rules, or of other relevant rows."""
    measures = {str(measure @ ()) for result in results.values() for measure in result.measures}
    for key in ("population", "undefined", "without_list", "relevance"):
        for measure in sorted(measures):
            values = {
                name: rule for name, result in results.items() if (rule := _rule(result, measure, key)) is not None
            }
            _check_same(
                values,
                values,
                f"these results were evaluated with different settings of {key}",
                "evaluate all with the same settings",
            )


def _rule(result: Result, measure: str, key: str) -> str | None:
    """Return a choice for one measure; None if the result does not have it, or does not say."""
    if all(str(one @ ()) != measure for one in result.measures):
        return None
    settings, rules = result.provenance["settings"], result.provenance.get("rules", {})
    chosen: str | None = rules.get(measure, {}).get(key, settings.get(key))
    return chosen


def _check_same(keys: Mapping[str, Any], texts: Mapping[str, object], message: str, hint: str) -> None:
    """Raise if keys differ between the results that have one; ``texts`` show them."""
    if len(set(keys.values())) > 1:
        found = "; ".join(f"{name}: {text}" for name, text in texts.items())
        raise ParameterError(message, found=found, hint=hint + _FORCE)


def _check_users(results: Mapping[str, Result]) -> None:
    """Raise if users were not named, so that nothing says who is who in another result."""
    unnamed = [name for name, r in results.items() if r.provenance.get("users") == "rows"]
    if unnamed:
        raise ParameterError(
            "users are compared one by one, and in these results rows stand for users",
            found=", ".join(unnamed),
            hint=f"say who the users are: users= of update{_FORCE}, row by row",
        )


def _check_candidates(results: Mapping[str, Result]) -> None:
    protocols = {name: result.protocol for name, result in results.items()}
    known = {protocol for protocol in protocols.values() if protocol is not None}
    sampled = any(protocol.sampled for protocol in known)
    chosen = sampled or any(protocol.candidates == PASSED for protocol in known)
    if len(known) < 2 and not (chosen and None in protocols.values()):
        return
    texts = [
        f"{name}: {'not sampled' if protocol is None else protocol.label or protocol.candidates}"
        for name, protocol in protocols.items()
    ]
    labels = [result.label for result in results.values()]
    message = "these results were ranked from different candidates"
    if sampled:
        message = "sampled results do not compare with exact ones"
        if all(labels):
            message = "these results were ranked from different samples of candidates"
    tables = ", drawn from other tables" if len(set(labels)) == 1 and sampled else ""
    raise ParameterError(
        message,
        found="; ".join(texts) + tables,
        hint=f"rank every model from the same candidates, or correct sampled values with rw.correct{_FORCE}",
    )


def _check_truth(results: Mapping[str, Result]) -> None:
    """Raise if a user has more relevant items in one result than in another."""
    (first, first_result), *others = results.items()
    base = first_result.per_user.select("user", "n_relevant")
    for name, result in others:
        if all(result.per_user[column].equals(base[column]) for column in base.columns):
            continue
        users = result.per_user.select(pl.col("user").cast(base.schema["user"]), other="n_relevant")
        different = base.join(users, on="user").filter(pl.col("n_relevant") != pl.col("other"))
        if len(different):
            user, count, other = different.row(0)
            raise different_truth(
                f"user {user!r} has {count} relevant items in {first}, {other} in {name} ({len(different)} such users)"
            )


def different_truth(found: str) -> ParameterError:
    """Return the error for results of which users have other numbers of relevant items."""
    return ParameterError(
        "these results have different truths", found=found, hint="evaluate every model on the same truth" + _FORCE
    )


def common_cells(
    results: Mapping[str, Result], measures: str | Sequence[str] | None, primary: str | None, *, in_groups: bool
) -> tuple[list[str], str, dict[str, str]]:
    """Return the values to compare, which of them is the primary measure, and why not others."""
    first = next(iter(results.values()))
    every = dict.fromkeys(cell for result in results.values() for cell in result.values)
    reasons = {cell: _why_not(cell, results, in_groups=in_groups) for cell in every}
    cells = [cell for cell, reason in reasons.items() if reason is None]
    not_compared = {cell: reason for cell, reason in reasons.items() if reason is not None}
    if measures is not None:
        names = list(measures) if isinstance(measures, Iterable) else [measures]
        names = [measures] if isinstance(measures, str) else names
        cells, not_compared = list(dict.fromkeys(first.cell(name) for name in names)), {}
    if not cells:
        raise _nothing_in_common(results, not_compared)
    means = [cell for cell in cells if first.is_mean_of_users(cell)]
    main = "ndcg@10" if "ndcg@10" in cells else (means or cells)[0]
    if primary is not None:
        main = first.cell(primary)
        cells = cells if main in cells else [*cells, main]
    for cell in cells:
        if reasons[cell] is not None:
            raise MeasureError(f"{cell} cannot be compared: {reasons[cell]}")
    return cells, main, not_compared


def _nothing_in_common(results: Mapping[str, Result], reasons: Mapping[str, str]) -> MeasureError:
    """Return the error for results without a value that can be compared."""
    shared = [cell for cell in reasons if all(cell in result.values for result in results.values())]
    if shared:
        return MeasureError(
            "no metric that the results have in common can be compared",
            found="; ".join(f"{cell}: {reasons[cell]}" for cell in shared[:6]),
            hint="values that are not plain means over users are compared by evaluate(…, jackknife=64)",
        )
    return MeasureError(
        "the results have no metric in common",
        found="; ".join(f"{name}: {', '.join(r.values)}" for name, r in results.items()),
        hint="evaluate every model with the same metrics: cut-offs and parameters are part of them",
    )


def _why_not(cell: str, results: Mapping[str, Result], *, in_groups: bool) -> str | None:
    """Return why a value cannot be compared; None if it can."""
    without = [name for name, result in results.items() if cell not in result.values]
    if without:
        return f"it was not evaluated in {', '.join(without)}"
    if all(result.is_mean_of_users(cell) for result in results.values()):
        return None
    replicates = [result.replicates for result in results.values()]
    if not in_groups and all(r is not None and cell in r.columns for r in replicates):
        return None
    undefined = [name for name, result in results.items() if math.isnan(result.values[cell])]
    if undefined:
        return f"it is NaN in {', '.join(undefined)}"
    if any(result.kinds.get(cell) == "weighted mean" for result in results.values()):
        return "its mean is weighted" + ("" if in_groups else " (evaluate with jackknife=64)")
    if in_groups:
        return "it is not a mean over users, so groups of users cannot be tested"
    return "it is not a mean over users (evaluate with jackknife=64)"
