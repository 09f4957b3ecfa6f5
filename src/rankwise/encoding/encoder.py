"""Encoding of tables: ids become codes, rows become lists, and the evaluated users are decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
import polars as pl

from rankwise.blocks.block import WHOLE_LIST, WHOLE_LISTS, Needs
from rankwise.blocks.encoded import Encoded
from rankwise.blocks.lists import Lists, Truth
from rankwise.core.populations import POPULATIONS, PopulationName
from rankwise.core.units import REQUEST
from rankwise.encoding.lists import (
    IdSpace,
    encode_exact_ranks,
    encode_lists,
    encode_truth,
    fill_rank_gaps,
    no_ranks,
    users_evaluated,
    users_of_truth,
)
from rankwise.encoding.side_information import (
    EncodedSideInformation,
    SideTables,
    encode_side_information,
)
from rankwise.errors import ParameterError
from rankwise.messages import parameter
from rankwise.options import Choices, Options, Ties
from rankwise.tables.table import Recommendations, Table, Tables

"""The populations that only users with a list belong to."""


def ties_for(recommendations: Table, ties: Ties | None, *, if_scored: bool = False) -> Ties:
    """Return how equal scores are ordered; raise if nothing is ordered by score.

    With ``if_scored`` a rule for ties says nothing of lists that scores do not order.
    """
    columns = recommendations.frame.columns
    by_score = "score" in columns and "rank" not in columns
    if if_scored and not by_score:
        return "input"
    if ties not in (None, "input") and not by_score:
        raise ParameterError(
            f"{parameter('ties', ties)} needs lists that are ordered by score",
            found=f"columns {', '.join(recommendations.names)}",
            hint=f"leave ties out, or leave the rank column unused: "
            f"{parameter('columns', {'rank': None})}",
        )
    return ties or ("expected" if by_score else "input")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EncodingRules:
    """The rules by which tables are read as lists and ground truth.

    Attributes
    ----------
    options : Options
        The options of the evaluation.
    evaluated : str, default="truth"
        The population of all metrics together.
    needs : frozenset of str
        What blocks must hold beyond hits.
    numbers_items : bool, default=False
        Whether something is counted or known by item, so that items need numbers.
    exact : bool, default=False
        Whether recommendations are exact ranks of judged items.
    deepest : int, optional
        The lowest rank at which a hit counts; by default any does.
    required : bool, default=True
        Whether some item must be relevant.
    ties_if_scored : bool, default=False
        Whether ``ties`` holds only where scores order the lists.
    """

    options: Options
    evaluated: PopulationName = "truth"
    needs: Needs = frozenset()
    numbers_items: bool = False
    exact: bool = False
    deepest: int = WHOLE_LIST
    required: bool = True
    ties_if_scored: bool = False

    @property
    def in_order(self) -> bool:
        """Whether whole lists have to be in order, not only judged rows: or first rows count."""
        return bool(WHOLE_LISTS & self.needs) or self.options.duplicates != "error"

    def ties_of(self, recommendations: Table) -> Ties:
        """Return how equal scores of these lists are ordered."""
        return ties_for(recommendations, self.options.ties, if_scored=self.ties_if_scored)


@dataclass(eq=False, repr=False)
class _Codes:
    """The codes of an evaluation and the data encoded so far; private to the process."""

    ids: IdSpace
    truth: Truth | None = None
    truth_counts: Counter[str] = field(default_factory=Counter)
    context: EncodedSideInformation | None = None
    sizes: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False, repr=False)
class Encoder:
    """Encodes the pieces of one evaluation, with the same codes for all of them.

    Codes never leave the process: a pickled encoder starts anew on the other side.

    Parameters
    ----------
    rules : EncodingRules
        How tables are read.
    shared : Tables
        What all pieces share: the tables that facts come from, and the ground truth unless every
        piece brings its part.
    facts : SideTables, optional
        What metrics need to know.
    """

    rules: EncodingRules
    shared: Tables
    facts: SideTables = field(default_factory=lambda: SideTables({}, {}))
    _kept: list[_Codes] = field(default_factory=list, repr=False, compare=False)
    _lock: Any = field(default_factory=Lock, repr=False, compare=False)

    def __reduce__(self) -> Any:
        return Encoder, (self.rules, self.shared, self.facts)

    @contextmanager
    def rollback_on_error(self) -> Iterator[None]:
        """Discard the codes of a first piece if the work in this context fails."""
        kept = list(self._kept)
        try:
            yield
        except BaseException:
            self._kept[:] = kept
            raise

    def encode(self, piece: Tables, *, threads: int = 1) -> Encoded:
        """Encode a piece.

        Parameters
        ----------
        piece : Tables
            Recommendations with or without their part of the ground truth; or users who are to be
            evaluated although they have no list.
        threads : int, default=1
            Threads for rows that are not in order.
        """
        with self._lock:  # codes grow as pieces come: one piece at a time
            return self._encode(piece, threads)

    def _encode(self, piece: Tables, threads: int) -> Encoded:
        rules, counts = self.rules, Counter[str]()
        codes = self._codes(piece)
        ids = codes.ids
        recommended, truth_table = piece.recommendations, piece.truth or self.shared.truth
        assert truth_table is not None
        if rules.options.ranks == "keep" and recommended is not None and not rules.exact:
            recommended = fill_rank_gaps(recommended)
        if codes.truth is None:
            codes.truth = encode_truth(
                truth_table,
                ids,
                rules.options.relevance_threshold,
                rules.options.duplicates,
                codes.truth_counts,
                required=rules.required,
            )
            codes.truth_counts.update(truth_table.counts)
        truth = codes.truth
        lists, ties = self._lists(recommended, truth_table, ids, counts, threads)
        evaluated = users_evaluated(rules.evaluated, lists, truth, ids.owners.size, counts)
        context = self._context(codes, threads)
        if piece.truth is None:
            self._kept[:] = [codes]
        else:
            counts.update(codes.truth_counts)
        return Encoded(
            lists=lists,
            truth=truth,
            evaluated=evaluated,
            ties=ties,
            needs=rules.needs,
            deepest=rules.deepest,
            unlisted=self._unlisted(piece, ids, evaluated, lists),
            users=ids.owners,
            items=ids.items,
            numbers_items=rules.numbers_items,
            facts=context.facts,
            history=context.history,
            reference=context.reference,
            seen_items=(lists.items, truth.items, *ids.train_items),
            counts=counts,
            shared_counts=context.counts | (codes.truth_counts if piece.truth is None else {}),
        )

    def without_list(self, units: pl.DataFrame) -> Tables | None:
        """Return the piece of the evaluated users who are not among these; None if there is none.

        ``units`` are all users, or requests, that have been evaluated. Only for ground truth that
        all pieces share.
        """
        if POPULATIONS[self.rules.evaluated].needs_list:
            return None
        numbered = self.shared.units
        none = units["user"].clear() if numbered is None else pl.Series("user", [], pl.Int64)
        nobody = Table(none.to_frame(), "users", "users", "ids", {})
        if not self._kept:  # all pieces were encoded elsewhere
            self.encode(Tables(unlisted=nobody))
        truth, vocabulary = self._kept[0].truth, self._kept[0].ids.users
        assert truth is not None
        evaluated_codes = users_of_truth(self.rules.evaluated, truth)
        if self.rules.evaluated != "all" and len(units) == len(evaluated_codes):
            return None
        users = units["user"] if numbered is None else numbered.ids_of(units)
        ids = vocabulary.decode(evaluated_codes) if numbered is None else pl.Series(evaluated_codes)
        missing = ids.filter(~ids.is_in(users.implode())).to_frame("user")
        return Tables(unlisted=nobody.with_frame(missing)) if len(missing) else None

    def _codes(self, piece: Tables) -> _Codes:
        """Return the codes that are kept, if they serve this piece, or new ones."""
        if piece.truth is None and self._kept:
            return self._kept[0]
        rows = [piece.recommendations, piece.truth or self.shared.truth, piece.unlisted]
        coded = (*self.facts.roles_with_ids, "train")
        return _Codes(
            IdSpace(
                [table for table in rows if table is not None],
                [table for role, table in self.shared.by_role.items() if role in coded],
                count_items=self.rules.numbers_items,
                units=piece.units or self.shared.units,
            )
        )

    def _lists(
        self,
        recommended: Recommendations | None,
        truth: Table,
        ids: IdSpace,
        counts: Counter[str],
        threads: int,
    ) -> tuple[Lists, Ties]:
        rules = self.rules
        if recommended is None:
            return (no_ranks() if rules.exact else Lists.none()), "input"
        ties = rules.ties_of(recommended)
        if rules.exact:
            lists = encode_exact_ranks(recommended, truth, ids, ties, counts)
        else:
            lists = encode_lists(
                recommended,
                ids,
                ids.owners,
                ties,
                rules.options.duplicates,
                counts,
                threads,
                id_type=rules.options.ids,
                in_order=rules.in_order,
            )
            limits = [k for k in (recommended.k, rules.options.depth) if k is not None]
            lists = replace(lists, limit=min(limits, default=None))
        counts.update(recommended.counts)
        return lists, ties

    def _unlisted(self, piece: Tables, ids: IdSpace, evaluated: Any, lists: Lists) -> Any:
        """Return the codes of the evaluated users without a list who belong to this piece."""
        if piece.unlisted is not None:
            return ids.owners.encode(piece.unlisted.frame["user"])
        if piece.truth is not None and not POPULATIONS[self.rules.evaluated].needs_list:
            unlisted = evaluated.copy()
            unlisted[lists.user] = False
            return np.flatnonzero(unlisted)
        return np.empty(0, dtype=np.int64)

    def _context(self, codes: _Codes, threads: int) -> EncodedSideInformation:
        """Encode the side information of metrics, again only if a piece brings new ids."""
        if not self.facts.facts:
            return EncodedSideInformation()
        units = codes.ids.units
        # Users without training are numbered before arrays by user are made.
        users = None if units is None else codes.ids.users.encode(units.users)
        sizes = codes.ids.users.size, codes.ids.items.size if self.rules.numbers_items else 0
        if codes.context is None or codes.sizes != sizes:
            codes.context = encode_side_information(
                self.facts, codes.ids, self.rules.options.duplicates, threads
            )
            if users is not None:
                codes.context = codes.context.of_requests(users, self._attributes_of_requests)
            codes.sizes = sizes
        return codes.context

    @property
    def _attributes_of_requests(self) -> set[str]:
        """The columns of groups that a table with one row per request has."""
        users = self.facts.tables.get("users")
        if users is None or REQUEST not in users.frame.columns:
            return set()
        return {
            fact.column for fact in self.facts.facts if fact.column not in self.facts.train_groups
        }


_LISTS = ("recommendations", "reference")


def normalise(tables: Tables, choices: Choices) -> Tables:
    """Apply ``order_by``, ``score_precision`` and ``ids``, before ids are matched."""
    changed: dict[Any, Any] = {
        role: _normalised(table, choices) for role, table in tables.by_role.items()
    }
    return replace(tables, **changed)


def _normalised(table: Table, choices: Choices) -> Table:
    frame = table.frame
    if table.role in _LISTS and "score" in frame.columns:
        if choices.order_by == "score" and "rank" in frame.columns:
            frame = frame.drop("rank")
        if choices.score_precision == "float32":
            frame = frame.with_columns(pl.col("score").cast(pl.Float32).cast(pl.Float64))
    # Integers are as good as the text that they are written as: they match text elsewhere.
    is_text = table.is_text or choices.ids == "text"
    if (
        frame is table.frame and is_text == table.is_text
    ):  # the same table, whose digest may be computed already
        return table
    return replace(table, frame=frame, is_text=is_text)
