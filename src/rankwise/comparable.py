"""Whether results can be held against one another at all, and in which of their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.aligned import check_ids
from rankwise.errors import MeasureError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankwise.result import Result

__all__ = ["check_comparable", "common_cells"]

_SETTINGS = ("population", "undefined", "relevance_threshold", "exclude_seen", "catalogue")


def check_comparable(results: Mapping[str, Result]) -> None:
    """Raise if values are different quantities, so that their difference says nothing."""
    check_ids(results)
    _check_candidates(results)
    _check_splits(results)
    _check_settings(results)
    _check_tables(results)
    _check_truth(results)


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


def _check_settings(results: Mapping[str, Result]) -> None:
    for key in _SETTINGS:
        said: dict[str, Any] = {
            name: result.provenance["settings"][key]
            for name, result in results.items()
            if key in result.provenance["settings"]  # a table from elsewhere does not know
        }
        if len({repr(value) for value in said.values()}) > 1:
            raise ParameterError(
                f"these results were evaluated with different settings of {key}",
                found="; ".join(f"{name}: {value}" for name, value in said.items()),
                hint="evaluate all with the same settings; force=True compares them all the same",
            )


def _check_tables(results: Mapping[str, Result]) -> None:
    """Raise if results know of other training rows, or were given catalogues of other sizes."""
    rows: dict[str, Any] = {}
    for kind in ("train", "items"):
        rows = {
            name: result.provenance["inputs"][kind]["rows"]
            for name, result in results.items()
            if kind in result.provenance["inputs"]
        }
        if len(set(rows.values())) > 1:
            raise ParameterError(
                f"these results were evaluated with different {kind}",
                found="; ".join(f"{name}: {count} rows" for name, count in rows.items()),
                hint="evaluate all with the same tables; force=True compares them all the same",
            )


def _check_truth(results: Mapping[str, Result]) -> None:
    """Raise if a user has more relevant items in one result than in another."""
    (first, base), *others = results.items()
    own = base.per_user.select("user", "n_relevant")
    for name, result in others:
        theirs = result.per_user.select("user", other="n_relevant")
        theirs = theirs.with_columns(pl.col("user").cast(own.schema["user"]))
        odd = own.join(theirs, on="user").filter(pl.col("n_relevant") != pl.col("other"))
        if len(odd):
            user, mine, other = odd.row(0)
            raise ParameterError(
                "these results have different truths",
                found=f"user {user!r} has {mine} relevant items in {first}, {other} in {name} "
                f"({len(odd)} such users)",
                hint="evaluate every model on the same truth; force=True compares them all the "
                "same",
            )


def common_cells(
    results: Mapping[str, Result], measures: str | Sequence[str] | None, primary: str | None
) -> tuple[list[str], str]:
    """Return what is compared, and which of it is the primary measure."""
    first, *others = results.values()
    known = [
        cell for cell in first.values
        if all(cell in other.values for other in others)
        and all(_has_either(each, cell) for each in results.values())
    ]  # fmt: skip
    if measures is not None:
        asked = [measures] if isinstance(measures, str) else list(measures)
        wanted = list(dict.fromkeys(first.cell(name) for name in asked))
        for cell in wanted:
            if cell not in known:
                raise _no_values(cell, results)
        known = wanted
    if not known:
        raise MeasureError(
            "the results have no measure in common that users have values of",
            found="; ".join(f"{name}: {', '.join(own.values)}" for name, own in results.items()),
            hint="measures of all lists together need evaluate(…, jackknife=64)",
        )
    if primary is not None:
        main = first.cell(primary)
        if main not in known:
            raise _no_values(main, results)
    else:
        usual = [cell for cell in known if cell == "ndcg@10"]
        of_users = [cell for cell in known if first.is_mean_of_users(cell)]
        main = (usual or of_users or known)[0]
    return known, main


def _no_values(cell: str, results: Mapping[str, Result]) -> MeasureError:
    lacking = [name for name, own in results.items() if cell not in own.values]
    if lacking:
        return MeasureError(f"{cell} was not evaluated", found=f"in {', '.join(lacking)}")
    made = all(own.replicates is not None for own in results.values())
    return MeasureError(
        f"{cell} has no value for each user, and no jackknife to compare it by",
        hint=None if made else "evaluate with jackknife=64",
    )


def _has_either(result: Result, cell: str) -> bool:
    """Whether a value is a mean of users, or has a jackknife."""
    jackknifed = result.replicates is not None and cell in result.replicates.columns
    return jackknifed or result.is_mean_of_users(cell)
