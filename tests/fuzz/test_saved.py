"""Saved results that were changed, on purpose or by accident: the same values, or an error at load."""

from __future__ import annotations

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from fuzz.test_files import damaged
from rankwise.errors import FileError

KEY_PATHS = st.lists(st.integers(0, 30), max_size=6)
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.just("ndcg@10"),
    st.just("../result.json"),
    st.just(1e400),
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a result that has everything that a result may have."""
    lists = {user: [user % 3, 3, user % 5 + 4] for user in range(12)}
    result = rw.evaluate(
        lists,
        {user: {0: 1.0, 4: 3.0} for user in lists},
        ["ndcg@[1,3]", "gini@3", "ips(recall)@3", "reo(item_group=kind)@3"],
        train={user: [0, 4, user % 3] for user in lists},
        jackknife=4,
        by="team",
        users={"user": range(12), "team": ["x", "y", "z"] * 4},
        items={"item": range(9), "kind": ["a", "b", "c"] * 3},
    )
    return result.save(tmp_path_factory.mktemp("saved"))


def everything(folder):
    """Return all that a result answers with, or None for an error at load."""
    try:
        result = rw.load(folder)
    except FileError:
        return None
    tables = result.per_user.write_json(), result.replicates.write_json()
    return (result.export("json"), result.export("csv"), repr(result), *tables)


def changed(saved, tmp_path_factory, name, content):
    folder = tmp_path_factory.mktemp("changed")
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    (folder / name).write_bytes(content)
    found = everything(folder)
    shutil.rmtree(folder)
    return found


@given(data=st.data())
def test_bytes_that_were_changed(data, saved, tmp_path_factory):
    name = data.draw(st.sampled_from(sorted(path.name for path in saved.iterdir())))
    content = data.draw(damaged((saved / name).read_bytes()))
    assert changed(saved, tmp_path_factory, name, content) in (None, everything(saved))


def _edited(value, path, new):
    """Return JSON with another value at a path, whose steps go round where they are too large."""
    if not path or not isinstance(value, list | dict) or not value:
        return new
    step = path[0] % len(value)
    if isinstance(value, list):
        return [*value[:step], _edited(value[step], path[1:], new), *value[step + 1 :]]
    key = list(value)[step]
    return {**value, key: _edited(value[key], path[1:], new)}


@given(path=KEY_PATHS, new=ODD)
def test_values_that_were_edited(path, new, saved, tmp_path_factory):
    head = json.loads((saved / "result.json").read_text())
    edited = json.dumps(_edited(head, path, new)).encode()
    found = changed(saved, tmp_path_factory, "result.json", edited)
    assert found in (None, everything(saved))
    assert found is None or json.loads(edited) == head


def test_a_file_of_another_result(saved, tmp_path):
    other = rw.evaluate({1: [2]}, {1: {2}}, "mrr").save(tmp_path / "other")
    for name in ("per_user", "replicates"):
        shutil.copytree(saved, tmp_path / name)
        (mine,) = (tmp_path / name).glob(f"{name}-*")
        shutil.copy(next(other.glob("per_user-*")), mine)
        assert everything(tmp_path / name) is None
        mine.unlink()
        assert everything(tmp_path / name) is None
