"""Configuration files: YAML with line numbers, the schema of keys, and the keys of WarpRec.

A YAML file as plain values, with the line of each: a safe reader of YAML 1.2's core schema.

PyYAML's own loader follows YAML 1.1, in which ``no`` is false, ``010`` is 8, ``1e-3`` is text and
``2024-01-01`` a date. Here true and false are the only Booleans, numbers are what they look like,
and everything else is text. Tags, and with them code, are refused. Merge keys (``<<: *base``)
are those of YAML 1.1, and keys of the file that begin with ``x-`` hold what others refer to.

The keys of WarpRec's ``evaluation`` section (1.4 and 2.2.8), as metrics and options of rankwise.

They name what to compute, not how: values follow rankwise's definitions, or those of the
configuration's convention.

Options of the evaluation come from `Settings`, those of comparisons from the signature of
`rankwise.compare`, rules of splits from `rankwise.splits`: none of them is listed here again.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args, get_type_hints

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    create_model,
    model_validator,
)

from rankwise.comparison.compare import compare
from rankwise.comparison.decide import decide
from rankwise.convention.convention import Convention
from rankwise.core.arguments import TimeUnit
from rankwise.core.saved_forms import CONFIGURATION
from rankwise.errors import ConfigError, FileError, ParameterError, nearest
from rankwise.evaluation.settings import ListOptions, option_fields, option_types
from rankwise.evidence.judged import judged
from rankwise.evidence.launches import validate_metrics
from rankwise.evidence.rank_agreement import rank_agreement
from rankwise.metrics import registry
from rankwise.metrics.base import Metric, parse_all, show_value
from rankwise.metrics.debiased import ByPropensity
from rankwise.models import recommenders
from rankwise.models.recommenders import ItemNeighbours, Popularity, Random
from rankwise.offpolicy.off_policy import off_policy
from rankwise.splits.reading import FILTERS, RULES
from rankwise.tables.formats import FormatName, plain_stem

Place: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys of mappings and positions in lists."""

_LARGEST = 5_000_000  # bytes of a file
_MOST = 100_000  # values: aliases of aliases could make any number of them
_DEEPEST = 50
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NULL = ("", "~", "null", "Null", "NULL")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_UNQUOTED = re.compile(r"\w+(\([^)]*\))?@\[[^]]*\]")
"""A metric at several cut-offs, whose brackets are a list to YAML unless it is quoted."""
_EXTENSION = "x-"
_MERGE = "tag:yaml.org,2002:merge"
_TAGS = {
    f"tag:yaml.org,2002:{name}"
    for name in ("bool", "float", "int", "map", "merge", "null", "seq", "str", "timestamp", "value")
}
"""The tags of plain values in PyYAML; any other tag is explicit, and might run code."""


