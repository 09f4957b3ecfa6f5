"""The base class of all metrics, the decorator that registers metrics, and their parsing.

A metric is a small frozen object. Its parameters are its fields; its name, range, direction and
other properties of the class are class attributes that `metric` sets. The mathematics is one
method, whose name depends on the kind of metric: see `rankwise.metrics.kinds`.

Text and object are two spellings of the same metric: equality, hash and ``str`` agree. A preset is a
subclass with fixed parameters. The annotation of a parameter declares its type and, with `Limits`
(`rankwise.metrics.arithmetic`), the numbers that it may have. A definition has one cut-off; each
cut-off is summed separately, so another one does not change a digit.

``inputs`` lists everything that a metric reads beyond hits: sets of rows, facts, sums by item, the
catalogue. `rankwise.metrics.inputs` sorts them for the plan, and a block raises for an undeclared
input. Metrics are written against the array API standard; `rankwise.core.arrays` adds the functions
that it lacks.

Docstrings of metrics state neither range nor direction: `metric` adds them from the declaration,
and the parameters and references that only base classes describe. Every metric names its plain
definition (``plain=``); with only a plain definition it is called user by user, on any engine.
"""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import math
import operator
import re
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)

from rankwise.blocks.block import WHOLE_LIST, Block, Cutoffs
from rankwise.core.arguments import GroupStatistic, bounded
from rankwise.core.arrays import Array
from rankwise.core.docstrings import sections
from rankwise.core.terminal import TableView, html
from rankwise.errors import MetricError, ParameterError
from rankwise.messages import parameter
from rankwise.metrics.inputs import CatalogueSums, Input, Inputs
from rankwise.metrics.registry import Registered, add, parse_text, several_metrics
from rankwise.metrics.states import (
    CellValues,
    FinaliseInputs,
    Floats,
    State,
    UserFrame,
    UsersByGroup,
)
from rankwise.options import AveragingRule

__all__ = [
    "FAMILIES",
    "CurveTerms",
    "GroupsCompared",
    "Metric",
    "MetricFailure",
    "MetricLike",
    "Reader",
    "ValueKind",
    "as_written",
    "better",
    "direction",
    "extra_inputs",
    "interval",
    "metric",
    "metric_html",
    "one_by_one",
    "parse",
    "parse_all",
    "preset",
    "sections",
    "show_value",
    "summary",
]

FAMILIES = {
    "accuracy": "Accuracy",
    "rating": "Ratings and probabilities",
    "confusion": "Confusion counts",
    "coverage": "Coverage",
    "novelty": "Novelty",
    "diversity": "Diversity",
    "popularity": "Popularity bias",
    "debiased": "Debiased accuracy",
    "fairness": "Fairness",
    "multiobjective": "Multi-objective",
    "hygiene": "List hygiene",
}
"""The families in the order in which they are shown, and their titles."""

_INPUTS = {
    "judged_anywhere": "truth of all users",
    "membership": "items",
    "popularity": "train",
    "history": "train",
    "similarity": "train",
    "source": "train",
    "reference": "reference",
    "categories": "items: categories",
    "features": "items: features",
    "item_group": "items: group",
    "propensity": "items: propensity",
    "user_group": "users: group",
}


def metric_html(metric: Metric) -> str:
    """Return a metric as tables for a notebook: its properties and its parameters."""
    needs = ["recommendations", *(["ground truth"] if metric.reads_truth else [])]
    cutoffs = {"required": "required", "optional": "none: the whole list", "none": "none"}
    rows = [
        ("definition", summary(type(metric))),
        ("family", FAMILIES.get(metric.family, metric.family)),
        ("range", interval(metric.range)),
        ("better", better(metric.higher_is_better, "neither direction")),
        ("cut-off k", ", ".join(map(str, metric.k)) or cutoffs[metric.cutoff]),
        ("needs", ", ".join([*needs, *extra_inputs(metric)])),
    ]
    views = [TableView(["metric", str(metric)], rows, left=(0, 1))]
    if metric.parameters:
        defaults = type(metric)().parameters
        values = [
            (name, as_written(value), as_written(defaults[name]))
            for name, value in metric.parameters.items()
        ]
        views.append(TableView(["parameter", "value", "default"], values, left=(0, 1, 2)))
    return html(*views)


