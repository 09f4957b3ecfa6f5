"""Recommendation lists and scores requested from a model, with failures recorded per user."""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arrays import is_masked
from rankwise.errors import EmptyError, IdError, InputError, ParameterError, ScoreError
from rankwise.messages import call
from rankwise.tables.containers import read_labelled

_FAILURES = (Exception, pl.exceptions.PanicException)
"""Errors of a model that do not stop the evaluation; panics of Polars are not an `Exception`."""

_LOG = logging.getLogger("rankwise")
_LOGGED = 20  # reasons that are logged; failures for other reasons are only counted
_LONGEST = 1_000_000  # items of one list: a model that yields more may never end

_MANY = {"users", "userids", "uids", "userlist", "queries"}
_WRAPPED = {
    "implicit": "Implicit",
    "lenskit": "LensKit",
    "rectools": "RecTools",
    "surprise": "Surprise",
    "cornac": "Cornac",
    "lightfm": "LightFM",
}

ScoredItems: TypeAlias = "tuple[list[Any], list[float] | None]"
"""Items, best first, and their scores if the model returns them."""


class FailureLog:
    """Log of the first failure of each reason; further failures are only counted."""

    def __init__(self) -> None:
        self._users: Counter[str] = Counter()

    def add(self, user: Any, why: str) -> None:
        """Log a failure, unless a similar failure was logged, or very many failures were."""
        alike = why.replace(repr(user), "")
        self._users[alike] += 1
        if self._users[alike] > 1 or len(self._users) > _LOGGED:
            return
        _LOG.warning("the model failed for user %r: %s", user, why)
        if len(self._users) == _LOGGED:
            _LOG.warning("further failures are counted, not logged")

    def close(self) -> None:
        """Log for how many users the model failed, if that was not said of each."""
        failures = sum(self._users.values())
        if failures > len(self._users) or failures > _LOGGED:
            _LOG.warning("the model failed for %d users in all", failures)


@dataclass
class ModelLists:
    """The recommendation lists of a model in the order of users, and the users without one.

    ``item_type`` is ``str`` or ``int``; None for that of the first list. ``too_long`` is the number
    of lists that were longer than requested; only the requested items are kept.
    """

    item_type: type | None = None
    users: list[Any] = field(default_factory=list)
    lists: list[ScoredItems] = field(default_factory=list)
    failed: dict[Any, str] = field(default_factory=dict)
    too_long: int = 0
    log: FailureLog = field(default_factory=FailureLog, repr=False)

    def add(self, user: Any, output: Any, n: int) -> None:
        """Add the first n items of a model's output for a user; malformed output is a failure."""
        try:
            items, scores = _parse(output, min(n, _LONGEST) + 1)
            if len(items) > _LONGEST:
                raise InputError(f"a list has more than {_LONGEST:,} items")
            kept = items[:n]
            self.item_type = _check_items(kept, self.item_type)
        except _FAILURES as error:
            self.fail(user, reason(error))
            return
        self.too_long += len(items) > n
        self.users.append(user)
        self.lists.append((kept, scores[:n] if scores is not None else None))

    def fail(self, user: Any, why: str) -> None:
        """Record and log that the model has no list for a user."""
        self.failed[user] = why
        self.log.add(user, why)

    def frame(self, users: pl.Series) -> pl.DataFrame:
        """Return columns ``user``, ``item``, ``rank`` and, if all lists have scores, ``score``."""
        lengths = [len(items) for items, _ in self.lists]
        owner = np.repeat(np.arange(len(self.users)), lengths)
        flat = [item for items, _ in self.lists for item in items]
        starts = np.cumsum([0, *lengths])[:-1]
        ids = pl.Series("user", self.users, dtype=users.dtype)
        items = pl.Series("item", flat, dtype=pl.String if self.item_type is str else pl.Int64)
        frame = pl.DataFrame({"user": ids.gather(owner), "item": items})
        frame = frame.with_columns(rank=np.arange(len(flat)) - np.repeat(starts, lengths) + 1)
        if all(scores is not None for _, scores in self.lists):
            flat_scores = [score for _, scores in self.lists for score in scores or []]
            frame = frame.with_columns(score=pl.Series(flat_scores, dtype=pl.Float64))
        return frame


