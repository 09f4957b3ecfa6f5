"""Whether results can be compared: the same ground truth, split, candidates and settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field
from itertools import combinations
from typing import Any

import polars as pl

from rankwise.core.terminal import first_names
from rankwise.errors import MetricError, ParameterError, UsageError
from rankwise.messages import Message, call, marked, parameter
from rankwise.metrics.base import GroupsCompared
from rankwise.options import compared_options
from rankwise.results.intervals import groups_compared, values_by_group
from rankwise.results.result import Result
from rankwise.tables.requests import row_named, such_rows
from rankwise.tables.table import PASSED


def check_ids(results: Mapping[str, Result]) -> None:
    """Raise unless user ids have one type in all results."""
    types = {name: result.per_user.schema["user"] for name, result in results.items()}
    if len({dtype.is_integer() for dtype in types.values()}) > 1:
        raise ParameterError(
            "users are integers in one result and strings in another, so none would match",
            found="; ".join(f"{name}: {dtype}" for name, dtype in types.items()),
            hint="give ids one type before evaluating",
        )


def default_primary(result: Result, cells: Sequence[str]) -> str:
    """Return the default metric: ``ndcg@10``, else the first user mean, else the first value."""
    means = [cell for cell in cells if result.is_mean_of_users(cell)]
    return "ndcg@10" if "ndcg@10" in cells else (means or cells)[0]


_TABLES = {
    "train": "training interactions",
    "items": "catalogues",
    "weights": "weights of users",
    "reference": "reference lists",
}
"""What a table beside the ground truth is called in an error, by its name among the digests."""


_FORCE = f"; {parameter('force', True)} compares them anyway"


_BY_ROW = ", row by row"


@contextmanager
def without_force() -> Iterator[None]:
    """Leave the way out by force out of errors where results cannot be compared by force."""
    try:
        yield
    except ParameterError as error:
        if error.hint is not None:
            error.hint = Message(error.hint.marked.removesuffix(_BY_ROW).removesuffix(_FORCE))
        raise


def check_comparable(results: Mapping[str, Result], cells: Collection[str] | None = None) -> None:
    """Raise if values are different quantities, so that their difference means nothing.

    ``cells`` are the values that are compared; by default all.
    """
    check_ids(results)
    check_choices(results, cells)
    _check_truth(results)
    check_digests(results)


def check_choices(results: Mapping[str, Result], cells: Collection[str] | None = None) -> None:
    """Raise if candidates, split, convention or settings differ; per-user values are not read."""
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
        {
            name: "rankwise's" if saved is None else saved["name"]
            for name, saved in conventions.items()
        },
        "these results were evaluated with different settings of convention",
        "evaluate all under the same convention",
    )
    for entry in compared_options().values():
        if entry.metadata["agreement"] == "where_read":
            _check_where_read(entry, results, cells)
        else:
            _CHECKS[entry.metadata["agreement"]](entry, results)


def check_digests(results: Mapping[str, Result]) -> None:
    """Raise if the metrics of results read different rows of a table.

    Results have digests of the tables that their metrics read; what only one of them reads is not
    compared, nor results that say nothing, such as per-user tables of other tools (`unchecked`
    names them).
    """
    digests = {name: result.provenance.get("digests", {}) for name, result in results.items()}
    for table in sorted(
        {table for tables in digests.values() for table in tables}, key=lambda name: name != "truth"
    ):
        values = {name: tables[table] for name, tables in digests.items() if table in tables}
        rows = {name: f"rows of digest {digest[:8]}" for name, digest in values.items()}
        if table == "truth" and len(set(values.values())) > 1:
            raise different_truth("; ".join(f"{name}: {text}" for name, text in rows.items()))
        _check_same(
            values,
            rows,
            "these results were evaluated with different "
            f"{_TABLES.get(table, f'columns of {table}')}",
            "evaluate every model with the same tables",
        )


def unchecked(results: Mapping[str, Result], check: Callable[[], object] | None) -> list[str]:
    """Return notes on comparability checks that were skipped or impossible.

    ``check`` is the check that ``force=True`` left out; what it says is returned.
    """
    silent = [
        name
        for name, result in results.items()
        if "truth" not in result.provenance.get("digests", {})
    ]
    notes = []
    if silent:
        notes.append(
            f"Not known to have the same ground truth: {first_names(silent)} (the results do "
            "not say)."
        )
    try:
        if check is not None:
            check()
    except UsageError as error:
        notes.append(f"Compared by force, although {str(error).splitlines()[0]}.")
    return notes


def _check_option(name: str, values: Mapping[str, Any]) -> None:
    """Raise if the recorded values of an option differ between results."""
    _check_same(
        {result: repr(value) for result, value in values.items()},
        values,
        f"these results were evaluated with different settings of {name}",
        f"evaluate all with the same {name}",
    )


def _settings(results: Mapping[str, Result], name: str) -> dict[str, Any]:
    """Return the recorded option of each result; tables of third-party tools have no record."""
    saved = {key: result.provenance["settings"] for key, result in results.items()}
    return {key: settings[name] for key, settings in saved.items() if name in settings}


def _check_equal(entry: Field[Any], results: Mapping[str, Result]) -> None:
    """Raise if an option differs."""
    _check_option(entry.name, _settings(results, entry.name))


def _check_per_metric(entry: Field[Any], results: Mapping[str, Result]) -> None:
    """Raise if an option differs for a metric that results have in common."""
    metrics = {str(metric @ ()) for result in results.values() for metric in result.metrics}
    for metric in sorted(metrics):
        values = {name: _rule(result, metric, entry.name) for name, result in results.items()}
        _check_option(entry.name, {name: rule for name, rule in values.items() if rule is not None})


def _check_where_read(
    entry: Field[Any], results: Mapping[str, Result], cells: Collection[str] | None
) -> None:
    """Raise if an option differs and a common metric reads the catalogue or side information."""
    for cell in set.intersection(*(set(result.values) for result in results.values())):
        metrics = [
            metric
            for result in results.values()
            for metric in result.metrics
            if cell in metric.cells
        ]
        if (cells is None or cell in cells) and any(
            m.reads.catalogue or m.reads.facts for m in metrics
        ):
            _check_option(entry.name, _settings(results, entry.name))


def check_slices(results: Mapping[str, Result], by: str) -> None:
    """Raise if slices of the same name have different definitions (labels of items, or rows).

    ``provenance["slice_digests"]`` has the digest of each slicing: which slice every item, or row,
    is in. Results that do not say, such as those of older versions, are compared.
    """
    every = {
        name: result.provenance.get("slice_digests", {}).get(by) for name, result in results.items()
    }
    digests = {name: digest for name, digest in every.items() if digest is not None}
    _check_same(
        digests,
        {name: f"slices of digest {str(digest)[:8]}" for name, digest in digests.items()},
        f"these results were sliced differently by {by}",
        "evaluate every model with the same tables of items, training data and ground truth",
        way_out="",  # by force, other slices have no users or other ones
    )


def chosen_cells(result: Result, metrics: str | Sequence[str], primary: str | None) -> list[str]:
    """Return the canonical names of the metrics that were asked for, the primary one too.

    Raises
    ------
    MetricError
        If none was asked for, or a result does not have one.
    """
    names = (
        list(metrics)
        if isinstance(metrics, Iterable) and not isinstance(metrics, str)
        else [metrics]
    )
    if not names:
        raise MetricError(
            f"{parameter('metrics', [])} names no metric",
            hint="leave metrics out to compare every metric that the results have in common",
        )
    return [result.cell(name) for name in (*names, *([] if primary is None else [primary]))]


def _check_where_counted(entry: Field[Any], results: Mapping[str, Result]) -> None:
    """Raise if an option differs between the results that the option affected."""
    affected = {
        name: result
        for name, result in results.items()
        if any(result.counts.get(count) for count in entry.metadata["counted"])
    }
    _check_option(entry.name, _settings(affected, entry.name))


def _check_ties(entry: Field[Any], results: Mapping[str, Result]) -> None:
    """Raise if ties were ordered by different rules where there can be ties.

    Without a rule ranked lists are taken in their order and scored lists in the mean over all
    orders of ties, each rightly; a rule that only one result was given moves it away from the rest
    if these are ordered by score, or if it favours or wrongs relevant items.
    """
    rules, chosen = _settings(results, entry.name), _settings(results, "ties_given")
    names = [name for name in rules if name in chosen]
    for left, right in combinations(names, 2):
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
"""What each kind of agreement of an option asks of results (`rankwise.options.Agreement`)."""


def _rule(result: Result, metric: str, key: str) -> str | None:
    """Return a choice for one metric; None if the metric or the choice is not recorded."""
    if all(str(one @ ()) != metric for one in result.metrics):
        return None
    settings, rules = result.provenance["settings"], result.provenance.get("rules", {})
    chosen: str | None = rules.get(metric, {}).get(key, settings.get(key))
    return chosen


def _check_same(
    keys: Mapping[str, Any],
    texts: Mapping[str, object],
    message: str,
    hint: str,
    way_out: str = _FORCE,
) -> None:
    """Raise if keys differ between the results that have one; ``texts`` show them."""
    if len(set(keys.values())) > 1:
        details = "; ".join(f"{name}: {text}" for name, text in texts.items())
        raise ParameterError(message, found=details, hint=hint + way_out)


def _check_users(results: Mapping[str, Result]) -> None:
    """Raise if users were not named, so that nothing says who is who in another result."""
    unnamed = [name for name, r in results.items() if r.provenance.get("users") == "rows"]
    if unnamed:
        raise ParameterError(
            "users are compared one by one, and in these results rows stand for users",
            found=", ".join(unnamed),
            hint=f"say who the users are: {parameter('users')} of update{_FORCE}{_BY_ROW}",
        )


def _check_candidates(results: Mapping[str, Result]) -> None:
    """Raise if results were ranked from other candidates, as far as both say from which."""
    protocols = {name: result.protocol for name, result in results.items()}
    named = {protocol for protocol in protocols.values() if protocol is not None}
    sampled = any(protocol.sampled for protocol in named)
    chosen = sampled or any(protocol.candidates == PASSED for protocol in named)
    if len(named) < 2 and not (chosen and None in protocols.values()):
        return

    texts = [
        f"{name}: {'not sampled' if protocol is None else protocol.label or protocol.candidates}"
        for name, protocol in protocols.items()
    ]
    message, tables = "these results were ranked from different candidates", ""
    if sampled:
        message, tables = _words_on_samples([result.label for result in results.values()])
    raise ParameterError(
        message,
        found="; ".join(texts) + tables,
        hint="rank every model from the same candidates, or correct sampled values with "
        f"rw.correct{_FORCE}",
    )


def _words_on_samples(labels: Sequence[str]) -> tuple[str, str]:
    """Return how sampled results differ, and that alike samples are from other tables."""
    message = "sampled results do not compare with exact ones"
    if all(labels):
        message = "these results were ranked from different samples of candidates"
    return message, ", drawn from other tables" if len(set(labels)) == 1 else ""


def _check_truth(results: Mapping[str, Result]) -> None:
    """Raise if a user has more relevant items in one result than in another."""
    (first, first_result), *rest = results.items()
    base = first_result.units.select("user", "n_relevant")
    for name, result in rest:
        if all(result.units[column].equals(base[column]) for column in base.columns):
            continue
        users = result.units.select(pl.col("user").cast(base.schema["user"]), other="n_relevant")
        different = base.join(users, on="user").filter(pl.col("n_relevant") != pl.col("other"))
        if len(different):
            user, count, other = different.row(0)
            raise different_truth(
                f"{row_named(user)} has {count} relevant items in {first}, {other} in {name} "
                f"({such_rows(user, len(different))})"
            )


def different_truth(details: str) -> ParameterError:
    """Return the error for results with different ground truths."""
    return ParameterError(
        "these results have different truths",
        found=details,
        hint="evaluate every model on the same truth" + _FORCE,
    )


def common_cells(
    results: Mapping[str, Result],
    metrics: str | Sequence[str] | None,
    primary: str | None,
    *,
    means_only: str | None,
) -> tuple[list[str], str, dict[str, str]]:
    """Return the values to compare, the primary metric, and the reason for each excluded value.

    ``means_only`` says why nothing but means over users can be compared here; None if other values
    can.
    """
    first = next(iter(results.values()))
    every = dict.fromkeys(cell for result in results.values() for cell in result.values)
    reasons = {cell: _why_not(cell, results, means_only=means_only) for cell in every}
    cells = [cell for cell, reason in reasons.items() if reason is None]
    not_compared = {cell: reason for cell, reason in reasons.items() if reason is not None}
    if metrics is not None:
        cells, not_compared = list(dict.fromkeys(chosen_cells(first, metrics, None))), {}
    if not cells:
        raise _nothing_in_common(results, not_compared, means_only)
    main = default_primary(first, cells)
    if primary is not None:
        main = first.cell(primary)
        cells = cells if main in cells else [*cells, main]
    for cell in cells:
        reason = reasons[cell]
        if reason is not None:
            raise MetricError(f"{cell} cannot be compared: {marked(reason)}")
    return cells, main, not_compared


def _nothing_in_common(
    results: Mapping[str, Result], reasons: Mapping[str, str], means_only: str | None
) -> MetricError:
    """Return the error for results without a value that can be compared."""
    shared = [cell for cell in reasons if all(cell in result.values for result in results.values())]
    if shared:
        return MetricError(
            "no metric that the results have in common can be compared",
            found="; ".join(f"{cell}: {marked(reasons[cell])}" for cell in shared[:6]),
            hint=means_only
            or "values that are not plain means over users are compared after "
            f"{call('evaluate', jackknife=64)}",
        )
    return MetricError(
        "the results have no metric in common",
        found="; ".join(f"{name}: {', '.join(r.values)}" for name, r in results.items()),
        hint="evaluate every model with the same metrics: cut-offs and parameters are part of them",
    )


def _why_not(cell: str, results: Mapping[str, Result], *, means_only: str | None) -> str | None:
    """Return the reason why a value cannot be compared; None if a comparison is possible."""
    without = [name for name, result in results.items() if cell not in result.values]
    if without:
        return f"it was not evaluated in {', '.join(without)}"
    if all(result.is_mean_of_users(cell) for result in results.values()):
        return None
    if means_only is None:
        compared = groups_compared(next(iter(results.values())).metrics, cell)
        if compared is not None:
            return _why_no_groups(compared, cell, results)
        if all(_is_jackknifed(cell, result) for result in results.values()):
            return None

    undefined = [name for name, result in results.items() if math.isnan(result.values[cell])]
    if undefined:
        return f"it is NaN in {', '.join(undefined)}"
    what = "its mean is weighted"
    if all(result.kinds.get(cell) != "weighted mean" for result in results.values()):
        what = "it is not a mean over users"
    way = means_only or f"evaluate with {parameter('jackknife', 64)}"
    return Message(f"{what} ({way})")


def _is_jackknifed(cell: str, result: Result) -> bool:
    """Return whether a result has the jackknife replicates of a value."""
    return result.replicates is not None and cell in result.replicates.columns


def _why_no_groups(
    compared: GroupsCompared, cell: str, results: Mapping[str, Result]
) -> str | None:
    """Return why gaps between groups of users cannot be compared; None if they can."""
    for name, result in results.items():
        if math.isnan(result.values[cell]):
            return f"it is NaN in {name}"
        if "requests" in result.provenance and not result.has_requests:
            return Message(
                f"it is over requests, and means are over users, in {name} (evaluate with "
                f"{parameter('mean_over', 'requests')})"
            )
        try:
            values_by_group(compared, cell, result.per_user)
        except MetricError as error:
            way = f" ({error.hint.marked})" if error.hint else ""
            return Message(f"{(error.found or error.what).marked} in {name}{way}")
    return None
