"""What rankwise says of bad input: every message, held against ``error_messages.txt``.

``UPDATE_MESSAGES=1 python -m pytest tests/test_error_messages.py -n 0`` writes the file anew; read
the difference before you keep it.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import rankwise as rw
from rankwise.errors import RankwiseError
from rankwise.results.shipped import write_shipped
from rankwise.results.storage import open_result
from rankwise.tables.table import card_text

GOLDEN = Path(__file__).with_name("error_messages.txt")
LISTS = pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 5]})
TIMED = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 5, 6], "timestamp": [3, 8, 5, 9]})
TRUTH = pl.DataFrame({"user": [1, 2], "item": [6, 5], "relevance": [4.0, 2.0]})


def go(lists=LISTS, truth=TRUTH, metrics="ndcg@2", **options):
    return lambda folder: rw.evaluate(lists, truth, metrics, **options)


def file(name, content, **options):
    def run(folder):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return rw.evaluate(path, TRUTH, "ndcg@2", **options)

    return run


def truncated_parquet(folder):
    LISTS.write_parquet(folder / "run.parquet")
    data = (folder / "run.parquet").read_bytes()
    (folder / "run.parquet").write_bytes(data[: len(data) // 2])
    return rw.evaluate(folder / "run.parquet", TRUTH, "ndcg@2")


def ungrouped_pieces(folder):
    pl.DataFrame({"user": [1, 2, 1], "item": [5, 5, 6]}).write_parquet(folder / "run.parquet")
    return rw.evaluate(folder / "run.parquet", TRUTH, "ndcg@2", chunk_rows=1)


def unwritable(folder):
    (folder / "out").write_text("a file in the way")
    rw.evaluate(LISTS, TRUTH, "ndcg@2").save(folder / "out" / "deeper")


def text_ids_beside_integers(folder):
    (folder / "run.csv").write_text("user,item\n1,0104257\n2,5\n")
    return rw.evaluate(folder / "run.csv", TRUTH, "ndcg@2")


def changed_by_hand(folder):
    head = rw.evaluate(LISTS, TRUTH, "ndcg@2").save(folder) / "result.json"
    head.write_text(head.read_text().replace('"users": 2', '"users": 3'))
    return rw.load(folder)


def without_its_data(folder):
    rw.evaluate(LISTS, TRUTH, "ndcg@2").save(folder)
    next(folder.glob("*.parquet")).rename(folder / "per_user-0123456789ab.parquet")
    try:
        return rw.load(folder)
    except rw.RankwiseError as error:
        stamp = error.found.split("-")[1].split(".")[0]
        raise type(error)(
            error.what, where=error.where, hint=error.hint, found=error.found.replace(stamp, "…")
        ) from None


def shipped(change):
    """Return a function that ships a result, changes its folder, and reads what shipped."""

    def run(folder):
        result = rw.evaluate(LISTS, TRUTH, "ndcg@2").save(folder / "result")
        write_shipped(folder / "shipped.json", result)
        change(folder)
        return open_result(folder / "shipped.json")

    return run


def rank(scores=None, k=2, **options):
    return lambda folder: rw.rank(scores, k=k, **options)


def folder_in_use(folder):
    (folder / "train.csv").write_text("")
    rw.splits.LeaveOut(1).split(TIMED).save(folder)


def cut(rule, table):
    return lambda folder: (
        list(made) if isinstance(made := rule.split(table), rw.splits.Folds) else made
    )


def edited_card(folder):
    card = rw.splits.LeaveOut(1).split(TIMED).save(folder / "split") / "split.json"
    card.write_text(card.read_text().replace('"n": 1', '"n": 2'))
    return rw.splits.read(card.parent)


def card_of_files_elsewhere(folder):
    card = rw.splits.LeaveOut(1).split(TIMED).save(folder / "split") / "split.json"
    values = json.loads(card.read_text())
    del values["sha256"]
    card.write_text(card_text({**values, "files": {"../../secret": "0"}}))
    return rw.splits.read(card.parent)


def settings(text):
    def run(folder):
        (folder / "split.json").write_text(text)
        return rw.splits.read(folder)

    return run


def corrupt_matrix(folder):
    matrix = csr_array(np.eye(3))
    matrix.indices[0] = 99
    return rw.splits.leave_one_out_cv(matrix)


class Oversized:
    def recommend(self, user_id, n):
        return [2**70]


class Failing:
    def recommend(self, user_id, n):
        raise RuntimeError("out of order")


SAMPLED_LISTS = rw.rank(
    np.eye(9), k=3, only=[0], candidates=rw.candidates.sampled({0: {1}}, 3, seed=1, items=range(9))
)
SAMPLED = rw.evaluate(SAMPLED_LISTS, {0: {1}}, "mrr")
SCORES = LISTS.with_columns(score=pl.Series([0.5, float("nan"), 0.1]))
ITEMS = pl.DataFrame(
    {"item": [5, 6], "genres": ["war", "war|noir"], "group": ["a", "b"], "vector": [[1.0], [2.0]]}
)
USERS = pl.DataFrame({"user": [1, 2], "group": ["x", "y"]})
RANKS = LISTS.with_columns(rank=pl.Series([1, 1, 1]))
CASES = {
    "missing column": go(LISTS.rename({"item": "thing"})),
    "ambiguous column": go(LISTS.with_columns(score=1.0, rating=2.0)),
    "column named by the caller is not there": go(columns={"recommendations.user": "usr"}),
    "role that does not exist": go(columns={"usr": "user"}),
    "empty recommendations": go(LISTS[:0]),
    "empty truth": go(truth=TRUTH[:0]),
    "empty dict": go({}, {1: {2}}),
    "NaN score": go(SCORES),
    "infinite score": go({1: {5: float("inf")}}),
    "null id": go(pl.DataFrame({"user": [1, None], "item": [5, 6]})),
    "float ids": go(pl.DataFrame({"user": [1.0, 2.0], "item": [5, 6]})),
    "mixed Python ids": go({1: [5], "2": [6]}),
    "strings that are numbers beside integers": go(
        LISTS.with_columns(pl.col("user").cast(pl.String))
    ),
    "strings beside integers": go(LISTS.with_columns(user=pl.Series(["1", "ann", "2"]))),
    "text ids of a file beside integers": text_ids_beside_integers,
    "score that is text": go(LISTS.with_columns(score=pl.lit("high"))),
    "two items of one rank": go(RANKS),
    "negative rank": go(LISTS.with_columns(rank=pl.Series([1, -1, 1]))),
    "one score for a list": go(pl.DataFrame({"user": [1], "items": [[5, 6]], "score": [0.5]})),
    "several lists of a user": go(pl.DataFrame({"user": [1, 1], "items": [[5], [6]]})),
    "null in a list": go(pl.DataFrame({"user": [1, 2], "items": [[5, 6], [None]]})),
    "ids of several parts": go({1: [(5, 1, 2), (6, 1, 2)]}),
    "needed column of several types": go({"user": [1, 1], "item": [5, "6"]}),
    "entry of a matrix in parts": go(
        csr_array((np.ones(2), np.array([5, 5]), np.array([0, 0, 2])), shape=(2, 9))
    ),
    "qrels as recommendations": file("run.qrels", "1 0 5 1\n"),
    "duplicate in a list": go({1: [5, 6, 5], 2: [5]}),
    "duplicate in the truth": go(truth=pl.concat([TRUTH, TRUTH])),
    "threshold above all": go(relevance_threshold=9),
    "nothing above zero": go(truth=TRUTH.with_columns(relevance=0.0)),
    "no common user": go({7: [5]}, population="both"),
    "unknown metric": go(metrics="ndgc@2"),
    "unknown parameter": go(metrics="ndcg(gian=linear)@2"),
    "unknown value": go(metrics="ndcg(gain=cubic)@2"),
    "k of zero": go(metrics="ndcg@0"),
    "negative k": go(metrics="ndcg@-1"),
    "no cut-off": go(metrics="precision"),
    "no metric": go(metrics=[]),
    "something else for a metric": go(metrics=[3]),
    "rating error without scores": go(metrics="rmse"),
    "chances outside 0 and 1": go({1: {5: 3.0}}, metrics="log_loss"),
    "edges of bins that do not ascend": go(metrics="ece(edges=[0.5,0.2])"),
    "edges of bins, and their number": go(metrics="ece(edges=[0.2],n_bins=5)"),
    "bins of equal mass in pieces": lambda _: rw.Evaluator("ece(bins=equal_mass)", truth=TRUTH),
    "weights where rows are counted": go(
        {1: {5: 0.5}}, metrics="ece(debiased=true)", weights={1: 2.0, 2: 1.0}
    ),
    "grade above the scale": go(metrics="err@2"),
    "ragged array": go([[1, 2], [3]]),
    "array of scores": go(np.array([[0.5, 0.2]])),
    "array of one dimension": go(np.array([1, 2])),
    "something else for a table": go(3.5),
    "pairs and items mixed": go({1: [(5, 1.0), 6]}),
    "a string for a list": go({1: "56"}),
    "unknown population": go(population="everyone"),
    "population under its old name": go(users="both"),
    "groups without a table": go(by="group"),
    "group that is not there": go(by="group", users=pl.DataFrame({"user": [1], "grp": ["a"]})),
    "groups of training users without training": go(by="activity"),
    "groups of training users and a column": go(
        by="popularity", train={1: [5]}, users=pl.DataFrame({"user": [1], "popularity": ["a"]})
    ),
    "weights that are missing": go(weights={1: 2.0}),
    "missing file": lambda folder: rw.evaluate(folder / "none.csv", TRUTH),
    "folder for a file": lambda folder: rw.evaluate(folder, TRUTH),
    "empty file": file("run.csv", ""),
    "truncated Parquet": truncated_parquet,
    "truncated gzip": file("run.csv.gz", b"\x1f\x8b\x08\x00\x00"),
    "CSV line with too many fields": file("run.csv", "user,item\n1,5\n1,6,7\n"),
    "CSV line with too few fields": file("run.csv", "user,item,score\n1,5,.1\n1,6\n"),
    "CSV line with a bad number": file("run.csv", "user,item,score\n1,5,.1\n1,6,high\n"),
    "CSV without a header": file("run.csv", "1,5,3\n1,6,2\n"),
    "MovieLens line cut short": file("run.dat", "1::5::3::9\n1::6\n"),
    "TREC line cut short": file("run.trec", "1 Q0 5 1 0.5 me\n1 Q0 6 2\n"),
    "JSON line that is not JSON": file("run.jsonl", '{"user":1,"items":[5]}\n{"user":1,\n'),
    "unknown format": file("run.xyz", "hello\nworld\n"),
    "pieces of something else": lambda folder: rw.evaluate(LISTS, TRUTH, chunk_rows=5),
    "pieces that are not grouped": ungrouped_pieces,
    "unwritable output": unwritable,
    "popularity without training": go(metrics="novelty@2"),
    "history without training": go(metrics="repeated@2"),
    "categories without items": go(metrics="srecall@2"),
    "groups of users without users": go(metrics="group_gap(ndcg)@2"),
    "reference lists that are missing": go(metrics="overlap@2"),
    "items without categories": go(metrics="srecall@2", items=ITEMS.drop("genres")),
    "group of items that is not there": go(metrics="reo(item_group=grp)@2", items=ITEMS),
    "two columns that could be categories": go(
        metrics="srecall@2", items=ITEMS.with_columns(tags=pl.lit("a"))
    ),
    "groups that are lists": go(metrics="reo(item_group=vector)@2", items=ITEMS),
    "features that are text": go(metrics="ild(features=genres)@2", items=ITEMS),
    "features of two lengths": go(
        metrics="ild@2", items={"item": [5, 6], "features": [[1.0], [1.0, 2.0]]}
    ),
    "feature that is NaN": go(
        metrics="ild@2", items={"item": [5, 6], "features": [[1.0], [float("nan")]]}
    ),
    "item twice in the table": go(metrics="srecall@2", items=pl.concat([ITEMS, ITEMS])),
    "no category at all": go(metrics="srecall@2", items=ITEMS.with_columns(genres=pl.lit(""))),
    "propensity of 0": go(
        metrics="ips_recall(propensity=given)@2", items=ITEMS.with_columns(propensity=0.0)
    ),
    "propensity that is missing": go(
        metrics="ips_recall(propensity=given)@2", items=ITEMS[:1].with_columns(propensity=0.5)
    ),
    "items as a mapping of something else": go(items={5: "war"}),
    "head of everything": go(metrics="aplt(pop_ratio=1)@2"),
    "alpha of calibration": go(metrics="calibration_error(alpha=0)@2"),
    "utopia of the wrong length": go(metrics="euclidean_distance([ndcg,map],utopia=[1])@2"),
    "utopia without a bound": go(metrics="euclidean_distance([ndcg,dcg])@2"),
    "objectives without a value for a user": go(metrics="hypervolume([ndcg,gini])@2"),
    "gap of a metric of all users": go(metrics="group_gap(gini)@2"),
    "part with a cut-off of its own": go(metrics="group_gap(metric=ndcg@5)@2"),
    "distance that cannot be imported": go(
        metrics="ild(distance='no.such:thing')@2", items=ITEMS.rename({"vector": "features"})
    ),
    "several values": lambda _: rw.evaluate(
        LISTS, TRUTH, "bias_disparity_recommendation@2", items=ITEMS, users=USERS
    )["bias_disparity_recommendation@2"],
    "cells of a metric that has none": lambda _: rw.evaluate(LISTS, TRUTH, "ndcg@2").table(
        "ndcg@2"
    ),
    "reference list that repeats an item": go(metrics="overlap@2", reference={1: [5, 5]}),
    "catalogue that lacks items": go(metrics="auc(seen=included)", items=[5]),
    "scores that are NaN": rank(np.array([[0.5, np.nan]])),
    "scores of one dimension": rank(np.ones(3)),
    "scores and factors": rank(np.eye(2), users=np.eye(2)),
    "factors of different lengths": rank(users=np.ones((2, 3)), items=np.ones((4, 2))),
    "factors that are not finite": rank(users=np.ones((2, 1)), items=np.array([[1.0], [np.inf]])),
    "bias of the wrong length": rank(users=np.ones((2, 1)), items=np.ones((2, 1)), bias=np.ones(3)),
    "sparse scores": rank(csr_array(np.eye(2))),
    "negative item codes": rank(np.eye(2), exclude={0: [-1]}),
    "too few ids": rank(np.eye(2), item_ids=["a"]),
    "ids twice": rank(np.eye(2), item_ids=["a", "a"]),
    "excluded ids of another type": rank(np.eye(2), exclude={0: ["a"]}),
    "nothing left to rank": rank(np.eye(2), exclude={0: [0, 1], 1: [0, 1]}),
    "nobody to rank for": rank(np.eye(2), only=[7]),
    "candidates as a list": rank(np.eye(2), candidates=[0]),
    "k of nothing": rank(np.eye(2), k=0),
    "sampled with replacement as lists": rank(
        np.eye(9),
        candidates=rw.candidates.sampled({0: {1}}, 3, seed=1, items=range(9), replacement=True),
    ),
    "ranks of another truth": lambda _: rw.evaluate(
        rw.rank_relevant(np.eye(2), truth={0: {0}}), {0: {1}}, "mrr"
    ),
    "ranks where lists are needed": lambda _: rw.evaluate(
        rw.rank_relevant(np.eye(2), truth={0: {0}}), {0: {0}}, "gini@2"
    ),
    "sampled beside exact": lambda _: rw.compare(
        {"a": SAMPLED, "b": rw.evaluate(LISTS, TRUTH, "mrr")}
    ),
    "area over a sample": lambda _: rw.evaluate(SAMPLED_LISTS, {0: {1}}, "gauc(seen=included)"),
    "correction of what is exact": lambda _: rw.correct(
        rw.rank_relevant(np.eye(2), truth={0: {0}}), {0: {0}}, "mrr"
    ),
    "model without recommend": lambda _: rw.evaluate_model(object(), TRUTH, "mrr@2"),
    "model that always fails": lambda _: rw.evaluate_model(Failing(), TRUTH, "mrr@2"),
    "model whose ids are too large": lambda _: rw.evaluate_model(Oversized(), TRUTH, "mrr@2"),
    "model without a cut-off": lambda _: rw.evaluate_model(Failing(), TRUTH, "mrr"),
    "exclude_seen without train": go(exclude_seen=True),
    "weights of what is no sum": go(metrics="ips(mrr)@2", train=TRUTH),
    "weighted part with a cut-off": go(metrics="snips(of=ndcg@5)@2", train=TRUTH),
    "propensity of 0 in a weight": go(
        metrics="ips(of=recall,propensity=given)@2",
        items=ITEMS.with_columns(propensity=pl.Series([0.0, 0.5])),
    ),
    "clip of 0": go(metrics="ips(of=recall,clip=0)@2", train=TRUTH),
    "ratings without a prediction": lambda _: rw.evaluate_ratings(
        TRUTH.rename({"relevance": "rating"})
    ),
    "prediction without a truth": lambda _: rw.evaluate_ratings([(1, 5, None, 3.5, {})]),
    "metric of ratings that does not exist": lambda _: rw.compute_metrics({1: [(3, 4)]}, ["ndgc"]),
    "share outside 0 and 1": lambda _: rw.splits.GlobalTime(share=20),
    "moment said twice": lambda _: rw.splits.GlobalTime(share=0.2, last="7d"),
    "length of time that is none": lambda _: rw.splits.TimeWindows("a week"),
    "split without timestamps": cut(rw.splits.GlobalTime(share=0.2), TRUTH),
    "timestamp that is no date": cut(
        rw.splits.LeaveOut(1), TRUTH.with_columns(time=pl.Series(["2013-01-01", "soon"]))
    ),
    "training side that is empty": cut(rw.splits.GlobalTime(at=3), TIMED),
    "validation side that is empty": cut(
        rw.splits.GlobalTime(at=8, validation=rw.splits.LeaveOut(3)), TIMED
    ),
    "more folds than rows": cut(rw.splits.KFold(9), TIMED),
    "more folds than there is time for": lambda _: rw.splits.KFold(10**9),
    "windows that reach too far back": cut(rw.splits.TimeWindows(2, 9), TIMED),
    "sets that nobody can count": lambda _: rw.splits.LeavePOut(10**6).count(10**7),
    "fold-in with a third part": lambda _: rw.splits.UserHoldout(fold_in=rw.splits.UserHoldout()),
    "rule within rules": lambda _: rw.splits.from_dict(
        {"rule": "LeaveOut", "n": [[[[[[[[[[[]]]]]]]]]]]}
    ),
    "card that was edited": edited_card,
    "card of files elsewhere": card_of_files_elsewhere,
    "card that is nested too deeply": settings("[" * 10**5),
    "card that is not JSON": settings("{"),
    "column number of a table": lambda _: rw.splits.time_based_split(TIMED, timestamp_col=2),
    "column name of an array": lambda _: rw.splits.time_based_split(np.ones((2, 3))),
    "column that an array lacks": lambda _: rw.splits.time_based_split(np.ones((2, 3)), 3),
    "matrix that is corrupt": corrupt_matrix,
    "user with too few rows": cut(rw.splits.LeaveOut(2, short="error"), TIMED),
    "filters that leave nothing": cut(rw.splits.LeaveOut(1, filters=[rw.splits.KCore(7)]), TIMED),
    "no rows before until": cut(rw.splits.GlobalTime(share=0.5, until=2), TIMED),
    "filter by ratings that are missing": cut(
        rw.splits.LeaveOut(1, filters=[rw.splits.MinRating(3)]),
        TIMED.with_columns(rating=pl.lit(None, pl.Float64)),
    ),
    "what is known before training": lambda _: rw.splits.LeaveOut(1).split(TIMED).known("train"),
    "validation rows that are known themselves": lambda _: go(
        truth=(
            made := rw.splits.LeaveOut(1, validation=rw.splits.Holdout(0.5)).split(
                TIMED.vstack(TIMED)
            )
        ).validation,
        train=made,
        lists={1: [9], 2: [9]},
        exclude_seen=True,
    )(None),
    "baseline that is not fitted": lambda _: rw.models.Popularity().recommend([1]),
    "baseline for other users": lambda _: rw.models.Popularity().fit(TIMED).recommend(["ann"]),
    "list of a negative length": lambda _: rw.models.Popularity().fit(TIMED).recommend([1], -1),
    "neighbours that repel": lambda _: rw.models.ItemNeighbours(shrink=-1),
    "rule that does not exist": lambda _: rw.splits.from_dict({"rule": "GlobalTimes"}),
    "part that does not exist": lambda _: rw.splits.LeaveOut(1).split(TIMED).validation,
    "folder without parts": lambda folder: rw.splits.read(folder),
    "split into a folder that is in use": folder_in_use,
    "results of different splits": lambda _: rw.compare(
        {
            name: rw.evaluate({1: [5], 2: [6]}, rule.split(TIMED), "recall@1")
            for name, rule in (("a", rw.splits.LeaveOut(1)), ("b", rw.splits.GlobalTime(at=9)))
        }
    ),
    "comparison of different truths": lambda _: rw.compare(
        {
            "a": rw.evaluate(LISTS, TRUTH, "mrr"),
            "b": rw.evaluate(LISTS, {1: {6: 4.0, 7: 4.0}, 2: {5: 2.0}}, "mrr"),
        }
    ),
    "comparison of different settings": lambda _: rw.compare(
        {
            "a": rw.evaluate(LISTS, TRUTH, "mrr"),
            "b": rw.evaluate(LISTS, TRUTH, "mrr", population="both"),
        }
    ),
    "comparison of users that one result lacks": lambda _: rw.compare(
        {
            "a": rw.evaluate(LISTS, TRUTH, "mrr", population="both"),
            "b": rw.evaluate(LISTS[:2], TRUTH, "mrr", population="both"),
        }
    ),
    "comparison of one result": lambda _: rw.compare({"a": rw.evaluate(LISTS, TRUTH, "mrr")}),
    "results in a list": lambda _: rw.compare([SAMPLED, SAMPLED]),
    "comparison by groups that nobody knows": lambda _: rw.compare(SAMPLED, SAMPLED, by="team"),
    "interval of a group that nobody is in": lambda _: rw.evaluate(
        LISTS, TRUTH, "mrr", users=USERS, by="group"
    ).interval("mrr", by="group", group="xy"),
    "saved result that was changed by hand": changed_by_hand,
    "saved result without its data": without_its_data,
    "result that was changed after it shipped": shipped(
        lambda folder: rw.evaluate(LISTS, TRUTH, "mrr@2").save(folder / "result")
    ),
    "result that shipped and is gone": shipped(lambda folder: shutil.rmtree(folder / "result")),
    "pointer to what shipped that is gone": shipped(
        lambda folder: (folder / "shipped.json").unlink()
    ),
    "pointer to what shipped without a path": shipped(
        lambda folder: (folder / "shipped.json").write_text('{"shipped_version": 1}')
    ),
    "folder without a result": lambda folder: rw.load(folder),
    "path that is none": lambda _: rw.load(5),
    "interval without a jackknife": lambda _: rw.evaluate(LISTS, TRUTH, "gini@2").interval(
        "gini@2"
    ),
    "pairs of different lengths": lambda _: rw.stats.paired_t_test([1.0, 2.0], [1.0]),
    "values under a mask": lambda _: rw.stats.t_interval(np.ma.array([1.0, 2.0], mask=[0, 1])),
    "resamples without end": lambda _: rw.stats.bootstrap([1.0, 2.0], n_resamples=10**9),
    "a string for relevant items": lambda _: rw.functional.precision_at_k(["56"], "56", 1),
    "lists that are no dict": lambda _: rw.functional.mean_ndcg_at_k([[5]], [{5}], 1),
    "item outside the feature matrix": lambda _: rw.functional.intra_list_diversity(
        [0, 9], np.eye(2)
    ),
    "tests for groups on pairs": lambda _: rw.stats.mann_whitney([1.0], [2.0], same_users=True),
    "audit without a test part": lambda _: rw.audit(TIMED),
    "audit of an empty part": lambda _: rw.audit(TIMED, TIMED.head(0)),
    "audit in two units of time": lambda _: rw.audit(
        TIMED, TIMED.with_columns(pl.col("timestamp") * 10**12)
    ),
    "curve of a metric without one": lambda _: rw.curve(
        rw.rank_relevant(np.eye(2), truth={0: {0}}), {0: {0}}, "err"
    ),
}


def said(name, folder):
    with pytest.raises(RankwiseError) as caught:
        CASES[name](folder)
    return f"{type(caught.value).__name__}: {caught.value}".replace(f"{folder}/", "…/").replace(
        str(folder), "…"
    )


def golden():
    parts = GOLDEN.read_text(encoding="utf-8").split("\n## ")[1:]
    return {head: body.strip() for head, _, body in (part.partition("\n") for part in parts)}


@pytest.mark.parametrize("name", CASES)
def test_message(name, tmp_path):
    if os.environ.get("UPDATE_MESSAGES"):
        pytest.skip("the messages are being written anew")
    assert said(name, tmp_path) == golden()[name]


def test_nothing_is_left_over(tmp_path_factory):
    if os.environ.get("UPDATE_MESSAGES"):
        parts = [f"## {name}\n{said(name, tmp_path_factory.mktemp('m'))}\n" for name in CASES]
        head = "What rankwise says of bad input; written by test_error_messages.py.\n\n"
        GOLDEN.write_text(head + "\n".join(parts), encoding="utf-8")
    assert list(golden()) == list(CASES)
