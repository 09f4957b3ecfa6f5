"""The engine's interface: jobs and partials that travel, and what may be merged with what."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.blocks.partial import ItemColumn, UserSum
from rankwise.core.digests import digest_of_rows
from rankwise.errors import DuplicateError, EmptyError, InputError, ParameterError
from rankwise.evaluation.engine import finish, prepare, work
from rankwise.evaluation.evaluate import read_inputs
from rankwise.evaluation.plan import plan_passes
from rankwise.evaluation.settings import Settings
from rankwise.tables.read import read_tables

METRICS = ["ndcg@3", "recall@2", "gini@3", "rmse", "reo@3", "novelty@3", "ips(recall)@3", "auc"]
USERS = [f"u{n:02}" for n in range(24)]
ITEMS = [f"i{n:02}" for n in range(12)]


def world(seed=0):
    rng = np.random.default_rng(seed)
    lists = {
        u: [
            (i, float(s))
            for i, s in zip(rng.choice(ITEMS, 5, replace=False), rng.integers(0, 4, 5), strict=True)
        ]
        for u in USERS[:20]
    }
    truth = {
        u: {i: float(rng.integers(1, 5)) for i in rng.choice(ITEMS, 3, replace=False)}
        for u in USERS[2:]
    }
    return lists, truth


def around(seed=0):
    rng = np.random.default_rng(seed)
    return {
        "train": {u: list(rng.choice(ITEMS, 4, replace=False)) for u in USERS[::2]},
        "items": {"item": ITEMS, "group": ["a", "b", "c"] * 4},
        "users": {"user": USERS, "group": ["x", "y"] * 12, "weight": rng.uniform(1, 2, 24)},
    }


OPTIONS = {"by": "group", "weights": "weight", "population": "all", "relevance_threshold": 2}


def job_of(*, whole, settings=None, **options):
    _, truth = world()
    settings = settings or Settings.read(METRICS, {**OPTIONS, **options})
    return prepare(settings, read_inputs(settings, truth=truth if whole else None, **around()))


def pieces(n, *, whole):
    lists, truth = world()
    for part in range(n):
        own = set(USERS[part::n])
        yield read_tables(
            None,
            recommendations={u: rows for u, rows in lists.items() if u in own},
            truth=None if whole else {u: rows for u, rows in truth.items() if u in own},
        )


def expected():
    return rw.evaluate(*world(), METRICS, **around(), **OPTIONS)


def same(ours, theirs):
    assert ours.values.keys() == theirs.values.keys()
    for cell, value in theirs.values.items():
        assert np.array_equal(ours.values[cell], value, equal_nan=True), cell
    assert ours.per_user.equals(theirs.per_user, null_equal=True)
    assert ours.slices.equals(theirs.slices, null_equal=True)
    assert ours.counts == theirs.counts
    settings = ours.provenance["settings"], theirs.provenance["settings"]
    assert settings[0] == settings[1]
    assert ours.provenance["facts"] == theirs.provenance["facts"]


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_partials_merge_in_any_order_to_the_same_result(whole):
    job = job_of(whole=whole)
    partials = [work(job, piece) for piece in pieces(3, whole=whole)]
    for order in permutations(partials):
        same(finish(job, order), expected())
    nested = partials[2].merge(partials[0].merge(partials[1]))
    same(finish(job, [nested]), expected())


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "travel", [pickled, lambda partial: rw.Partial.from_bytes(partial.to_bytes())]
)
def test_jobs_and_partials_travel(whole, travel):
    """Each piece is worked on with its own copy of the job, as on another machine."""
    job = job_of(whole=whole)
    copies = [pickled(job) for _ in range(3)]
    works = zip(copies, pieces(3, whole=whole), strict=True)
    partials = [travel(work(copy, piece)) for copy, piece in works]
    same(finish(pickled(job), partials), expected())


def test_a_mapping_of_weights_travels():
    weights = {user: number + 1.0 for number, user in enumerate(USERS)}
    job = job_of(whole=True, weights=weights)
    assert pickled(job).settings == job.settings
    partials = [work(pickled(job), piece) for piece in pieces(2, whole=True)]
    lists, truth = world()
    one = rw.evaluate(lists, truth, METRICS, **around(), **{**OPTIONS, "weights": weights})
    assert finish(job, partials).values["ndcg@3"] == one.values["ndcg@3"]


@pytest.mark.slow
def test_another_process_works_on_a_piece(tmp_path):
    job = job_of(whole=True)
    first, second = pieces(2, whole=True)
    (tmp_path / "job").write_bytes(pickle.dumps(job))
    (tmp_path / "piece").write_bytes(pickle.dumps(second))
    code = (
        "import pickle; from pathlib import Path\n"
        "from rankwise.evaluation.engine import work\n"
        "job = pickle.loads(Path('job').read_bytes())\n"
        "piece = pickle.loads(Path('piece').read_bytes())\n"
        "Path('partial').write_bytes(work(job, piece).to_bytes())\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    there = rw.Partial.from_bytes((tmp_path / "partial").read_bytes())
    same(finish(job, [there, work(job, first)]), expected())


def test_a_pickled_evaluator_goes_on():
    """Codes of string ids are private to a process: what travels has ids."""
    lists, truth = world()
    evaluator = rw.Evaluator(["recall@2", "gini@2"], truth=truth)
    evaluator.update({u: lists[u] for u in USERS[:9]})
    copy = pickle.loads(pickle.dumps(evaluator)).update({u: lists[u] for u in USERS[9:20]})
    one = rw.evaluate(lists, truth, ["recall@2", "gini@2"])
    assert copy.result().values == one.values


def test_threads_share_a_job():
    """As an engine of threads would: pieces of one job at the same time, ids of text."""
    job = job_of(whole=True)
    with ThreadPoolExecutor(4) as pool:
        partials = list(pool.map(lambda piece: work(job, piece), pieces(12, whole=True)))
    same(finish(job, partials), expected())


def test_nothing_to_finish():
    with pytest.raises(EmptyError, match="nothing has been evaluated"):
        finish(job_of(whole=True), [])


CHANGES = [
    {"relevance_threshold": 3},
    {"population": "both"},
    {"undefined": "zero"},
    {"without_list": "zero"},
    {"ties": "optimistic"},
    {"duplicates": "first"},
    {"weights": None},
    {"by": ()},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
@pytest.mark.parametrize("travels", [False, True])
def test_another_setting_does_not_merge(change, travels):
    first, second = pieces(2, whole=True)
    job = job_of(whole=True)
    other = work(job_of(whole=True, **change), second)
    if travels:
        other = rw.Partial.from_bytes(other.to_bytes())
    with pytest.raises(ParameterError, match="same metrics and settings") as raised:
        work(job, first).merge(other)
    assert raised.value.found.startswith(next(iter(change)))


def test_other_metrics_do_not_merge():
    first, second = pieces(2, whole=True)
    settings = Settings.read([*METRICS[:-1], "mrr"], OPTIONS)
    other = work(job_of(whole=True, settings=settings), second)
    with pytest.raises(ParameterError, match="same metrics and settings"):
        work(job_of(whole=True), first).merge(other)


@pytest.mark.parametrize("role", ["truth", "train", "items", "users"])
def test_another_table_does_not_merge(role):
    first, second = pieces(2, whole=True)
    job = job_of(whole=True)
    changed = getattr(job.shared, role).frame
    column = next(c for c in ("relevance", "group", "item") if c in changed.columns)
    changed = changed.with_columns(pl.col(column).reverse())
    table = getattr(job.shared, role).with_frame(changed)
    other = prepare(job.settings, replace(job.shared, **{role: table}))
    with pytest.raises(ParameterError, match=role):
        work(job, first).merge(work(other, second))


def test_equal_tables_merge_whatever_the_order_of_their_rows():
    first, second = pieces(2, whole=True)
    job = job_of(whole=True)
    assert job.shared.train is not None
    mixed = job.shared.train.with_frame(job.shared.train.frame.reverse())
    other = prepare(job.settings, replace(job.shared, train=mixed))
    same(finish(job, [work(job, first), work(other, second)]), expected())


def test_the_order_of_a_baseline_without_ranks_is_what_it_says():
    lists, truth = {"a": ["x", "y"], "b": ["x", "y"]}, {"a": {"x"}, "b": {"x"}}
    table = pl.DataFrame({"user": [*"aabb"], "item": ["x", "q"] * 2})

    def part(user, reference):
        evaluator = rw.Evaluator("unexpectedness@1", truth=truth, reference=reference)
        return evaluator.update({user: lists[user]})

    with pytest.raises(ParameterError, match="reference"):
        part("a", table).merge(part("b", table.reverse()))
    whole = rw.evaluate(lists, truth, "unexpectedness@1", reference=table)
    assert part("a", table).merge(part("b", table)).result().values == whole.values


def test_swapped_columns_do_not_merge_and_reordered_ones_do():
    items = {"item": [*"xyz"], "genres": [["p"], ["p"], ["q"]], "other": [["p"]] * 3}
    swapped = {"item": items["item"], "genres": items["other"], "other": items["genres"]}
    reordered = {name: items[name] for name in ("other", "genres", "item")}
    truth = {"u": {"y", "z"}, "v": {"y", "z"}}

    def part(user, table):
        evaluator = rw.Evaluator("subtopic_recall@2", truth=truth, items=pl.DataFrame(table))
        return evaluator.update({user: [*"xyz"]})

    with pytest.raises(ParameterError, match="items"):
        part("u", items).merge(part("v", swapped))
    assert len(part("u", items).merge(part("v", reordered)).result().per_user) == 2


@pytest.fixture
def text_truth(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("user,item,relevance\n1,1,1\n2,2,1\n3,3,1\n")
    return path


def test_numbers_of_a_text_file_meet_text_on_a_driver_that_encoded_nothing(text_truth):
    metrics = ["recall@2", "gini@2"]
    lists = {"1": ["1", "a"], "2": ["1", "2"]}
    there = rw.Evaluator(metrics, truth=text_truth).update(lists).partial()
    here = rw.Evaluator(metrics, truth=text_truth).merge(rw.Partial.from_bytes(there.to_bytes()))
    one = rw.evaluate(lists, text_truth, metrics)
    assert here.result().values == one.values
    assert here.result().counts == one.counts
    for result in (here.result(), one):
        assert result.provenance["inputs"]["truth"]["ids"] == {"user": "String", "item": "String"}


def test_a_first_piece_that_fails_leaves_no_codes(text_truth):
    evaluator = rw.Evaluator("recall@2", truth=text_truth)
    with pytest.raises(DuplicateError):
        evaluator.update({"1": ["1", "1"]})
    assert evaluator.update({1: [1, 2]}).result()["recall@2"] == pytest.approx(1 / 3)


def test_nothing_in_place_of_a_table():
    evaluator = rw.Evaluator("recall@2", truth={1: {2}})
    for call in (
        lambda: rw.evaluate(None, {1: {2}}),
        lambda: rw.evaluate({1: [2]}, None),
        lambda: rw.evaluate_model(object(), None, "recall@2"),
        lambda: evaluator.update(None),
        lambda: evaluator.merge(3),
        lambda: rw.Partial.from_bytes(None),
        lambda: rw.evaluate({1: [2]}, {1: {2}}, "mrr", by=5),
        lambda: rw.evaluate({1: [2]}, {1: {2}}, "mrr", columns="user"),
    ):
        with pytest.raises(rw.RankwiseError):
            call()


@pytest.mark.parametrize("option", [{"exclude_seen": True}, {"by": "item:cold"}, {"jackknife": 4}])
def test_what_needs_all_lists_is_refused_for_pieces(option):
    settings = Settings.read("recall@2", option)
    with pytest.raises(ParameterError, match="all lists at once"):
        prepare(settings, read_inputs(settings, truth=world()[1], **around()))


def test_numbers_of_numpy_travel():
    weights = {user: np.float32(2) for user in USERS}
    job = job_of(whole=True, threads=np.int64(1), block_size=np.int64(3), weights=weights)
    assert pickled(job).settings.block_size == 3


def test_rows_of_ratings_are_dropped_whole():
    rows = {"user": ["u", "u"], "item": ["i", "i"], "prediction": [5.0, 1.0], "rating": [1.0, 5.0]}
    result = rw.evaluate_ratings(pl.DataFrame(rows), ["rmse"], duplicates="first")
    assert result["rmse"] == 4.0
    assert result.counts["duplicates_dropped"] == 1


def test_a_user_in_two_pieces_is_an_error():
    job = job_of(whole=True)
    partial = work(job, next(pieces(2, whole=True)))
    with pytest.raises(DuplicateError, match="two chunks"):
        partial.merge(partial)


def test_damaged_and_foreign_bytes():
    data = work(job_of(whole=True), next(pieces(2, whole=True))).to_bytes()
    for bad in (b"", b"nonsense", data[:40], data[: len(data) // 2], pickle.dumps(data)):
        with pytest.raises(InputError):
            rw.Partial.from_bytes(bad)


def test_inputs_and_ties_of_all_pieces_survive(tmp_path):
    lists, truth = world()
    paths = []
    for part in range(2):
        rows = [(u, i, s) for u in USERS[part:20:2] for i, s in lists[u]]
        paths.append(tmp_path / f"run{part}.parquet")
        pl.DataFrame(rows, ["user", "item", "score"], orient="row").write_parquet(paths[-1])
    results = []
    for order in (paths, paths[::-1]):
        evaluator = rw.Evaluator("recall@2", truth=truth)
        for path in order:
            evaluator.update(path)
        results.append(evaluator.result())
    card = results[0].provenance["inputs"]["recommendations"]
    assert card == results[1].provenance["inputs"]["recommendations"]
    assert all(str(path) in card["source"] for path in paths)
    assert card["rows"] == 100
    assert results[0].provenance["settings"]["ties"] == "expected"


def test_names_of_columns_read_back():
    for name in ("a#b@3", 'say "x"', "[1]", "größe, \n"):
        column = ItemColumn("hits", 3, name, name, "whole")
        assert ItemColumn.read(str(column)) == column
        assert UserSum.read(str(UserSum(name, 2))) == UserSum(name, 2)


def test_groups_of_any_name():
    lists, truth = world()
    users = {"user": USERS, "group": ["a#b@3", '["x"]'] * 12}
    result = rw.evaluate(
        lists,
        truth,
        ["gini@3", "reo@3"],
        by="group",
        users=users,
        items=around()["items"],
        jackknife=4,
    )
    for row in result.slices.iter_rows(named=True):
        kept = [u for u, group in zip(*users.values(), strict=True) if group == row["group"]]
        alone = rw.evaluate(
            {u: lists[u] for u in kept if u in lists},
            {u: truth[u] for u in kept if u in truth},
            "gini@3",
            items=around()["items"],
        )
        assert row["gini@3"] == alone["gini@3"]


@pytest.mark.parametrize("name", ["evaluate", "evaluate_model", "evaluate_ratings", "Evaluator"])
def test_signatures_and_descriptions_derive_from_settings(name):
    import inspect

    function = getattr(rw, name)
    parameters = inspect.signature(function).parameters
    assert parameters["population"].default == ("all" if name == "evaluate_ratings" else "truth")
    assert "options" not in parameters
    assert ("exclude_seen" in parameters) == (name in ("evaluate", "evaluate_model"))
    document = function.__doc__
    if name != "Evaluator":
        assert "%(options)s" not in document
        for option in ("threads : int, optional", 'undefined : {"skip", "zero", "nan"}'):
            assert option in document
    given = {"Evaluator": ["mrr"], "evaluate_ratings": [[]]}.get(name, [{1: [2]}, {1: {2}}])
    with pytest.raises(TypeError, match="unexpected keyword argument 'poplation'; did you mean"):
        function(*given, poplation="all")


@pytest.mark.parametrize(("convention", "second"), [("ir_measures", "mrr@2"), ("cornac", "lrap@2")])
def test_passes_of_a_convention_digest_the_ground_truth_once(convention, second, monkeypatch):
    calls = []

    def counting(frame, number):
        calls.append(number)
        return digest_of_rows(frame, number)

    lists, truth = {1: [5, 6], 2: [6, 7]}, {1: {5}, 2: {7}}
    metrics = ["ndcg@2", second]
    assert len(plan_passes(metrics, {"convention": convention})[1]) == 2
    monkeypatch.setattr("rankwise.tables.table.digest_of_rows", counting)
    result = rw.evaluate(lists, truth, metrics, convention=convention)
    assert calls == ["relevance"]
    assert (
        result.provenance["digests"]["truth"]
        == rw.evaluate(lists, truth, "mrr").provenance["digests"]["truth"]
    )
