"""Dump every number that rankwise computes, to compare two versions bit by bit.

``python scripts/dump_numbers.py OUT`` evaluates every registered metric with every choice of its
parameters, under every tie rule, with slices, weights, jackknife, exact ranks, sampled candidates,
pieces and models, then conventions, comparisons, decisions, splits and a saved result, on random
data made from a seed, and writes one line per value. Run it in the checkout before a rebuild and
after it: ``diff`` of the two files must be empty. Only the public interface is used, so the script
runs unchanged on both sides.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import tempfile
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

import rankwise as rw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

USERS, ITEMS = 60, 40
CUTOFFS = [1, 3, 10]
COMPOSED = [
    "f(first=ndcg,second=recall)@3",
    "f(beta=2,of=means)@3",
    "euclidean_distance(of=means)@3",
    "hypervolume(metrics=[ndcg,gini],of=means)@3",
    "group_gap(ndcg)@3",
    "group_ratio(recall)@3",
    "ips(recall)@3",
    "ips(ndcg,clip=0.3)@3",
    "snips(map)@3",
    "snips(dcg)@10",
    "stratified(recall)@3",
    "stratified(auc,gamma=0.5)",
    "ips(precision,propensity=given)@3",
    "rbp(p=0.5)@10",
    "err(max_relevance=4)@3",
    "err(max_relevance=9)@10",
    "ndcg(log_base=10)@10",
]

MIXED = [
    "ndcg@3",
    "recall@3",
    "map@10",
    "mrr",
    "auc",
    "bpref",
    "micro@3",
    "gini@3",
    "novelty@3",
    "reo@3",
    "rmse",
]
UNSTABLE = ("date", "versions", "sha256", "files")
"""Keys whose values differ between runs or machines, and the hashes over them."""

World = dict[str, Any]


def make_world(seed: int, *, text: bool, scored: bool) -> World:
    """Return random tables: ragged lists with ties, cold items, users without a list."""
    rng = np.random.default_rng(seed)
    user: Callable[[Any], Any] = (lambda u: f"u{u:03}") if text else int
    item: Callable[[Any], Any] = (lambda i: f"i{i:03}") if text else int
    rows: dict[str, list[Any]] = {"user": [], "item": [], "score" if scored else "rank": []}
    truth: dict[str, list[Any]] = {"user": [], "item": [], "relevance": []}
    train: dict[str, list[Any]] = {"user": [], "item": []}
    other: dict[str, list[Any]] = {"user": [], "item": [], "rank": []}
    popular = rng.permutation(np.arange(1, ITEMS + 1) / sum(range(1, ITEMS + 1)))
    for u in range(USERS):
        if u % 9 != 4:
            n = int(rng.integers(1, 15))
            chosen = rng.choice(ITEMS, n, replace=False)
            scores = np.sort(rng.integers(0, 8, n) / 8 + 1 / 16)[::-1]
            for at, i in enumerate(chosen):
                rows["user"].append(user(u))
                rows["item"].append(item(i))
                rows["score" if scored else "rank"].append(float(scores[at]) if scored else at + 1)
        if u % 11 != 5:
            n = int(rng.integers(1, 9))
            truth["user"] += [user(u)] * n
            truth["item"] += map(item, rng.choice(ITEMS, n, replace=False, p=popular))
            truth["relevance"] += map(float, rng.integers(0, 5, n))
        if u % 7 != 3:
            n = int(rng.integers(1, 12))
            train["user"] += [user(u)] * n
            train["item"] += map(item, rng.choice(ITEMS - 3, n, replace=False))
        if u % 8 != 2:
            n = int(rng.integers(1, 8))
            other["user"] += [user(u)] * n
            other["item"] += map(item, rng.choice(ITEMS, n, replace=False))
            other["rank"] += range(1, n + 1)
    genres = ["drama", "war", "noir", "comedy"]
    return {
        "lists": pl.DataFrame(rows),
        "truth": pl.DataFrame(truth),
        "train": pl.DataFrame(train),
        "reference": pl.DataFrame(other),
        "items": pl.DataFrame(
            {
                "item": [item(i) for i in range(ITEMS)],
                "genres": [
                    list(rng.choice(genres, int(rng.integers(0, 3)), replace=False))
                    for _ in range(ITEMS)
                ],
                "features": rng.normal(size=(ITEMS, 3)).tolist(),
                "group": [("a", "b", "c", None)[int(rng.integers(0, 4))] for _ in range(ITEMS)],
                "propensity": rng.uniform(0.05, 1, ITEMS),
            },
            schema_overrides={"genres": pl.List(pl.String)},
        ),
        "users": pl.DataFrame(
            {
                "user": [user(u) for u in range(USERS)],
                "group": [("x", "y", "z")[u % 3] for u in range(USERS)],
                "weight": rng.uniform(0, 3, USERS),
            }
        ),
    }


def variants() -> list[str]:
    """Return every metric at its defaults and with each other choice of each parameter."""
    from rankwise.metrics import registry

    out = []
    for cls in registry.all_metrics():
        at = "" if cls.cutoff == "none" else f"@{CUTOFFS}"
        settings = [""]
        hints = typing.get_type_hints(cls)
        for field in dataclasses.fields(cls):
            kind = hints[field.name]
            if typing.get_origin(kind) is Literal:
                others = [value for value in typing.get_args(kind) if value != field.default]
            else:
                others = [not field.default] if kind is bool else []
            settings += [f"({field.name}={value})" for value in others]
        out += [f"{cls.name}{setting}{at}" for setting in settings]
    cells: set[str] = set()
    metrics = []
    for text in out + COMPOSED:
        try:
            metric = rw.parse(text)
        except rw.RankwiseError:  # a choice that its default parts do not have
            continue
        if cells.isdisjoint(metric.cells):
            cells.update(metric.cells)
            metrics.append(str(metric))
    return metrics


def hashed(frame: pl.DataFrame) -> str:
    """Hash a table by its values, floats bit by bit."""
    digest = hashlib.sha256()
    for name in frame.columns:
        column = frame[name]
        text = [v.hex() if isinstance(v, float) else repr(v) for v in column.to_list()]
        digest.update("\n".join([name, *text]).encode())
    return digest.hexdigest()[:16]


def lines_of(result: rw.Result) -> Iterator[str]:
    """Write everything numeric in a result."""
    for cell, value in result.values.items():
        yield f"{cell}\t{float(value).hex()}"
    for name in result.per_user.columns:
        yield f"user {name}\t{hashed(result.per_user.select('user', pl.col(name).alias('of')))}"
    yield f"counts\t{json.dumps(result.counts, sort_keys=True)}"
    yield f"diagnostics\t{json.dumps(result.diagnostics, sort_keys=True)}"
    for name in ("slices", "replicates"):
        frame = getattr(result, name)
        if frame is not None:
            for column in frame.columns:
                yield f"{name} {column}\t{hashed(frame.select(column))}"


def exact(value: Any) -> Any:
    """Return plain values with floats bit by bit, without what differs between runs."""
    if isinstance(value, dict):
        return {str(key): exact(one) for key, one in value.items() if key not in UNSTABLE}
    if isinstance(value, list | tuple):
        return [exact(one) for one in value]
    return value.hex() if isinstance(value, float) else value


def rows_of(what: str, values: dict[str, Any]) -> Iterator[str]:
    """Write plain values by name, lists row by row."""
    for name, value in exact(values).items():
        for row in value if isinstance(value, list) else [value]:
            yield f"{what}\t{name}\t{json.dumps(row, sort_keys=True, default=str)}"


def attempt(what: str, make: Callable[..., Any], *args: Any, **options: Any) -> Iterator[str]:
    """Write what a call returns, or the error that it raises."""
    try:
        made = make(*args, **options)
    except rw.RankwiseError as error:
        yield f"{what}\t{type(error).__name__}: {str(error).splitlines()[0]}"
        return
    if isinstance(made, pl.DataFrame):
        for column in made.columns:
            yield f"{what}\t{column}\t{hashed(made.select(column))}"
        return
    if isinstance(made, rw.Result):
        yield from (f"{what}\t{line}" for line in lines_of(made))
    elif isinstance(made, rw.Decision):
        yield from rows_of(what, made.record)
    elif isinstance(made, rw.splits.Split):
        yield from rows_of(what, made.card)
        yield from (f"{what}\t{name}\t{hashed(made.part(name))}" for name in made.masks)
    else:  # conventions side by side, a comparison, an explanation
        yield from rows_of(what, made.to_dict())
        yield f"{what}\t{made!r}".replace("\n", f"\n{what}\t")


def pieces(world: World, metrics: list[str], *, whole: bool, **options: Any) -> rw.Result:
    """Evaluate in three pieces; with ``whole`` the ground truth is given once."""
    around = {name: world[name] for name in ("train", "items", "users", "reference")}
    truth = world["truth"] if whole else None
    evaluators = []
    every = pl.concat([world["lists"]["user"], world["truth"]["user"]]).unique().sort()
    for part in range(3):
        chosen = every.gather_every(3, part)
        lists, rows = (
            world[name].filter(pl.col("user").is_in(chosen.implode()))
            for name in ("lists", "truth")
        )
        evaluator = rw.Evaluator(metrics, truth=truth, **around, **options)
        evaluators.append(evaluator.update(lists, None if whole else rows))
    return evaluators[0].merge(*evaluators[1:]).result()


def dump() -> Iterator[str]:
    """Yield every line."""
    metrics = variants()
    scored = make_world(1, text=False, scored=True)
    rules: list[dict[str, Any]] = [
        {},
        *({"ties": t} for t in ("input", "item", "item_desc", "optimistic", "pessimistic")),
        {"population": "all", "relevance_threshold": 2.0},
        {"population": "both"},
        {"population": "recommended", "undefined": "zero"},
        {"undefined": "nan", "population": "all"},
        {"by": "group", "weights": "weight", "relevance_threshold": 3},
        {"jackknife": 8, "by": "group"},
        {"exclude_seen": True, "by": ["history", "item:cold"]},
        {"threads": 2, "block_size": 7},
    ]
    for name, world in {
        "scored": scored,
        "ranked": make_world(2, text=False, scored=False),
        "text": make_world(3, text=True, scored=True),
    }.items():
        around = {key: world[key] for key in ("train", "items", "users", "reference")}
        lists, truth = world["lists"], world["truth"]
        usable = []
        for metric in metrics:
            found = list(attempt(f"{name} {metric}", rw.evaluate, lists, truth, metric, **around))
            usable += [metric] if len(found) > 1 and not metric.startswith("err") else []
            yield from found
        over_users = ("quantile", "worst", "geometric_mean")  # they count each user once
        weightable = [metric for metric in usable if not metric.startswith(over_users)]
        # Together, under every rule: what one metric needs must not move another.
        for rule in rules:
            what = f"{name} {rule}"
            asked = weightable if "weights" in rule else usable
            yield from attempt(what, rw.evaluate, lists, truth, asked, **around, **rule)
        for whole in (True, False):
            options = {"whole": whole, "by": "group", "weights": "weight", "population": "all"}
            yield from attempt(f"{name} pieces {whole}", pieces, world, weightable, **options)
        if name == "scored":
            twice = pl.concat([lists, lists.head(9)])
            yield from attempt(
                "duplicates", rw.evaluate, twice, truth, usable, **around, duplicates="first"
            )
            rated = lists.join(truth, on=["user", "item"])
            rated = rated.rename({"score": "prediction", "relevance": "rating"})
            asked = ["rmse", "mae", "ndcg@3", "fcp"]
            yield from attempt("ratings", rw.evaluate_ratings, rated, asked, relevance_threshold=2)
    yield from dump_ranked(scored, metrics)
    yield from dump_requests(metrics)
    yield from dump_conventions()
    yield from dump_comparisons()
    yield from dump_splits()


class Model:
    """Recommends by a score matrix, and fails for one user."""

    def __init__(self, scores: np.ndarray[Any, Any]) -> None:
        self.scores = scores

    def recommend(self, user_id: int, n: int) -> list[tuple[int, float]]:
        """Return a user's best items."""
        if user_id == 3:
            raise RuntimeError
        order = np.argsort(-self.scores[user_id], kind="stable")[:n]
        return [(int(i), float(self.scores[user_id, i])) for i in order]