def summary(cls: type[object]) -> str:
    """Return the first line of the docstring of a metric."""
    text = inspect.getdoc(cls)
    return text.splitlines()[0] if text else ""


def interval(ends: tuple[float, float]) -> str:
    """Return a range as an interval.

    >>> interval((0, 1)), interval((0, math.inf))
    ('[0, 1]', '[0, inf)')
    """
    low, high = ends
    left, right = "(" if math.isinf(low) else "[", ")" if math.isinf(high) else "]"
    return f"{left}{low:g}, {high:g}{right}"


def better(higher_is_better: bool | None, neither: str = "–") -> str:
    """Return which direction is better."""
    return {True: "higher", False: "lower", None: neither}[higher_is_better]


def direction(higher_is_better: bool | None) -> str:
    """Return which direction is better, as a sentence.

    >>> direction(True), direction(None)
    ('higher is better', 'neither direction is better')
    """
    return f"{better(higher_is_better, 'neither direction')} is better"


def extra_inputs(metric: Metric) -> list[str]:
    """Return the inputs that a metric needs beyond recommendations and ground truth."""
    parts = [metric, *metric.parts]
    inputs = {_INPUTS[fact.kind] for part in parts for fact in part.reads.facts}
    if any("scores" in part.reads.rows for part in parts):
        inputs.add("scores")
    return sorted(inputs)


def as_written(value: object) -> str:
    """Return the value of a parameter in plain notation.

    >>> as_written((1, True)), as_written(()), as_written(math.hypot)
    ('[1, true]', 'none', 'math:hypot')
    """
    if isinstance(value, tuple) and value:
        return f"[{', '.join(map(as_written, value))}]"
    if value is None or value == ():
        return "none"
    if callable(value):
        return f"{value.__module__}:{getattr(value, '__qualname__', value)}"
    return str(value).lower() if isinstance(value, bool) else str(value)


ValueKind: TypeAlias = Literal[
    "mean", "weighted mean", "sum", "pooled", "all lists", "composed", "groups", "distribution"
]
"""How a value is computed: a mean over users, a sum over users, or a function of sums over users,
of all lists together, of other values, of the means of user groups, or of all per-user values."""
LARGEST = 10_000_000  # largest cut-off: some metrics keep a number for every rank up to it

_M = TypeVar("_M", bound="type[Metric]")

if TYPE_CHECKING:

    class _CutoffsOrNumber:
        """Cut-offs to type checkers: one number or several go in, a tuple comes out."""

        def __get__(self, owner: object, kind: object) -> Cutoffs: ...
        def __set__(self, owner: object, k: int | Sequence[int]) -> None: ...
else:
    _CutoffsOrNumber = tuple


class CurveTerms(Protocol):
    """A sum down the list over a norm, from which the curve over all cut-offs is computed."""

    @property
    def norm_is_settled(self) -> bool:
        """Whether the norm changes no more once k exceeds the number of relevant items."""

    def terms(self, block: Block) -> Array:
        """Return the term of each row of the hits, shape (n,)."""

    def norm(self, block: Block, k: int) -> Array | None:
        """Return the divisor of each user's sum, shape (U,); None for no division."""

    def scale(self, k: Array) -> Array:
        """Return the divisor of all users' sums, for a cut-off or an array of cut-offs."""

    def ratio(self, block: Block, sums: Array, k: int) -> tuple[Array, Array]:
        """Return numerator and denominator of every user's value, shape (U,) both."""


class GroupsCompared(NamedTuple):
    """A statistic of the means of user groups, with its per-user value and its group column."""

    statistic: GroupStatistic
    value: str
    user_group: str


class MetricFailure(Exception):  # noqa: N818 - an event: who knows the ids of users makes an error of it
    """An error in a metric that rankwise does not define, with the user's place in the block.

    Attributes
    ----------
    error : MetricError
        The error, without the user.
    user : int or None
        The user's place in the block, later its code; None if that is not known.
    """

    def __init__(self, error: MetricError, user: int | None = None) -> None:
        super().__init__(error.what)
        self.error = error
        self.user = user

    def of_user(self, user: object) -> MetricError:
        """Return the error, with the user as its location."""
        error = self.error
        where = None if self.user is None else f"user {user!r}"
        return MetricError(error.what, where=where, found=error.found, hint=error.hint)


