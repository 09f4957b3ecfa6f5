"""The settings of an evaluation: its metrics, and its options under a convention.

`rankwise.options` declares every option, with its default, its check and its description. Functions
take ``**options: Unpack[…]`` with one of the typed dictionaries below, so that editors and mypy see
each option with its type; `takes_options` gives them the whole signature and the descriptions. The
command line makes its options from the same fields.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, replace
from functools import cache, cached_property
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Self,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from rankwise.core.arguments import SMALL_GROUP, check_number, described
from rankwise.core.docstrings import first_sentence
from rankwise.core.populations import PopulationName, widest_population
from rankwise.errors import ParameterError, nearest
from rankwise.messages import call, mention, parameter
from rankwise.options import (
    ANY_ROW,
    ONE_PER_PASS,
    ROADS,
    TABLES,
    AveragingRule,
    AveragingRules,
    CatalogueRule,
    Duplicates,
    EmptyLists,
    IdType,
    MeanOver,
    Options,
    OrderBy,
    Ranks,
    Relevance,
    Road,
    ScorePrecision,
    Ties,
    Undefined,
    WithoutList,
    choice_values,
    declare_option,
    options_of,
)

if TYPE_CHECKING:
    from rankwise.convention.convention import Convention
    from rankwise.metrics.base import Metric, MetricLike
    from rankwise.tables.catalogue import NameKind


class TableOptions(TypedDict, total=False):
    """Options that say how tables are read, under any convention."""

    threshold: float | None
    relevance_threshold: float | None
    columns: Mapping[str, str | None] | None
    threads: int | None


class AveragingOptions(TypedDict, total=False):
    """Options for relevance, the population and undefined values."""

    threshold: float | None
    relevance_threshold: float | None
    relevance: Relevance | Mapping[str, float]
    convention: str | Convention | None
    population: PopulationName
    undefined: Undefined
    without_list: WithoutList


class CommonOptions(AveragingOptions, total=False):
    """Options of every evaluation of tables, whole or in pieces."""

    duplicates: Duplicates
    order_by: OrderBy
    ids: IdType
    score_precision: ScorePrecision
    catalogue: CatalogueRule
    judged_only: bool
    depth: int | None
    by: str | Sequence[str]
    min_size: int
    weights: str | Mapping[Any, float] | None
    columns: Mapping[str, str | None] | None
    threads: int | None
    block_size: int | None
    progress: bool | None


class PieceOptions(CommonOptions, total=False):
    """Options of an evaluation in pieces."""

    ranks: Ranks
    empty_lists: EmptyLists
    same: str | Mapping[Any, Any] | None
    k: int | Sequence[int] | None


class WholeOptions(CommonOptions, total=False):
    """Options that also need all lists at once."""

    ranks: Ranks
    jackknife: int | None
    cross: bool


class RatingOptions(CommonOptions, total=False):
    """Options of predicted ratings, which also give cut-offs to metrics and order ties."""

    jackknife: int | None
    cross: bool
    k: int | Sequence[int] | None
    ties: Ties | None


class ListOptions(WholeOptions, total=False):
    """Options for reading lists as well; `rankwise.evaluate_model` has its own k and ties."""

    k: int | Sequence[int] | None
    ties: Ties | None
    exclude_seen: bool
    empty_lists: EmptyLists
    alternatives: str | None
    same: str | Mapping[Any, Any] | None
    mean_over: MeanOver
    codes: str | Mapping[Any, Any] | None
    titles: str | Mapping[Any, Any] | None


_ROAD_OF: dict[str, Road] = {
    "PieceOptions": "pieces",
    "WholeOptions": "model",
    "RatingOptions": "ratings",
    "ListOptions": "evaluate",
    "MetricOptions": "torch",
}
"""The road whose options each typed dictionary has."""


@cache
def taken_options(options_class: type) -> tuple[str, ...]:
    """Return the names of the options that functions with a typed dictionary take.

    An option that no dictionary lists yet is taken where its declaration does not refuse it.
    """
    names = [*options_class.__annotations__]
    road = _ROAD_OF.get(options_class.__name__)
    if road is not None:
        listed = ListOptions.__annotations__.keys()
        names += [
            name
            for name, entry in option_fields().items()
            if name not in listed and takes(road, entry)
        ]
    return tuple(dict.fromkeys(names))


def takes(road: Road, entry: Field[Any]) -> bool:
    """Return whether a road takes an option."""
    return road not in entry.metadata["not_on"]


def check_taken(road: Road, options: Mapping[str, Any]) -> None:
    """Raise if a road refuses an option, a form of its value, or a table that was given."""
    for name, not_on in TABLES.items():
        if road in not_on and options.get(name) is not None:
            raise not_taken_error(road, parameter(name), not_on[road])
    for name, entry in option_fields().items():
        value = options.get(name, entry.default)
        if value is entry.default or (
            isinstance(value, type(entry.default)) and value == entry.default
        ):
            continue
        if not takes(road, entry):
            raise not_taken_error(road, parameter(name), entry.metadata["not_on"][road], value)
        for form in entry.metadata["forms"]:
            if road in form.not_on and form.is_given(value):
                raise not_taken_error(road, form.text, form.not_on[road], value)


_ELSEWHERE: dict[Road, str] = {
    "chunks": ", without chunk_rows",
    "spark": ", which is engine: local",
}
"""How `rankwise.evaluate` is taken in place of some roads."""


def not_taken_error(road: Road, text: str, reason: str, value: Any = None) -> ParameterError:
    """Return the error for a refused option, with the functions that accept the option."""
    return ParameterError(
        f"{ROADS[road]} does not take {text}: {reason}",
        found=None if value is None else repr(value)[:80],
        hint=f"{call('evaluate')} takes it{_ELSEWHERE.get(road, '')}",
    )


@cache
def option_types() -> dict[str, Any]:
    """Return the type of each option as passed by the caller, by name."""
    from rankwise.convention.convention import Convention  # needs the metrics
    from rankwise.metrics.base import Metric

    kept = get_type_hints(Settings, localns={"Convention": Convention, "Metric": Metric})
    hints = get_type_hints(ListOptions, localns={"Convention": Convention})
    return hints | {name: kept[name] for name in option_fields() if name not in hints}


DEFAULT_METRICS = ("precision@10", "recall@10", "ndcg@10", "map@10", "mrr@10", "hit_rate@10")
RATING_METRICS = ("rmse", "mae", "ndcg@10", "precision@10", "recall@10")


def parse_request(
    metrics: MetricLike | Iterable[MetricLike],
    options: Mapping[str, Any],
    options_class: type = ListOptions,
) -> tuple[tuple[Metric, ...], Convention | None, dict[str, Any]]:
    """Return the metrics, the convention, and the options without shorthands."""
    convention, choices = expand_aliases(options, options_class)
    metrics_at_cutoffs = _at_cutoffs(metrics, choices.pop("k", None), convention)
    if convention is not None:
        _check_names(metrics_at_cutoffs, convention)
    return metrics_at_cutoffs, convention, choices


def expand_aliases(
    options: Mapping[str, Any], options_class: type = ListOptions
) -> tuple[Convention | None, dict[str, Any]]:
    """Return the convention and all other options, with shorthands expanded.

    An option that a road does not take may have its default there, so that one set of options
    serves several roads.

    Raises
    ------
    ParameterError
        If a shorthand and what it stands for differ.
    TypeError
        If there is no such option.
    """
    taken = taken_options(options_class)
    road = _ROAD_OF.get(options_class.__name__)
    if road is not None:
        check_taken(road, options)
    declared = option_fields() if road is not None else {}
    for name in options:
        if name not in taken and name not in declared:
            hint = nearest(name, taken)
            ending = f"; {hint}" if hint else ""
            raise TypeError(f"unexpected keyword argument {name!r}{ending}")
    choices = {name: value for name, value in options.items() if name in taken}
    if "threshold" in choices:
        if choices.get("relevance_threshold") not in (None, choices["threshold"]):
            both = f"{choices['threshold']} and {choices['relevance_threshold']}"
            raise ParameterError(
                f"threshold and {mention('relevance_threshold')} are the same option", found=both
            )
        choices["relevance_threshold"] = choices.pop("threshold")
    if isinstance(choices.get("relevance"), Mapping):
        choices["grades"] = _checked_grades(choices.pop("relevance"))
    from rankwise.convention.convention import Convention

    return Convention.resolve(choices.pop("convention", None)), choices


def _checked_grades(grades: Mapping[Any, Any]) -> dict[str, float]:
    """Return the relevance of each event, checked."""
    for event, grade in grades.items():
        check_number(f"relevance of {event!r}", grade)
    if not any(grade > 0 for grade in grades.values()):
        raise ParameterError("some event is relevant", found=parameter("relevance", dict(grades)))
    return {str(event): float(grade) for event, grade in grades.items()}


def table_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that say how tables are read, without shorthands."""
    return expand_aliases(options, TableOptions)[1]