def dump_ranked(world: World, metrics: list[str]) -> Iterator[str]:
    """Yield the lines of score matrices: lists, exact ranks, samples, curves and corrections."""
    rng = np.random.default_rng(7)
    scores = rng.integers(0, 30, (USERS, ITEMS)) / 32
    truth, around = world["truth"], {name: world[name] for name in ("train", "items", "users")}
    positive = truth.filter(pl.col("relevance") > 0)
    frozen = rw.candidates.sampled(positive, 12, seed=5, items=range(ITEMS))
    made: dict[str, Any] = {
        "rank": rw.rank(scores, k=10, exclude=world["train"]),
        "rank item": rw.rank(scores, k=10, ties="item"),
        "exact": rw.rank_relevant(scores, truth=truth, exclude=world["train"]),
        "exact sampled": rw.rank_relevant(scores, truth=truth, candidates=frozen),
        "rank sampled": rw.rank(scores, k=5, candidates=frozen),
    }
    beside = {**around, "reference": world["reference"]}
    for name, lists in made.items():
        yield f"{name} rows\t{hashed(lists.frame)}"
        yield f"{name} counts\t{json.dumps(lists.counts, sort_keys=True)}"
        for metric in metrics:
            yield from attempt(f"{name} {metric}", rw.evaluate, lists, truth, metric, **beside)
    few = ["auc", "ndcg@3", "mrr", "recall@10", "map"]
    for ties in ("expected", "optimistic", "pessimistic"):
        options = {**around, "ties": ties, "by": "group", "jackknife": 8}
        yield from attempt(f"exact {ties}", rw.evaluate, made["exact"], truth, few, **options)
    curved = ["recall", "ndcg", "map", "mrr", "precision", "hit_rate", "dcg(gain=exponential)"]
    yield from attempt("curve", rw.curve, made["exact"], truth, curved)
    one = positive.group_by("user", maintain_order=True).first()
    alone = rw.candidates.sampled(one, 12, seed=5, items=range(ITEMS))
    ranks = rw.rank_relevant(scores, truth=one, candidates=alone)
    for method in ("em", "bv", "rank"):
        few = ["hit_rate@3", "ndcg@10", "mrr", "auc"]
        yield from attempt(f"correct {method}", rw.correct, ranks, one, few, method=method)
    for failed in ("zero", "leave_out"):
        few = ["ndcg@3", "recall@10", "gini@10"]
        options = {**around, "failed": failed, "by": "group", "exclude_seen": True}
        yield from attempt(
            f"model {failed}", rw.evaluate_model, Model(scores), truth, few, **options
        )


