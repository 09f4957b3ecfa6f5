"""Sums of distances over the pairs of items of lists, against one pair after the other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.functional.lists import intra_list_diversity
from rankwise.metrics.arithmetic import (
    NAMED,
    CosineDistance,
    CustomDistance,
    EuclideanDistance,
    JaccardDistance,
)

LENGTHS = (1, 2, 3, 5, 23, 24, 25, 47, 48, 49, 50, 71, 72, 100, 101)


def sums(distance, lists):
    """The sum of each list, (u, n, d) to (u,)."""
    u, n, d = lists.shape
    return distance.sum(distance.prepare(lists.reshape(-1, d)).reshape(u, n, -1))


def plain(name, items):
    """The sum over ordered pairs by the plain definition."""
    n = len(items)
    if name == "jaccard":
        features = {item: set(row.nonzero()[0].tolist()) for item, row in enumerate(items)}
    else:
        features = {item: row.tolist() for item, row in enumerate(items)}
    return n * (n - 1) * intra_list_diversity(range(n), features, distance=name)


@st.composite
def some_lists(draw, name):
    """A few lists of real vectors or of sets of categories, with equal and empty items in them."""
    u, n, d = draw(st.integers(1, 3)), draw(st.sampled_from(LENGTHS)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    if name == "jaccard":
        vectors = (rng.random((u, n, d)) < draw(st.sampled_from([0.05, 0.3, 0.9]))).astype(float)
    else:
        vectors = rng.normal(size=(u, n, d)) * draw(st.sampled_from([1e-9, 1.0, 1e9]))
    twin = draw(st.sampled_from([0.0, 0.2, 1.0]))
    vectors = np.where(rng.random((u, n, 1)) < twin, vectors[:, :1], vectors)
    vectors[rng.random((u, n)) < draw(st.sampled_from([0.0, 0.2, 1.0]))] = 0.0
    return vectors


@pytest.mark.parametrize("name", NAMED)
@given(st.data())
def test_sums_are_those_of_the_plain_definition(name, data):
    lists = data.draw(some_lists(name))
    expected = np.nan_to_num(
        [plain(name, items) for items in lists]
    )  # no categories: no mean, and a sum of 0
    n = lists.shape[1]
    least = 1e-14 * n * n if name == "cosine" else 0  # 1 - 1 of equal vectors
    assert sums(NAMED[name](), lists) == pytest.approx(expected, rel=1e-12, abs=least)


@pytest.mark.parametrize("name", NAMED)
@given(st.data())
def test_a_sum_depends_on_its_own_list_alone(name, data):
    lists, distance = data.draw(some_lists(name)), NAMED[name]()
    alone = [sums(distance, items[None])[0] for items in lists]
    assert sums(distance, lists).tolist() == alone
    assert sums(distance, lists[::-1]).tolist() == alone[::-1]


@pytest.mark.parametrize("name", NAMED)
@given(st.data())
def test_tensors_have_the_same_sums(name, data):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    lists, distance = data.draw(some_lists(name)), NAMED[name]()
    n = lists.shape[1]
    found = sums(distance, torch.from_numpy(lists))
    assert isinstance(found, torch.Tensor)
    least = 1e-14 * n * n if name == "cosine" else 0
    assert found.numpy() == pytest.approx(sums(distance, lists), rel=1e-12, abs=least)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("d", [1, 3, 20, 64, 300, 513])
def test_equal_vectors_have_the_euclidean_distance_0(n, d):
    """BLAS gives equal products other last digits by place, and the root of those is 1e-8."""
    x, y = np.random.default_rng(n * d).normal(size=(2, d))
    assert sums(EuclideanDistance(), np.tile(x, (2, n, 1))).tolist() == [0.0, 0.0]
    either = np.where((np.arange(n) % 2 == 0)[:, None], x, y)[None]
    expected = 2 * (n // 2) * (n - n // 2) * math.dist(x, y)
    assert sums(EuclideanDistance(), either) == pytest.approx([expected], rel=1e-13)


@pytest.mark.parametrize("apart", [1e-2, 1e-4, 1e-6, 1e-8, 1e-12])
def test_near_vectors_keep_their_euclidean_distance(apart):
    rng = np.random.default_rng(1)
    lists = rng.normal(size=(2, 1, 64)) + apart * rng.normal(size=(2, 50, 64))
    expected = [plain("euclidean", items) for items in lists]
    assert sums(EuclideanDistance(), lists) == pytest.approx(expected, rel=1e-10)


def test_euclidean_distances_of_whole_numbers_are_exact():
    lists = np.array([[[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [-3.0, -4.0]]])
    assert sums(EuclideanDistance(), lists).tolist() == [2 * (5 + 5 + 5 + 0 + 10 + 10)]


def test_a_huge_vector_spoils_its_own_list_alone():
    lists = np.ones((2, 3, 2))
    lists[0, 0] = 1e200
    with np.errstate(all="ignore"):
        assert sums(EuclideanDistance(), lists)[1] == 0.0


def test_items_without_categories_are_alike_and_share_nothing():
    none, one = [0.0, 0.0], [1.0, 0.0]
    lists = np.array([[none, none, none], [none, none, one], [none, one, one], [one, one, one]])
    assert sums(JaccardDistance(), lists).tolist() == [0, 4, 4, 0]


def test_a_zero_vector_is_at_the_cosine_distance_1():
    assert sums(CosineDistance(), np.array([[[0.0, 0.0], [0.0, 0.0], [2.0, 0.0]]])).tolist() == [6]


def test_a_custom_distance_is_summed_without_its_diagonal():
    distance = CustomDistance(lambda x: x[:, None, 0] - x[None, :, 0] + 7.0, "ild")
    assert sums(distance, np.array([[[1.0], [3.0]], [[0.0], [5.0]]])).tolist() == [14, 14]
    with pytest.raises(rw.RankwiseError, match=r"(?s)ild: .*shape \(3,\) for n = 3"):
        sums(CustomDistance(lambda x: x[:, 0], "ild"), np.zeros((1, 3, 2)))


@pytest.mark.parametrize("scale", [1e308, 1e200, 1e160, 1.0, 1e-160, 1e-200, 1e-300])
def test_the_length_of_a_vector_does_not_change_its_cosine(scale):
    lists = np.array([[[1.0, 0.0], [1.0, 1.0]]]) * scale
    expected = 2 * (1 - math.sqrt(0.5))
    assert sums(CosineDistance(), lists)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("distance", "column"),
    [
        ("jaccard", {"genres": [["x"], [], [], ["y"]]}),
        ("cosine", {"features": [[1.0], None, None, [2.0]]}),
    ],
)
def test_a_list_of_which_nothing_is_known_has_no_diversity(distance, column):
    items = {"item": [1, 2, 3, 4], **column}
    metric = f"ild(distance={distance})@2"
    lists = {"known": [1, 4], "half": [1, 2], "unknown": [2, 3], "elsewhere": [8, 9], "one": [2]}
    result = rw.evaluate(lists, {user: {1} for user in lists}, metric, items=items)
    values = dict(result.per_user.select("user", result.per_user.columns[-1]).iter_rows())
    assert math.isnan(values["unknown"])
    assert math.isnan(values["elsewhere"])
    assert values["half"] == 1.0
    assert values["one"] == 0.0  # `single` says so
    assert values["known"] == (1.0 if distance == "jaccard" else 0.0)
