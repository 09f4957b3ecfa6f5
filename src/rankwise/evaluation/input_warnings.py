"""Checks for tables that were probably mixed up: an error, or a warning in the result.

A table with two meanings is refused; tables that look swapped, or are the same twice, are reported
in the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from rankwise.core.sample_counts import SampleCounts
from rankwise.errors import InputError
from rankwise.messages import Message, parameter
from rankwise.tables.columns import ROLES, plain_name
from rankwise.tables.ids import settle_all
from rankwise.tables.requests import unread_requests
from rankwise.tables.spelling import have_one_look, other_spelling
from rankwise.tables.table import INFERRED, Protocol, Recommendations, Table, Tables
from rankwise.tables.training import COMPARED, SEEN, SEEN_TRUTH

_MODEL = {*ROLES["recommendations"]["rank"], *ROLES["recommendations"]["score"]} - {"rating"}
"""Names that ranks and scores of models have, and judgements of users rarely."""
_JUDGED = {*ROLES["truth"]["relevance"], *ROLES["truth"]["timestamp"]}


def check_dense(tables: Tables) -> None:
    """Raise if whole numbers in an array may as well be the scores of all items as item ids.

    Lists are shorter than the catalogue: an array with a column for every item that is known from
    other tables is more likely a score matrix.
    """
    lists, truth = tables.recommendations, tables.truth
    if lists is None or truth is None or lists.format != "dense array":
        return
    tables_with_items = [truth, tables.train, tables.items]
    items = [
        table.frame["item"] for table in tables_with_items if table is not None and len(table.frame)
    ]
    if not all(ids.dtype.is_integer() for ids in items):
        return
    width = int(lists.frame.group_by("user").len()["len"].to_numpy().max())
    largest = max(int(ids.to_numpy().max()) for ids in items)
    if largest >= width:
        return
    raise InputError(
        "this array of whole numbers may hold item ids, best first, or a score for every item",
        where=lists.source,
        found=f"{width} columns, and items up to {largest} in the other tables",
        hint="pass ids as {user: [items]}, or scores as rw.rank(scores, k)",
    )


def doubts(tables: Tables) -> list[str]:
    """Return warnings about swapped or equal tables, unread requests, repeated items and ids."""
    lists, truth, train = tables.recommendations, tables.truth, tables.train
    if lists is None or truth is None or lists.format == "ratings":
        return []
    warnings = [*swapped(lists, truth), *unread_requests(lists, truth)]
    exact = isinstance(lists, Recommendations) and lists.is_exact  # ranks of the relevant items
    if not exact and _same_pairs(lists, truth):
        warnings.append("the recommendations are the user-item pairs of the ground truth")
    if train is not None and _same_pairs(train, truth):
        warnings.append("the training interactions are the user-item pairs of the ground truth")
    return [*warnings, *_repeated_items(tables), *_spellings(tables)]


def doubts_of_piece(shared: Tables, piece: Tables, *, is_first: bool) -> list[str]:
    """Return the warnings of a piece of lists; after the first piece, on unread requests only."""
    lists, truth = piece.recommendations, piece.truth or shared.truth
    if lists is None or truth is None or lists.format == "ratings":
        return []
    warnings = [] if piece.truth is None else unread_requests(lists, piece.truth)
    if not is_first:
        return warnings
    tables = replace(shared, recommendations=lists, truth=truth)
    return [*swapped(lists, truth), *warnings, *_repeated_items(tables), *_spellings(tables)]


_RATINGS = {"rating", "ratings", "stars"}
LARGEST_OF_FIVE_STARS = 5.0
"""The largest number of a scale on which nothing is said of low ratings: many evaluate all that was rated."""


def low_ratings(truth: Table | None, threshold: float | None) -> list[str]:
    """Return a warning if ratings exceed 5 and, without a threshold, low ratings are relevant."""
    column = None if truth is None else truth.columns.get("relevance")
    if truth is None or threshold is not None or plain_name(column or "") not in _RATINGS:
        return []
    ratings = truth.frame["relevance"].to_numpy()
    largest = float(ratings.max(initial=0.0))
    low = int(np.count_nonzero((ratings > 0) & (ratings < largest / 2)))
    if largest <= LARGEST_OF_FIVE_STARS or not low:
        return []
    share = _share(low, len(ratings))
    return [
        Message(
            f"{share} of the ratings are below half of {largest:g} and relevant: "
            f"{parameter('threshold')} sets another rule"
        )
    ]


def _repeated_items(tables: Tables) -> list[str]:
    """Return a warning if a table of items has items twice."""
    items = tables.items
    repeated = 0 if items is None else len(items.frame) - items.frame["item"].n_unique()
    return [
        f"the table of items has {repeated:,} rows of items that it has already, which count once"
    ] * bool(repeated)


_IN_WORDS = {
    "truth": "the ground truth",
    "train": "the training interactions",
    "items": "the table of items",
}


def _spellings(tables: Tables) -> list[str]:
    """Return warnings for ids of lists that differ from another table's ids only in spelling."""
    lists, warnings = tables.recommendations, list[str]()
    if lists is None:
        return []
    for role, words in _IN_WORDS.items():
        table = tables.by_role.get(role)  # type: ignore[call-overload]
        for column in ("item", "user"):
            if table is None or column not in table.frame.columns or lists.is_exact:
                continue
            ids, others = lists.frame[column], table.frame[column]
            spelling = None if have_one_look(ids, others) else other_spelling(ids, others)
            if spelling is not None:
                warnings.append(f"{column} ids of the lists and of {words} differ: {spelling}")
    return warnings