def in_requests(table: pl.DataFrame, *, text: bool) -> pl.DataFrame:
    """Return a table whose rows are dealt to up to three requests of their user."""
    number = pl.int_range(pl.len()).over("user") % 3 % (pl.col("user").rank("dense") % 3 + 1)
    request = pl.format("r{}", number) if text else number
    return table.with_columns(request.alias("request"))


def dump_requests(metrics: list[str]) -> Iterator[str]:
    """Yield the lines of lists by request, with ground truth by request and by user."""
    for name, world in {
        "scored": make_world(8, text=False, scored=True),
        "text": make_world(9, text=True, scored=True),
    }.items():
        around = {key: world[key] for key in ("train", "items", "users", "reference")}
        lists = in_requests(world["lists"], text=name == "text")
        judged = in_requests(world["truth"], text=name == "text")
        for kind, truth in (("by request", judged), ("by user", world["truth"])):
            what = f"requests {name} {kind}"
            usable = []
            for metric in metrics:
                found = list(
                    attempt(f"{what} {metric}", rw.evaluate, lists, truth, metric, **around)
                )
                usable += [metric] if len(found) > 1 and not metric.startswith("err") else []
                yield from found
            rules: list[dict[str, Any]] = [
                {"by": "group", "jackknife": 8},
                {"by": ["item:group", "repeat"]},
                {"exclude_seen": True, "population": "all"},
                {"ties": "item", "undefined": "nan", "relevance_threshold": 2},
            ]
            for rule in rules:
                yield from attempt(
                    f"{what} {rule}", rw.evaluate, lists, truth, usable, **around, **rule
                )
            few = ["ndcg@3", "recall@10", "mrr", "micro@3", "gini@10"]
            options = {**around, "mean_over": "users"}
            yield from attempt(f"{what} over users", rw.evaluate, lists, truth, few, **options)