@dataclass(frozen=True, kw_only=True, repr=False)
class Metric(Registered):
    """The base class of all metrics.

    Parameters
    ----------
    k : int or sequence of int, default=()
        Cut-offs, also set by ``@``: ``NDCG(10)`` is ``NDCG() @ 10``, ``NDCG([5, 10])`` is
        ``NDCG() @ [5, 10]``. Empty: the whole list.
    """

    k: _CutoffsOrNumber = field(default=(), repr=False, kw_only=False)  # type: ignore[assignment]

    range: ClassVar[tuple[float, float]]
    higher_is_better: ClassVar[bool | None]
    cutoff: ClassVar[Literal["required", "optional", "none"]]
    plain: ClassVar[Callable[..., Any] | None] = None
    fixed: ClassVar[Mapping[str, Any]] = {}
    """The parameters that a preset fixes, with their values."""
    counts_candidates: ClassVar[bool] = False
    """Whether it needs the history only to count candidates; exact ranks have their number."""
    reads_below_k: ClassVar[bool] = False
    """Whether it compares ranks below any cut-off."""
    cells_only: ClassVar[bool] = False
    """Whether it has only cells, one value per group, and no overall value."""
    jackknife_caveat: ClassVar[str] = ""
    """What a reader of its jackknife interval should know."""

    @property
    def takes_ties_by_id(self) -> bool:
        """Whether the metric describes whole lists, and so takes tied items in order of id."""
        return any(
            "recommended" in leaf.reads.rows and "scores" not in leaf.reads.rows
            for leaf in self.leaves
        )

    @property
    def is_built_in(self) -> bool:
        """Whether rankwise defines the metric; foreign metrics are checked while computed."""
        return type(self).__module__.partition(".")[0] == "rankwise"

    def groups_compared(self, cell: str) -> GroupsCompared | None:
        """Return the group statistic of a value if its interval uses all group pairs, else None."""
        return None

    def __post_init__(self) -> None:
        if type(self) is Metric:
            raise TypeError("Metric is a base class: derive from PerUser, Pooled or another kind")
        for each in fields(self):
            if each.name != "k":
                value = _as_metrics(each.default, getattr(self, each.name))
                object.__setattr__(self, each.name, value)
                _check(self, each.name, getattr(self, each.name))
        object.__setattr__(self, "k", _cutoffs(self, self.k))
        if self.k and self.cutoff == "none":
            raise ParameterError(
                f"{self.name} has no cut-off",
                found=f"@{_show_k(self.k)}",
                hint=f"write {self.name}",
            )

    def __matmul__(self, k: int | Sequence[int]) -> Self:
        """Set the cut-offs."""
        key = (k,) if type(k) is int else k
        if not isinstance(key, tuple) or any(type(one) is not int for one in key):
            return dataclasses.replace(self, k=k)
        if key not in self._at:
            self._at[key] = dataclasses.replace(self, k=k)
        return self._at[key]

    @cached_property
    def _at(self) -> dict[tuple[int, ...], Self]:
        return {}  # the same metric at other cut-offs, which are asked for again and again

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters and cut-offs, without cached values."""
        return {**self.parameters, "k": self.k}

    def __str__(self) -> str:
        """Write the metric in the parser's notation, without parameters at their default."""
        return self._text

    @cached_property
    def _text(self) -> str:
        changed = [f"{name}={show_value(value)}" for name, value in self.non_default_parameters]
        arguments = f"({','.join(changed)})" if changed else ""
        return self.name + arguments + (f"@{_show_k(self.k)}" if self.k else "")

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self.non_default_parameters)
        at = f" @ {self.k[0] if len(self.k) == 1 else list(self.k)}" if self.k else ""
        return f"{type(self).__name__}({changed}){at}"

    def _repr_html_(self) -> str:
        return metric_html(self)

    @property
    def non_default_parameters(self) -> list[tuple[str, Any]]:
        """The parameters that are not at their default, with their values."""
        pairs = [(parameter, getattr(self, parameter.name)) for parameter in fields(self)]
        return [(p.name, value) for p, value in pairs if p.name != "k" and value != p.default]

    @cached_property
    def cells(self) -> list[str]:
        """The name of each value: the metric at each of its cut-offs."""
        return [str(self @ k) for k in self.k] if self.k else [str(self)]

    def cutoff_at(self, at: int) -> int:
        """Return the number of the cut-off as a part: without cut-offs, the same at all of them."""
        return min(at, len(self.cells) - 1)

    @property
    def ks(self) -> Cutoffs:
        """The cut-offs as numbers: one that no list reaches if there is none."""
        return self.k or (WHOLE_LIST,)

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter with its value, including defaults."""
        names = [parameter.name for parameter in fields(self) if parameter.name != "k"]
        return {name: getattr(self, name) for name in names}

    @property
    def parts(self) -> tuple[Metric, ...]:
        """The metrics whose values are computed first; none except for composed metrics."""
        return ()

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs beyond hits, lengths of lists and numbers of relevant items."""
        return ()

    @cached_property
    def reads(self) -> Inputs:
        """The inputs, grouped by provider."""
        return Inputs.of(self.inputs)

    @cached_property
    def tree(self) -> tuple[Metric, ...]:
        """The metric after all of its component metrics, each once."""
        return tuple(dict.fromkeys([*(inner for part in self.parts for inner in part.tree), self]))

    @property
    def leaves(self) -> tuple[Metric, ...]:
        """The metrics of the tree that are computed on blocks."""
        return tuple(metric for metric in self.tree if not metric.parts)

    @property
    def value_kind(self) -> ValueKind:
        """How the value is computed, as each kind of metric defines."""
        raise NotImplementedError

    @property
    def reads_truth(self) -> bool:
        """Whether the metric compares lists with the ground truth; list statistics do not."""
        return True

    @property
    def is_of_shown_rows(self) -> bool:
        """Whether the value is over every shown row, independent of the population."""
        return False

    @property
    def compares_clicks(self) -> bool:
        """Whether scores are click probabilities: without a threshold labels above 0 are clicks."""
        return False

    @property
    def defined_for(self) -> Literal["relevance", "list", "user"]:
        """Who has a value: users with relevant items, users with a list, or every user."""
        return "user"

    @property
    def needs_relevant(self) -> bool:
        """Whether the metric is undefined for users without relevant items."""
        return self.defined_for == "relevance"

    @property
    def has_user_values(self) -> bool:
        """Whether each user has a value."""
        return False

    @property
    def averages_users(self) -> bool:
        """Whether the value is a mean or sum of per-user values that are measured on blocks."""
        return False

    @property
    def sums_items(self) -> bool:
        """Whether the value is a function of sums by item."""
        return False

    def needs_jackknife(self, *, weighted: bool) -> bool:
        """Whether an interval needs a jackknife; with ``weighted``, where users have weights."""
        return True

    @property
    def as_running_sum(self) -> CurveTerms | None:
        """The metric as a sum down the list; None for other metrics."""
        return None

    def columns(self, block: Block, rule: AveragingRule) -> dict[str, Array]:
        """Return the per-user columns of the metric by name, arrays of shape (U,)."""
        return {}

    def user_values(self, users: UserFrame, at: int) -> Floats:
        """Return all users' values at cut-off number ``at``, inside the population or not, (U,)."""
        raise MetricError(f"{self.name} has no value for a single user")

    def with_scores(self, scores: Floats) -> Self:
        """Return the metric for lists with these scores, shape (n,); most metrics stay the same."""
        return self

    def require_scores(self) -> None:
        """Raise if the metric depends on the scores of all lists together, and lacks the scores."""

    measures_values: ClassVar[bool] = False
    """Whether each user's value is measured on blocks, by `values`."""

    def values(self, block: Block, k: Cutoffs) -> Array:
        """Return the values of a block's users at every cut-off, each of shape (U,)."""
        raise MetricError(f"{self.name} does not measure values of users")

    def reduce(self, users: UserFrame) -> dict[str, State]:
        """Return the state of each cell over these users; states of disjoint users can be added."""
        return {}

    def finalise(self, aggregates: FinaliseInputs, at: int) -> CellValues | None:
        """Return the values at cut-off number ``at``; None if required sums by item are missing."""
        raise MetricError(f"{self.name} does not define its value of aggregates")

    def group_values(self, groups: UsersByGroup, at: int) -> Floats | None:
        """Return the group values at cut-off number ``at``, shape (G,); None to use states."""
        return None

    def values_without(
        self, items: CatalogueSums, by: str, groups: Sequence[str], at: int
    ) -> Floats | None:
        """Return the values with each user group left out, shape (G,); None to use states."""
        return None

    def diagnose(self, items: CatalogueSums) -> dict[str, float]:
        """Return diagnostics of the value, such as the effective sample size of its weights."""
        return {}

    def require_cutoff(self) -> None:
        """Raise if the metric needs a cut-off and has none."""
        if self.cutoff == "required" and not self.k:
            raise MetricError(
                f"{self.name} needs a cut-off", found=str(self), hint=f"write {self}@10"
            )
        for part in self.parts:
            part.require_cutoff()