@dataclass(frozen=True)
class Document:
    """The values of a file, with the line of each."""

    values: Mapping[str, Any]
    lines: Mapping[Place, int]
    name: str
    mistakes: Sequence[tuple[int, Place, str]] = ()
    """Line, place and text of what YAML allows and configurations do not; the rest is read."""

    def line(self, place: Place) -> int:
        """Return the line of a value, or of its innermost existing parent."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def value(self, place: Place) -> Any:
        """Return the value in a place; None if there is none."""
        value: Any = self.values
        for part in place:
            inside = isinstance(value, dict) and part in value
            if not inside and not (
                isinstance(value, list) and isinstance(part, int) and part < len(value)
            ):
                return None
            value = value[part]
        return value

    def has(self, place: Place) -> bool:
        """Return whether the file says something there."""
        return place in self.lines


def spelled(place: Place) -> str:
    """Format a place as a dotted key path.

    >>> spelled(("evaluation", "metrics", 0))
    'evaluation.metrics[0]'
    """
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.lstrip(".") or "the file"


def read_document(path: str | Path) -> Document:
    """Read a YAML file (JSON is YAML as well).

    Duplicate keys, tags and keys that are no text are among the ``mistakes`` of the document.

    Raises
    ------
    FileError
        If there is no such file, or it is no text.
    ConfigError
        If it is no YAML, not a mapping of keys to values, or too large to be read.
    """
    name = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FileError("this file cannot be read", where=name, found=error.strerror) from error
    if len(data) > _LARGEST:
        raise FileError(
            "this is too large for a configuration file", where=name, found=f"{len(data):,} bytes"
        )
    try:
        text = data.decode("utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise FileError("this file is not UTF-8", where=name, found=str(error)) from error
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        problem = " ".join(filter(None, (error.context, error.problem)))
        hint = _syntax_hint((text.splitlines() or [""])[line - 1 :][:1], error.problem or "")
        raise _no_yaml(name, f"line {line}: {problem}{hint}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _no_yaml(name, str(error).splitlines()[0]) from error
    if not isinstance(node, yaml.MappingNode):
        raise _no_yaml(name, "line 1: the file holds no keys", "a mapping of keys to values")
    reader = _Reader(name)
    values = {
        key: value
        for key, value in reader.read(node, ()).items()
        if not str(key).startswith(_EXTENSION)
    }
    return Document(values, reader.lines, name, reader.mistakes)


def _syntax_hint(lines: list[str], problem: str) -> str:
    """Return a hint on how to write text that YAML misreads, given the line with the problem."""
    line = lines[0] if lines else ""
    metric = _UNQUOTED.search(line)
    if metric is not None:
        return f'; put the metric in quotation marks: "{metric[0]}"'
    if "\\t" in problem:
        return "; indent with spaces, not with tabs"
    if "cannot start any token" in problem or "mapping values are not allowed" in problem:
        return "; put text with such characters in quotation marks"
    return ""


def _no_yaml(name: str, mistake: str, what: str = "YAML") -> ConfigError:
    return ConfigError(f"this file is not {what}", where=name, mistakes=[mistake])


class _Reader:
    """A converter of YAML nodes to plain values, which records their lines and problems."""

    def __init__(self, name: str) -> None:
        self.lines: dict[Place, int] = {}
        self.mistakes: list[tuple[int, Place, str]] = []
        self._name, self._count = name, 0

    def read(self, node: yaml.Node, place: Place) -> Any:
        """Return the value of a node."""
        self.lines.setdefault(place, _line(node))
        self._count += 1
        if self._count > _MOST or len(place) > _DEEPEST:
            raise self._unreadable(node, place[:5], "too many values, or too deeply nested")
        if node.tag not in _TAGS:
            self._wrong(node, place, f"the tag {node.tag} is refused: values are plain")
        if isinstance(node, yaml.MappingNode):
            return dict(self._items(node, place))
        if isinstance(node, yaml.SequenceNode):
            return [self.read(inner, (*place, at)) for at, inner in enumerate(node.value)]
        return self._scalar(node)

    def _items(self, node: yaml.MappingNode, place: Place) -> Iterator[tuple[str | int, Any]]:
        """Yield written keys and values, then the keys and values that merge keys add."""
        merged: dict[str | int, tuple[yaml.Node, yaml.Node]] = {}
        written: set[str | int] = set()
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                for name, pair in self._merged(value_node, (*place, "<<"), 0):
                    merged.setdefault(name, pair)  # of several bases, the first one counts
                continue
            key = self._key(key_node, place)
            if key is None:
                continue
            if key in written:
                self._wrong(key_node, (*place, key), "duplicate key")
                continue
            written.add(key)
            self.lines[*place, key] = _line(key_node)
            yield key, self.read(value_node, (*place, key))
        for name, (key_node, value_node) in merged.items():
            if name not in written:
                self.lines[*place, name] = _line(key_node)
                yield name, self.read(value_node, (*place, name))

    def _merged(
        self, base: yaml.Node, place: Place, depth: int
    ) -> Iterator[tuple[str | int, tuple[yaml.Node, yaml.Node]]]:
        """Yield the keys and nodes of a merge key's base: a mapping, or a list of mappings."""
        if depth > _DEEPEST:
            raise self._unreadable(base, place, "a merge key that contains itself")
        if isinstance(base, yaml.SequenceNode):
            for inner in base.value:
                yield from self._merged(inner, place, depth + 1)
            return
        if not isinstance(base, yaml.MappingNode):
            self._wrong(
                base,
                place,
                "a merge key needs a mapping; write <<: *name, and name: &name {…} before",
            )
            return
        inherited = []
        for key_node, value_node in base.value:
            if key_node.tag == _MERGE:
                inherited.append(value_node)
            elif (key := self._key(key_node, place)) is not None:
                yield key, (key_node, value_node)
        for value_node in inherited:
            yield from self._merged(value_node, place, depth + 1)

    def _key(self, node: yaml.Node, place: Place) -> str | int | None:
        """Return a key as a value; record a mistake and return None if the key is not text."""
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _TAGS:
            self._wrong(node, place, "a key is not text")
            return None
        key = self._scalar(node)
        return key if isinstance(key, str | int) and not isinstance(key, bool) else str(node.value)

    def _scalar(self, node: yaml.Node) -> Any:
        assert isinstance(node, yaml.ScalarNode)
        text = str(node.value)
        if node.style is not None:  # quoted, or a block of text
            return text
        if text in _BOOL:
            return _BOOL[text]
        if text in _NULL:
            return None
        if _INTEGER.fullmatch(text) and len(text) < 40:
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        infinity = _INFINITY.fullmatch(text)
        return text if infinity is None else float(f"{infinity[1]}inf")

    def _wrong(self, node: yaml.Node, place: Place, what: str) -> None:
        self.mistakes.append((_line(node), place, what))

    def _unreadable(self, node: yaml.Node, place: Place, what: str) -> ConfigError:
        mistake = f"line {_line(node)}, {spelled(place)}: {what}"
        return ConfigError("this file cannot be read", where=self._name, mistakes=[mistake])