def dump_conventions() -> Iterator[str]:
    """Yield the lines of metrics under every convention, of explanations, and of conventions by value."""
    for name, world in {
        "scored": make_world(4, text=False, scored=True),
        "ranked": make_world(5, text=False, scored=False),
        "text": make_world(6, text=True, scored=True),
    }.items():
        train, items = world["train"], world["items"]
        known = pl.col("item").is_in(
            train["item"].unique().implode()
        )  # some conventions take it for the catalogue
        lists, truth = world["lists"].filter(known), world["truth"].filter(known)
        negative = truth.with_columns(pl.col("relevance") - 1)
        mixed = [metric for metric in MIXED if name != "ranked" or metric != "rmse"]
        ungraded = [metric for metric in mixed if metric != "ndcg@3"]
        across = rw.across_conventions
        yield from attempt(f"across {name}", across, lists, truth, mixed, train=train, items=items)
        yield from attempt(f"across {name} alone", across, lists, truth, mixed, threshold=2)
        yield from attempt(
            f"across {name} negative", across, lists, negative, ungraded, train=train
        )
        for first, second in (
            ("default", "trec_eval"),
            ("recbole", "lenskit"),
            ("ranx", "torchmetrics"),
        ):
            what = f"explain {name} {first} {second}"
            yield from attempt(what, rw.explain, lists, truth, "ndcg@3", first, second, train=train)
        value = rw.evaluate(lists, truth, "map@10", convention="ranx")["map@10"]
        yield from attempt(
            f"convention of {name}", rw.convention_of, f"{value:.3f}", lists, truth, "map"
        )


