"""The systems of a comparison: results that may be compared, with their users aligned by id."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, dataclass, replace
from functools import cached_property
from itertools import combinations, islice, product
from string import ascii_lowercase
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import Missing, SeedDesign
from rankwise.errors import MetricError, ParameterError, UsageError
from rankwise.metrics.base import GroupsCompared
from rankwise.options import compared_options
from rankwise.results.intervals import cluster_codes, groups_compared, values_by_group
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.differences import Differences, Floats, SortedColumn, moments_of_pairs
from rankwise.stats.effect_sizes import deltas_of_pairs
from rankwise.tables.requests import row_named, such_rows
from rankwise.tables.table import PASSED


def some_missing(metric: str, details: str) -> ParameterError:
    """Return the error for users with a value in one result and none in another."""
    return ParameterError(
        f"some users have a value of {metric} in one result, and none in another",
        found=details,
        hint='missing="zero" counts it as 0, as for a list that was not delivered; '
        'missing="common" compares the users who have all values',
    )


@dataclass(frozen=True, eq=False)
class AlignedUsers:
    """Values of one metric for the same users.

    Attributes
    ----------
    values : array, shape (n, k)
        One row per user, one column per result; no NaN.
    users : int
        Number of users that any result has.
    undefined, dropped : int
        Users left out because no result, or not every result, has a value for them.
    filled : int
        Missing values replaced by 0.
    cluster : array, shape (n,), or None
        The number of the cluster of each user, from 0; None if users are independent.
    """

    values: Floats
    users: int
    undefined: int
    dropped: int
    filled: int
    cluster: Any = None

    @property
    def n_clusters(self) -> int:
        """The number of clusters of users."""
        return 0 if self.cluster is None else int(self.cluster.max(initial=-1)) + 1

    @cached_property
    def _columns(self) -> list[SortedColumn]:
        return [SortedColumn(column) for column in self.values.T]

    def differences(self, pairs: Sequence[tuple[int, int]]) -> list[Differences]:
        """Return the paired values of results, the first of each pair minus the second."""
        moments = moments_of_pairs(self._columns, pairs)
        columns = [(self._columns[x], self._columns[y]) for x, y in pairs]
        return [
            Differences(x.values, y.values, columns=(x, y), moments=m)
            for (x, y), m in zip(columns, moments, strict=True)
        ]

    def deltas(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """Return Cliff's delta of pairs of results, the first against the second."""
        return deltas_of_pairs([column.values for column in self._columns], pairs)

    @property
    def reasons(self) -> str:
        """How many users were left out or filled, and why."""
        reasons = {
            "without a value in any result": self.undefined,
            "without a value in some result": self.dropped,
            "missing values taken for 0": self.filled,
        }
        return ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)


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


def align_users(
    results: Mapping[str, Result],
    metric: str,
    missing: Missing,
    clusters: pl.DataFrame | None = None,
) -> AlignedUsers:
    """Return the values of a metric for the same users in the same order.

    ``clusters`` has every user with the group of users who are not independent.
    """
    check_ids(results)
    users, values = _joined(results, metric)
    aligned = align_values(values, missing)
    gaps: Any
    if aligned.dropped and missing == "error":
        gaps = np.isnan(values)
        row = int(np.flatnonzero(gaps.any(axis=1) & ~gaps.all(axis=1))[0])
        without = [name for name, gap in zip(results, gaps[row], strict=True) if gap]
        raise some_missing(
            metric,
            f"{row_named(users[row])} has none in {', '.join(without)} "
            f"({such_rows(users[row], aligned.dropped)} of {len(values)})",
        )
    if clusters is None:
        return aligned
    gaps = np.isnan(values)
    compared = ~gaps.all(axis=1) if missing == "zero" else ~gaps.any(axis=1)
    return replace(aligned, cluster=cluster_codes(users.filter(compared), clusters))


def _joined(results: Mapping[str, Result], metric: str) -> tuple[pl.Series, Floats]:
    """Return the users of any result in ascending order, and their values, NaN for none."""
    tables = [result.units for result in results.values()]
    dtype = tables[0].schema["user"]
    users = [table["user"].cast(pl.Int64() if dtype.is_integer() else dtype) for table in tables]
    columns = [table[metric].cast(pl.Float64) for table in tables]
    if all(column.equals(users[0]) for column in users[1:]):
        values = np.empty((len(users[0]), len(columns)), order="F")
        for at, column in enumerate(columns):
            values[:, at] = column.to_numpy()
        if users[0].is_sorted():
            return users[0], values
        order = users[0].arg_sort()
        return users[0][order], values[order]
    joined = users[0].to_frame().with_columns(columns[0].alias("0"))
    for at, column in enumerate(columns[1:], start=1):
        other = users[at].to_frame().with_columns(column.alias(str(at)))
        joined = joined.join(other, on="user", how="full", coalesce=True)
    joined = joined.sort("user")
    return joined["user"], joined.drop("user").to_numpy().astype(np.float64)


