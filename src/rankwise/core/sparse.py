"""Sparse matrices from callers, checked before compiled code reads them."""

from __future__ import annotations

from typing import Any

from rankwise.errors import InputError

__all__ = ["check_sparse", "checked_csr"]


def check_sparse(matrix: Any, name: str) -> None:
    """Raise unless a SciPy sparse matrix has real numbers, and its indices lie inside.

    SciPy trusts the indices of a matrix: one outside the shape reads or writes foreign memory.

    Raises
    ------
    InputError
        If it is not a matrix of real numbers, or an index lies outside.
    """
    if matrix.ndim != 2 or matrix.dtype.kind not in "iufb":
        raise InputError(f"{name} is not a matrix of real numbers", found=f"shape {matrix.shape}, {matrix.dtype}")
    try:
        _check_indices(matrix)
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"{name} is a corrupt sparse matrix", found=str(error)) from error


def checked_csr(matrix: Any, name: str) -> Any:
    """Return a SciPy sparse matrix as a new CSR matrix without repeated entries.

    Raises
    ------
    InputError
        If it is not a matrix of real numbers, or an index lies outside.

    Examples
    --------
    >>> from scipy.sparse import coo_array
    >>> checked_csr(coo_array(([1, 2], ([0, 0], [1, 1])), shape=(1, 2)), "matrix").data.tolist()
    [3]
    """
    check_sparse(matrix, name)
    csr = matrix.tocsr(copy=True)
    check_sparse(csr, name)
    csr.sum_duplicates()
    return csr


def _check_indices(matrix: Any) -> None:
    """Raise a ValueError if an index lies outside the matrix."""
    if hasattr(matrix, "check_format"):  # compressed by row, column or block
        for indices in (matrix.indices, matrix.indptr):
            if indices.dtype.kind != "i":
                raise ValueError(f"indices of type {indices.dtype}")
        matrix.check_format(full_check=True)
    for indices, size in zip(getattr(matrix, "coords", ()), matrix.shape, strict=False):
        if len(indices) and not 0 <= indices.min() <= indices.max() < size:
            raise ValueError(f"indices from {indices.min()} to {indices.max()} of {size}")
