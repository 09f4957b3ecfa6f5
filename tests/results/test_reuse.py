"""How often a ground truth was used: what saved results record, and what comparisons say of it."""

from __future__ import annotations

import json

import pytest

import rankwise as rw
from rankwise.errors import ParameterError
from rankwise.stats.many_systems import adjust
from tools import deep

USERS = range(40)
TRUTH = {user: {1, 2} for user in USERS}


def system(hits, truth=TRUTH):
    """The result of a system that recommends both relevant items to so many users, and one to the others."""
    return rw.evaluate(
        {user: [1, 2] if user < hits else [1, 3] for user in USERS}, truth, "recall@2"
    )


def uses(folder):
    recorded = rw.load(folder).provenance["test_set"]
    return recorded["systems"], recorded["comparisons"]


def test_results_beside_each_other_are_counted_and_replaced_ones_too(tmp_path):
    for at in range(3):
        system(10 + at).save(tmp_path / f"system-{at}")
        assert uses(tmp_path / f"system-{at}") == (at + 1, 0)
    system(10).save(tmp_path / "again")  # the same values: no other system
    assert uses(tmp_path / "again") == (3, 0)
    for hits in (20, 25, 30):
        system(hits).save(tmp_path / "again")
    assert uses(tmp_path / "again") == (6, 0)
    system(1, {user: {1, 7} for user in USERS}).save(tmp_path / "other truth")
    assert uses(tmp_path / "other truth") == (1, 0)
    assert uses(tmp_path / "system-0") == (6, 0)  # also of those that were saved later


def test_comparisons_beside_results_are_counted(tmp_path):
    for at in range(2):
        system(at).save(tmp_path / f"system-{at}")
    first, second = (rw.load(tmp_path / f"system-{at}") for at in range(2))
    rw.compare(first, second).save(tmp_path / "comparison")
    system(9).save(tmp_path / "third")
    assert uses(tmp_path / "third") == (3, 1)


def test_a_folder_that_cannot_be_read_counts_nothing(tmp_path):
    truth = system(3).provenance["digests"]["truth"]
    odd = (5, {"systems": "many", "system": "x"}, {"system": [1]}, {})
    contents = ({"provenance": {"digests": {"truth": truth}, "test_set": each}} for each in odd)
    damaged = [(f"odd {at}", json.dumps(content).encode()) for at, content in enumerate(contents)]
    for name, content in (
        ("a", b"{"),
        ("b", b"[]"),
        ("c", b'{"provenance": 3}'),
        ("d", b'{"provenance": {}}'),
        *damaged,
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_bytes(content)
    assert uses(system(3).save(tmp_path / "out")) == (1, 0)


def test_values_without_a_ground_truth_record_nothing(tmp_path):
    result = rw.from_per_user({"user": [1, 2], "ndcg@10": [0.5, 1.0]})
    assert "test_set" not in rw.load(result.save(tmp_path / "out")).provenance


def test_one_file_of_lists_is_one_system_under_all_names_and_metrics(tmp_path):
    files = {name: tmp_path / f"{name}.csv" for name in ("lists", "others")}
    files["lists"].write_text("user,item,rank\nann,heat,1\nbob,alien,1\n")
    files["others"].write_text("user,item,rank\nann,jaws,1\nbob,alien,1\n")
    truth = {"ann": {"heat"}, "bob": {"alien"}}

    def saved(name, metric, folder):
        result = rw.evaluate(files[name], truth, metric)
        return uses(result.save(tmp_path / "results" / folder))[0]

    assert saved("lists", "ndcg@1", "first") == 1
    assert saved("lists", "recall@1", "again") == 1
    assert saved("others", "recall@1", "second") == 2


def test_a_comparison_of_some_of_the_systems_says_so(tmp_path):
    for at in range(5):
        system(10 + at).save(tmp_path / f"system-{at}")
    first, last = rw.load(tmp_path / "system-0"), rw.load(tmp_path / "system-4")
    note = "5 systems are saved on this test set, of which 2 are compared here"
    assert note in repr(rw.compare(first, last))
    assert "To correct for the others, set earlier to 3." in " ".join(
        repr(rw.compare(first, last)).split()
    )
    assert note in repr(rw.compare(first, last, earlier=2))
    told = repr(rw.compare(first, last, earlier=3))
    assert note not in told
    assert (
        "P-values are corrected for 3 pairs that were compared earlier on this test set, too."
        in " ".join(told.split())
    )
    others = [rw.load(tmp_path / f"system-{at}") for at in range(1, 4)]
    assert note not in repr(rw.compare(first, last, *others))


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "hochberg", "bh", "by"])
def test_earlier_pairs_are_tests_that_were_not_significant(correction):
    results = {str(hits): system(hits) for hits in (3, 9, 16)}
    alone, told = (
        rw.compare(results, correction=correction, earlier=earlier).table for earlier in (0, 4)
    )
    assert told["p"].to_list() == alone["p"].to_list()
    expected = adjust([*alone["p"].to_list(), 1.0, 1.0, 1.0, 1.0], correction)[:3]
    assert told["p_adjusted"].to_list() == pytest.approx(expected.tolist())
    assert (
        told["high_together"] - told["low_together"]
        > alone["high_together"] - alone["low_together"]
    ).all()


def test_earlier_pairs_share_the_level_of_joint_tests():
    results = {str(hits): system(hits) for hits in (3, 9, 16)}
    alone, told = (
        rw.compare(results, correction="max_t", earlier=earlier, test="t") for earlier in (0, 3)
    )
    doubled = [min(2 * p, 1.0) for p in alone.table["p_adjusted"]]
    assert told.table["p_adjusted"].to_list() == pytest.approx(doubled)
    assert (
        told.ranks["rank_high"] - told.ranks["rank_low"]
        >= alone.ranks["rank_high"] - alone.ranks["rank_low"]
    ).all()


def test_earlier_is_a_number_of_pairs():
    for wrong in (-1, 1.5, "3", True):
        with pytest.raises(ParameterError, match="earlier"):
            rw.compare(system(1), system(2), earlier=wrong)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [10, *deep(60)])
def test_candidates_in_calls_of_their_own_are_corrected_for(samples):
    """Twenty candidates that are not better: some is called better in a third of the samples, told in a tenth."""
    import numpy as np
    import polars as pl

    wrong = {False: 0, True: 0}
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        base = rng.beta(2, 5, 1_000)

        def named(values):
            return rw.from_per_user(pl.DataFrame({"user": range(1_000), "ndcg@10": values}))

        old = named(base)
        new = [named(base + rng.normal(0, 0.02, 1_000)) for _ in range(20)]
        for told in wrong:
            rows = (
                rw.compare(old, one, earlier=at * told, test="t")["B"] for at, one in enumerate(new)
            )
            wrong[told] += "better" in [row["verdict"] for row in rows]
    assert wrong[False] / samples > 0.2
    assert wrong[True] / samples <= 0.15