def align_values(values: Floats, missing: Missing) -> AlignedUsers:
    """Return the users who have all values, or any with ``missing="zero"``; NaN is no value."""
    gaps: Any = np.isnan(values)
    if not gaps.any():
        return AlignedUsers(np.asfortranarray(values), len(values), 0, 0, 0)
    undefined = gaps.all(axis=1)
    partial = gaps.any(axis=1) & ~undefined
    users, n_undefined = len(gaps), int(undefined.sum())
    if missing == "zero":
        filled = int((gaps & ~undefined[:, None]).sum())
        kept = np.asfortranarray(np.nan_to_num(values[~undefined]))
        return AlignedUsers(kept, users, n_undefined, 0, filled)
    kept = np.asfortranarray(values[~gaps.any(axis=1)])  # every system's values side by side
    return AlignedUsers(kept, users, n_undefined, int(partial.sum()), 0)


_TABLES = {
    "train": "training interactions",
    "items": "catalogues",
    "weights": "weights of users",
    "reference": "reference lists",
}
"""What a table beside the ground truth is called in an error, by its name among the digests."""
_FORCE = "; force=True compares them anyway"
_BY_ROW = ", row by row"


@contextmanager
def without_force() -> Iterator[None]:
    """Leave the way out by force out of errors where results cannot be compared by force."""
    try:
        yield
    except ParameterError as error:
        if error.hint is not None:
            error.hint = error.hint.removesuffix(_BY_ROW).removesuffix(_FORCE)
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
            f"Not known to have the same ground truth: {', '.join(silent)} (the results do not "
            "say)."
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
            "metrics=[] names no metric",
            hint="leave metrics out to compare every metric that the results have in common",
        )
    return [result.cell(name) for name in (*names, *([] if primary is None else [primary]))]


def _check_where_counted(entry: Field[Any], results: Mapping[str, Result]) -> None:
    """Raise if an option differs between the results that the option affected."""
    affected = {
        name: result
        for name, result in results.items()
        if result.counts.get(entry.metadata["counted"])
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
            hint=f"say who the users are: users= of update{_FORCE}{_BY_ROW}",
        )


def _check_candidates(results: Mapping[str, Result]) -> None:
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
        hint="rank every model from the same candidates, or correct sampled values with "
        f"rw.correct{_FORCE}",
    )


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
        if reasons[cell] is not None:
            raise MetricError(f"{cell} cannot be compared: {reasons[cell]}")
    return cells, main, not_compared


