"""The sums of all pieces of a log, merged into a result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from rankwise.errors import InputError, ParameterError
from rankwise.findings.columns import table_of
from rankwise.messages import parameter
from rankwise.offpolicy.exposures import check_outcomes, request_of_several_users
from rankwise.offpolicy.finding import LogFinding
from rankwise.offpolicy.job import Job, several_policies
from rankwise.offpolicy.pieces import Partial
from rankwise.offpolicy.policies import OfTable, Policy
from rankwise.offpolicy.result import NO_GROUP, OffPolicy
from rankwise.offpolicy.summary import Summary, per_user, positions_of
from rankwise.offpolicy.sums import Sums
from rankwise.offpolicy.support import calibration_p
from rankwise.tables.table import Table


def finish(
    job: Job, partials: Iterable[Partial], source: Mapping[str, Any] | None = None
) -> OffPolicy:
    """Return the result of all pieces; the order of these does not matter.

    ``source`` is the card of the exposures, by default that of a piece.
    """
    parts = list(partials)
    counts, card = _count(job, parts), parts[0].source
    sums, keys = _merge(job, parts)
    parts.clear()  # of a large log they are as large as what is merged
    limits, from_log = _range_of(job.options.reward_range, sums[0])
    by = job.options.by
    names = [NO_GROUP if key is None else str(key) for key in keys]
    heads = [{}] if by is None else [{"by": by, "group": group} for group in (None, *names)]
    summaries = [
        _summarise(job, each, limits, head) for each, head in zip(sums, heads, strict=True)
    ]
    values = [summary.values() for summary in summaries]
    tables, supports = zip(*map(Summary.table, summaries, values), strict=True)
    differences = map(Summary.differences, summaries, values, supports)
    findings = [finding for part in differences for finding in part]
    frames = {
        "table": pl.concat(tables),
        "differences": table_of(findings, LogFinding),
        "sensitivity": summaries[0].sensitivity(values[0], supports[0]),
        "positions": positions_of(values[0], supports[0]),
    }
    values.clear()  # of a large log they are as large as the sums
    return OffPolicy(
        **frames,
        per_user=per_user(sums[0], supports[0]),
        counts=counts,
        sources=_cards(job, card if source is None else source),
        settings=_settings(job, limits, from_log),
    )


def _merge(job: Job, parts: Sequence[Partial]) -> tuple[list[Sums], list[Any]]:
    """Return the sums of all requests and of each group of ``by``, and the groups in order."""
    totals = [part.total for part in parts if part.total is not None]
    if not totals:
        raise InputError("a target says nothing about any request", where=parts[0].source["source"])
    if job.options.propensities is not None and not any(part.has_slates for part in parts):
        raise ParameterError(
            f"{parameter('propensities')} is for requests with several rows, and each has one",
            where=parts[0].source["source"],
            hint="leave propensities out",
        )
    names = sorted({name for part in parts for name in part.policies})
    if isinstance(job.propensity, Policy) and len(names) > 1:
        raise several_policies(names, parts[0].source["source"])
    keys = (
        pl.Series(list(dict.fromkeys(key for part in parts for key in part.groups)))
        .sort()
        .to_list()
    )
    groups = [[part.groups[key] for part in parts if key in part.groups] for key in keys]
    return [Sums.merged(each) for each in (totals, *groups)], keys


def _count(job: Job, parts: Sequence[Partial]) -> dict[str, int]:
    """Add up all pieces' counts; raise if over 1 % of outcomes or rows cannot be joined."""
    missing, counts = job.options.missing, Counter[str]()
    if job.outcomes is not None:
        joined = pl.concat([part.outcomes for part in parts])
        if joined.n_unique() < len(joined):
            raise request_of_several_users(parts[0].source["source"])
        counts.update(check_outcomes(job.outcomes, joined, missing))
    for part in parts:
        counts.update(part.counts)
    for name in dict.fromkeys(name for part in parts for name in part.gaps):
        first, *rest = (part.gaps[name] for part in parts if name in part.gaps)
        gap = sum(rest, first)
        if missing == "error":
            gap.check(name)
        counts[f"{name}: rows of which the target says nothing"] = gap.rows
    return {name: count for name, count in (counts | Counter(parts[0].of_tables)).items() if count}


def _summarise(
    job: Job, sums: Sums, limits: tuple[float, float], head: Mapping[str, str | None]
) -> Summary:
    """Summarise a set of requests: all requests, or one group."""
    marginal = bool(job.is_slate) and job.kind == "marginal"
    # Shares fit by construction; in slates propensities depend on the items above.
    tested = not job.estimated and (not job.is_slate or marginal)
    options = job.options
    return Summary(
        sums=sums,
        estimator=job.estimator,
        reward_range=limits,
        baseline=options.baseline,
        alpha=options.alpha,
        correction=options.correction,
        margin=options.margin,
        head=head,
        estimated=job.estimated,
        marginal=marginal,
        calibration_p=calibration_p(sums.shown) if tested else math.nan,
    )


def _cards(job: Job, exposures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cards of all tables that were read."""
    cards = {"exposures": dict(exposures)}
    if job.outcomes is not None:
        cards["outcomes"] = job.outcomes.card
    tables = {
        name: policy.table for name, policy in job.all_policies if isinstance(policy, OfTable)
    }
    return cards | {name: table.card for name, table in tables.items() if isinstance(table, Table)}


def _settings(job: Job, limits: tuple[float, float], from_log: bool) -> dict[str, Any]:
    known = job.propensity
    return asdict(job.options) | {
        "within": list(job.options.within),
        "estimator": job.estimator,
        "slates": job.weighting,
        "propensities": job.kind if job.is_slate else None,
        "propensity": known if isinstance(known, str) else known.description,
        "targets": {name: policy.description for name, policy in job.policies.items()},
        "reward_range": list(limits),
        "range_from_log": from_log,
    }


def _range_of(limits: tuple[float, float] | None, sums: Sums) -> tuple[tuple[float, float], bool]:
    """Return the range of rewards, and whether the log determines this range."""
    if limits is not None:
        return (float(limits[0]), float(limits[1])), False
    if sums.binary:
        return (0.0, 1.0), False
    low, high = sums.reward_range
    return (min(low, 0.0), high), True