def _line(node: yaml.Node) -> int:
    line: int = node.start_mark.line
    return line + 1


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ComplexMetric(_Strict):
    """A metric with parameters."""

    name: str
    params: dict[str, Any] = Field(default_factory=dict)


class Corrections(_Strict):
    """Corrections for several tests; each that is true gives a comparison."""

    bonferroni: bool = False
    holm_bonferroni: bool = False
    fdr: bool = False
    alpha: float = Field(default=0.05, gt=0, lt=1)


class Significance(_Strict):
    """Significance tests; each that is true gives a comparison."""

    paired_t_test: bool = False
    wilcoxon_test: bool = False
    kruskal_test: bool = False
    whitney_u_test: bool = False
    corrections: Corrections = Field(default_factory=lambda: Corrections())


class Propensity(_Strict):
    """The propensities that debiased metrics divide by."""

    estimator: Literal["uniform", "popularity"] = Field(
        "uniform", description="popularity: estimated from training; uniform corrects nothing."
    )
    power: float = Field(0.5, ge=0, description="Exponent of the estimate.")
    clip: float = Field(0.1, gt=0, le=1, description="Smallest propensity.")


_UNUSED = "Accepted, and without effect here."
WARPREC_FIELDS: dict[str, Any] = {
    "top_k": (int | list[int] | None, Field(None, description="The same as k.")),
    "complex_metrics": (
        list[ComplexMetric],
        Field(
            default_factory=list, description="Metrics with parameters: {name: F1, params: {…}}."
        ),
    ),
    "validation_metric": (
        str | None,
        Field(None, description="The primary metric, such as nDCG@10."),
    ),
    "batch_size": (int | None, Field(None, ge=1, description="The same as block_size.")),
    "strategy": (
        Literal["full", "sampled"],
        Field(
            "full",
            description="Rank all items, or each user's relevant items and sampled negatives.",
        ),
    ),
    "num_negatives": (int, Field(99, ge=1, description="Negatives per user, if sampled.")),
    "negative_sampling": (
        Literal["uniform", "popularity"],
        Field("uniform", description="How negatives are drawn, if sampled."),
    ),
    "neg_alpha": (
        float,
        Field(
            0.75,
            ge=0,
            description="Exponent of an item's number of training users, if drawn by popularity.",
        ),
    ),
    "candidates": (
        Literal["all", "cold", "warm"],
        Field(
            "all",
            description="Items that are ranked: all, those without training interactions, or the "
            "rest.",
        ),
    ),
    "mask_seen": (
        Literal["auto", "context", "pair", "none"] | None,
        Field(
            None,
            description="auto and pair: the same as exclude_seen: true; none: exclude_seen: false.",
        ),
    ),
    "propensity": (Propensity | None, Field(None, description="Propensities of debiased metrics.")),
    "seed": (int, Field(42, ge=0, description="Seed of the sampled negatives.")),
    "stat_significance": (
        Significance | None,
        Field(None, description="Tests and corrections, in place of the section comparison."),
    ),
    "save_per_user": (bool, Field(False, description="The same as output.per_user: csv.")),
    "save_evaluation": (bool, Field(True, description=_UNUSED)),
    "full_evaluation_on_report": (bool, Field(False, description=_UNUSED)),
    "max_metric_per_row": (int, Field(4, description=_UNUSED)),
}
"""Fields of the model of the section ``evaluation``: type and default of each."""