@dataclass_transform(frozen_default=True, kw_only_default=True)
def metric(
    name: str,
    *aliases: str,
    range: tuple[float, float],  # noqa: A002 - the field's word, and what the attribute is called
    higher_is_better: bool | None,
    cutoff: Literal["required", "optional", "none"] = "optional",
    family: str | None = None,
    plain: Callable[..., Any] | None = None,
) -> Callable[[_M], _M]:
    """Make a class a metric: a registered frozen dataclass with these class attributes.

    Parameters
    ----------
    name : str
        The canonical name, in lower case.
    *aliases : str
        Other names that the field uses.
    range : tuple of float
        The smallest and the largest value.
    higher_is_better : bool or None
        The better direction; None if neither direction is better.
    cutoff : {"optional", "required", "none"}
        Whether ``@k`` may, must or must not be given.
    family : str, optional
        The family; by default the name of the module.
    plain : callable, optional
        Its definition in plain Python; common parameters have the same default.

    Returns
    -------
    callable
        A class decorator. It adds to the docstring the range and the better direction, and the
        parameters and references that only docstrings of base classes have.
    """

    def decorate(cls: _M) -> _M:
        dataclass(frozen=True, kw_only=True, repr=False)(cls)  # changes the class in place
        cls.name, cls.aliases, cls.range = name, aliases, range
        cls.higher_is_better, cls.cutoff = higher_is_better, cutoff
        cls.plain = plain and staticmethod(plain)
        cls.family = family or cls.__module__.rsplit(".", 1)[-1]
        _document(cls)
        add(cls)
        return cls

    return decorate


