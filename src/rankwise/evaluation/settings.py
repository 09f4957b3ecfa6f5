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

__all__ = ["DEFAULT_MEASURES", "RATING_MEASURES", "Settings", "check_population", "option_fields", "option_summary"]


def _option(default: Any, text: str, *, moves_numbers: bool = True, **more: Any) -> Any:
    """Make a field of `Settings`: the first sentence of its text is the command line's help.

    ``more`` has what the text alone does not say: ``flag``, ``metavar`` and ``by_default`` of the
    command line, ``type`` in words, the ``least`` value.
    """
    return field(default=default, compare=moves_numbers, metadata={"text": text, **more})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The metrics and options of an evaluation, checked once.

    Options that cannot change a value (threads, block size, progress) are ignored by ``==``.
    """

    measures: tuple[Measure, ...]
    exact: bool = False
    """Whether recommendations are exact ranks of judged items."""
    adjusted: bool = field(default=False, compare=False)
    """Whether ``exclude_seen``, ``warm_and_cold`` and ``jackknife`` are done to the tables."""
    exceptions: tuple[tuple[str, UserRule], ...] = ()
    """By name without cut-offs: the rules of measures that differ from the common rule."""
    ties_if_scored: bool = False
    """Whether ``ties`` holds only where scores order the lists, as that of a convention does."""
    convention: Convention | None = _option(
        None,
        "Convention whose definitions are used. A name (see `rankwise.conventions`) or a "
        "`rankwise.Convention`: metrics that are given as text mean what they mean in that "
        "library, and its choices hold for every option that is not given.",
        metavar="NAME",
        type="str or Convention",
        by_default="rankwise's defaults",
    )
    relevance_threshold: float | None = _option(
        None,
        "Rating threshold: minimum relevance of a relevant item. Without it every "
        "ground-truth row with a relevance above 0 is relevant.",
        flag="--threshold",
    )
    relevance: Relevance = _option(
        "positive",
        "Which ground-truth rows are relevant if there is no rating threshold. "
        '``"positive"``: those with a relevance above 0; ``"any"``: all of them.',
    )
    population: Population = _option(
        "truth",
        'Which users are evaluated. ``"truth"``: users with a relevant item; '
        '``"both"``: users with a relevant item and a recommendation list; '
        '``"recommended"``: users with a list; ``"judged"``: users with a row in the ground '
        'truth, relevant or not; ``"judged_both"``: those of them who have a list; ``"all"``: '
        "users with a relevant item or a list. The population is the same for all metrics, unless "
        "a convention has another one for some.",
    )
    undefined: Undefined = _option(
        "skip",
        "Value of accuracy metrics for an evaluated user without relevant items. "
        '``"skip"``: none; ``"zero"``: 0; ``"nan"``: NaN, as is then the mean.',
    )
    without_list: WithoutList = _option(
        "skip",
        "Value of list metrics (diversity, novelty, popularity, …) for an evaluated user "
        'without a recommendation list. ``"skip"``: none; ``"zero"``: 0, which is refused for metrics '
        "whose best value is 0. Accuracy metrics of these users are 0 either way.",
    )
    ties: Ties | None = _option(
        None,
        'How tied scores are ordered. ``"expected"``: the mean over all orders (default '
        'where lists are ordered by score); ``"input"``: as given; ``"item"``, '
        '``"item_desc"``: by item id; ``"optimistic"``, ``"pessimistic"``: relevant items '
        'first or last. Metrics that describe lists order ties by item id unless ``"input"`` or '
        '``"item_desc"`` is given.',
        by_default="expected where scores order",
        type="str",
    )
    duplicates: Duplicates = _option(
        "error",
        "What to do with a duplicate item in a list, or in a user's ground truth. "
        '``"error"``: raise; ``"first"``: keep the best-ranked row (ground truth: the most '
        "relevant), and count the rows that are dropped.",
    )
    ranks: Ranks = _option(
        "close",
        'What to do with gaps between the ranks of a list. ``"close"``: items below a '
        'gap move up; ``"keep"``: they keep their ranks (as in RecTools), for which only '
        "accuracy metrics are defined. Lists with gaps are counted.",
    )
    order_by: OrderBy = _option(
        "rank", 'What orders lists that have both ranks and scores. With ``"score"`` ranks are ignored.'
    )
    ids: IdType = _option(
        "typed",
        'How ids are compared. ``"typed"``: as they are; ``"text"``: as text, so that '
        '1 matches ``"1"``, and 10 comes before 9 where item ids order ties.',
    )
    score_precision: ScorePrecision = _option(
        "float64",
        "Precision of the scores that order lists. In float32 scores that differ only in the eighth digit are tied.",
    )
    catalogue: CatalogueRule = _option(
        "items",
        'Which items form the catalogue. ``"items"``: those of ``items``, or every item '
        'seen if it is not given; ``"train"``: those of ``train`` only.',
    )
    exclude_seen: bool = _option(
        False,
        "Remove items of each user's training history from the lists. Items below them "
        "move up. Removed items are counted, as are relevant items that can no longer be found. "
        "(`rankwise.rank` excludes seen items before it cuts the lists.)",
    )
    warm_and_cold: bool = _option(
        False,
        "Also evaluate warm and cold-start users and items separately. Slices are users "
        "with and without training history, and relevant items that occur in training or not.",
    )
    by: tuple[str, ...] = _option(
        (),
        "Columns of the users table whose groups are evaluated as well, or ``activity`` or "
        "``popularity``. These two are terciles of the training users: by their number of distinct "
        "training items, and by the mean number of training users of these items. Their groups are "
        "``low``, ``middle``, ``high``, and ``none`` for users without training interactions. Bias "
        "disparity has no slices: its cells are groups of users already.",
        metavar="COLUMN",
        type="str or list of str",
    )
    weights: str | Mapping[Any, float] | None = _option(
        None,
        "Weight of each user. A column of ``users``, or ``{user: weight}``. Metrics that "
        "sum over items (coverage, Gini, REO, …) are not weighted, which the notes of the result say.",
        metavar="COLUMN",
        type="str or mapping",
        hash=False,
    )
    jackknife: int | None = _option(
        None,
        "Number of jackknife groups for confidence intervals of metrics that are not "
        "per-user means. The value of coverage, Gini, entropy, metrics of groups, … is computed "
        "without each group of users, for `Result.interval` and for comparisons. 64 is plenty; "
        "memory grows with groups times items.",
        metavar="GROUPS",
        least=2,
    )
    columns: Mapping[str, str | None] | None = _option(
        None,
        'Column of each role, where its name is not recognised. ``{"user": "uid"}``, '
        '``{"truth.relevance": "stars"}``; None leaves a role without a column.',
        type="mapping of str to str or None",
        moves_numbers=False,
    )
    threads: int | None = _option(
        None,
        "Number of threads. By default one per processor; the result does not depend on it.",
        moves_numbers=False,
        by_default="one per processor",
    )
    block_size: int | None = _option(
        None,
        "Users per block. By default it follows from the size of the data; the result does not depend on it.",
        moves_numbers=False,
        by_default="from the size of the data",
    )
    progress: bool | None = _option(
        None,
        "Show a progress bar on stderr. By default on a terminal, after a second.",
        moves_numbers=False,
        by_default="on a terminal",
    )

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
                found=f"weights={self.weights!r}"[:80],
                hint='pass weights={"ann": 0.5, …}',
            )
        named = self.columns if isinstance(self.columns, Mapping) else {}
        words = all(isinstance(key, str) and isinstance(name, str | None) for key, name in named.items())
        if not isinstance(self.columns, Mapping | None) or not words:
            raise ParameterError(
                "columns maps roles to names of columns",
                found=f"columns={self.columns!r}",
                hint='write columns={"user": "uid"}',
            )
        plain = {
            "by": tuple(by),
            "exclude_seen": bool(self.exclude_seen),
            "warm_and_cold": bool(self.warm_and_cold),
            "columns": None if self.columns is None else dict(self.columns),
            "relevance_threshold": _plain(float, self.relevance_threshold),
        } | {name: _plain(int, getattr(self, name)) for name in ("jackknife", "threads", "block_size")}
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
        cls, measures: tuple[Measure, ...], convention: Convention | None, given: Mapping[str, Any], **explicit: Any
    ) -> Self:
        """Return the settings of measures that are read already."""
        options = given if convention is None else options_under(convention, measures, given)
        return cls(measures=measures, **{**options, **explicit})

    @cached_property
    def rules(self) -> UserRules:
        """The population of each measure, and the value of users for whom it is undefined."""
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
                "one evaluation cannot average these measures: their populations differ",
                found=", ".join(sorted(wanted)),
                hint="evaluate them in two calls",
            )
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
            "relevance_threshold": None if self.relevance_threshold == ANY_ROW else self.relevance_threshold,
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
            "users= takes a table of users; population= selects the users who are evaluated",
            found=f"users={users!r}",
            hint=f'write population="{users}"',
        )


def option_fields() -> dict[str, Field[Any]]:
    """Return the fields of `Settings` that are options, by name."""
    return {entry.name: entry for entry in fields(Settings) if "text" in entry.metadata}


def option_summary(field: Field[Any]) -> str:
    """Return the first sentence about an option, without its full stop and markup."""
    return str(field.metadata["text"].partition(". ")[0].rstrip(".").replace("``", ""))
