"""What the plain definitions of `rankwise.functional` give for a case, users averaged in plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
from random_worlds import CUTOFFS, PLAIN, Case
from world_tables import population

import rankwise as rw
from metrics.test_against_functional import PER_USER, RATING, catalogue_twins, pairs_of, plain_value
from metrics.test_against_functional_with_facts import TWINS, WHOLE, at
from rankwise.metrics.composite_kinds import Composed
from rankwise.metrics.kinds import PerUser
from strategies import World

NOT_PLAIN = {"exclude_seen", "catalogue", "score_precision", "duplicates", "ranks", "convention"}
"""Options under which lists, or the catalogue, are others than those of the world."""


@cache
def _names() -> dict[str, tuple[str, int]]:
    """Return the name in the tables of plain definitions, and the cut-off, of each metric."""
    return {at(name, k): (name, k) for name in PLAIN for k in CUTOFFS}


def plain_world(case: Case) -> World | None:
    """Return the world whose lists are plain and whose ground truth has the threshold; None if there is none."""
    lists = _plain_lists(case)
    graded = case.options.get("relevance") == "graded"  # whatever the threshold is
    threshold = None if graded else case.options.get("relevance_threshold")
    values = {value for own in case.world.truth.values() for value in own.values()}
    if threshold is None and case.options.get("relevance") == "any":
        threshold = -math.inf
    if lists is None or NOT_PLAIN & set(case.options) or case.repeats or case.gaps:
        return None
    groups = {user: group for user, group in case.world.user_groups.items() if group is not None}
    world = replace(case.world, lists=lists, user_groups=groups)
    if threshold is None:
        return world
    if any(threshold <= value <= 0 for value in values):
        return None  # relevant items without a gain
    truth = {
        u: {i: v if v >= threshold else min(v, 0) for i, v in own.items()}
        for u, own in case.world.truth.items()
    }
    return replace(world, truth=truth)


def _plain_lists(case: Case) -> dict[int, list[int]] | None:
    """Return the lists in the order that the options give; None where tied items have no order."""
    if case.order == "rows" or (case.order in ("rank", "both") and "order_by" not in case.options):
        return {user: list(own) for user, own in case.world.lists.items()}
    ties = case.options.get("ties")
    distinct = all(len(set(own.values())) == len(own) for own in case.world.lists.values())
    if ties not in ("input", "item", "item_desc") and not distinct:
        return None
    step = {"item": 1, "item_desc": -1}.get(ties or "", 0)
    as_text = case.options.get("ids") == "text" and not case.text  # 10 before 9
    names = {item: str(case.items[item]) if as_text else item for item in case.world.catalogue}
    place = {item: at_row for at_row, item in enumerate(sorted(names, key=names.__getitem__))}
    return {
        user: sorted(own, key=lambda item, own=own: (-own[item], step * place[item]))
        for user, own in case.world.lists.items()
    }


def evaluated(case: Case, world: World) -> set[int]:
    """Return the users of the population."""
    relevant = {user for user, own in world.relevant.items() if own}
    judged = {user for user, own in world.truth.items() if own}
    name = case.options.get("population", "truth")
    return population(name, relevant=relevant, judged=judged, listed={*world.lists})


def plain_differences(
    case: Case, metrics: tuple[str, ...], result: rw.Result
) -> Iterator[tuple[str, float, float]]:
    """Yield each value that is compared with its plain definition: name, value, plain value."""
    world = plain_world(case)
    if world is None:
        return
    members = sorted(evaluated(case, world))
    for cell in metrics:
        name, k = _names().get(cell, ("", 0))
        if name in PER_USER or name in TWINS:
            is_grade = name == "grade"  # whatever the threshold is
            judged = replace(world, truth=case.world.truth) if is_grade else world
            yield from _of_users(case, judged, members, result, cell, name, k)
        elif name in WHOLE:
            yield from _of_all(_only(world, members), result, cell, name, k)
        elif name in RATING and "weights" not in case.options:
            pairs = pairs_of(
                {u: own for u, own in case.world.lists.items() if u in members}, case.world.truth
            )
            yield cell, result[cell], RATING[name]([pair for own in pairs.values() for pair in own])
        elif name and name not in RATING:
            lists = _only(world, members).lists
            yield cell, result[cell], catalogue_twins(len(world.catalogue))[name](lists, k)


def _only(world: World, members: list[int]) -> World:
    lists, truth = ({u: t[u] for u in members if u in t} for t in (world.lists, world.truth))
    return replace(world, lists=lists, truth=truth)


def _of_users(
    case: Case, world: World, members: list[int], result: rw.Result, cell: str, name: str, k: int
) -> Iterator[tuple[str, float, float]]:
    metric = rw.parse(cell)
    about = getattr(metric, "defined_for", "")
    expected = {}
    for user in members:
        expected[user] = _value(
            case, world, user, name, k, "relevance" if metric.needs_relevant else about
        )
    number = {str(user): at_row for at_row, user in enumerate(case.users)}
    ids = [number[str(user)] for user in result.per_user["user"]]
    if cell in result.per_user.columns:
        for user, value in zip(ids, result.per_user[cell], strict=True):
            # beside metrics of all rows of a list, users outside the population have a row, and no value
            yield f"{cell} of user {user}", value, expected.get(user, math.nan)
    if isinstance(metric, PerUser) and metric.aggregate == "mean":
        weights = {
            user: (at_row % 4 + 1) / 4 for at_row, user in enumerate(sorted(case.world.user_groups))
        }
        without = any(not world.relevant.get(user) for user in members)
        if case.options.get("undefined") == "nan" and metric.needs_relevant and without:
            yield cell, result[cell], math.nan
        else:
            yield cell, result[cell], _mean(expected, weights if "weights" in case.options else {})


def _value(case: Case, world: World, user: int, name: str, k: int, about: str) -> float:
    """Return the value of a user; NaN for none."""
    if about == "relevance" and not world.relevant.get(user):
        return _of_zeros(name) if case.options.get("undefined") == "zero" else math.nan
    if about == "list" and not world.lists.get(user):
        return 0.0 if case.options.get("without_list") == "zero" else math.nan
    if name in TWINS:
        return float(TWINS[name](world, user, k))
    items, judged = list(world.lists.get(user, [])), world.truth.get(user, {})
    return float(plain_value(PER_USER[name], items, judged, k, len(world.catalogue)))


def _of_zeros(name: str) -> float:
    """Return 0, or what a metric made of others has where these are 0."""
    metric = rw.parse(name)
    if not isinstance(metric, Composed):
        return 0.0
    return float(metric.combine(*(np.zeros(1) for _ in metric.parts))[0])


def _of_all(
    world: World, result: rw.Result, cell: str, name: str, k: int
) -> Iterator[tuple[str, float, float]]:
    expected = WHOLE[name](world, k)
    for key, value in result.values.items():
        if (
            key.partition("[")[0] == cell
        ):  # a group of which nothing is known is none of the plain definition
            yield key, value, expected.get(key.removeprefix(cell).strip("[]"), math.nan)


def _mean(values: Mapping[int, float], weights: Mapping[int, float]) -> float:
    """Return the weighted mean of the users who have a value."""
    there = {user: value for user, value in values.items() if not math.isnan(value)}
    total = math.fsum(weights.get(user, 1.0) for user in there)
    if not there or not total:
        return math.nan
    return math.fsum(value * weights.get(user, 1.0) for user, value in there.items()) / total
