"""What a run would refuse, found before it: all that follows from the configuration without a table.

The checks are those of the run itself, called with what is known before it: the names of tables in
place of their rows, and results without users in place of results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.encoding.fact_tables import check_tables
from rankwise.encoding.rank_gaps import check_kept
from rankwise.errors import MissingValueError, RankwiseError
from rankwise.evaluation.config.document import Place
from rankwise.evaluation.config.mistakes import Mistakes
from rankwise.evaluation.config.named_tables import has_training
from rankwise.evaluation.config.schema import Config
from rankwise.evaluation.evaluate import check_reads_no_truth, check_whole, without_truth
from rankwise.evaluation.jackknife import jackknifed
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.preconditions import check_catalogue, check_sampled
from rankwise.evaluation.questions import questions
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.totals import kinds_of_values
from rankwise.measures.measure import Measure
from rankwise.measures.read import parse_all
from rankwise.results.comparability import common_cells
from rankwise.results.compare import MEANS_OF_GROUPS, check_options
from rankwise.results.decide import deciding_cell, rule_for
from rankwise.results.margins import margins_by_cell
from rankwise.results.named_values import Values
from rankwise.results.result import Result
from rankwise.results.systems import systems_of
from rankwise.tables.columns import TableRole
from rankwise.tables.train_groups import TRAIN_GROUPS

__all__ = ["check_comparisons", "check_decision", "check_inputs", "check_questions", "expected_results"]


def check_inputs(
    config: Config, folder: Path, measures: Mapping[Measure, Place], settings: Settings, mistakes: Mistakes
) -> None:
    """Check that every measure and option has the tables that it needs."""
    tables = _tables(config, folder, mistakes)
    for measure, place in measures.items():
        for problem in _problems(measure, config, settings, tables):
            mistakes.tried(place, partial(_raise, problem))
    if "truth" not in tables and not any(measure.reads_truth for measure in measures):
        mistakes.tried(("evaluation",), partial(without_truth, settings))
    train = True if "train" in tables else None
    for option in ("exclude_seen", "warm_and_cold"):
        if getattr(settings, option):
            key = "mask_seen" if option == "exclude_seen" and config.evaluation.mask_seen else option
            mistakes.tried(("evaluation", key), partial(check_whole, settings, train=train, chunk_rows=None))
    if isinstance(settings.weights, str) and "users" not in tables:
        mistakes.add(
            ("evaluation", "weights"),
            f"weights {settings.weights!r} is a column of the table of users, and there is none",
            "write data: {users: users.csv}, or weights: {user: weight}",
        )


def check_questions(measures: Sequence[str], options: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Check that the measures can be evaluated together, read from text as the run reads them."""

    def check() -> None:
        for settings in questions(measures, options)[1]:
            plan = Plan(settings.measures, settings.rules, settings.by)
            plan.check_sums(settings.evaluated)
            assert plan.leaf_rules is not None  # raises where a part would have two rules

    mistakes.tried(("evaluation",), check)


def _raise(error: RankwiseError) -> None:
    raise error


def _tables(config: Config, folder: Path, mistakes: Mistakes) -> set[TableRole]:
    """Return the tables that the configuration names, wrongly or not, those of a split as well."""
    roles: tuple[TableRole, ...] = ("truth", "train", "items", "users", "baseline")
    tables: set[TableRole] = {role for role in roles if mistakes.says(("data", role))}
    if mistakes.says(("split",)):
        tables |= {"truth", "train"}
    if config.data.truth is not None or config.split is not None:
        tables.add("truth")
    if has_training(config, folder):
        tables.add("train")
    return tables


def _problems(measure: Measure, config: Config, settings: Settings, tables: set[TableRole]) -> list[RankwiseError]:
    """Return everything that a measure lacks: every table, not only the first."""
    plan = Plan((measure,), settings.rules, settings.by)
    groups = {*TRAIN_GROUPS} & {*settings.by}
    checks: list[Any] = [partial(check_tables, {fact: name}, tables, groups) for fact, name in plan.facts.items()]
    checks.append(partial(check_catalogue, plan, settings.catalogue, tables))
    if settings.ranks == "keep":
        checks.append(partial(check_kept, plan.needs, numbers_items=plan.numbers_items))
    if "truth" not in tables:
        checks.append(partial(check_reads_no_truth, measure))
    if config.evaluation.strategy == "sampled":
        checks.append(partial(check_sampled, plan, "strategy: sampled"))
    problems: dict[str, RankwiseError] = {}
    for check in checks:
        try:
            check()
        except RankwiseError as error:
            problems.setdefault(str(error), error)
    return list(problems.values())