def _document(cls: type[Metric]) -> None:
    """Add declared properties, and parameters and references of base classes, to a docstring."""
    texts = {"": "", "Parameters": ""} | sections(cls)
    users: object = cls.defined_for  # a property where it depends on parameters
    averaged = " The mean over users with a list." if users == "list" else ""
    texts[""] += f"\n\nRange {interval(cls.range)}; {direction(cls.higher_is_better)}.{averaged}"
    names = {parameter.name for parameter in fields(cls)}
    for base in cls.__mro__[1 : cls.__mro__.index(Metric)]:
        inherited = sections(base)
        for description in re.findall(
            r"^\w+ : .+(?:\n    .+)+", inherited.get("Parameters", ""), re.MULTILINE
        ):
            name = description.split()[0]
            if name in names and not re.search(rf"^{name} : ", texts["Parameters"], re.MULTILINE):
                texts["Parameters"] += f"\n{description}"
        if "References" in inherited:
            texts.setdefault("References", inherited["References"])
    examples = {"Examples": texts.pop("Examples", "")}  # below inherited references
    titled = (
        f"{title}\n{'-' * len(title)}\n{text.strip()}"
        for title, text in (texts | examples).items()
        if title and text
    )
    cls.__doc__ = "\n\n".join([texts[""], *titled])


@cache
def _annotations(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls, include_extras=True)


def _check(owner: Metric, name: str, value: object) -> None:
    """Raise unless the value of a parameter matches its annotation and the declared limits."""
    cls: Any = type(owner)
    kind = _annotations(cls)[name]
    limits = getattr(kind, "__metadata__", ())
    if limits:
        kind = typing.get_args(kind)[0]
    if kind is object:  # the metric itself checks it
        return

    fits, words = _fits(value, kind)
    if not fits:
        raise ParameterError(
            f"{owner.name}: {name} must be {words}", found=f"{name}={show_value(value)}"
        )
    for limit in limits:
        limit.check(owner, name, value)


