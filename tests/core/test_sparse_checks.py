"""Sparse matrices that are refused before SciPy trusts their indices, and checks that wait for their end."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from rankwise.core.arrays import check_none, check_sparse, checked_csr, checks_at_end
from rankwise.errors import InputError


def broken(kind, **changes):
    matrix = kind(np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]]))
    for name, value in changes.items():
        setattr(matrix, name, value)
    return matrix


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (
            broken(coo_array, coords=(np.array([0, 0, 2]), np.array([1, 2, 0]))),
            "indices from 0 to 2 of 2",
        ),
        (
            broken(coo_array, coords=(np.array([0, -1, 1]), np.array([1, 2, 0]))),
            "indices from -1 to 1 of 2",
        ),
        (
            broken(coo_array, coords=(np.array([0, 0, 1]), np.array([1, 3, 0]))),
            "indices from 0 to 3 of 3",
        ),
        (broken(csr_array, indices=np.array([1.0, 2.0, 0.0])), "indices of type float64"),
        (broken(csr_array, indices=np.array([1, 7, 0])), "corrupt"),
        (csr_array(np.array([[1j, 0.0]])), r"shape \(1, 2\), complex128"),
        (coo_array(np.array([1.0, 2.0])), r"shape \(2,\), float64"),
    ],
)
def test_what_is_no_matrix_of_real_numbers_is_refused(matrix, said):
    for check in (check_sparse, checked_csr):
        with pytest.raises(InputError, match="the scores") as error:
            check(matrix, "the scores")
        assert re.search(said, str(error.value))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float32, bool])
def test_a_matrix_is_copied_without_repeated_entries(dtype):
    matrix = coo_array((np.array([1, 1, 0], dtype=dtype), ([0, 0, 1], [1, 1, 2])), shape=(2, 3))
    csr = checked_csr(matrix, "matrix")
    assert csr.toarray().astype(int).tolist() == [[0, 1 if dtype is bool else 2, 0], [0, 0, 0]]
    assert csr.nnz == 2
    assert matrix.nnz == 3
    check_sparse(coo_array((2, 3)), "matrix")  # of no entries


def test_a_check_raises_at_once_unless_it_waits():
    def error():
        return InputError("a value is negative")

    check_none(np.array([False, False]), error)
    with pytest.raises(InputError, match="negative"):
        check_none(np.array([False, True]), error)
    with (
        checks_at_end(),
        pytest.raises(InputError, match="negative"),
    ):  # of arrays there is nothing to wait for
        check_none(np.array([True]), error)
