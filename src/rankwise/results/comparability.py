"""Whether results can be compared: candidate sets, splits, settings, tables and ground truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field
from itertools import combinations
from typing import Any

import polars as pl

from rankwise.core.options import compared_options
from rankwise.errors import MeasureError, ParameterError, UsageError
from rankwise.results.align_users import check_ids
from rankwise.results.result import Result
from rankwise.tables.protocol import PASSED

__all__ = ["check_comparable", "check_digests", "check_questions", "common_cells", "different_truth", "unchecked"]

_TABLES = {
    "train": "training interactions",
    "items": "catalogues",
    "weights": "weights of users",
    "baseline": "lists as the baseline",
}
"""What a table beside the ground truth is called in an error, by its name among the digests."""
_FORCE = "; force=True compares them anyway"


def check_comparable(results: Mapping[str, Result]) -> None:
    """Raise if values are different quantities, so that their difference means nothing."""
    check_ids(results)
    check_questions(results)
    _check_truth(results)
    check_digests(results)


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
    conventions = {name: result.provenance.get("convention") for name, result in results.items()}
    _check_same(
        {name: repr(saved) for name, saved in conventions.items()},
        {name: "rankwise's" if saved is None else saved["name"] for name, saved in conventions.items()},
        "these results were evaluated with different settings of convention",
        "evaluate all under the same convention",
    )
    for entry in compared_options().values():
        _CHECKS[entry.metadata["agreement"]](entry, results)


def check_digests(results: Mapping[str, Result]) -> None:
    """Raise if the metrics of results read other rows of a table.

    Results have digests of the tables that their metrics read; what only one of them reads is not
    compared, nor results that say nothing, such as per-user tables of other tools (`unchecked` names them).
    """
    digests = {name: result.provenance.get("digests", {}) for name, result in results.items()}
    for table in sorted({table for known in digests.values() for table in known}, key=lambda name: name != "truth"):
        values = {name: known[table] for name, known in digests.items() if table in known}
        rows = {name: f"rows of digest {digest[:8]}" for name, digest in values.items()}
        if table == "truth" and len(set(values.values())) > 1:
            raise different_truth("; ".join(f"{name}: {text}" for name, text in rows.items()))
        _check_same(
            values,
            rows,
            f"these results were evaluated with different {_TABLES.get(table, f'columns of {table}')}",
            "evaluate every model with the same tables",
        )


def unchecked(results: Mapping[str, Result], check: Callable[[], object] | None) -> list[str]:
    """Return what a reader must know of results that were compared: what was not, or could not be, checked.

    ``check`` is the check that ``force=True`` left out; what it says is returned.
    """
    silent = [name for name, result in results.items() if "truth" not in result.provenance.get("digests", {})]
    notes = []
    if silent:
        notes.append(f"Not known to have the same ground truth: {', '.join(silent)} (the results do not say).")
    try:
        if check is not None:
            check()
    except UsageError as error:
        notes.append(f"Compared by force, although {str(error).splitlines()[0]}.")
    return notes


def _check_option(name: str, values: Mapping[str, Any]) -> None:
    """Raise if an option differs between the results that say what it was."""
    _check_same(
        {result: repr(value) for result, value in values.items()},
        values,
        f"these results were evaluated with different settings of {name}",
        f"evaluate all with the same {name}",
    )


def _settings(results: Mapping[str, Result], name: str) -> dict[str, Any]:
    """Return an option of the results that say what it was: tables of other tools do not."""
    saved = {key: result.provenance["settings"] for key, result in results.items()}
    return {key: settings[name] for key, settings in saved.items() if name in settings}


def _check_equal(entry: Field[Any], results: Mapping[str, Result]) -> None:
    """Raise if an option differs."""
    _check_option(entry.name, _settings(results, entry.name))


def _check_per_metric(entry: Field[Any], results: Mapping[str, Result]) -> None:
    """Raise if an option differs for a metric that results have in common."""
    metrics = {str(metric @ ()) for result in results.values() for metric in result.measures}
    for metric in sorted(metrics):
        values = {name: _rule(result, metric, entry.name) for name, result in results.items()}
        _check_option(entry.name, {name: rule for name, rule in values.items() if rule is not None})


def _check_where_counted(entry: Field[Any], results: Mapping[str, Result]) -> None:
    """Raise if an option differs between results that it had an effect on."""
    affected = {name: result for name, result in results.items() if result.counts.get(entry.metadata["counted"])}
    _check_option(entry.name, _settings(affected, entry.name))


def _check_ties(entry: Field[Any], results: Mapping[str, Result]) -> None:
    """Raise if ties were ordered by different rules where there can be ties.

    Without a rule ranked lists are taken in their order and scored lists in the mean over all
    orders of ties, each rightly; a rule that only one result was given moves it away from the rest
    if these are ordered by score, or if it favours or wrongs relevant items.
    """
    rules, chosen = _settings(results, entry.name), _settings(results, "ties_given")
    said = [name for name in rules if name in chosen]
    for left, right in combinations(said, 2):
        one, other = (left, right) if chosen[left] or not chosen[right] else (right, left)
        if rules[one] == rules[other] or not chosen[one]:
            continue
        if chosen[other] or rules[other] != "input" or rules[one] in ("optimistic", "pessimistic"):
            _check_option(entry.name, {name: rules[name] for name in (left, right)})


_CHECKS = {
    "equal": _check_equal,
    "per_metric": _check_per_metric,
    "ties": _check_ties,
    "where_counted": _check_where_counted,
}
"""What each kind of agreement of an option asks of results (`rankwise.core.options.Agreement`)."""


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
    results: Mapping[str, Result], measures: str | Sequence[str] | None, primary: str | None, *, means_only: str | None
) -> tuple[list[str], str, dict[str, str]]:
    """Return the values to compare, which of them is the primary measure, and why not others.

    ``means_only`` says why nothing but means over users can be compared here; None if other values can.
    """
    first = next(iter(results.values()))
    every = dict.fromkeys(cell for result in results.values() for cell in result.values)
    reasons = {cell: _why_not(cell, results, means_only=means_only) for cell in every}
    cells = [cell for cell, reason in reasons.items() if reason is None]
    not_compared = {cell: reason for cell, reason in reasons.items() if reason is not None}
    if measures is not None:
        names = list(measures) if isinstance(measures, Iterable) else [measures]
        names = [measures] if isinstance(measures, str) else names
        cells, not_compared = list(dict.fromkeys(first.cell(name) for name in names)), {}
    if not cells:
        raise _nothing_in_common(results, not_compared, means_only)
    means = [cell for cell in cells if first.is_mean_of_users(cell)]
    main = "ndcg@10" if "ndcg@10" in cells else (means or cells)[0]
    if primary is not None:
        main = first.cell(primary)
        cells = cells if main in cells else [*cells, main]
    for cell in cells:
        if reasons[cell] is not None:
            raise MeasureError(f"{cell} cannot be compared: {reasons[cell]}")
    return cells, main, not_compared


def _nothing_in_common(
    results: Mapping[str, Result], reasons: Mapping[str, str], means_only: str | None
) -> MeasureError:
    """Return the error for results without a value that can be compared."""
    shared = [cell for cell in reasons if all(cell in result.values for result in results.values())]
    if shared:
        return MeasureError(
            "no metric that the results have in common can be compared",
            found="; ".join(f"{cell}: {reasons[cell]}" for cell in shared[:6]),
            hint=means_only or "values that are not plain means over users are compared by evaluate(…, jackknife=64)",
        )
    return MeasureError(
        "the results have no metric in common",
        found="; ".join(f"{name}: {', '.join(r.values)}" for name, r in results.items()),
        hint="evaluate every model with the same metrics: cut-offs and parameters are part of them",
    )


def _why_not(cell: str, results: Mapping[str, Result], *, means_only: str | None) -> str | None:
    """Return why a value cannot be compared; None if it can."""
    without = [name for name, result in results.items() if cell not in result.values]
    if without:
        return f"it was not evaluated in {', '.join(without)}"
    if all(result.is_mean_of_users(cell) for result in results.values()):
        return None
    replicates = [result.replicates for result in results.values()]
    if means_only is None and all(r is not None and cell in r.columns for r in replicates):
        return None
    undefined = [name for name, result in results.items() if math.isnan(result.values[cell])]
    if undefined:
        return f"it is NaN in {', '.join(undefined)}"
    what = "its mean is weighted"
    if all(result.kinds.get(cell) != "weighted mean" for result in results.values()):
        what = "it is not a mean over users"
    return f"{what} ({means_only or 'evaluate with jackknife=64'})"