def _check_names(metrics: Sequence[Metric], convention: Convention) -> None:
    """Raise if the text of a metric is the name of another requested metric."""
    for metric in metrics:
        meant = convention.means(str(metric))
        if meant not in (None, metric) and {*meant.cells} & {
            c for other in metrics for c in other.cells
        }:
            raise ParameterError(
                f"{metric} is the name of two of these metrics under convention "
                f"{convention.name!r}",
                found=f"{convention.write(metric)}, and {meant}",
                hint="evaluate them in two calls",
            )


def relevance_under(relevance: Relevance, threshold: float | None) -> Relevance:
    """Return the rule of relevance of a convention where a threshold is given, or none."""
    no_rule: Relevance = "graded" if threshold is None else "any"
    return "positive" if relevance == no_rule else relevance


def choices_for(
    convention: Convention, metric: Metric, choices: Mapping[str, Any]
) -> dict[str, Any]:
    """Return all choices for a metric: options that were given take precedence."""
    chosen = convention.choices_of(metric)
    chosen["relevance"] = relevance_under(chosen["relevance"], choices.get("relevance_threshold"))
    explicit = {name for name in chosen if name in choices and (name != "ties" or choices[name])}
    return chosen | {name: choices[name] for name in explicit}


def convention_options(
    convention: Convention, metrics: Sequence[Metric], choices: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options under a convention; given options override its choices.

    The rule of the first metric is that of all; metrics that have another one are exceptions.
    """
    chosen = {str(metric): choices_for(convention, metric, choices) for metric in metrics}
    for choice in choice_values(*ONE_PER_PASS, per_metric=True):
        values = {name: one[choice] for name, one in chosen.items()}
        if len({*values.values()}) > 1:
            raise ParameterError(
                f"convention {convention.name!r} has several choices of {choice} here",
                found=", ".join(f"{name}: {value}" for name, value in values.items()),
                hint=f"evaluate them in several calls; {call('evaluate')} does so by itself",
            )
    first = next(iter(chosen.values()))
    rules = {str(m @ ()): AveragingRule.of(chosen[str(m)]) for m in metrics}
    exceptions = {name: rule for name, rule in rules.items() if rule != AveragingRule.of(first)}
    return {
        **choices,
        **first,
        "convention": convention,
        "exceptions": tuple(exceptions.items()),
        "ties_if_scored": choices.get("ties") is None,
    }


def _at_cutoffs(
    metrics: MetricLike | Iterable[MetricLike],
    k: int | Sequence[int] | None,
    convention: Convention | None,
) -> tuple[Metric, ...]:
    """Return the metrics; metrics without a cut-off get ``k``."""
    from rankwise.metrics.base import parse_all

    if convention is not None and metrics is DEFAULT_METRICS:
        names = [text for text in DEFAULT_METRICS if convention.means(text) is not None]
        metrics = names if k is None else _without_cutoffs(names)
    if k is None:
        return parse_all(metrics, convention)

    if metrics is DEFAULT_METRICS or metrics is RATING_METRICS:
        metrics = _without_cutoffs(metrics)
    parsed = parse_all(metrics, convention, cutoffs=False)
    open_ = [metric for metric in parsed if not metric.k and metric.cutoff != "none"]
    if not open_:
        raise ParameterError(
            "k is the cut-off of metrics that are given without one, and there is none",
            found=f"{parameter('k', k)}, {', '.join(map(str, parsed))}",
            hint="leave k out, or leave the cut-offs out of the names",
        )
    return parse_all([metric @ k if metric in open_ else metric for metric in parsed])


def _without_cutoffs(names: Iterable[str]) -> list[str]:
    return [name.partition("@")[0] for name in names]


def _values_irrelevant(metric: Metric) -> bool:
    """Whether a metric says itself what users without relevant items have."""
    return getattr(metric, "without_relevant", "undefined") != "undefined"


@dataclass(frozen=True, kw_only=True)
class Settings(Options):
    """The metrics and options of an evaluation, checked once."""

    metrics: tuple[Metric, ...]
    exact: bool = False
    """Whether recommendations are exact ranks of judged items."""
    exceptions: tuple[tuple[str, AveragingRule], ...] = ()
    """By name without cut-offs: the rules of metrics that differ from the common rule."""
    grades: Mapping[str, float] | None = field(default=None, hash=False)
    """The relevance of each event of the ground truth, where it has events and no relevance."""
    ties_if_scored: bool = False
    """Whether ``ties`` holds only where scores order the lists, as that of a convention does."""
    convention: Convention | None = declare_option(
        None,
        "Convention whose definitions are used. A name (see `rankwise.conventions`) or a "
        "`rankwise.Convention`: metrics that are given as text mean what they mean in that "
        "library, and its choices hold for every option that is not given.",
        metavar="NAME",
        type="str or Convention",
        by_default="rankwise's defaults",
    )

    @classmethod
    def read(
        cls,
        metrics: MetricLike | Iterable[MetricLike],
        options: Mapping[str, Any],
        options_class: type = ListOptions,
        **explicit: Any,
    ) -> Self:
        """Check options and metrics.

        Parameters
        ----------
        metrics : str, metric, or a list of them
            The metrics.
        options : mapping of str to object
            The options that were given.
        options_class : type, default=ListOptions
            The typed dictionary of the options that the caller takes.
        **explicit : object
            Options that the caller's signature names.

        Raises
        ------
        UsageError
            If a metric or an option makes no sense.
        TypeError
            If there is no such option.
        """
        parsed, convention, choices = parse_request(metrics, options, options_class)
        if (ties := explicit.pop("ties", None)) is not None:
            choices["ties"] = ties
        return cls.of(parsed, convention, choices, **explicit)

    @classmethod
    def of(
        cls,
        metrics: tuple[Metric, ...],
        convention: Convention | None,
        choices: Mapping[str, Any],
        **explicit: Any,
    ) -> Self:
        """Return the settings of metrics that are read already."""
        options = (
            choices if convention is None else convention_options(convention, metrics, choices)
        )
        return cls(metrics=metrics, **{**options, **explicit})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.convention is None:  # which says itself whose rows its library takes
            object.__setattr__(self, "exceptions", self._exceptions_of_shown_rows)
        self._check_gaps()
        if self.same is not None:
            from rankwise.tables.same_items import check_same

            check_same(self.same)
        if self.codes is None and self.titles is None:
            return
        from rankwise.tables.catalogue import (
            named_items,
        )  # the command line makes its options without tables

        if self.same is not None:
            raise ParameterError(
                f"lists of {self.item_names} name items, and items that are the same one name",
                found=f"{parameter(str(self.item_names))} and {parameter('same')}",
                hint=f"map each name to the id that holds, in {parameter(str(self.item_names))}",
            )
        if self.codes is not None and self.titles is not None:
            raise ParameterError(
                "lists have codes or titles in place of items",
                found=f"{parameter('codes')} and {parameter('titles')}",
            )
        if self.ranks == "keep":
            raise ParameterError(
                f"lists of {self.item_names} have no gaps to keep", found=parameter("ranks", "keep")
            )
        object.__setattr__(self, "codes", named_items("codes", self.codes))
        object.__setattr__(self, "titles", named_items("titles", self.titles))

    def _check_gaps(self) -> None:
        """Raise if gaps between ranks are to be kept, and items are removed from lists."""
        removes = [name for name in ("exclude_seen", "judged_only") if getattr(self, name)]
        if self.ranks == "keep" and removes:
            raise ParameterError(
                "items that are removed from lists leave gaps, which are closed with all others",
                found=f"{parameter('ranks', 'keep')} and {parameter(removes[0], value=True)}",
                hint=f"leave {mention('ranks')} out, or remove the items from the lists yourself",
            )

    @property
    def _exceptions_of_shown_rows(self) -> tuple[tuple[str, AveragingRule], ...]:
        """The rules of metrics over all shown rows: always the population of users with a list."""
        common = AveragingRule.of(vars(self))
        shown = replace(common, population="recommended")
        metrics = [
            metric
            for metric in self.metrics
            if all(leaf.is_of_shown_rows for leaf in metric.leaves)
        ]
        return () if shown == common else tuple((str(metric @ ()), shown) for metric in metrics)

    @property
    def item_names(self) -> NameKind | None:
        """The kind of names that lists have in place of items; None for ids."""
        return "codes" if self.codes is not None else "titles" if self.titles is not None else None

    @cached_property
    def rules(self) -> AveragingRules:
        """The averaging rule of each metric: its population and the value of undefined users."""
        return AveragingRules(AveragingRule.of(vars(self)), dict(self.exceptions))

    @cached_property
    def evaluated(self) -> PopulationName:
        """The population of all metrics together.

        Raises
        ------
        ParameterError
            If no population has the users of all metrics.
        """
        rules = [self.rules.of(metric) for metric in self.metrics]
        populations = {rule.population for rule in rules} or {self.population}
        widest = widest_population(populations)
        if widest is None:
            raise ParameterError(
                "one evaluation cannot average these metrics: their populations differ",
                found=", ".join(sorted(populations)),
                hint=f"{call('evaluate')} makes one evaluation of each; here make two calls, or "
                "pass "
                f"{parameter('population', 'all')}",
            )
        return widest

    @property
    def needs_relevant(self) -> bool:
        """Whether an item must be relevant, because users without relevant items have no value."""
        rules = [self.rules.of(metric) for metric in self.metrics]
        if all(rule.counts_irrelevant for rule in rules) and all(
            metric.family == "rating" for metric in self.metrics
        ):
            return False  # ratings and probabilities of irrelevant items have errors as well
        return not any(
            rule.counts_irrelevant and (rule.undefined != "skip" or _values_irrelevant(metric))
            for metric, rule in zip(self.metrics, rules, strict=True)
        )

    def to_dict(self, *, by_request: bool) -> dict[str, Any]:
        """Return the settings that can move a number, as plain values.

        ``by_request`` says whether lists belong to requests: else ``mean_over`` says nothing.
        """
        saved = {
            name: getattr(self, name)
            for name, entry in options_of(Options).items()
            if entry.compare
        }
        if not isinstance(self.weights, str | None):
            saved["weights"] = "given"
        if self.min_size != SMALL_GROUP:
            saved["min_size"] = self.min_size
        if self.same is not None:
            saved["same"] = self.same if isinstance(self.same, str) else "given"
        if self.item_names is not None:
            names = getattr(self, self.item_names)
            saved[self.item_names] = names if isinstance(names, str) else "given"
        if self.relevance_threshold == ANY_ROW:
            saved["relevance_threshold"] = None
        if not by_request:
            del saved["mean_over"]
        return {
            "metrics": [str(metric) for metric in self.metrics],
            "convention": "default" if self.convention is None else self.convention.name,
            **saved,
            "by": list(self.by),
            "ties_given": self.ties is not None and not self.ties_if_scored,
            "exact": self.exact,
            **({} if self.grades is None else {"grades": dict(self.grades)}),
        }


def check_population(users: object) -> None:
    """Raise if a population was given in place of the users table."""
    if isinstance(users, str) and users in get_args(PopulationName):
        raise ParameterError(
            f"{parameter('users')} takes a table of users; {parameter('population')} selects the "
            "users who are evaluated",
            found=parameter("users", users),
            hint=f"write {parameter('population', users)}",
        )


def option_fields() -> dict[str, Field[Any]]:
    """Return the fields of `Settings` that are options, by name."""
    return options_of(Settings)


def option_summary(field: Field[Any]) -> str:
    """Return the first sentence about an option, without its full stop and markup."""
    return first_sentence(field.metadata["text"])


_F = TypeVar("_F", bound="Callable[..., Any]")
_SHORTHANDS = {
    "k": "k : int or list of int, optional\n"
    "    Cut-offs of metrics that are given without one: with ``k=10``, "
    "``ndcg`` is ``ndcg@10``.",
    "threshold": "threshold : float, optional\n    Alias of ``relevance_threshold``.",
}
"""Options that other libraries have under these names; they end up in metrics and settings."""


def _description(name: str, default: Any) -> str:
    """Describe an option as numpydoc does: name, type and default, and the text below."""
    entry, kind = option_fields()[name], option_types()[name]
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    named = entry.metadata.get("type") or (
        "{" + ", ".join(f'"{choice}"' for choice in choices) + "}"
        if choices
        else " or ".join(arg.__name__ for arg in get_args(kind) or (kind,) if arg is not type(None))
    )
    shown = f'"{default}"' if isinstance(default, str) else default
    ending = "optional" if default is None else f"default={shown}"
    text = textwrap.fill(entry.metadata["text"], 91)
    return f"{name} : {named}, {ending}\n{textwrap.indent(text, '    ')}"


def options_text(options_class: type, **defaults: Any) -> str:
    """Return the description of every option that a typed dictionary has, as numpydoc does."""
    taken = taken_options(options_class)
    names = [name for name in option_fields() if name in taken]
    values = {name: _default(name) for name in names} | defaults
    short = [_SHORTHANDS[name] for name in _SHORTHANDS if name in taken]
    return "\n".join([*short, *(_description(name, values[name]) for name in names)])


def takes_options(options_class: type, **defaults: Any) -> Callable[[_F], _F]:
    """Give a function with ``**options`` the signature and the description of every option.

    Parameters
    ----------
    options_class : type
        The typed dictionary that ``**options`` unpacks.
    **defaults : object
        Defaults of the function, where they differ from those of `Settings`.

    Returns
    -------
    callable
        A decorator: a line ``%(options)s`` in the docstring becomes the descriptions.
    """

    def decorate(function: _F) -> _F:
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        names = [name for name in option_fields() if name in taken_options(options_class)]
        names = [name for name in names if name not in signature.parameters]
        values = {name: _default(name) for name in names} | defaults
        short = [name for name in _SHORTHANDS if name in options_class.__annotations__]
        kinds = {name: kind.__forward_arg__ for name, kind in options_class.__annotations__.items()}
        values |= dict.fromkeys(short)
        added = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=values[name],
                annotation=kinds.get(name) or option_fields()[name].type,
            )
            for name in (*short, *names)
        ]
        function.__signature__ = signature.replace(parameters=[*parameters, *added])  # type: ignore[attr-defined]
        return described(options=options_text(options_class, **defaults))(function)

    return decorate


def _default(name: str) -> Any:
    default = option_fields()[name].default
    assert default is not MISSING
    return default