def _nothing_in_common(
    results: Mapping[str, Result], reasons: Mapping[str, str], means_only: str | None
) -> MetricError:
    """Return the error for results without a value that can be compared."""
    shared = [cell for cell in reasons if all(cell in result.values for result in results.values())]
    if shared:
        return MetricError(
            "no metric that the results have in common can be compared",
            found="; ".join(f"{cell}: {reasons[cell]}" for cell in shared[:6]),
            hint=means_only
            or "values that are not plain means over users are compared by evaluate(…, "
            "jackknife=64)",
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
    compared = groups_compared(next(iter(results.values())).metrics, cell)
    if compared is not None and means_only is None:
        return _why_no_groups(compared, cell, results)
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


def _why_no_groups(
    compared: GroupsCompared, cell: str, results: Mapping[str, Result]
) -> str | None:
    """Return why gaps between groups of users cannot be compared; None if they can."""
    for name, result in results.items():
        if math.isnan(result.values[cell]):
            return f"it is NaN in {name}"
        if "requests" in result.provenance and not result.has_requests:
            return (
                f"it is over requests, and means are over users, in {name} (evaluate with "
                'mean_over="requests")'
            )
        try:
            values_by_group(compared, cell, result.per_user)
        except MetricError as error:
            return (
                f"{error.found or error.what} in {name}{f' ({error.hint})' if error.hint else ''}"
            )
    return None


SystemResults: TypeAlias = Result | Sequence[Result] | Mapping[str, Result | Sequence[Result]]
"""A result; results, one per seed; or either by data set."""


@dataclass(frozen=True)
class Systems:
    """Results that are compared, and which belong to one system.

    Attributes
    ----------
    results : mapping of str to Result
        All results under names of their own: that of the system if it has a single result, else
        with the data set and the number of the seed.
    names : mapping of str to mapping of str to sequence of str
        The names of the results of each system, by data set, one per seed; the data set is ``""``
        where there is only one.
    in_order : bool
        Whether the results came without names.
    """

    results: Mapping[str, Result]
    names: Mapping[str, Mapping[str, Sequence[str]]]
    in_order: bool = False

    @property
    def sampling_unit(self) -> SamplingUnit:
        """The sampling unit of the means in all results; `by_unit` raises if results differ."""
        return next(iter(self.results.values())).sampling_unit

    def by_unit(self) -> Systems:
        """Return the systems with one row per unit that means are over: a user, or a request."""
        over = {name: result.sampling_unit.rows for name, result in self.results.items()}
        if len({*over.values()}) > 1:
            check_choices(self.results)
            raise ParameterError(
                "means are over requests in some results, and over users in others",
                found="; ".join(f"{name}: {what}" for name, what in over.items()),
                hint="evaluate every model by request, and with the same mean_over",
            )
        results = {
            name: replace(result, per_user=result.units, sliced=result.sliced_units)
            for name, result in self.results.items()
        }
        return replace(self, results=results)

    @property
    def data_sets(self) -> list[str]:
        """The names of the data sets; empty where there is only one, without a name."""
        return [name for name in next(iter(self.names.values())) if name]

    @property
    def several_seeds(self) -> bool:
        """Whether any system has several results on one data set."""
        return any(len(seeds) > 1 for _, _, seeds in self)

    def __iter__(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """Yield each system, data set, and the names of its results."""
        for system, by_set in self.names.items():
            for data_set, seeds in by_set.items():
                yield system, data_set, seeds

    def seeds(self, data_set: str) -> dict[str, Sequence[str]]:
        """Return the names of the results of each system on one data set."""
        return {system: by_set[data_set] for system, by_set in self.names.items()}

    def on(self, data_set: str) -> dict[str, Result]:
        """Return all results on one data set."""
        return {
            name: self.results[name] for seeds in self.seeds(data_set).values() for name in seeds
        }

    def single(self) -> dict[str, Result]:
        """Return the one result of each system; raise where there are several."""
        if self.several_seeds or self.data_sets:
            raise ParameterError(
                "one result per system is compared here, not seeds or data sets",
                found=", ".join(self.results),
                hint="rankwise.compare takes both",
            )
        return dict(self.results)

    def values(self) -> pl.DataFrame:
        """Return one row per value and one column per system and data set: means over seeds."""
        cells = dict.fromkeys(cell for result in self.results.values() for cell in result.values)
        columns: dict[str, list[str] | list[float | None]] = {"metric": list(cells)}
        for system, data_set, seeds in self:
            label = self.results[seeds[0]].label
            column = ", ".join(part for part in (system, data_set, label) if part)
            if column in columns:
                raise ParameterError(
                    "two columns would have one name",
                    found=repr(column),
                    hint="call the result something else",
                )
            every = [self.results[name].values for name in seeds]
            columns[column] = [_mean([values.get(cell) for values in every]) for cell in cells]
        return pl.DataFrame(columns, strict=False)

    @property
    def labels(self) -> dict[str, str]:
        """The display label of each system's values over sampled candidates."""
        return {system: self.results[seeds[0]].label for system, _, seeds in self}


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return math.fsum(defined) / len(defined) if len(defined) == len(values) else None


def systems_of(arguments: tuple[object, ...]) -> Systems:
    """Parse the systems of a comparison, passed one by one or as one mapping by name."""
    several = len(arguments) > 1 or (len(arguments) == 1 and isinstance(arguments[0], Result))
    by_name: Any = arguments[0] if len(arguments) == 1 else None
    if several and all(isinstance(system, Result) or _is_list(system) for system in arguments):
        by_name = {
            mark.upper(): system
            for mark, system in zip(marks(len(arguments)), arguments, strict=True)
        }
    if not isinstance(by_name, Mapping) or not by_name:
        raise ParameterError(
            "results to compare are passed as separate arguments, or by name",
            found=", ".join(type(result).__name__ for result in arguments) or "nothing",
            hint="the policies of a log are compared where they are evaluated: see its "
            "differences, or rw.decide(…)"
            if any(hasattr(each, "differences") for each in arguments)
            else "pass compare(one, two), or compare({name: result, …})",
        )
    names: dict[str, dict[str, list[str]]] = {}
    results: dict[str, Result] = {}
    for system, data_set, number, result in _each(by_name):
        name = ", ".join(part for part in (system, data_set, number) if part)
        if name in results:
            raise ParameterError(
                "two results would have one name",
                found=repr(name),
                hint="call the system something else",
            )
        results[name] = result
        names.setdefault(system, {}).setdefault(data_set, []).append(name)
    if len(names) < 2:
        raise ParameterError("a comparison needs two results", found=f"{len(names)}")
    systems = Systems(results, names, several)
    _check_data_sets(systems)
    return systems


def _is_list(system: object) -> bool:
    return isinstance(system, Sequence) and not isinstance(system, str)


def _each(systems: Mapping[Any, Any]) -> Iterator[tuple[str, str, str, Result]]:
    """Yield system, data set, seed and result; a single data set or seed has empty text."""
    for system, value in systems.items():
        several_sets = isinstance(value, Mapping) and not isinstance(value, Result)
        by_set = value if several_sets else {"": value}
        for data_set, results in by_set.items():
            seeds = [results] if isinstance(results, Result) else results
            named = (
                isinstance(system, str)
                and isinstance(data_set, str)
                and bool(data_set) == several_sets
            )
            listed = (
                _is_list(seeds)
                and bool(seeds)
                and all(isinstance(result, Result) for result in seeds)
            )
            if not named or not listed:
                kinds = ", ".join(type(r).__name__ for r in seeds) if _is_list(seeds) else ""
                raise ParameterError(
                    "results to compare come as {name: result}, or {name: [one result per seed]}",
                    found=f"{system!r}: {kinds or type(results).__name__}",
                )
            if len({id(result) for result in seeds}) < len(seeds):
                raise ParameterError(
                    "one result is given for two seeds",
                    where=system,
                    hint="every seed has a result of its own",
                )
            for at, result in enumerate(seeds, start=1):
                yield system, data_set, f"seed {at}" if len(seeds) > 1 else "", result


def _check_data_sets(systems: Systems) -> None:
    """Raise unless every system has results on the same data sets."""
    first, *rest = systems.names.items()
    for pair in ((first, other) for other in rest):
        if set(pair[0][1]) != set(pair[1][1]):
            described = [
                f"{system}: {', '.join(filter(None, sets)) or 'one, without a name'}"
                for system, sets in pair
            ]
            raise ParameterError(
                "systems are compared on the same data sets",
                found="; ".join(described),
                hint="give every system a result on every data set",
            )


def paired_seeds(
    systems: Systems, seeds: SeedDesign, *, force: bool, cells: Collection[str] | None = None
) -> bool:
    """Return whether seed i of all systems belongs together; raise if results do not compare.

    By default they belong together where each seed has a split of its own, or ground truths in
    which users have other numbers of relevant items.
    """
    sets = systems.data_sets or [""]
    counts = [{len(names) for names in systems.seeds(data_set).values()} for data_set in sets]
    as_many = all(len(numbers) == 1 for numbers in counts) and max(map(max, counts)) > 1
    if seeds == "paired" and not as_many:
        details = "; ".join(f"{system}: {len(names)}" for system, _, names in systems)
        raise ParameterError(
            "paired seeds are as many for every system, two or more", found=details
        )
    if force:
        return seeds == "paired"
    if seeds == "paired":
        _check_seed_by_seed(systems, sets, cells)
        return True
    try:
        for data_set in sets:
            check_comparable(systems.on(data_set), cells)
    except UsageError as error:
        if seeds == "independent" or not as_many:
            raise
        try:
            _check_seed_by_seed(systems, sets, cells)
        except UsageError:
            raise error from None
        return True
    return False


def _check_seed_by_seed(
    systems: Systems, sets: Sequence[str], cells: Collection[str] | None
) -> None:
    """Raise unless the results of all systems for one seed can be compared."""
    for data_set in sets:
        for names in zip(*systems.seeds(data_set).values(), strict=True):
            check_comparable({name: systems.results[name] for name in names}, cells)


def marks(count: int) -> list[str]:
    """Return one letter mark per system: a, b, …, z, aa, ab, ….

    >>> marks(28)[-3:]
    ['z', 'aa', 'ab']
    """
    texts = ("".join(w) for n in range(1, count + 1) for w in product(ascii_lowercase, repeat=n))
    return list(islice(texts, count))