def check_comparisons(
    comparisons: Sequence[tuple[Place, dict[str, Any]]],
    expected: Mapping[str, Result],
    mistakes: Mistakes,
    *,
    complete: bool,
) -> None:
    """Check that what is compared is evaluated, and can be compared.

    Unless ``complete``, some measures are wrong: others may be meant by them.
    """
    if len(expected) < 2:  # nothing is compared
        return
    first = next(iter(expected.values()))

    def known_before(name: str) -> bool:
        return not _is_group(first, name) and (complete or _is_evaluated(first, name))

    for place, options in comparisons:
        known, means_only = len(mistakes), None if options.get("by") is None else MEANS_OF_GROUPS
        primary, margin, names = options.get("primary"), options.get("margin"), _names(options.get("measures"))
        for key, name in [("primary", primary), *(("measures", name) for name in names)]:
            if name is not None and known_before(name):
                where = (*place, key)
                if key == "primary" and not mistakes.document.has(where):
                    where = ("evaluation", "validation_metric")
                mistakes.tried(where, partial(common_cells, expected, [name], name, means_only=means_only))
        for name in margin if isinstance(margin, Mapping) else ():
            if known_before(name):
                mistakes.tried((*place, "margin", name), partial(margins_by_cell, {name: 1.0}, first))
        if complete and len(mistakes) == known and primary is None and not names:
            mistakes.tried(place, partial(common_cells, expected, None, None, means_only=means_only))
        named = {key: value for key, value in options.items() if key not in _NOT_CHECKED}
        mistakes.tried_together(place, named, lambda some: check_options(systems_of((expected,)), **some))


_NOT_CHECKED = ("primary", "measures", "margin", "force", "alpha", "baseline")
"""Options of a comparison that are checked one by one, with a path of their own."""


def _names(given: str | Sequence[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


def _is_evaluated(result: Result, name: str) -> bool:
    """Return whether a value is among those that are known to be evaluated, or is no text of a metric."""
    try:
        return result.cell(name) in result.values
    except MissingValueError:
        try:
            parse_all(name, result.convention, cutoffs=False)
        except RankwiseError:
            return True
        return False


def _is_group(result: Result, name: str) -> bool:
    """Return whether a name is the value of a group, which only the tables name."""
    measure = name.rpartition("[")[0] if name.endswith("]") and "=" in name.rpartition("[")[2] else ""
    return bool(measure) and any(
        str(parsed @ ()) == str(one @ ())
        for parsed in parse_all(measure, result.convention, cutoffs=False)
        for one in result.measures
    )


def check_decision(
    options: Mapping[str, Any], expected: Mapping[str, Result], mistakes: Mistakes, *, complete: bool
) -> None:
    """Check that what decides is evaluated, and can decide; ``complete`` as for comparisons."""
    if not expected:
        return
    known, first = len(mistakes), next(iter(expected.values()))
    for key in ("success", "guardrails", "deterioration"):
        given = options.get(key) or ()
        for at, name in enumerate([given] if isinstance(given, str) else given):
            place: Place = ("decision", key)
            place = (*place, name) if key == "guardrails" else (*place, at) if not isinstance(given, str) else place
            if complete or _is_evaluated(first, name):
                mistakes.tried(place, partial(deciding_cell, first, name))
    if len(expected) < 2 or not complete or len(mistakes) > known:
        return
    between = {name: options[name] for name in ("success", "baseline", "system") if name in options}
    mistakes.tried(("decision",), lambda: rule_for(expected, **between))
    if len(mistakes) == known:
        others = {name: value for name, value in options.items() if name not in between}
        mistakes.tried_together(("decision",), others, lambda some: rule_for(expected, **between, **some))


def expected_results(
    measures: Mapping[Measure, Place], systems: Mapping[str, Any], settings: Settings
) -> dict[str, Result]:
    """Return results as the run will have them, with the names and kinds of values and no users.

    Their numbers are 0, for numbers that are not known yet are nothing that a check may read.
    """
    every, weighted = tuple(measures), settings.weights is not None
    cells = [cell for measure in every for cell in measure.cells if not measure.cells_only]
    replicates = None
    if settings.jackknife is not None:
        names = {cell for measure in jackknifed(every, weighted=weighted) for cell in measure.cells}
        replicates = pl.DataFrame({name: [0.0] for name in ["group", *sorted(names)]})
    provenance = {
        "convention": None if settings.convention is None else settings.convention.to_dict(),
        "settings": settings.to_dict(),
    }
    result = Result(
        measures=every,
        values=Values(dict.fromkeys(cells, 0.0)),
        kinds=kinds_of_values(every, weighted=weighted),
        per_user=pl.DataFrame({"user": [0], **{cell: [0.0] for cell in cells}}),
        counts={},
        slices=None,
        provenance=provenance,
        replicates=replicates,
    )
    return dict.fromkeys(systems, result)