def dump_comparisons() -> Iterator[str]:
    """Yield the lines of a saved result, of comparisons and of a decision."""
    world = make_world(7, text=True, scored=False)
    users, means = world["users"], ["ndcg@3", "recall@3", "mrr"]
    options = {"users": users, "by": "group", "jackknife": 8}
    results = {
        name: rw.evaluate(lists, world["truth"], [*means, "gini@3"], **options)
        for name, lists in (
            ("a", world["lists"]),
            ("b", world["reference"]),
            ("c", world["lists"].filter(pl.col("rank") > 1)),
        )
    }
    with tempfile.TemporaryDirectory() as folder:
        results["a"].save(folder)
        yield from rows_of(
            "saved", json.loads((Path(folder) / "result.json").read_text(encoding="utf-8"))
        )
        yield from attempt("loaded", rw.load, folder)
    choices: list[dict[str, Any]] = [
        {},
        {"baseline": "a", "by": "group", "correction": "bh"},
        {"test": "sign_flip", "metrics": means, "margin": 0.05},
        {"test": "wilcoxon", "metrics": means, "baseline": "b", "alpha": 0.1},
    ]
    for choice in choices:
        yield from attempt(f"compare {choice}", rw.compare, results, **choice)
    pair = {name: results[name] for name in ("b", "a")}
    rules = {
        "success": "ndcg@3",
        "guardrails": {"recall@3": 0.1},
        "deterioration": "mrr",
        "slices": "group",
    }
    yield from attempt("decide", rw.decide, pair, **rules, min_slice_size=10)


def dump_splits() -> Iterator[str]:
    """Yield the lines of splits by every rule."""
    from rankwise import splits

    rng = np.random.default_rng(8)
    every = np.array([(u, i) for u in range(USERS) for i in range(ITEMS)])[
        rng.permutation(USERS * ITEMS)[:900]
    ]
    rows = pl.DataFrame(every, schema=["user", "item"]).with_columns(
        relevance=pl.Series(rng.integers(1, 6, len(every)).astype(float)),
        timestamp=pl.Series(rng.integers(0, 10**7, len(every)) // 50 * 50),
    )
    rules: list[Any] = [
        splits.GlobalTime(0.2, validation=splits.GlobalTime(0.2), seen="drop"),
        splits.GlobalTime(last="20d", gap="2d", filters=[splits.KCore(2)], cold_users="drop"),
        splits.SuccessiveTargets(0.2),
        splits.TimeWindows("10d", 2),
        splits.TwoStage(0.3, inner_share=0.3),
        splits.LeaveOut(2, validation=splits.LeaveOut()),
        splits.LeaveOut(which="random", filters=[splits.MinRating(2), splits.Deduplicate()]),
        splits.LeavePOut(2, draws=2),
        splits.Holdout(0.3, cold_items="drop"),
        splits.Holdout(0.3, per="user", which="last"),
        splits.UserHoldout(0.3),
        splits.ItemHoldout(0.3),
        splits.KFold(2),
        splits.StratifiedKFold(2),
        splits.UserKFold(2),
    ]
    for rule in rules:
        made = rule.split(rows)
        for at, split in enumerate([made] if isinstance(made, splits.Split) else made):
            yield from attempt(f"split {rule} {at}", lambda split=split: split)


def main() -> None:
    """Write the dump to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    lines = list(dump())
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