def reason(error: BaseException) -> str:
    """Return the error that a model raised, on one line."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an error of a model may be unable to say what it is
        text = type(error).__name__
    return "; ".join(line.strip() for line in text.splitlines())[:200]


def check_model(model: Any) -> None:
    """Raise unless a model has ``recommend`` or ``predict`` and needs no adapter."""
    library = type(model).__module__.split(".")[0]
    if library in _WRAPPED:
        raise ParameterError(
            f"a model of {library} needs an adapter",
            found=type(model).__name__,
            hint=f"wrap it: rankwise.models.{_WRAPPED[library]}(model, …)",
        )
    if not any(callable(getattr(model, name, None)) for name in ("recommend", "predict")):
        raise ParameterError(
            "a model must have recommend(user_id, n), recommend(user_ids, n) or predict(user_ids)",
            found=type(model).__name__,
            hint=f"{call('evaluate')} takes lists, rw.rank takes scores and factors",
        )


def asks_many(model: Any) -> bool:
    """Return whether ``recommend`` takes many users, by the name of its first parameter.

    >>> class Model:
    ...     def recommend(self, user_ids, n): ...
    >>> asks_many(Model())
    True
    """
    try:
        signature = inspect.signature(model.recommend)
    except (TypeError, ValueError):  # compiled code may have no signature
        return False
    names = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return bool(names) and names[0].replace("_", "").lower() in _MANY


def request_lists(
    model: Any,
    users: Sequence[Any],
    n_for: Callable[[Sequence[Any]], int],
    *,
    item_type: type | None,
    many: bool,
    batch_size: int,
    advance: Callable[[int], object],
) -> ModelLists:
    """Call ``model.recommend`` for all users, and return the lists and the failures.

    ``n_for`` maps users to the number of items to request for them. If ``many`` users of a batch
    are requested at once and the call raises, each of them gets a separate call. ``advance`` is
    called with the number of users after each batch.
    """
    lists = ModelLists(item_type)

    def request(batch: Sequence[Any], *, retry: bool) -> None:
        n = n_for(batch)
        try:
            output = model.recommend(batch if many else batch[0], n)
            by_user = dict(_by_user(output, batch)) if many else {batch[0]: output}
        except _FAILURES as error:  # the output may be anything, also lazy
            if not retry:
                lists.fail(batch[0], reason(error))
                return
            for user in batch:
                request([user], retry=False)
            return
        for user in batch:
            if user in by_user:
                lists.add(user, by_user[user], n)
            else:
                lists.fail(user, "no answer")

    step = batch_size if many else 1
    for first in range(0, len(users), step):
        batch = users[first : first + step]
        request(batch, retry=many)
        advance(len(batch))
    lists.log.close()
    return lists


def _by_user(output: Any, users: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Split the output for many users into pairs of a user and the user's output."""
    if isinstance(output, Mapping):
        return output.items()
    if _is_table(output):
        return _table_by_user(pl.DataFrame(output))
    arrays = isinstance(output, tuple) and all(hasattr(part, "shape") for part in output)
    if arrays and len(output) == 2 and np.ndim(output[0]) == 2:
        output = [(items, scores) for items, scores in zip(*output, strict=True)]
    rows = list(islice(output, len(users) + 1))
    if len(rows) != len(users) or any(np.isscalar(row) for row in rows):
        more = "or more " if len(rows) > len(users) else ""
        raise InputError(
            "recommend must return one list per user when called with several users",
            found=f"{len(rows)} {more}answers for {len(users)} users",
        )
    return zip(users, rows, strict=True)


def _is_table(output: Any) -> bool:
    return hasattr(output, "__arrow_c_stream__") and hasattr(output, "columns")


def _table_by_user(frame: pl.DataFrame) -> Iterable[tuple[Any, Any]]:
    names = _columns(frame)
    if "user" not in names or "item" not in names:
        raise InputError(
            "a table of recommendations must have columns for users and items",
            found=", ".join(frame.columns),
        )
    for (user,), rows in frame.group_by(names["user"], maintain_order=True):
        yield user, rows


def _columns(frame: pl.DataFrame) -> dict[str, str]:
    """Return the column for each role: ``user_id``, ``userId`` and ``user`` are the user."""
    return {name.lower().replace("_", "").removesuffix("id"): name for name in frame.columns}


def _parse(output: Any, most: int) -> ScoredItems:
    """Return the list in a user's output: items, (item, score) pairs, a mapping, table or arrays.

    Lists keep their order, and no more than ``most`` of their items are taken, since a generator
    need not end; tables are sorted by rank, else by score, as in `rankwise.evaluate`.
    """
    if isinstance(output, str | bytes | set | frozenset):
        raise InputError(
            "a recommendation list must be ordered: neither text nor a set", found=repr(output)[:60]
        )
    if _is_table(output):
        return _parse_table(pl.DataFrame(output))
    if hasattr(output, "to_dict") and hasattr(output, "index"):
        output = read_labelled(output, "recommendations", "the output of the model")
    if isinstance(output, Mapping):
        pairs = sorted(output.items(), key=lambda pair: -pair[1])
        return _split_pairs(pairs)
    if isinstance(output, tuple) and len(output) == 2 and all(map(_is_column, output)):
        return _parse_columns(*output)

    rows = _to_list(output, most)
    if not rows or not all(map(_is_pair, rows)):
        return rows, None
    items, scores = _split_pairs(rows)
    if isinstance(output, np.ndarray):  # one array of items and scores holds items as floats
        items = [int(i) if isinstance(i, float) and i.is_integer() else i for i in items]
    return items, scores


def _parse_columns(items: Any, scores: Any) -> ScoredItems:
    """Return the list of two columns of one length."""
    items, scores = _to_list(items), _to_list(scores)
    if len(items) != len(scores):
        raise InputError(
            "items and scores are of different lengths", found=f"{len(items)} and {len(scores)}"
        )
    return items, _to_floats(scores)