_MANY_UNKNOWN = 0.2
_MANY_SEEN = 0.01
_SELDOM = 0.05


def doubts_of_counts(counts: Mapping[str, int]) -> list[str]:
    """Return warnings of counts: many unknown items or seen items, or rising scores."""
    rows, warnings = counts.get("rows", 0), list[str]()
    unknown = counts.get("recommendations_outside_catalogue", 0)
    if unknown and unknown >= _MANY_UNKNOWN * rows:
        warnings.append(
            f"{_share(unknown, rows)} of the recommendations are of items that are not in the "
            "catalogue: do ids agree?"
        )
    lists, rising = counts.get("lists", 0), counts.get("lists_whose_scores_rise", 0)
    if rising == lists > 1:
        warnings.append(
            "scores rise where ranks fall in all lists: is the smallest score the best, or the "
            "rank another column?"
        )
    for name, count in counts.items():
        if name.startswith("recommendations_without_") and count >= _MANY_UNKNOWN * rows > 0:
            what = name.removeprefix("recommendations_without_").partition("(")[0].replace("_", " ")
            warnings.append(
                f"{_share(count, rows)} of the recommendations are of items without {what}: do ids "
                "agree?"
            )
    seen, known, compared = (
        counts.get(SEEN, 0),
        counts.get(SEEN_TRUTH, 0),
        counts.get(COMPARED, rows),
    )
    judged = counts.get("truth_rows", 0) * compared / max(rows, 1)  # of the same share of the users
    if seen >= max(1, _MANY_SEEN * compared) and known <= _SELDOM * judged:
        few = "hardly any" if known else "none"
        warnings.append(
            Message(
                f"{_share(seen, compared)} of the recommendations are items of the user's training "
                f"interactions, of which {few} is in the ground truth: "
                f"{parameter('exclude_seen', True)} takes them out"
            )
        )
    return warnings


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%} ({part:,} of {whole:,})" if part < whole else f"all {whole:,}"


def sample_counts(lists: Recommendations | None, users: pl.DataFrame, hits: int) -> SampleCounts:
    """Return the counts that reveal sampled negatives; empty if the candidates are known."""
    if lists is None or not _may_be_sampled(lists):
        return SampleCounts()
    return SampleCounts.of_users(
        users["n_relevant"], users["list_length"], hits, lists.frame["item"]
    )


