"""The systems of a comparison: their results by name, seed and data set."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from string import ascii_lowercase
from typing import Any, TypeAlias

import polars as pl

from rankwise.comparison.comparability import check_choices, check_comparable
from rankwise.core.arguments import SeedDesign
from rankwise.errors import ParameterError, UsageError
from rankwise.messages import call, mention
from rankwise.results.result import Result
from rankwise.results.sampling_unit import SamplingUnit


def marks(count: int) -> list[str]:
    """Return one letter mark per system: a, b, …, z, aa, ab, ….

    >>> marks(28)[-3:]
    ['z', 'aa', 'ab']
    """
    texts = ("".join(w) for n in range(1, count + 1) for w in product(ascii_lowercase, repeat=n))
    return list(islice(texts, count))


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
                hint=f"evaluate every model by request, and with the same {mention('mean_over')}",
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

    @property
    def with_one_run(self) -> list[str]:
        """The systems that have one result on each data set."""
        several = {system for system, _, seeds in self if len(seeds) > 1}
        return [system for system in self.names if system not in several]

    def single(self) -> dict[str, Result]:
        """Return the one result of each system; raise where there are several."""
        if self.several_seeds or self.data_sets:
            raise ParameterError(
                "one result per system is compared here, not seeds or data sets",
                found=", ".join(self.results),
                hint=f"{call('compare')} takes both",
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
    several = len(arguments) > 1 or isinstance(next(iter(arguments), None), Result)
    names: dict[str, dict[str, list[str]]] = {}
    results: dict[str, Result] = {}
    for system, data_set, number, result in _each(_systems_by_name(arguments, several=several)):
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


def _systems_by_name(arguments: tuple[object, ...], *, several: bool) -> Mapping[Any, Any]:
    """Return the mapping that was passed, or ``several`` arguments under the names A, B and so on."""
    by_name: Any = arguments[0] if len(arguments) == 1 else None
    if several and all(isinstance(system, Result) or _is_list(system) for system in arguments):
        names = map(str.upper, marks(len(arguments)))
        by_name = dict(zip(names, arguments, strict=True))
    if isinstance(by_name, Mapping) and by_name:
        return by_name

    hint = "pass compare(one, two), or compare({name: result, …})"
    if any(hasattr(system, "differences") for system in arguments):
        hint = (
            "the policies of a log are compared where they are evaluated: see its "
            "differences, or rw.decide(…)"
        )
    raise ParameterError(
        "results to compare are passed as separate arguments, or by name",
        found=", ".join(type(result).__name__ for result in arguments) or "nothing",
        hint=hint,
    )


def _is_list(system: object) -> bool:
    return isinstance(system, Sequence) and not isinstance(system, str)


def _each(systems: Mapping[Any, Any]) -> Iterator[tuple[str, str, str, Result]]:
    """Yield system, data set, seed and result; a single data set or seed has empty text."""
    for system, value in systems.items():
        several_sets = isinstance(value, Mapping) and not isinstance(value, Result)
        by_set = value if several_sets else {"": value}
        for data_set, results in by_set.items():
            named = isinstance(system, str) and isinstance(data_set, str)
            if not named or bool(data_set) != several_sets:
                raise _not_results_error(system, results)
            for seed, result in _each_seed(system, results):
                yield system, data_set, seed, result


def _each_seed(system: str, results: Any) -> Iterator[tuple[str, Result]]:
    """Yield seed and result of a system on one data set; a single seed has empty text."""
    if isinstance(results, Result):
        yield "", results
        return

    if not _is_list(results) or not results:
        raise _not_results_error(system, results)
    if not all(isinstance(result, Result) for result in results):
        raise _not_results_error(system, results)
    if len(set(map(id, results))) < len(results):
        raise ParameterError(
            "one result is given for two seeds",
            where=system,
            hint="every seed has a result of its own",
        )
    for at, result in enumerate(results, start=1):
        yield f"seed {at}" if len(results) > 1 else "", result


def _not_results_error(system: Any, results: Any) -> ParameterError:
    """Return the error for a system without results, which says what it has instead."""
    seeds = [results] if isinstance(results, Result) else results
    kinds = ", ".join(type(seed).__name__ for seed in seeds) if _is_list(seeds) else ""
    return ParameterError(
        "results to compare come as {name: result}, or {name: [one result per seed]}",
        found=f"{system!r}: {kinds or type(results).__name__}",
    )


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
    as_many = _have_as_many_seeds(systems)
    if seeds == "paired" and not as_many:
        details = "; ".join(f"{system}: {len(names)}" for system, _, names in systems)
        raise ParameterError(
            "paired seeds are as many for every system, two or more", found=details
        )
    if force:
        return seeds == "paired"
    if seeds == "paired":
        _check_seed_by_seed(systems, cells)
        return True

    try:
        for data_set in systems.data_sets or [""]:
            check_comparable(systems.on(data_set), cells)
    except UsageError as error:
        if seeds == "independent" or not as_many:
            raise
        try:
            _check_seed_by_seed(systems, cells)
        except UsageError:
            raise error from None
        return True
    return False


def _have_as_many_seeds(systems: Systems) -> bool:
    """Return whether all systems have as many seeds on each data set, two or more on one."""
    sets = systems.data_sets or [""]
    counts = [{len(names) for names in systems.seeds(data_set).values()} for data_set in sets]
    return all(len(numbers) == 1 for numbers in counts) and max(map(max, counts)) > 1


def _check_seed_by_seed(systems: Systems, cells: Collection[str] | None) -> None:
    """Raise unless the results of all systems for one seed can be compared."""
    for data_set in systems.data_sets or [""]:
        for names in zip(*systems.seeds(data_set).values(), strict=True):
            check_comparable({name: systems.results[name] for name in names}, cells)
