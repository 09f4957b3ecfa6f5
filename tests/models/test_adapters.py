"""Adapters against stand-ins that answer as the libraries were seen to answer.

``tests/libraries`` holds the same adapters against the libraries themselves.
"""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import rankwise as rw
from rankwise.errors import InputError, ParameterError, ScoreError

SEEN = csr_matrix(np.array([[1.0, 0, 0, 0], [0, 1.0, 1.0, 0]]))
SMALLEST = -3.4028235e38


class FakeImplicit:
    """Fills lists up as implicit 0.7 does: masked places, item 0 past the catalogue, -1."""

    def recommend(self, userid, user_items, N, filter_already_liked_items):  # noqa: N803
        assert isinstance(user_items, csr_matrix)
        assert user_items.shape == (len(userid), 4)
        assert N <= 4
        ids = np.array([[3, 2, 1, 0], [0, 3, 1, -1]], dtype=np.int32)[userid]
        scores = np.array([[0.9, 0.5, 0.1, SMALLEST], [0.4, 0.3, 0.0, SMALLEST]])[userid]
        return ids[:, :N], scores[:, :N]


def test_implicit():
    model = rw.models.Implicit(FakeImplicit(), SEEN, user_ids=["u", "v"], item_ids=list("abcd"))
    lists = model.recommend(["v", "nobody", "u"], 10)
    # v has seen b, which neighbours give back with a score of 0.
    assert lists == {"v": [("a", 0.4), ("d", 0.3)], "u": [("d", 0.9), ("c", 0.5), ("b", 0.1)]}
    assert model.recommend(["nobody"], 10) == {}
    with pytest.raises(ParameterError, match="item_ids"):
        rw.models.Implicit(FakeImplicit(), SEEN, item_ids=["a"])
    result = rw.evaluate_model(model, {"u": {"c"}, "v": {"d"}, "w": {"a"}}, "mrr@3")
    assert result["mrr@3"] == pytest.approx((1 / 2 + 1 / 2) / 3)
    assert result.counts["users_model_failed_for"] == 1


def test_corrupt_training_matrices():
    """implicit reads them in compiled code, which trusts their indices."""
    corrupt = SEEN.copy()
    corrupt.indices[0] = 10**6
    with pytest.raises(InputError, match="user_items is a corrupt sparse matrix"):
        rw.models.Implicit(FakeImplicit(), corrupt)
    with pytest.raises(InputError, match="seen is a corrupt sparse matrix"):
        rw.models.LightFM(FakeLightFM(), 2, 4, seen=corrupt)
    dense = rw.models.Implicit(FakeImplicit(), SEEN.toarray())
    assert dense.recommend([0], 1) == rw.models.Implicit(FakeImplicit(), SEEN).recommend([0], 1)


class FakeCornac:
    """Gives its own array of scores, one row of two dimensions, and has untrained items."""

    uid_map = MappingProxyType({"u": 0, "v": 1, "untrained": 2})
    iid_map = MappingProxyType({"a": 0, "b": 1, "c": 2, "d": 3, "untrained": 4})
    num_users, num_items = 2, 4
    scores = np.array([[4, 3, 2, 1, 9]])

    def score(self, row):
        assert row < 2
        return self.scores


def test_cornac():
    model = rw.models.Cornac(FakeCornac(), SimpleNamespace(csr_matrix=SEEN))
    assert model.recommend(["u", "v", "untrained", "x"], 2) == {
        "u": [("b", 3.0), ("c", 2.0)],
        "v": [("a", 4.0), ("d", 1.0)],
    }
    assert FakeCornac.scores.tolist() == [[4, 3, 2, 1, 9]]  # not masked in place
    assert rw.models.Cornac(FakeCornac()).recommend(["u"], 1) == {"u": [("a", 4.0)]}

    class Broken(FakeCornac):
        scores = np.full((1, 5), np.nan)

    with pytest.raises(ScoreError, match="NaN"):
        rw.models.Cornac(Broken()).recommend(["u"], 1)


class FakeSurprise:
    """Raw and inner ids; predictions that were impossible are the mean."""

    class trainset:  # noqa: N801
        ur = ([(0, 5.0)], [])

        @staticmethod
        def to_raw_iid(at):
            return "abcd"[at]

        @staticmethod
        def all_items():
            return range(4)

        @staticmethod
        def to_inner_uid(user):
            if user not in "uv":
                raise ValueError("not part of the trainset")
            return "uv".index(user)

    def predict(self, user, item, clip):
        assert not clip
        lost = user == "v" or item == "d"
        return SimpleNamespace(est=3.0 + "dcba".index(item), details={"was_impossible": lost})


def test_surprise():
    model = rw.models.Surprise(FakeSurprise())
    assert model.recommend(["u", "v", "x"], 5) == {"u": [("b", 5.0), ("c", 4.0)]}
    everything = rw.models.Surprise(FakeSurprise(), filter_seen=False)
    assert everything.recommend(["u"], 1) == {"u": [("a", 6.0)]}


class FakeLightFM:
    def predict(self, user, items, item_features, user_features):
        assert isinstance(user, int)
        assert item_features == "features"
        return np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32)[items]


def test_lightfm():
    model = rw.models.LightFM(
        FakeLightFM(), ["u", "v"], list("abcd"), seen=SEEN, item_features="features"
    )
    assert model.recommend(["v", "x"], 9) == {"v": [("d", 4.0), ("a", 1.0)]}
    numbered = rw.models.LightFM(FakeLightFM(), 2, 4, item_features="features")
    assert numbered.recommend([1], 2) == {1: [(3, 4.0), (2, 3.0)]}


class FakeRecTools:
    def recommend(self, users, dataset, k, filter_viewed, on_unsupported_targets):
        assert len(set(users)) == len(users)
        assert (dataset, k, on_unsupported_targets) == ("dataset", 2, "ignore")
        columns = {"user_id": ["v", "v", "u"], "item_id": ["a", "b", "c"], "score": [2.0, 1.0, 3.0]}
        return {name: np.array(values) for name, values in columns.items()}


def test_rectools():
    model = rw.models.RecTools(FakeRecTools(), "dataset")
    assert model.recommend(["u", "v", "u", "x"], 2) == {
        "v": [("a", 2.0), ("b", 1.0)],
        "u": [("c", 3.0)],
    }