def _may_be_sampled(lists: Recommendations) -> bool:
    """Return whether lists are of unknown candidates, and neither exact ranks nor ratings."""
    return lists.protocol is None and not lists.is_exact and lists.format != "ratings"


def inferred_protocol(counts: SampleCounts) -> tuple[Protocol | None, list[str]]:
    """Return the candidates and a warning for lists that look sampled, else None and no warning."""
    negatives = counts.sampled_negatives
    if negatives is None:
        return None, []
    warning = (
        f"the lists look like relevant items among {negatives:,} sampled negatives: values are far "
        "above those of a "
        "ranking of all items, and compare with those of the same sample only"
    )
    return Protocol(INFERRED, negatives), [warning]


def protocol_of_lists(tables: Tables, threshold: float | None) -> tuple[Protocol | None, list[str]]:
    """Return the candidates of all lists, stated or inferred from their rows, and warnings."""
    lists, truth = tables.recommendations, tables.truth
    if lists is None or truth is None or not _may_be_sampled(lists):
        return None if lists is None else lists.protocol, []
    relevant = truth.with_frame(truth.relevant(threshold))
    settled = settle_all(  # integers match text, as they do under some conventions
        {
            "recommendations": replace(lists, is_text=True),
            "truth": replace(relevant, is_text=True),
        }
    )
    frames = (settled[role].frame for role in ("recommendations", "truth"))
    return inferred_protocol(SampleCounts.of_lists(*frames))


def swapped(lists: Table, truth: Table) -> list[str]:
    """Return whether recommendations and ground truth look swapped, by their columns alone."""
    if not (_looks_ranked(truth) and _looks_judged(lists)):
        return []
    judged = _named(lists, _JUDGED) or "neither rank nor score"
    ranked = f"the ground truth has {_named(truth, _MODEL)}, and the recommendations {judged}"
    return [f"recommendations and ground truth may be swapped: {ranked}"]


def _names(table: Table) -> set[str]:
    return {plain_name(name) for name in (*table.columns.values(), *table.unread)}


def _named(table: Table, names: set[str]) -> str:
    sources = (*table.columns.values(), *table.unread)
    return ", ".join(repr(name) for name in sources if plain_name(name) in names)


def _looks_ranked(truth: Table) -> bool:
    """Return whether a ground truth has ranks, or scores as models give them."""
    return _is_table(truth) and bool(_names(truth) & _MODEL)


def _looks_judged(lists: Table) -> bool:
    """Return whether recommendations have neither ranks nor scores as models give them."""
    names = _names(lists)
    return _is_table(lists) and not names & _MODEL


def _is_table(table: Table) -> bool:
    """Return whether the column names come from the source, and not from its layout."""
    return not table.is_positional and not table.format.startswith(("trec", "ranking", "json"))


def _same_pairs(left: Table, right: Table) -> bool:
    """Return whether two tables have the same user-item pairs, in any order."""
    if left.sha256 is not None and left.sha256 == right.sha256:
        return True
    if len(left.frame) != len(right.frame):
        return False
    pair = ["user", "item"]
    if any(_sums_differ(left.frame[column], right.frame[column]) for column in pair):
        return False
    return _digest(left, pair) == _digest(right, pair)


def _sums_differ(left: pl.Series, right: pl.Series) -> bool:
    """Whether two columns of whole numbers have different sums: quicker to tell than hashes."""
    if not (left.dtype.is_integer() and right.dtype.is_integer()):
        return False
    here, there = (ids.to_numpy().sum(dtype=np.int64) for ids in (left, right))
    return bool(here != there)


def _digest(table: Table, pair: list[str]) -> tuple[int, ...]:
    """Return sums of the hashes of all rows, which do not depend on their order."""
    hashes = table.frame.select(pair).hash_rows(seed=7).to_numpy()
    return tuple(int((hashes >> shift).sum(dtype=np.uint64)) for shift in (0, 32))
