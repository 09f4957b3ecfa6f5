"""Results side by side, if they can be held against one another at all."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rankwise.errors import ParameterError
from rankwise.result import Result

__all__ = ["compare"]


def compare(results: Mapping[str, Result], *, force: bool = False) -> pl.DataFrame:
    """Put results side by side: a row a value, a column a result.

    Parameters
    ----------
    results : mapping of str to Result
        Results by name.
    force : bool
        Compare all the same what was ranked from different candidates, or tested on different
        splits.

    Returns
    -------
    polars.DataFrame
        ``measure`` and a column for each name; null where a result does not have the value. Where
        candidates were sampled, the column's name carries the label.

    Raises
    ------
    ParameterError
        If candidates were chosen in different ways, as where some are a sample and others are not,
        or test parts are of different splits: values are then different quantities, and their
        difference says nothing. Lists that do not say what they were ranked from stand beside all
        but sampled ones, and a truth that does not say which split it is of beside all.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1}, "bob": {2}}
    >>> first = rw.evaluate({"ann": [1], "bob": [1]}, truth, "recall@1")
    >>> second = rw.evaluate({"ann": [1], "bob": [2]}, truth, "recall@1")
    >>> rw.compare({"first": first, "second": second}).rows()
    [('recall@1', 0.5, 1.0)]
    """
    if not isinstance(results, Mapping) or not results:
        raise ParameterError(
            "results to compare have names",
            found=type(results).__name__ + ("" if results else ", empty"),
            hint="pass {name: result, …}",
        )
    for name, result in results.items():
        if not isinstance(name, str) or not isinstance(result, Result):
            raise ParameterError("results to compare come as {name: result}",
                                 found=f"{name!r}: {type(result).__name__}")  # fmt: skip
    if not force:
        _check_candidates(results)
        _check_splits(results)
    cells = dict.fromkeys(cell for result in results.values() for cell in result.values)
    columns: dict[str, list[str] | list[float | None]] = {"measure": list(cells)}
    for name, result in results.items():
        shown = f"{name}, {result.label}" if result.label else name
        if shown in columns:
            raise ParameterError("two columns would have one name", found=repr(shown),
                                 hint="call the result something else")  # fmt: skip
        columns[shown] = [result.values.get(cell) for cell in cells]
    return pl.DataFrame(columns, strict=False)


def _check_candidates(results: Mapping[str, Result]) -> None:
    protocols = {name: result.protocol for name, result in results.items()}
    said = {protocol for protocol in protocols.values() if protocol is not None}
    sampled = any(protocol.sampled for protocol in said)
    if len(said) < 2 and not (sampled and None in protocols.values()):
        return
    each = [
        f"{name}: {'not sampled' if own is None else own.label or own.candidates}"
        for name, own in protocols.items()
    ]
    labels = [own.label if own is not None else "" for own in protocols.values()]
    what = "these results were ranked from different candidates"
    if sampled:
        what = "sampled results do not compare with exact ones"
        if all(labels):
            what = "these results were ranked from different samples of candidates"
    tables = ", drawn from other tables" if len(set(labels)) == 1 and sampled else ""
    raise ParameterError(
        what,
        found="; ".join(each) + tables,
        hint="rank every model from the same candidates, or correct sampled values with "
        "rw.correct; force=True compares them all the same",
    )


def _check_splits(results: Mapping[str, Result]) -> None:
    cards = {name: result.split for name, result in results.items() if result.split is not None}
    if len({card["id"] for card in cards.values()}) < 2:
        return
    raise ParameterError(
        "these results are of different splits",
        found="; ".join(f"{name}: {results[name].tested_on}" for name in cards),
        hint="evaluate every model on the same split; force=True compares them all the same",
    )
