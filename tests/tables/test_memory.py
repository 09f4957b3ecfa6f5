"""Python's objects, arrays and matrices as tables, layout by layout."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array

from rankwise.errors import DuplicateError, IdError, InputError, ScoreError
from rankwise.tables import memory
from rankwise.tables.memory import (
    columns_of,
    from_array,
    from_mapping,
    from_rows,
    from_sparse,
    number_series,
    types_of_rows,
)


@pytest.mark.parametrize(
    ("rows", "frame", "padding"),
    [
        ([[5, 6], [7, -1]], [(0, 5), (0, 6), (1, 7)], 1),
        ([[5, 6, 7]], [(0, 5), (0, 6), (0, 7)], 0),
        ([["a", ""], ["", "b"]], [(0, "a"), (1, "b")], 2),
        (np.array([[1], [2]], dtype=np.uint8), [(0, 1), (1, 2)], 0),
    ],
)
def test_an_array_has_a_row_for_each_user_and_padding(rows, frame, padding):
    found, count = from_array(rows, "recommendations")
    assert (found.rows(), count) == (frame, padding)


@pytest.mark.parametrize(
    ("rows", "are_pairs"),
    [
        ([[1, 5], [1, 6], [2, 5], [2, 7]], True),
        ([[1, 5, 3], [1, 6, 3], [2, 5, 3], [2, 7, 3]], True),
        ([[1, 5], [1, 6], [2, 5]], False),  # three rows
        ([[1, 5], [2, 6], [3, 5], [4, 7]], False),  # no value of the first column comes twice
        ([[1, 5], [2, 6], [1, 7], [2, 8]], False),  # the first column is not grouped
        ([[1, 5], [1, 5], [2, 5], [2, 7]], False),  # a row comes twice
        ([[1, 5, 0, 0], [1, 6, 0, 0], [2, 5, 0, 0], [2, 7, 0, 0]], False),
        ([[1], [1], [2], [2]], False),
    ],
)
def test_rows_of_users_and_items_are_no_lists(rows, are_pairs):
    assert memory._may_be_pairs(np.array(rows)) == are_pairs
    if are_pairs:
        with pytest.raises(InputError, match="may hold rows of user and item"):
            from_array(np.array(rows), "recommendations")
    else:
        from_array(np.array(rows), "recommendations")


def test_arrays_of_other_shapes_and_types_are_refused():
    for array, said in (
        (np.zeros((2, 2)), "a dense array holds item ids"),
        (np.zeros(3, dtype=int), "one row per user"),
        (np.zeros((1, 2, 2), dtype=int), "one row per user"),
        (np.array([[1, "a"]], dtype=object), "item ids of one type"),
        ([[1, 2], [3]], "rows of the array have different lengths"),
        ([np.ma.array([1, 2]), [1, 2]], "mask"),
    ):
        with pytest.raises(InputError, match=said):
            from_array(array, "recommendations")
    with pytest.raises(InputError, match="does not say which user"):
        from_array([[1, 2]], "truth")


def test_a_sparse_matrix_has_scores_or_relevances():
    matrix = coo_array(([1, 0, 3], ([0, 0, 1], [2, 0, 1])), shape=(2, 3))
    assert from_sparse(matrix, "recommendations").to_dict(as_series=False) == {
        "user": [0, 0, 1],
        "item": [2, 0, 1],
        "score": [1.0, 0.0, 3.0],
    }
    assert from_sparse(matrix, "truth").columns == ["user", "item", "relevance"]
    twice = coo_array(([1, 2, 3], ([0, 0, 1], [2, 2, 1])), shape=(2, 3))
    for role in ("recommendations", "reference", "truth"):
        with pytest.raises(DuplicateError) as caught:
            from_sparse(twice, role)
        assert caught.value.found == "1 such entries"
    assert len(from_sparse(twice, "train")) == 3
    large = coo_array((np.array([2**53, 2**53 + 1]), ([0, 0], [0, 1])), shape=(1, 2))
    with pytest.raises(ScoreError, match="too many digits"):
        from_sparse(large, "recommendations")


@pytest.mark.parametrize(
    ("source", "rows", "layout"),
    [
        ({1: [5, 6], 2: []}, [(1, 5), (1, 6)], "{user: [items]}"),
        ({1: 5, 2: 6}, [(1, 5), (2, 6)], "{user: item}"),
        ({"a": "x", "b": ["y"]}, [("a", "x"), ("b", "y")], "{user: item}"),
        ({1: [(5, 0.5)], 2: [(6, 1)]}, [(1, 5, 0.5), (2, 6, 1.0)], "{user: [(item, number)]}"),
        ({1: [], 2: [[6, 1]]}, [(2, 6, 1.0)], "{user: [(item, number)]}"),
        ({1: {5: 0.5}, 2: {}}, [(1, 5, 0.5)], "{user: {item: number}}"),
        ({1: [{"item": 5, "score": 2}], 2: []}, [(1, 5, 2)], "records by user"),
        ({"user": [1, 2], "item": [5, 6]}, [(1, 5), (2, 6)], "columns"),
    ],
)
def test_layouts_of_mappings(source, rows, layout):
    frame, found = from_mapping(source, "recommendations")
    assert (frame.rows(), found) == (rows, layout)


def test_numbers_of_a_mapping_are_relevances_of_a_truth_and_weights_of_users():
    assert from_mapping({1: {5: 2}}, "truth")[0].columns == ["user", "item", "relevance"]
    assert from_mapping({1: {5: 2}}, "reference")[0].columns == ["user", "item", "score"]
    frame, layout = from_mapping({1: 2, 2: 0.5}, "users")
    assert (frame.columns, frame.rows(), layout) == (
        ["user", "weight"],
        [(1, 2.0), (2, 0.5)],
        "weights",
    )
    assert from_mapping({1: {5}}, "truth")[0].rows() == [(1, 5)]
    with pytest.raises(InputError, match="a set has no order"):
        from_mapping({1: {5}}, "recommendations")
    with pytest.raises(InputError, match="a mapping holds a weight for each user"):
        from_mapping({1: "a"}, "users")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({1: [5], 2: {6: 1}}, "users have lists, or dicts"),
        ({1: [(5, 1), 6]}, "items or .item, number. pairs, not both"),
        ({1: [(5, 1, 2)]}, "this is a tuple"),
        ({1: [(5, 1), [6, 1, 2]]}, "not both"),
        ({1: 2.5}, "each user needs an item"),
        ({1: b"ab"}, "each user needs an item"),
        ({1: True}, "each user needs an item"),
        ({1: np.ma.array([1])}, "mask"),
        ({1: [5, "a"]}, "all of one kind"),
        ({1: [(5, "x")]}, "the score must be a number"),
        ({1: [{"item": 5}, 6]}, "hold several of them"),
        ({1: [{"item": 5, "user": 1}]}, "have a user of their own"),
        ({"user": [1, 2], "item": [5]}, "columns by name, which have one length"),
    ],
)
def test_mappings_of_several_layouts_are_refused(source, said):
    with pytest.raises((InputError, IdError), match=said):
        from_mapping(source, "recommendations")


def test_rows_are_tuples_of_two_or_three_or_records():
    assert from_rows([(1, 5), (2, 6)], [tuple], "truth")[1] == "[(user, item)]"
    frame, layout = from_rows([(1, 5, 2), (2, 6, 0.5)], [tuple], "truth")
    assert (frame.rows(), frame.columns[2], layout) == (
        [(1, 5, 2.0), (2, 6, 0.5)],
        "relevance",
        "[(user, item, number)]",
    )
    frame, layout = from_rows([{"user": 1, "item": 5}, {"user": 2, "x": 3}], [dict], "truth")
    assert (frame.rows(), layout) == ([(1, 5, None), (2, None, 3)], "records")
    for rows, odd in (
        ([(1, 5), (1, 5, 2)], (1, 5)),
        ([(1,)], (1,)),
        ([(1, 2, 3, 4)], (1, 2, 3, 4)),
        ([(1, 5), {}], {}),
    ):
        with pytest.raises(InputError, match="all of one length") as caught:
            from_rows(rows, {*map(type, rows)}, "truth")
        assert caught.value.found == repr(odd)
    assert [types_of_rows(rows) for rows in ([], [(1, 2)], [{}], [(1, 2), 3])] == [
        set(),
        {tuple},
        {dict},
        set(),
    ]
    assert columns_of([{"a": 1}, {"b": 2}]) == {"a": [1, None], "b": [None, 2]}


@pytest.mark.parametrize(
    ("numbers", "floats"),
    [([1, 0.5, None], [1.0, 0.5, None]), ([2**53, 2**53], [2.0**53] * 2), ([], [])],
)
def test_whole_and_other_numbers_are_floats(numbers, floats):
    assert number_series("score", numbers, "lists").to_list() == floats


def test_whole_numbers_that_floats_do_not_tell_apart_are_refused():
    number_series("score", [2**53 - 1, 2**53 - 2], "lists")
    for numbers in ([2**53, 2**53 + 1], [-(2**53), -(2**53) - 1]):
        with pytest.raises(ScoreError, match="too many digits") as caught:
            number_series("score", numbers, "lists")
        assert caught.value.found == "2 values, of which 1 are left"


def test_users_may_have_an_empty_list_beside_numbers_of_others():
    frame, layout = from_mapping({"u": [], "v": {1: 2.0}}, "recommendations")
    assert (frame.rows(), layout) == ([("v", 1, 2.0)], "{user: {item: number}}")


def test_an_array_of_no_dimension_has_no_items():
    with pytest.raises(InputError, match="needs an item or a list of items") as error:
        from_mapping({"u": [1], "v": np.array(5)}, "truth")
    assert "user 'v'" in str(error.value)