_TESTS = {"paired_t_test": "t", "wilcoxon_test": "wilcoxon"}
_CORRECTIONS = {"bonferroni": "bonferroni", "holm_bonferroni": "holm", "fdr": "bh"}
_UNPAIRED = {"kruskal_test": "Kruskal-Wallis", "whitney_u_test": "Mann-Whitney"}


def tests_of(significance: Significance) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the options of every requested comparison, and messages for unsupported ones."""
    refused = [
        f"{key}: {name} treats the systems' users as unrelated, though they are the same users; "
        "use paired_t_test or wilcoxon_test"
        for key, name in _UNPAIRED.items()
        if getattr(significance, key)
    ]
    tests = [test for key, test in _TESTS.items() if getattr(significance, key)]
    chosen = significance.corrections
    corrections = [c for key, c in _CORRECTIONS.items() if getattr(chosen, key)] or ["none"]
    options = [
        {"test": test, "correction": correction, "alpha": chosen.alpha}
        for test in tests
        for correction in corrections
    ]
    return options, refused


_PARAMETERS = {
    "f": {
        "metric_name_1": "first",
        "metric_name_2": "second",
        "metric_1": "first",
        "metric_2": "second",
    },
    "euclidean_distance": {"metric_names": "metrics", "utopia_points": "utopia"},
    "hypervolume": {
        "metric_names": "metrics",
        "nadir_points": "nadir",
        "higher_is_better": "directions",
    },
}
"""Parameters that WarpRec calls otherwise, by metric: ``metric_name_1`` in 1.4, ``metric_1`` in 2.2.8."""


def complex_metric(
    entry: ComplexMetric, k: Sequence[int], convention: Convention | None = None
) -> Metric:
    """Return the metric of an entry with parameters, its parts in the language of a convention.

    >>> str(complex_metric(ComplexMetric(name="F1", params={"metric_1": "nDCG",
    ...     "metric_2": "MAP", "beta": 0.5}), [10]))
    'f(beta=0.5,first=ndcg,second=map)@10'

    Raises
    ------
    MetricError, ParameterError
        If there is no such metric or parameter.
    """
    (metric,) = parse_all(_text(entry, convention), convention, cutoffs=False)
    metric = metric @ list(k) if k and metric.cutoff != "none" else metric
    metric.require_cutoff()
    return metric


def _text(entry: ComplexMetric, convention: Convention | None) -> str:
    """Return a metric with parameters as text, the parameters as rankwise calls them."""
    name = entry.name
    if convention is not None and [*entry.params] == [
        "relevance"
    ]:  # the library's own name of a variant
        variant = f"{name}[{entry.params['relevance']}]"
        if convention.means(variant) is not None:
            return variant
    cls = registry.find(parse_all(name, convention, cutoffs=False)[0].name)
    params = _renamed(entry.params, _PARAMETERS.get(cls.name, {}), cls().parameters, cls.name)
    return (
        f"{name}({','.join(f'{key}={show_value(value)}' for key, value in params.items())})"
        if params
        else name
    )


def _renamed(
    params: Mapping[str, Any], names: Mapping[str, str], parameters: Mapping[str, Any], metric: str
) -> dict[str, Any]:
    renamed: dict[str, Any] = {}
    for key, value in params.items():
        name = names.get(key, key)
        if name not in parameters:
            raise ParameterError(
                f"{metric} has no parameter {key!r}",
                found=", ".join(parameters) or "none",
                hint=nearest(name, parameters),
            )
        if name in renamed:
            raise ParameterError(
                f"{key} is another name of a parameter that is given already", found=f"{name}"
            )
        renamed[name] = tuple(value) if isinstance(value, list) else value
    return renamed


def with_propensity(metric: Metric, propensity: Propensity) -> Metric:
    """Return a metric whose debiased parts have this power and clip, unless they say their own.

    >>> str(with_propensity(registry.find("ips_recall")(), Propensity(estimator="popularity", clip=0.2)))
    'ips_recall(clip=0.2)'
    """
    changed = {name for name, _ in metric.non_default_parameters}
    parts: dict[str, Any] = {}
    for name, value in metric.parameters.items():
        if name in metric.fixed:
            continue
        if isinstance(value, Metric):
            parts[name] = with_propensity(value, propensity)
        elif isinstance(value, tuple) and value and all(isinstance(part, Metric) for part in value):
            parts[name] = tuple(with_propensity(part, propensity) for part in value)
    if isinstance(metric, ByPropensity) and metric.propensity == "popularity":
        options = {"power": propensity.power, "clip": propensity.clip}
        parts |= {name: value for name, value in options.items() if name not in changed}
    return replace(metric, **parts) if parts else metric


MODELS = {model.__name__: model for model in (Random, Popularity, ItemNeighbours)}
"""The baselines that a system may name."""


def _as_named(key: str) -> Callable[[Any], Any]:
    """Return a function that turns a text into a section with one key; pydantic checks the rest."""
    return lambda value: {key: value} if isinstance(value, str) else value


class Source(_Strict):
    """A file, a folder of Parquet files, or the folder of a split."""

    path: str = Field(description="The file or folder, relative to the configuration file.")
    format: FormatName | None = Field(
        default=None, description="Its format, if it is not recognised by suffix and first line."
    )
    separator: str | None = Field(
        default=None, description="The text between fields.", min_length=1
    )
    header: list[str] = Field(
        default_factory=list, description="The names of the columns of a file without a header."
    )
    columns: dict[str, str | None] = Field(
        default_factory=dict,
        description="The column of each role: {user: uid, relevance: stars}; null: none.",
    )
    sha256: str | None = Field(
        default=None,
        description="The SHA-256 hash that the file must have, as in resolved configurations.",
    )


SourceOrPath: TypeAlias = Annotated[
    Source, BeforeValidator(_as_named("path"), json_schema_input_type=str | Source)
]


class Data(_Strict):
    """The tables that all systems share."""

    recommendations: SourceOrPath | None = Field(
        default=None, description="The recommendation lists, if there is one system."
    )
    truth: SourceOrPath | None = Field(
        default=None, description="The ground truth, or the folder of a split."
    )
    train: SourceOrPath | None = Field(default=None, description="Training interactions.")
    items: SourceOrPath | None = Field(
        default=None, description="The catalogue: categories, features, groups and titles of items."
    )
    users: SourceOrPath | None = Field(
        default=None, description="One row per user: groups and weights."
    )
    reference: SourceOrPath | None = Field(
        default=None, description="The recommendation lists of another system, for overlap metrics."
    )
    interactions: SourceOrPath | None = Field(
        default=None, description="Interactions to be split by `split`."
    )


def _baseline_fields() -> dict[str, Any]:
    """Return the parameters of all baselines: which of them has which is checked later."""
    parameters: dict[str, Any] = {}
    for name, model in MODELS.items():
        hints = get_type_hints(model, vars(recommenders))
        for entry in fields(model):
            if entry.init:
                text = f"Parameter of {name}.  [default: {entry.default}]"
                parameters[entry.name] = (hints[entry.name] | None, Field(None, description=text))
    return parameters


def _made(name: str, text: str, described: dict[str, Any]) -> Any:
    """Return a model of fields whose types and texts are described elsewhere."""
    return create_model(name, __base__=_Strict, __doc__=text, **described)


Baseline: Any = _made(
    "Baseline",
    "A baseline of rankwise, fitted to the training interactions.",
    {
        "model": (Literal[tuple(MODELS)], Field(description="The baseline.")),
        "k": (
            int | None,
            Field(None, ge=1, description="Length of the lists.  [default: the largest cut-off]"),
        ),
        **_baseline_fields(),
    },
)


class Output(_Strict):
    """What is written, and where."""

    folder: str = Field(default="rankwise-results", description="The folder to write to.")
    report: bool | str = Field(
        default=True,
        description="Write the HTML report: true (report.html), false, or another name.",
    )
    title: str | None = Field(default=None, description="The title of the report.")
    tables: list[Literal["markdown", "latex", "csv"]] = Field(
        default_factory=list, description="Formats of the table of the comparison or single result."
    )
    per_user: Literal["csv", "parquet", "json"] | None = Field(
        default=None, description="Also write per-user values as tables of this format."
    )
    audit: bool = Field(
        default=True, description="Audit the split for leakage, if there is training data."
    )


class Engine(_Strict):
    """Where the evaluation runs."""

    name: Literal["local", "spark"] = Field(
        default="local", description="Evaluate in this process, or on Spark."
    )
    master: str | None = Field(
        default=None, description="Spark's master, such as local[4] or yarn."
    )
    buckets: int | None = Field(
        default=None, ge=1, description="Number of buckets of users on Spark."
    )


class Split(BaseModel):
    """A rule of `rankwise.splits` with its parameters, as ``split.json`` writes it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    rule: Literal[tuple(sorted(RULES))] = Field(  # type: ignore[valid-type]
        description="The rule."
    )
    time_unit: TimeUnit | None = Field(default=None, description="Unit of numeric timestamps.")
    time_format: str | None = Field(default=None, description="Format of dates, such as %d/%m/%Y.")