def _fits(value: object, kind: Any) -> tuple[bool, str]:
    """Return whether a value is of an annotated type, and the type in words."""
    choices = typing.get_args(kind)
    if typing.get_origin(kind) is Literal:
        return value in choices, "one of " + ", ".join(map(str, choices))
    if typing.get_origin(kind) is tuple:
        entries = f"a list of {choices[0].__name__.lower()}s"
        return isinstance(value, tuple) and all(_is_a(e, choices[0]) for e in value), entries
    if kind in (int, float) or (choices and choices[0] in (int, float)):
        return _is_finite(value) or (value is None and type(None) in choices), "a finite number"
    return isinstance(
        value, kind
    ), "true or false" if kind is bool else f"a {kind.__name__.lower()}"


def _is_finite(value: object) -> bool:
    """Return whether a value is a number, no bool, that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max


def _as_metrics(default: object, value: Any) -> Any:
    """Turn lists into tuples, and names into metrics where the default is a metric."""
    if isinstance(value, list):
        value = tuple(value)
    example = default[0] if isinstance(default, tuple) and default else default
    if not isinstance(example, Metric):
        return value
    if isinstance(value, tuple):
        return tuple(parse(entry) if isinstance(entry, str) else entry for entry in value)
    return parse(value) if isinstance(value, str) else value


def _is_a(value: object, kind: type) -> bool:
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    return isinstance(value, (int, float) if kind is float else kind)


def _cutoffs(owner: Metric, k: Any) -> Cutoffs:
    """Return cut-offs as a tuple of Python's integers."""
    cutoffs = list(k) if hasattr(k, "__iter__") and not isinstance(k, str) else [k]
    for cutoff in cutoffs:
        is_integer = hasattr(cutoff, "__index__") and not isinstance(cutoff, bool)
        if not is_integer or not 1 <= operator.index(cutoff) <= LARGEST:
            raise ParameterError(
                f"{owner.name}: a cut-off is a whole number from 1 to {LARGEST:,}",
                found=f"k={cutoff!r}",
                hint=f"without a cut-off, {owner.name} is computed on the whole list"
                if owner.cutoff != "required" and is_integer and cutoff > LARGEST
                else None,
            )
    plain = tuple(operator.index(cutoff) for cutoff in cutoffs)
    if len(set(plain)) < len(plain):
        raise ParameterError(f"{owner.name}: duplicate cut-off", found=f"k={_show_k(plain)}")
    return plain


def _show_k(k: Cutoffs) -> str:
    return str(k[0]) if len(k) == 1 else f"[{','.join(map(str, k))}]"