def _is_pair(row: Any) -> bool:
    return isinstance(row, tuple | list) and len(row) == 2


def _split_pairs(pairs: Sequence[Any]) -> ScoredItems:
    """Return the items and the scores of pairs."""
    return [item for item, _ in pairs], _to_floats([score for _, score in pairs])


def _parse_table(frame: pl.DataFrame) -> ScoredItems:
    names = _columns(frame)
    if "item" not in names:
        raise InputError(
            "a table of recommendations must have a column for items", found=str(frame.columns)
        )
    if "rank" in names:
        frame = frame.sort(names["rank"], maintain_order=True)
    elif "score" in names:
        frame = frame.sort(names["score"], descending=True, maintain_order=True)
    items = frame[names["item"]].to_list()
    return items, _to_floats(frame[names["score"]].to_list()) if "score" in names else None


def _check_items(items: list[Any], required: type | None) -> type | None:
    """Return the type of items, ``str`` or ``int``; raise unless all have the required type."""
    for item in items:
        item_type = str if isinstance(item, str) else int
        if not isinstance(item, str | int | np.integer) or isinstance(item, bool):
            raise InputError("items are integers or strings", found=repr(item)[:60])
        if item_type is not (required or item_type):
            raise InputError(
                "item ids are integers and strings, not all of one type", found=repr(item)[:60]
            )
        if not isinstance(item, str) and not -(2**63) <= int(item) < 2**63:
            raise IdError("an item id does not fit 64 bits", found=repr(item)[:60])
        required = item_type
    text = "".join(items) if required is str else ""
    try:
        text.encode()
    except UnicodeEncodeError as error:  # half of a character, as broken decoding leaves them
        raise IdError(
            "an item id is not valid Unicode", found=repr(text[error.start : error.end])
        ) from error
    return required


def _is_column(part: Any) -> bool:
    """Return whether part of a pair is a column of items or scores, not one item or score."""
    return isinstance(part, np.ndarray | list) and np.ndim(part) == 1


def _to_list(values: Any, most: int | None = None) -> list[Any]:
    return list(islice(values.tolist() if hasattr(values, "tolist") else values, most))


def _to_floats(scores: Sequence[Any]) -> list[float]:
    if np.iscomplexobj(scores):
        raise ScoreError("a score is a complex number", found=repr(scores)[:60])
    out = [float(score) for score in scores]
    if not np.isfinite(out).all():
        raise ScoreError("a score is NaN or infinite", found=repr(out)[:60])
    return out


Scores: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


class Predictions:
    """Predicted scores of ``model.predict(users)``; minus infinity where the model fails.

    ``width`` is the number of items; 0 for the number of scores of the first user for whom the
    model does not fail. ``failed`` maps the users for whom the model failed to the reason.
    """

    def __init__(self, model: Any, users: Sequence[Any], width: int) -> None:
        self._model, self._users, self.width = model, users, width
        self.failed: dict[Any, str] = {}
        self._log = FailureLog()
        self._width_source = ""
        if not width:
            for user in users:
                self.width = len(self._scores_of_one(user))
                if self.width:
                    self._width_source = f", as for user {user!r}"
                    break
        if not self.width:
            raise self.no_scores()

    def no_scores(self) -> EmptyError:
        """Return the error for a model that fails for all users."""
        return EmptyError(
            "the model predicted no valid scores for any user",
            found=next(iter(self.failed.values()), None),
        )

    def scores(self, codes: Any) -> Scores:
        """Return the scores of the users with these codes, one row per user."""
        users = [self._users[code] for code in codes]
        try:
            return self._predict(users)
        except _FAILURES:  # find out for which user
            return np.stack([self._scores_of_one(user) for user in users])

    def _scores_of_one(self, user: Any) -> Scores:
        """Return the scores of one user; record a failure, and return minus infinity instead."""
        try:
            return np.asarray(self._predict([user])[0])
        except _FAILURES as error:
            if user not in self.failed:
                self.failed[user] = reason(error)
                self._log.add(user, self.failed[user])
            return np.full(self.width, -np.inf)

    def _predict(self, users: list[Any]) -> Scores:
        """Return the model's scores of these users; raise if shape or values are not valid."""
        output = self._model.predict(users)
        if np.iscomplexobj(output) or is_masked(output):
            raise InputError(
                "predicted scores must be real numbers, without a mask",
                found=f"a {type(output).__name__} of {output.dtype}",
            )
        scores: Scores = np.asarray(output, dtype=np.float64)
        n_items = self.width or "some"
        has_width = scores.ndim == 2 and (not self.width or scores.shape[1] == self.width)
        if not has_width or len(scores) != len(users):
            raise InputError(
                "predict must return one row per user and one column per item",
                found=f"shape {scores.shape} for {len(users)} users and {n_items} items"
                + self._width_source,
            )
        if np.isnan(scores).any() or (scores == np.inf).any():
            raise InputError("a predicted score is NaN or infinite")
        for user in users:  # the model may have failed for them in an earlier call
            self.failed.pop(user, None)
        return scores