_TEXT = re.compile(r"^(\w+(?:, \w+)*) : .*\n((?:    .*\n?)+)", re.MULTILINE)


@cache
def _texts(document: str) -> Mapping[str, str]:
    """Return the descriptions of parameters in a numpydoc docstring, on one line each."""
    return {
        name.strip(): " ".join(text.split())
        for names, text in _TEXT.findall(inspect.cleandoc(document))
        for name in names.split(",")
    }


def options_of(function: Callable[..., Any]) -> dict[str, tuple[Any, Any, str]]:
    """Return the options of a function: type, default and description of each.

    >>> sorted(options_of(decide))[:3]
    ['alpha', 'baseline', 'deterioration']
    """
    hints, texts = get_type_hints(function), _texts(function.__doc__ or "")
    return {
        name: (_plain_type(hints[name]), parameter.default, texts.get(name, ""))
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def _plain_type(kind: Any) -> Any:
    """Return a YAML-compatible type: lists for sequences, mappings with keys of any kind."""
    arguments = get_args(kind)
    if kind is Convention:  # described by its choices
        return dict[str, Any]
    if kind is Sequence or getattr(kind, "__origin__", None) is Sequence:
        return list[arguments[0]]  # type: ignore[valid-type]
    if getattr(kind, "__origin__", None) is Mapping:
        return dict[Any, arguments[1]]  # type: ignore[valid-type]
    if arguments and not isinstance(arguments[0], str):
        out: Any = _plain_type(arguments[0])
        for argument in arguments[1:]:
            out = out | _plain_type(argument)
        return out
    return kind


def _field(kind: Any, default: Any, text: str) -> tuple[Any, Any]:
    """Return a model field for `create_model`; required if the default is `Parameter.empty`."""
    if default is inspect.Parameter.empty:
        return kind, Field(description=text)
    return kind, Field(list(default) if isinstance(default, tuple) else default, description=text)


def _evaluation_options() -> dict[str, tuple[Any, Any]]:
    """Return the options of `Settings` as fields of a model, with the shorthands of `evaluate`."""
    entries, types = option_fields(), option_types()
    made: dict[str, tuple[Any, Any]] = {}
    for name in ListOptions.__annotations__ | types:
        entry = entries.get(name)
        default = None if entry is None else entry.default
        text = _SHORT.get(name, "") if entry is None else entry.metadata["text"].replace("``", "")
        made[name] = _field(_plain_type(types[name]), default, text)
    return made


_SHORT = {
    "k": "Cut-offs of metrics that are given without one.",
    "threshold": "Alias of relevance_threshold.",
}

Evaluation: Any = _made(
    "Evaluation",
    "Metrics, and every option of `rankwise.evaluate`.",
    {
        "metrics": (
            str | list[str] | None,
            Field(
                default=None,
                description='Metrics as text: "ndcg@10", "ndcg(gain=exponential)@[5,10]"; '
                "names without a cut-off are taken at those of k.",
            ),
        )
    }
    | WARPREC_FIELDS
    | _evaluation_options(),
)


def _fields_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the options of a function as fields of a model."""
    return {name: _field(*option) for name, option in options_of(function).items()}


Comparison: Any = _made(
    "Comparison", "The comparison: every option of `rankwise.compare`.", _fields_of(compare)
)
Launches: Any = _made(
    "Launches",
    "Past launches: every option of `rankwise.validate_metrics`.",
    {
        "table": (SourceOrPath, Field(description="One row per launch.")),
        **_fields_of(validate_metrics),
    },
)
Judged: Any = _made(
    "Judged",
    "Human labels beside those of `data.truth`, which are a model's: options of `rankwise.judged`.",
    {
        "human": (
            SourceOrPath,
            Field(description="The ground truth by human labels, of some users."),
        ),
        **{
            name: field
            for name, field in _fields_of(judged).items()
            if name not in ("human", "judge")
        },
    },
)
Agreement: Any = _made(
    "Agreement",
    "Whether two orders of the systems agree: every option of `rankwise.rank_agreement`.",
    {
        "truth": (
            SourceOrPath | None,
            Field(
                default=None,
                description="A second ground truth; without it `metrics` are two, over one.",
            ),
        ),
        **_fields_of(rank_agreement),
    },
)


class LoggedTarget(_Strict):
    """A policy on logged requests: a rule, a column of the exposures, or a table of one kind."""

    rule: Literal["uniform", "logged"] | None = Field(
        default=None, description="Every item alike, or as the log."
    )
    column: str | None = Field(
        default=None, description="The column of the exposures with its probabilities."
    )
    probabilities: SourceOrPath | None = Field(
        default=None, description="A table of probabilities."
    )
    lists: SourceOrPath | None = Field(default=None, description="Recommendation lists.")
    scores: SourceOrPath | None = Field(
        default=None, description="Scores, with a temperature or epsilon."
    )
    epsilon: float | None = Field(
        default=None, description="The share of exploration of lists or scores.", ge=0, le=1
    )
    temperature: float | None = Field(
        default=None, description="The temperature of a softmax of scores.", gt=0
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        kinds = ("rule", "column", "probabilities", "lists", "scores")
        given = [name for name in kinds if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"a policy is one of {', '.join(kinds)}; given: {', '.join(given) or 'none'}"
            )
        if self.epsilon is not None and given[0] not in ("lists", "scores"):
            raise ValueError(f"epsilon is for lists and scores, not for {given[0]}")
        if self.temperature is not None and given[0] != "scores":
            raise ValueError(f"temperature is for scores, not for {given[0]}")
        if given[0] == "scores" and self.temperature is None and self.epsilon is None:
            raise ValueError("scores alone may mean three policies: give a temperature, or epsilon")
        return self

    @property
    def source(self) -> Source | None:
        """The file of its table."""
        return self.probabilities or self.lists or self.scores


def _as_target(value: Any) -> Any:
    """Return a target by its name alone: a rule, or a column of the exposures."""
    if not isinstance(value, str):
        return value
    return {"rule": value} if value in ("uniform", "logged") else {"column": value}


_Target: Any = Annotated[
    LoggedTarget, BeforeValidator(_as_target, json_schema_input_type=str | LoggedTarget)
]
_OF_TABLES = ("targets", "propensity", "predictions", "items", "columns", "threads", "progress")
LoggedPolicies: Any = _made(
    "LoggedPolicies",
    "What policies would have earned on logged requests: options of `rankwise.off_policy`.",
    {
        "exposures": (SourceOrPath, Field(description="One row per item that was shown.")),
        "outcomes": (SourceOrPath | None, Field(default=None, description="One row per outcome.")),
        "targets": (dict[str, _Target], Field(description="The policies by name.", min_length=1)),
        "propensity": (
            str | LoggedTarget | None,
            Field(
                default=None,
                description="A column, uniform, shares, or the policy that made the log.",
            ),
        ),
        "predictions": (SourceOrPath | None, Field(default=None, description="Predicted rewards.")),
        "items": (
            SourceOrPath | None,
            Field(default=None, description="All items that can be shown."),
        ),
        **{name: field for name, field in _fields_of(off_policy).items() if name not in _OF_TABLES},
    },
)
Decision: Any = _made(
    "Decision", "The decision: every option of `rankwise.decide`.", _fields_of(decide)
)


def _as_systems(value: Any) -> Any:
    """Return systems by name: files alone are called after themselves."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and all(isinstance(path, str) for path in value):
        return {plain_stem(path.replace("\\", "/")): path for path in value}
    return value


def _kind(value: Any) -> str:
    model = "model" in value if isinstance(value, Mapping) else isinstance(value, Baseline)
    return "baseline" if model else "run"


_System: Any = Annotated[
    Annotated[Source, Tag("run")] | Annotated[Baseline, Tag("baseline")],
    Discriminator(_kind),
    BeforeValidator(_as_named("path"), json_schema_input_type=str | Source | Baseline),
]


class Config(_Strict):
    """A configuration file of ``rankwise run``."""

    version: int = Field(
        default=CONFIGURATION.version,
        description="The version of the form of this file, which ``rankwise run`` writes.",
    )
    data: Data = Field(default_factory=lambda: Data(), description="The tables.")
    split: Split | None = Field(default=None, description="The split of `data.interactions`.")
    systems: Annotated[
        dict[str, _System],
        BeforeValidator(
            _as_systems, json_schema_input_type=str | list[str] | dict[str, str | Source | Baseline]
        ),
    ] = Field(default_factory=dict, description="The systems to evaluate, by name.")
    evaluation: Evaluation = Field(
        default_factory=lambda: Evaluation(), description="The metrics and their options."
    )
    comparison: Annotated[
        list[Comparison] | None,
        BeforeValidator(
            lambda value: value if isinstance(value, list) or value is None else [value],
            json_schema_input_type=Comparison | list[Comparison] | None,
        ),
    ] = Field(default=None, description="The comparison of systems, or a list of comparisons.")
    decision: Decision | None = Field(default=None, description="Ship, hold or stop.")
    launches: Launches | None = Field(
        default=None, description="Which offline metrics predicted online effects."
    )
    judged: Judged | None = Field(
        default=None, description="Few human labels beside the many of data.truth."
    )
    agreement: Agreement | None = Field(
        default=None, description="Whether two orders of the systems agree."
    )
    off_policy: LoggedPolicies | None = Field(
        default=None,
        description="What policies would have earned on logged requests; needs no systems.",
    )
    plan: bool = Field(
        default=False, description="Hold the run against the plan that `rankwise plan` wrote."
    )
    output: Output = Field(default_factory=lambda: Output(), description="The output files.")
    engine: Annotated[
        Engine,
        BeforeValidator(
            _as_named("name"), json_schema_input_type=Literal["local", "spark"] | Engine
        ),
    ] = Field(default_factory=lambda: Engine(), description="Where the evaluation runs.")


def section_of(name: str) -> str | None:
    """Return the configuration section that has a Python parameter; None if no section does.

    >>> section_of("duplicates"), section_of("train"), section_of("correction"), section_of("folder")
    ('evaluation', 'data', 'comparison', None)
    """
    sections = {
        "data": Data,
        "evaluation": Evaluation,
        "comparison": Comparison,
        "decision": Decision,
    }
    return next(
        (section for section, model in sections.items() if name in model.model_fields), None
    )


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of configuration files, for editors."""
    schema = Config.model_json_schema()
    rules = schema["$defs"]["Split"]
    parameters = {name for rule in RULES.values() for name in rule.__dataclass_fields__}
    rules["properties"] |= {name: {} for name in sorted(parameters - {"filters"})}
    filters = {
        "type": "object",
        "required": ["filter"],
        "properties": {"filter": {"enum": sorted(FILTERS)}},
    }
    rules["properties"]["filters"] = {"type": "array", "items": filters}
    rules["additionalProperties"] = False
    schema["patternProperties"] = {"^x-": {}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "rankwise configuration",
    }
