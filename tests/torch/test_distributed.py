"""Two and three real processes under torch.distributed: the result of one, to the last digit."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

import ranks  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("ranks"),
    pytest.mark.skipif(sys.platform == "win32", reason="copies processes as POSIX does"),
]


@pytest.fixture(scope="module")
def pickles(tmp_path_factory):
    """The folder with what every process got in every case."""
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-W", "error::UserWarning:rankwise", ranks.__file__, str(folder)]
    done = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, timeout=240, cwd=Path(ranks.__file__).parent
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module", params=[2, 3])
def outcomes(request, pickles):
    """What every process got in every case."""
    size = request.param
    return [
        pickle.loads((pickles / str(size) / f"{rank}.pickle").read_bytes()) for rank in range(size)
    ]


def single(names, rows=range(ranks.N_USERS), **options):
    return ranks.feed(ranks.collection(names, **options), rows).result()


def same(outcome, result):
    assert outcome["values"] == result.values
    assert outcome["per_user"].equals(result.per_user)
    counts = {name: n for name, n in outcome["counts"].items() if name != "users_repeated"}
    assert counts == dict(result.counts)


SAME = ["padded", "shuffled", "empty", "ragged", "n_items of scores", "n_items of the last process"]


@pytest.mark.parametrize("case", SAME)
def test_as_one_process(outcomes, case):
    expected = single(ranks.NAMES)
    for outcome in outcomes:
        same(outcome[case], expected)


def test_whole_rankings(outcomes):
    for outcome in outcomes:
        same(outcome["whole"], single(ranks.WHOLE))


def test_without_users_the_padding_counts(outcomes):
    """25 users do not go into 2 or 3 equal shares: the sampler gives some users twice."""
    size = len(outcomes)
    expected, padded = single(ranks.NAMES), -(-ranks.N_USERS // size) * size
    for outcome in outcomes:
        wrong = outcome["without users"]
        assert wrong["counts"]["users"] == padded > ranks.N_USERS
        assert wrong["values"]["recall@10"] != expected["recall@10"]
        assert wrong["values"]["gini@5"] != expected["gini@5"]
        repeated = outcome["padded"]["counts"]["users_repeated"]
        assert repeated == padded - ranks.N_USERS


def test_compute_can_be_repeated_and_gone_on_from(outcomes):
    size = len(outcomes)
    for outcome in outcomes:
        assert outcome["computed again"] == outcome["ragged"]["values"]
        same(outcome["two of each"], single(ranks.NAMES, range(2 * size)))


def test_processes_agree_on_the_number_of_items(outcomes):
    for outcome in outcomes:
        assert outcome["computed values"] == outcome["n_items of the last process"]["values"]
        assert "no user has been evaluated yet" in outcome["no users"]
        assert outcome["n_items differ"].startswith(
            "InputError: scores of different numbers of items"
        )
        assert f"{ranks.N_ITEMS - 1} items and {ranks.N_ITEMS} items" in outcome["n_items differ"]


def test_a_user_with_two_lists_is_an_error_in_every_process(outcomes):
    for outcome in outcomes:
        assert "a user came twice, with different lists" in outcome["different"]
        assert "user 100" in outcome["different"]


def test_users_who_came_before_the_last_update(outcomes):
    for outcome in outcomes:
        assert "a user came again after other updates" in outcome["early"]
        assert "user 105" in outcome["early"]
