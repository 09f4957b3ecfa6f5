"""The options of an evaluation: one list, from which signatures, checks and help derive.

`Settings` has every option once, with its default, its check and its description. Functions take
``**options: Unpack[…]`` with one of the typed dictionaries below, so that editors and mypy see each
option with its type; `rankwise.evaluation.signatures` gives them the whole signature and the
descriptions. The command line makes its options from the same fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache
from numbers import Real
from typing import (
    TYPE_CHECKING,
    Any,
    Self,
    TypedDict,
    get_args,
    get_type_hints,
)

from rankwise.core.arguments import bounded, check_choice, check_count, check_number, check_positive
from rankwise.core.choices import (
    Duplicates,
    Population,
    Ranks,
    Ties,
    Undefined,
    WithoutList,
)
from rankwise.errors import ParameterError, nearest

if TYPE_CHECKING:  # the help of the command line needs neither NumPy nor Polars
    from rankwise.measures.measure import Measure
    from rankwise.measures.read import MeasureLike

__all__ = [
    "DEFAULT_MEASURES", "RATING_MEASURES", "ListOptions", "PieceOptions", "RatingOptions",
    "Settings", "WholeOptions", "check_population", "option_fields", "option_types",
]  # fmt: skip

DEFAULT_MEASURES = ("precision@10", "recall@10", "ndcg@10", "map@10", "mrr@10", "hit_rate@10")
RATING_MEASURES = ("rmse", "mae", "ndcg@10", "precision@10", "recall@10")


class PieceOptions(TypedDict, total=False):
    """Options of every evaluation, also of one in pieces."""

    threshold: float | None
    relevance_threshold: float | None
    population: Population
    undefined: Undefined
    without_list: WithoutList
    duplicates: Duplicates
    ranks: Ranks
    by: str | Sequence[str]
    weights: str | Mapping[Any, float] | None
    columns: Mapping[str, str | None] | None
    threads: int | None
    block_size: int | None
    progress: bool | None


class WholeOptions(PieceOptions, total=False):
    """Options that also need all lists at once."""

    warm_and_cold: bool
    jackknife: int | None


class RatingOptions(WholeOptions, total=False):
    """Options that also give cut-offs to measures; `rankwise.evaluate_model` has another k."""

    k: int | Sequence[int] | None


class ListOptions(RatingOptions, total=False):
    """Options that also concern how the lists themselves are read."""

    ties: Ties | None
    exclude_seen: bool


def _option(default: Any, text: str, *, moves_numbers: bool = True, **more: Any) -> Any:
    """Make a field of `Settings`: the first sentence of its text is the command line's help.

    ``more`` has what the text alone does not say: ``flag``, ``metavar`` and ``by_default`` of the
    command line, ``type`` in words, the ``least`` value.
    """
    return field(default=default, compare=moves_numbers, metadata={"text": text, **more})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that is asked of an evaluation, checked once.

    Options that cannot move a number (threads, block size, progress) do not count in comparisons.
    """

    measures: tuple[Measure, ...]
    exact: bool = False
    """Whether recommendations are exact ranks of judged items."""
    adjusted: bool = field(default=False, compare=False)
    """Whether ``exclude_seen``, ``warm_and_cold`` and ``jackknife`` are done to the tables."""
    relevance_threshold: float | None = _option(
        None, "Minimum relevance of a relevant item. Without it every ground-truth row above 0 is "
        "relevant.", flag="--threshold",
    )  # fmt: skip
    population: Population = _option(
        "truth", "Which users are evaluated. Users with a relevant item (``\"truth\"``); those of "
        "them who also have a recommendation list (``\"both\"``); users with a list "
        "(``\"recommended\"``); users with a row in the ground truth, even if nothing in it is "
        "relevant (``\"judged\"``); or users with a relevant item or a list (``\"all\"``). One "
        "population for all measures.",
    )  # fmt: skip
    undefined: Undefined = _option(
        "skip", "Value of accuracy measures for an evaluated user without relevant items. None, "
        "0, or NaN for the mean as well.",
    )  # fmt: skip
    without_list: WithoutList = _option(
        "skip", "Value of list metrics for an evaluated user without a recommendation list. None, "
        "or 0, for metrics that describe lists (diversity, novelty, popularity, …). Accuracy "
        "metrics of such a user are 0 either way.",
    )  # fmt: skip
    ties: Ties | None = _option(
        None, "How equal scores are ordered. ``\"expected\"`` (the mean over all orders; the "
        "default where scores order the lists), ``\"input\"``, ``\"item\"``, ``\"item_desc\"``, "
        "``\"optimistic\"``, ``\"pessimistic\"``. Measures that describe lists take tied items in "
        "order of item id unless told otherwise.", by_default="expected where scores order",
        type="str",
    )  # fmt: skip
    duplicates: Duplicates = _option(
        "error", "What to do with an item that occurs twice in one list. Or twice for one user in "
        "the ground truth: raise, or keep the best-ranked (ground truth: the most relevant) and "
        "count what was dropped.",
    )  # fmt: skip
    ranks: Ranks = _option(
        "close", "What to do with gaps between the ranks of a list. Items below a gap move up, or "
        "keep their ranks (as RecTools does), for which measures of accuracy alone are defined. "
        "Lists with gaps are counted.",
    )  # fmt: skip
    exclude_seen: bool = _option(
        False, "Remove items of each user's training history from the lists. Items below them "
        "move up; both are counted, and so are relevant items that can then not be found. "
        "(`rankwise.rank` removes them before the lists are cut.)",
    )  # fmt: skip
    warm_and_cold: bool = _option(
        False, "Also evaluate warm and cold users and items. Users with and without training "
        "history, and relevant items that are in training and that are not, as slices.",
    )  # fmt: skip
    by: tuple[str, ...] = _option(
        (), "Columns of the users table whose groups are evaluated as well, or ``activity`` or "
        "``popularity``. These two are terciles of the training users: by their number of distinct "
        "training items, and by the mean number of training users of these items; the groups are "
        "``low``, ``middle``, ``high``, and ``none`` for users without training interactions. Bias "
        "disparity, whose cells are groups of users already, has no slices.", metavar="COLUMN",
        type="str or list of str",
    )  # fmt: skip
    weights: str | Mapping[Any, float] | None = _option(
        None, "Weight of each user. A column of ``users``, or ``{user: weight}``. Measures that "
        "sum over items (coverage, Gini, REO, …) take none.", metavar="COLUMN",
        type="str or mapping", hash=False,
    )  # fmt: skip
    jackknife: int | None = _option(
        None, "Number of jackknife groups for confidence intervals of metrics that are not "
        "per-user means. Coverage, Gini, entropy, measures of groups, …: their value is computed "
        "without each group of users, for `Result.interval` and for comparisons. 64 is plenty; "
        "memory for sums by item is that many catalogues.", metavar="GROUPS", least=2,
    )  # fmt: skip
    columns: Mapping[str, str | None] | None = _option(
        None, "Which column has which role, where names do not say so. ``{\"user\": \"uid\"}``, "
        "``{\"truth.relevance\": \"stars\"}``; None leaves a role without a column.",
        type="mapping of str to str or None", moves_numbers=False,
    )  # fmt: skip
    threads: int | None = _option(
        None, "Number of threads. By default one per processor; the result does not depend on it.",
        moves_numbers=False, by_default="one per processor",
    )  # fmt: skip
    block_size: int | None = _option(
        None, "Users per block. Chosen from the sizes by default; the result does not depend on "
        "it.", moves_numbers=False, by_default="by the sizes",
    )  # fmt: skip
    progress: bool | None = _option(
        None, "Show a progress bar on stderr. By default on a terminal, after a second.",
        moves_numbers=False, by_default="on a terminal",
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_choice("undefined", self.undefined, Undefined)
        check_choice("without_list", self.without_list, WithoutList)
        check_choice("duplicates", self.duplicates, Duplicates)
        check_choice("ranks", self.ranks, Ranks)
        check_choice("ties", "input" if self.ties is None else self.ties, Ties)
        check_choice("population", self.population, Population)
        check_number("relevance_threshold", self.relevance_threshold)
        check_positive(threads=self.threads, block_size=self.block_size)
        if self.jackknife is not None:
            check_count(least=2, jackknife=self.jackknife)
        given: Any = () if self.by is None else self.by
        by = (given,) if isinstance(given, str) else given
        by = bounded("by", by, 1_000) if isinstance(by, Iterable) else by
        if not isinstance(by, list) or not all(isinstance(name, str) for name in by):
            raise ParameterError("by names columns of the users", found=f"by={given!r}")
        if isinstance(self.weights, Real | Sequence) and not isinstance(self.weights, str):
            raise ParameterError(
                "weights is the name of a column of the users, or a mapping of users",
                found=f"weights={self.weights!r}"[:80], hint='pass weights={"ann": 0.5, …}',
            )  # fmt: skip
        named = self.columns if isinstance(self.columns, Mapping) else {}
        words = all(isinstance(key, str) and isinstance(name, str | None)
                    for key, name in named.items())  # fmt: skip
        if not isinstance(self.columns, Mapping | None) or not words:
            raise ParameterError(
                "columns maps roles to names of columns", found=f"columns={self.columns!r}",
                hint='write columns={"user": "uid"}',
            )  # fmt: skip
        plain = {
            "by": tuple(by), "exclude_seen": bool(self.exclude_seen),
            "warm_and_cold": bool(self.warm_and_cold),
            "columns": None if self.columns is None else dict(self.columns),
            "relevance_threshold": _plain(float, self.relevance_threshold),
        } | {
            name: _plain(int, getattr(self, name))
            for name in ("jackknife", "threads", "block_size")
        }  # fmt: skip
        for name, value in plain.items():  # plain values travel as JSON
            object.__setattr__(self, name, value)

    @classmethod
    def read(
        cls,
        measures: MeasureLike | Iterable[MeasureLike],
        options: Mapping[str, Any],
        known: type = ListOptions,
        **explicit: Any,
    ) -> Self:
        """Check options and measures.

        Parameters
        ----------
        measures : str, measure, or a list of them
            The measures.
        options : mapping of str to object
            The options that were given.
        known : type, default=ListOptions
            The typed dictionary of the options that the caller takes.
        **explicit : object
            Options that the caller's signature names.

        Raises
        ------
        UsageError
            If a measure or an option makes no sense.
        TypeError
            If there is no such option.
        """
        for name in options:
            if name not in known.__annotations__:
                hint = nearest(name, known.__annotations__)
                ending = f"; {hint}" if hint else ""
                raise TypeError(f"unexpected keyword argument {name!r}{ending}")
        given = dict(options)
        if "threshold" in given:
            if given.get("relevance_threshold") not in (None, given["threshold"]):
                found = f"{given['threshold']} and {given['relevance_threshold']}"
                raise ParameterError(
                    "threshold and relevance_threshold are the same option", found=found
                )
            given["relevance_threshold"] = given.pop("threshold")
        requested = _at(measures, given.pop("k", None))
        return cls(measures=requested, **given, **explicit)

    @property
    def needs_relevant(self) -> bool:
        """Whether some item must be relevant, because users without any have no value."""
        return self.population in ("truth", "both") or self.undefined == "skip"

    def to_dict(self) -> dict[str, Any]:
        """Return what a result says about its settings, as plain values."""
        weights = self.weights if self.weights is None or isinstance(self.weights, str) else "given"
        return {
            "measures": [str(measure) for measure in self.measures],
            "population": self.population,
            "undefined": self.undefined,
            "without_list": self.without_list,
            "relevance_threshold": self.relevance_threshold,
            "duplicates": self.duplicates,
            "ties": self.ties,
            "ranks": self.ranks,
            "by": list(self.by),
            "weights": weights,
            "exclude_seen": self.exclude_seen,
            "exact": self.exact,
        }


def _at(
    measures: MeasureLike | Iterable[MeasureLike], k: int | Sequence[int] | None
) -> tuple[Measure, ...]:
    """Return the measures, those without a cut-off at ``k``."""
    from rankwise.measures.read import parse_all

    if k is None:
        return parse_all(measures)
    if measures is DEFAULT_MEASURES or measures is RATING_MEASURES:
        measures = [str(name).partition("@")[0] for name in measures]
    parsed = parse_all(measures, cutoffs=False)
    open_ = [measure for measure in parsed if not measure.k and measure.cutoff != "none"]
    if not open_:
        raise ParameterError(
            "k gives a cut-off to measures that name none, and all of these name one or take none",
            found=f"k={k}, {', '.join(map(str, parsed))}",
            hint="leave k out, or leave the cut-offs out of the names",
        )
    return parse_all([measure @ k if measure in open_ else measure for measure in parsed])


def _plain(kind: type[Any], value: Any) -> Any:
    return None if value is None else kind(value)


def check_population(users: object) -> None:
    """Raise if a population was given in place of the users table."""
    if isinstance(users, str) and users in get_args(Population):
        raise ParameterError(
            "users= takes a table of users; who counts is population=",
            found=f"users={users!r}",
            hint=f'write population="{users}"',
        )


def option_fields() -> dict[str, Field[Any]]:
    """Return the fields of `Settings` that are options, by name."""
    return {entry.name: entry for entry in fields(Settings) if "text" in entry.metadata}


def option_summary(field: Field[Any]) -> str:
    """Return the first sentence about an option, without its full stop and markup."""
    return str(field.metadata["text"].partition(". ")[0].rstrip(".").replace("``", ""))


@cache
def option_types() -> dict[str, Any]:
    """Return the type of each option, by name."""
    return get_type_hints(ListOptions)
