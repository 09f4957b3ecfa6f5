"""The options of an evaluation: one list, from which signatures, checks and help derive.

`Settings` has every option once, with its default, its check and its description. Functions take
``**options: Unpack[…]`` with one of the typed dictionaries of `rankwise.evaluation.option_sets`, so
that editors and mypy see each option with its type; `rankwise.evaluation.signatures` gives them the
whole signature and the descriptions. The command line makes its options from the same fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Self, get_args

from rankwise.core.arguments import bounded, check_choice, check_count, check_number, check_positive
from rankwise.core.choices import (
    ANY_ROW,
    CatalogueRule,
    Duplicates,
    IdType,
    OrderBy,
    Population,
    Ranks,
    Relevance,
    ScorePrecision,
    Ties,
    Undefined,
    WithoutList,
)
from rankwise.core.user_rules import UserRule, UserRules, population_of_all
from rankwise.errors import ParameterError
from rankwise.evaluation.option_sets import ListOptions
from rankwise.evaluation.wanted import DEFAULT_MEASURES, RATING_MEASURES, options_under, requested

if TYPE_CHECKING:  # the help of the command line needs neither NumPy nor Polars
    from rankwise.convention.convention import Convention
    from rankwise.encoding.readings import Readings
    from rankwise.measures.measure import Measure
    from rankwise.measures.read import MeasureLike

__all__ = [
    "DEFAULT_MEASURES", "RATING_MEASURES", "Settings", "check_population", "option_fields",
    "option_summary",
]  # fmt: skip


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
    exceptions: tuple[tuple[str, UserRule], ...] = ()
    """The rules of measures, by name without cut-offs, that differ from those of the others."""
    ties_if_scored: bool = False
    """Whether ``ties`` holds only where scores order the lists, as that of a convention does."""
    convention: Convention | None = _option(
        None, "The convention whose numbers are wanted. The name of one "
        "(`rankwise.conventions` lists them), or a `rankwise.Convention`: measures that are given "
        "as text are read in its language, and its choices hold unless an option says otherwise.",
        metavar="NAME", type="str or Convention", by_default="rankwise's defaults",
    )  # fmt: skip
    relevance_threshold: float | None = _option(
        None, "Minimum relevance of a relevant item. Without it every ground-truth row above 0 is "
        "relevant.", flag="--threshold",
    )  # fmt: skip
    relevance: Relevance = _option(
        "positive", "Which rows of the ground truth are relevant without a threshold. Those with a "
        "relevance above 0; or any row, as in libraries that know no grades.",
    )  # fmt: skip
    population: Population = _option(
        "truth", "Which users are evaluated. Users with a relevant item (``\"truth\"``); those of "
        "them who also have a recommendation list (``\"both\"``); users with a list "
        "(``\"recommended\"``); users with a row in the ground truth, even if nothing in it is "
        "relevant (``\"judged\"``), those of them who have a list (``\"judged_both\"``); or users "
        "with a relevant item or a list (``\"all\"``). One population for all measures, unless a "
        "convention has another one for some.",
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
    order_by: OrderBy = _option(
        "rank", "What orders lists that have ranks and scores. Ranks; or scores, and ranks are not "
        "read.",
    )  # fmt: skip
    ids: IdType = _option(
        "typed", "How ids are compared. As they are; or as text: integers match text that is "
        "written alike, and ``\"10\"`` comes before ``\"9\"`` where ids order tied items.",
    )  # fmt: skip
    score_precision: ScorePrecision = _option(
        "float64", "Precision of the scores that order lists. In 32 bits scores tie that differ in "
        "the eighth digit alone.",
    )  # fmt: skip
    catalogue: CatalogueRule = _option(
        "items", "Which items are the catalogue. Those of ``items``, without it every item seen; "
        "or those of ``train`` alone.",
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
        check_choice("order_by", self.order_by, OrderBy)
        check_choice("ids", self.ids, IdType)
        check_choice("score_precision", self.score_precision, ScorePrecision)
        check_choice("catalogue", self.catalogue, CatalogueRule)
        check_choice("relevance", self.relevance, Relevance)
        if self.relevance_threshold != ANY_ROW:
            check_number("relevance_threshold", self.relevance_threshold)
        if self.relevance == "any" and self.relevance_threshold is None:
            object.__setattr__(self, "relevance_threshold", ANY_ROW)
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
        wanted, convention, given = requested(measures, options, known)
        if (ties := explicit.pop("ties", None)) is not None:
            given["ties"] = ties
        return cls.of(wanted, convention, given, **explicit)

    @classmethod
    def of(
        cls, measures: tuple[Measure, ...], convention: Convention | None,
        given: Mapping[str, Any], **explicit: Any,
    ) -> Self:  # fmt: skip
        """Return the settings of measures that are read already."""
        options = given if convention is None else options_under(convention, measures, given)
        return cls(measures=measures, **{**options, **explicit})

    @cached_property
    def rules(self) -> UserRules:
        """Who each measure is averaged over, and what users count whom it is not defined for."""
        rule = UserRule(self.population, self.undefined, self.without_list)
        return UserRules(rule, dict(self.exceptions))

    @cached_property
    def readings(self) -> Readings:
        """How ids and scores of the tables are taken."""
        from rankwise.encoding.readings import Readings

        return Readings(self.order_by, self.ids, self.score_precision)

    @cached_property
    def evaluated(self) -> Population:
        """The population of all measures together.

        Raises
        ------
        ParameterError
            If no population has the users of all measures.
        """
        rules = [self.rules.of(str(measure @ ())) for measure in self.measures]
        wanted = {rule.population for rule in rules} or {self.population}
        widest = population_of_all(wanted)
        if widest is None:
            raise ParameterError(
                "these measures are averaged over users that one evaluation does not have",
                found=", ".join(sorted(wanted)), hint="evaluate them in two calls",
            )  # fmt: skip
        return widest

    @property
    def needs_relevant(self) -> bool:
        """Whether some item must be relevant, because users without any have no value."""
        rules = [self.rules.of(str(measure @ ())) for measure in self.measures]
        return all(not rule.counts_irrelevant or rule.undefined == "skip" for rule in rules)

    def to_dict(self) -> dict[str, Any]:
        """Return what a result says about its settings, as plain values."""
        weights = self.weights if self.weights is None or isinstance(self.weights, str) else "given"
        return {
            "measures": [str(measure) for measure in self.measures],
            "convention": "default" if self.convention is None else self.convention.name,
            "population": self.population,
            "undefined": self.undefined,
            "without_list": self.without_list,
            "relevance": self.relevance,
            "relevance_threshold": None
            if self.relevance_threshold == ANY_ROW
            else self.relevance_threshold,
            "duplicates": self.duplicates,
            "ties": self.ties,
            "ranks": self.ranks,
            "order_by": self.order_by,
            "ids": self.ids,
            "score_precision": self.score_precision,
            "by": list(self.by),
            "weights": weights,
            "exclude_seen": self.exclude_seen,
            "exact": self.exact,
        }


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
