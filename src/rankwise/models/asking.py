"""Asking a model for lists: one user or many at a time, in whatever form it answers."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.errors import InputError, ParameterError, ScoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Answers", "ask", "asks_many", "check_model", "log_failure"]

_LOG = logging.getLogger("rankwise")
_LOUD = 20  # failures that are logged one by one; the rest is counted

_MANY = {"users", "userids", "uids", "userlist", "queries"}
_WRAPPED = {"implicit": "Implicit", "lenskit": "LensKit", "rectools": "RecTools",
            "surprise": "Surprise", "cornac": "Cornac", "lightfm": "LightFM"}  # fmt: skip

Answer: TypeAlias = "tuple[list[Any], list[float] | None]"
"""Items, best first, and their scores if the model says them."""


@dataclass
class Answers:
    """What a model said: lists in the order of users, and who got none and why.

    ``kind`` is what items are, ``str`` or ``int``; None: as the first answer has it.
    """

    kind: type | None = None
    users: list[Any] = field(default_factory=list)
    lists: list[Answer] = field(default_factory=list)
    failed: dict[Any, str] = field(default_factory=dict)

    def add(self, user: Any, answer: Any) -> None:
        """Take an answer, or note that it cannot be read."""
        try:
            items, scores = _read(answer)
            self.kind = _kind(items, self.kind)
        except Exception as error:  # noqa: BLE001 - an answer may be anything, lazy ones too
            self.fail(user, error)
            return
        self.users.append(user)
        self.lists.append((items, scores))

    def fail(self, user: Any, error: BaseException | str) -> None:
        """Note that the model has nothing to say for a user, and log it."""
        said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self.failed[user] = said.splitlines()[0] if said else "no reason given"
        log_failure(len(self.failed), user, self.failed[user])

    def frame(self, users: pl.Series) -> pl.DataFrame:
        """Return columns ``user``, ``item``, ``rank`` and, where all lists have them, ``score``."""
        lengths = [len(items) for items, _ in self.lists]
        owner = np.repeat(np.arange(len(self.users)), lengths)
        flat = [item for items, _ in self.lists for item in items]
        starts = np.cumsum([0, *lengths])[:-1]
        ids = pl.Series("user", self.users, dtype=users.dtype)
        items = pl.Series("item", flat, dtype=pl.String if self.kind is str else pl.Int64)
        frame = pl.DataFrame({"user": ids.gather(owner), "item": items})
        frame = frame.with_columns(rank=np.arange(len(flat)) - np.repeat(starts, lengths) + 1)
        if all(scores is not None for _, scores in self.lists):
            scores = [score for _, own in self.lists for score in own or []]
            frame = frame.with_columns(score=pl.Series(scores, dtype=pl.Float64))
        return frame


def log_failure(number: int, user: Any, why: str) -> None:
    """Log a failure; after many, say that the rest is only counted."""
    if number <= _LOUD:
        _LOG.warning("the model failed for user %r: %s", user, why)
    if number == _LOUD:
        _LOG.warning("further failures are counted, not logged")


def check_model(model: Any) -> None:
    """Raise unless a model can be asked for lists or scores."""
    home = type(model).__module__.split(".")[0]
    if home in _WRAPPED:
        raise ParameterError(
            f"a model of {home} is asked in its own way",
            found=type(model).__name__,
            hint=f"wrap it: rankwise.models.{_WRAPPED[home]}(model, …)",
        )
    if not callable(getattr(model, "recommend", None)) and not callable(
        getattr(model, "predict", None)
    ):
        raise ParameterError(
            "a model has recommend(user_id, n), recommend(user_ids, n) or predict(user_ids)",
            found=type(model).__name__,
            hint="rw.evaluate takes lists, rw.rank takes scores and factors",
        )


def asks_many(model: Any) -> bool:
    """Whether ``recommend`` takes many users: by the name of its first parameter.

    >>> class Model:
    ...     def recommend(self, user_ids, n): ...
    >>> asks_many(Model())
    True
    """
    try:
        signature = inspect.signature(model.recommend)
    except (TypeError, ValueError):  # compiled code may have none
        return False
    names = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return bool(names) and names[0].replace("_", "").lower() in _MANY


def ask(
    model: Any,
    users: Sequence[Any],
    n_of: Callable[[Sequence[Any]], int],
    *,
    kind: type | None,
    many: bool,
    batch_size: int,
    done: Callable[[int], None],
) -> Answers:
    """Ask a model for every user's items.

    Parameters
    ----------
    model : object
        It has ``recommend``.
    users : sequence
        Their ids.
    n_of : callable
        How many items to ask for, for some users.
    kind : type or None
        What items are: ``str``, ``int``, or None for either.
    many : bool
        Whether ``recommend`` takes many users. Where it raises for some, each is asked alone.
    batch_size : int
        Users asked about at a time.
    done : callable
        Told how many users have been asked about.
    """
    answers = Answers(kind)
    step = batch_size if many else 1
    for first in range(0, len(users), step):
        batch = users[first : first + step]
        if many:
            _ask_many(model, batch, n_of, answers)
        else:
            _ask_one(model, batch[0], n_of, answers, many=False)
        done(len(batch))
    return answers


def _ask_one(
    model: Any, user: Any, n_of: Callable[[Sequence[Any]], int], answers: Answers, *, many: bool
) -> None:
    n = n_of([user])
    try:
        if many:
            found = dict(_each(model.recommend([user], n), [user]))
        else:
            found = {user: model.recommend(user, n)}
    except Exception as error:  # noqa: BLE001 - whatever a model does, the run goes on
        answers.fail(user, error)
        return
    if user in found:
        answers.add(user, found[user])
    else:
        answers.fail(user, "no answer")


def _ask_many(
    model: Any, users: Sequence[Any], n_of: Callable[[Sequence[Any]], int], answers: Answers
) -> None:
    try:
        found = dict(_each(model.recommend(users, n_of(users)), users))
    except Exception:  # noqa: BLE001 - find out for whom
        for user in users:
            _ask_one(model, user, n_of, answers, many=True)
        return
    for user in users:
        if user in found:
            answers.add(user, found[user])
        else:
            answers.fail(user, "no answer")


def _each(answer: Any, users: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """Split an answer for many users into one for each."""
    if isinstance(answer, Mapping):
        return answer.items()
    if _is_table(answer):
        return _of_table(pl.DataFrame(answer))
    arrays = isinstance(answer, tuple) and all(hasattr(part, "shape") for part in answer)
    if arrays and len(answer) == 2 and np.ndim(answer[0]) == 2:
        answer = [(items, scores) for items, scores in zip(*answer, strict=True)]
    rows = list(answer)
    if len(rows) != len(users) or any(np.isscalar(row) for row in rows):
        raise InputError("a model that is asked for many users gives a list for each",
                         found=f"{len(rows)} answers for {len(users)} users")  # fmt: skip
    return zip(users, rows, strict=True)


def _is_table(answer: Any) -> bool:
    return hasattr(answer, "__arrow_c_stream__") and hasattr(answer, "columns")


def _of_table(frame: pl.DataFrame) -> Iterable[tuple[Any, Any]]:
    names = _names(frame)
    if "user" not in names or "item" not in names:
        raise InputError("a table of recommendations has users and items",
                         found=", ".join(frame.columns))  # fmt: skip
    for (user,), own in frame.group_by(names["user"], maintain_order=True):
        yield user, own


def _names(frame: pl.DataFrame) -> dict[str, str]:
    return {name.lower().replace("_", "").removesuffix("id"): name for name in frame.columns}


def _read(answer: Any) -> Answer:
    """Read items, pairs of item and score, ``{item: score}``, a table, or two arrays.

    Lists are taken in their order, tables by rank, else by score, as tables are everywhere.
    """
    if isinstance(answer, str | bytes | set | frozenset):
        raise InputError("a list of items is neither text nor a set, which has no order",
                         found=repr(answer)[:60])  # fmt: skip
    if _is_table(answer):
        return _read_table(pl.DataFrame(answer))
    if hasattr(answer, "to_dict") and hasattr(answer, "index"):  # a pandas Series of scores
        labels = list(answer.index)
        if labels != list(range(len(labels))):
            answer = dict(zip(labels, _plain(answer), strict=True))
    if isinstance(answer, Mapping):
        pairs = sorted(answer.items(), key=lambda pair: -pair[1])
        return [item for item, _ in pairs], _numbers([score for _, score in pairs])
    if isinstance(answer, tuple) and len(answer) == 2 and all(_is_row(part) for part in answer):
        items, scores = (_plain(part) for part in answer)
        if len(items) != len(scores):
            raise InputError("items and scores are of different lengths",
                             found=f"{len(items)} and {len(scores)}")  # fmt: skip
        return items, _numbers(scores)
    rows = _plain(answer)
    if rows and all(isinstance(row, tuple | list) and len(row) == 2 for row in rows):
        items = [row[0] for row in rows]
        if isinstance(answer, np.ndarray):  # one array for both makes floats of the items
            items = [int(i) if isinstance(i, float) and i.is_integer() else i for i in items]
        return items, _numbers([row[1] for row in rows])
    return rows, None


def _read_table(frame: pl.DataFrame) -> Answer:
    names = _names(frame)
    if "item" not in names:
        raise InputError("a table of recommendations has items", found=str(frame.columns))
    if "rank" in names:
        frame = frame.sort(names["rank"], maintain_order=True)
    elif "score" in names:
        frame = frame.sort(names["score"], descending=True, maintain_order=True)
    items = frame[names["item"]].to_list()
    return items, _numbers(frame[names["score"]].to_list()) if "score" in names else None


def _kind(items: list[Any], wanted: type | None) -> type | None:
    """Return what items are; raise unless they are all of the kind that is wanted."""
    for item in items:
        own = str if isinstance(item, str) else int
        if not isinstance(item, str | int | np.integer) or isinstance(item, bool):
            raise InputError("items are integers or strings", found=repr(item)[:60])
        if own is not (wanted or own):
            raise InputError("items are integers here and strings there", found=repr(item)[:60])
        wanted = own
    return wanted


def _is_row(part: Any) -> bool:
    """Whether one of two things is a column: items beside their scores, not an (item, score)."""
    return isinstance(part, np.ndarray | list) and np.ndim(part) == 1


def _plain(values: Any) -> list[Any]:
    return list(values.tolist()) if hasattr(values, "tolist") else list(values)


def _numbers(scores: Sequence[Any]) -> list[float]:
    out = [float(score) for score in scores]
    if not np.isfinite(out).all():
        raise ScoreError("a score is NaN or infinite", found=repr(out)[:60])
    return out
