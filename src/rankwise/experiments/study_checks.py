"""Checks of the studies: what each would refuse, whatever its tables hold, is told in advance.

Each study checks its own options, here as in the run; results without users stand for results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

from rankwise.encoding.side_information import check_tables
from rankwise.errors import nearest
from rankwise.evaluation.plan import Plan
from rankwise.evaluation.settings import Settings
from rankwise.evidence.judged import check_judged
from rankwise.evidence.leaderboard import check_leaderboard
from rankwise.evidence.nulls import check_nulls
from rankwise.evidence.rank_agreement import cells_of_orders, check_rank_agreement
from rankwise.evidence.stability import check_stability
from rankwise.evidence.stages import check_stages
from rankwise.experiments.checks import TRUTH_HINT, check_groups
from rankwise.experiments.config_errors import ConfigErrors
from rankwise.experiments.schema import Config, LoggedPolicies
from rankwise.metrics.base import parse_all
from rankwise.offpolicy.job import check_request
from rankwise.offpolicy.options import Options
from rankwise.results.result import Result
from rankwise.stats.differences import check_level
from rankwise.tables.table import TableRole

_OF_RUN = {
    *("table", "human", "runs", "truth", "systems", "sources", "ranked", "final"),
    *("at_most", "force", "higher_is_better"),
}
"""Keys that the run reads itself, and keys that are wrong only beside a table."""


def check_studies(
    config: Config,
    expected: Mapping[str, Result],
    settings: Settings | None,
    tables: set[TableRole],
    mistakes: ConfigErrors,
    *,
    complete: bool,
) -> None:
    """Check the options of all studies.

    ``expected`` are results without users, ``tables`` those that the configuration names. Unless
    ``complete``, some metrics are wrong: others may be meant by them.
    """
    trained = "train" in tables
    checks: dict[str, Callable[..., Any]] = {
        "launches": lambda confidence=0.95, **_: check_level("confidence", confidence),
        "leaderboard": check_leaderboard,
        "judged": lambda **given: check_judged(**{"sampled": "random", **given}),
        "nulls": lambda **given: check_nulls(**{"baselines": (), **given}, is_trained=trained),
    }
    for section, check in checks.items():
        asked = getattr(config, section)
        if asked is not None:
            _try_options(section, asked.model_dump(exclude=_OF_RUN), check, mistakes)
    for section in ("nulls", "stages"):
        if getattr(config, section) is not None and "truth" not in tables:
            mistakes.add((section,), "there is no ground truth", TRUTH_HINT)

    if config.stability is not None:
        _check_stability(config.stability, expected, mistakes, complete=complete)
    if config.agreement is not None:
        _check_agreement(config.agreement, expected, mistakes, complete=complete)
    if config.nulls is not None:
        _check_systems(config.nulls.systems or (), expected, mistakes)
    if config.stages is not None:
        _check_stages(config.stages, settings, tables, mistakes)
    if config.off_policy is not None:
        _check_off_policy(config.off_policy, mistakes)


def _try_options(
    section: str, options: Mapping[str, Any], check: Callable[..., Any], mistakes: ConfigErrors
) -> None:
    """Add the mistakes of the options of a section, each with its own place."""
    mistakes.tried_together((section,), options, lambda given: check(**given))


def _check_stability(
    section: Any, expected: Mapping[str, Result], mistakes: ConfigErrors, *, complete: bool
) -> None:
    """Check the noise floor of runs, which have the values of any system."""
    result: Any = next(iter(expected.values()), 0.0)  # without systems, a mean of no metric
    if mistakes.tried(("stability", "runs"), lambda: check_stability([result] * len(section.runs))):
        options = section.model_dump(exclude=_OF_RUN | ({"metrics"} if not complete else set()))
        _try_options("stability", options, partial(check_stability, [result] * 2), mistakes)


def _check_agreement(
    section: Any, expected: Mapping[str, Result], mistakes: ConfigErrors, *, complete: bool
) -> None:
    """Check that two orders are asked for, of two systems or more."""
    if len(expected) < 2 or complete:
        place = ("agreement",) if section.metrics is None else ("agreement", "metrics")
        sides, given = (expected, expected), section.truth is not None
        mistakes.tried(place, partial(cells_of_orders, sides, section.metrics, given=given))
    options = section.model_dump(exclude=_OF_RUN | {"metrics"})
    _try_options("agreement", options, check_rank_agreement, mistakes)


def _check_systems(
    names: Sequence[str], expected: Mapping[str, Result], mistakes: ConfigErrors
) -> None:
    """Check that the systems whose nulls are asked for are there."""
    for at, name in enumerate(names):
        if name not in expected:
            mistakes.add(
                ("nulls", "systems", at), f"there is no system {name!r}", nearest(name, expected)
            )


def _check_stages(
    section: Any, settings: Settings | None, tables: set[TableRole], mistakes: ConfigErrors
) -> None:
    """Check the stages, and that there are the tables that their metrics and groups need."""
    before = len(mistakes)
    options = {"metrics": section.metrics, "confidence": section.confidence}
    _try_options("stages", options, check_stages, mistakes)
    has_order = section.ranked is not None or section.final is not None
    mistakes.tried(("stages",), partial(check_stages, has_order=has_order))

    is_trained, has_users = "train" in tables, "users" in tables
    check_groups(section.by, ("stages", "by"), mistakes, has_users=has_users, trained=is_trained)
    if settings is None or len(mistakes) > before:
        return

    named = tables - {"reference"}
    for at, text in enumerate(section.metrics):
        for metric in parse_all(text):
            facts = Plan((metric,), settings.rules, ()).facts
            mistakes.tried(("stages", "metrics", at), partial(check_tables, facts, named, ()))


def _check_off_policy(section: Any, mistakes: ConfigErrors) -> None:
    """Check the options about logged requests, and the policies by name."""
    names = {entry.name for entry in fields(Options)}
    options = section.model_dump(include=names)
    by_default = {name: LoggedPolicies.model_fields[name].default for name in names}
    mistakes.tried_together(
        ("off_policy",), options, lambda given: Options(**{**by_default, **given})
    )
    mistakes.tried(
        ("off_policy",),
        lambda: check_request(
            section.targets,
            section.baseline,
            section.reward,
            section.window,
            has_outcomes=section.outcomes is not None,
        ),
    )
