"""Results side by side, if they can be held against one another at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankwise.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwise.result import Result

__all__ = ["compare"]


def compare(results: Mapping[str, Result], *, force: bool = False) -> pl.DataFrame:
    """Put results side by side: a row a value, a column a result.

    Parameters
    ----------
    results : mapping of str to Result
        Results by name.
    force : bool
        Compare what was ranked from different candidates all the same. Names then carry the label
        of what was sampled.

    Returns
    -------
    polars.DataFrame
        ``measure`` and a column for each name; null where a result does not have the value.

    Raises
    ------
    ParameterError
        If some values are over sampled candidates and others are not, or over another sample:
        these are different quantities, and their difference says nothing.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1}, "bob": {2}}
    >>> first = rw.evaluate({"ann": [1], "bob": [1]}, truth, "recall@1")
    >>> second = rw.evaluate({"ann": [1], "bob": [2]}, truth, "recall@1")
    >>> rw.compare({"first": first, "second": second}).rows()
    [('recall@1', 0.5, 1.0)]
    """
    if not results:
        raise ParameterError("there is nothing to compare", hint="pass {name: result, …}")
    if not force:
        _check_candidates(results)
    cells = dict.fromkeys(cell for result in results.values() for cell in result.values)
    columns = {
        f"{name}, {result.label}" if force and result.label else name: [
            result.values.get(cell) for cell in cells
        ]
        for name, result in results.items()
    }
    return pl.DataFrame({"measure": list(cells), **columns}, strict=False)


def _check_candidates(results: Mapping[str, Result]) -> None:
    said = {}
    for name, result in results.items():
        protocol = result.protocol
        sampled = protocol is not None and protocol.sampled
        said[name] = (result.label, protocol.digest if sampled and protocol is not None else None)
    if len(set(said.values())) < 2:
        return
    each = [f"{name}: {label or 'not sampled'}" for name, (label, _) in said.items()]
    same = len({label for label, _ in said.values()}) == 1
    raise ParameterError(
        "these results were ranked from different samples of candidates"
        if all(label for label, _ in said.values())
        else "sampled results do not compare with exact ones",
        found="; ".join(each) + (", drawn from other tables" if same else ""),
        hint="rank every model from one rw.candidates.sampled(…), or correct the sampled values "
        "with rw.correct; force=True compares them all the same",
    )