def show_value(value: object) -> str:
    """Write the value of a parameter in the notation of the parser."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{','.join(map(show_value, value))}]"
    if isinstance(value, str) and (
        not value.isidentifier()
        or keyword.iskeyword(value)
        or value.lower() in ("true", "false", "none")
    ):
        return value if value == "none" else repr(value)
    if callable(value):
        return repr(f"{value.__module__}:{getattr(value, '__qualname__', value)}")
    return str(value)


def preset(
    name: str,
    *aliases: str,
    fixed: Mapping[str, Any],
    family: str,
    range: tuple[float, float] | None = None,  # noqa: A002 - the field's word
    plain: Callable[..., Any] | None = None,
) -> Callable[[_M], _M]:
    """Make a subclass of a metric a preset: the same metric with parameters that are fixed.

    Parameters
    ----------
    name, *aliases : str
        The names.
    fixed : mapping of str to object
        The values of the parameters that are fixed; the preset does not have these parameters.
    family : str
        The family.
    range : tuple of float, optional
        The smallest and the largest value; by default those of the metric.
    plain : callable, optional
        The definition in plain Python; by default that of the metric.

    Returns
    -------
    callable
        A class decorator.
    """

    def decorate(cls: _M) -> _M:
        base = cls.__mro__[1]
        assert issubclass(base, Metric)
        cls.__annotations__ = {
            **inspect.get_annotations(cls),
            **dict.fromkeys(fixed, ClassVar[Any]),
        }
        for choice, value in fixed.items():
            setattr(cls, choice, value)
        cls.fixed = dict(fixed)
        return metric(
            name,
            *aliases,
            range=range or base.range,
            higher_is_better=base.higher_is_better,
            cutoff=base.cutoff,
            family=family,
            plain=plain or base.plain,
        )(cls)

    return decorate


MetricLike: TypeAlias = "str | Metric | type[Metric]"


class Reader(Protocol):
    """A reader of metrics with its own notation: a convention."""

    def read(self, text: str) -> list[Metric]:
        """Return the metrics that a text names."""

    def check_object(self, metric: Metric) -> None:
        """Raise if an object would mean another metric as text."""


def parse(text: str) -> Metric:
    """Return the metric that a text names.

    Examples
    --------
    >>> parse("nDCG(gain=exponential) @ 10")
    NDCG(gain='exponential') @ 10
    >>> str(parse("R@5,10"))
    'recall@[5,10]'
    """
    metrics = parse_text(text)
    if len(metrics) != 1:
        raise several_metrics(text)
    metric: Metric = metrics[0]
    return metric


def parse_all(
    metrics: MetricLike | Iterable[MetricLike],
    reader: Reader | None = None,
    *,
    cutoffs: bool = True,
) -> tuple[Metric, ...]:
    """Return the metrics that are given as text, objects or classes, in a list or alone.

    Without ``cutoffs`` also metrics that need a cut-off may have none. A ``reader`` says what text
    means; by default it means what rankwise writes.

    Examples
    --------
    >>> [str(m) for m in parse_all(["ndcg@10", "recall@5,10"])]
    ['ndcg@10', 'recall@[5,10]']
    """
    several: Any = metrics
    if isinstance(metrics, str | Metric | type) or not hasattr(metrics, "__iter__"):
        several = [metrics]
    entries = bounded("metrics", several, 10_000)
    parsed = [metric for entry in entries for metric in _parse_entry(entry, reader)]
    if not parsed:
        raise MetricError(
            "no metric was requested",
            hint=f"pass a metric, such as {parameter('metrics', ['ndcg@10'])}",
        )

    cells: set[str] = set()
    for metric in parsed:
        if cutoffs:
            metric.require_cutoff()
        twice = cells.intersection(metric.cells)
        if twice:
            raise MetricError("duplicate metric", found=min(twice))
        cells.update(metric.cells)
    return tuple(parsed)


def _parse_entry(entry: Any, reader: Reader | None) -> Sequence[Metric]:
    """Return the metrics that one text, object or class stands for."""
    if isinstance(entry, str):
        return parse_text(entry) if reader is None else reader.read(entry)
    if isinstance(entry, type) and issubclass(entry, Metric):
        entry = entry()
    if not isinstance(entry, Metric):
        raise MetricError(
            "a metric is text or a metric object",
            found=f"{entry!r} ({type(entry).__name__})",
            hint='write "ndcg@10" or rankwise.NDCG() @ 10',
        )
    if reader is not None:
        reader.check_object(entry)
    return [entry]


def one_by_one(texts: Iterable[str]) -> list[str]:
    """Return metrics in any notation one by one, each at one cut-off.

    >>> one_by_one(["ndcg@5,10, f(first=map,second=dcg(gain=binary))@[1]"])
    ['ndcg@5', 'ndcg@10', 'f(first=map,second=dcg(gain=binary))@1']
    """
    out: list[str] = []
    for text in texts if isinstance(texts, Iterable) else [texts]:
        if not isinstance(text, str):
            raise MetricError(
                "metrics must be text here: each convention has its own notation",
                found=f"{text!r} ({type(text).__name__})",
                hint='write "ndcg@10"',
            )
        for part in _top_level(text):
            name, _, cutoffs = part.rpartition("@")
            if part.isdecimal() and out:  # ndcg@5,10: another cut-off of the same metric
                name, cutoffs = out[-1].rpartition("@")[0], part
            if cutoffs.startswith("[") and cutoffs.endswith("]"):
                out += [f"{name}@{k.strip()}" for k in cutoffs[1:-1].split(",")]
            else:
                out.append(f"{name}@{cutoffs}" if name else part)
    if not out:
        raise MetricError(
            "no metric was requested",
            hint=f"pass a metric, such as {parameter('metrics', ['ndcg@10'])}",
        )
    return out


def _top_level(text: str) -> list[str]:
    """Return the parts between commas that are outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
