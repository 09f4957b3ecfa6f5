"""The schema of configuration files: pydantic models, and the JSON Schema that editors use.

Options of the evaluation come from `Settings`, those of comparisons from the signature of
`rankwise.compare`, rules of splits from `rankwise.splits`: none of them is listed here again.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, create_model

from rankwise.convention.convention import Convention
from rankwise.core.choices import TimeUnit
from rankwise.evaluation.config.warprec import WARPREC_FIELDS
from rankwise.evaluation.option_sets import ListOptions, option_types
from rankwise.evaluation.settings import option_fields
from rankwise.models import baselines
from rankwise.models.baselines import ItemNeighbours, Popularity, Random
from rankwise.results.compare import compare
from rankwise.results.decide import decide
from rankwise.splits.rules import FILTERS, RULES
from rankwise.tables.formats import FormatName, plain_stem

__all__ = ["MODELS", "Config", "Source", "json_schema", "options_of"]

MODELS = {model.__name__: model for model in (Random, Popularity, ItemNeighbours)}
"""The baselines that a system may name."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _as_source(value: Any) -> Any:
    """Return a path alone as a source; a list is left for pydantic to refuse."""
    return {"path": value} if isinstance(value, str) else value


class Source(_Strict):
    """A file, a folder of Parquet files, or the folder of a split."""

    path: str = Field(description="The file or folder, relative to the configuration file.")
    format: FormatName | None = Field(
        default=None, description="Its format, if it is not recognised by suffix and first line."
    )
    separator: str | None = Field(default=None, description="The text between fields.", min_length=1)
    header: list[str] = Field(default_factory=list, description="The names of the columns of a file without a header.")
    columns: dict[str, str | None] = Field(
        default_factory=dict, description="The column of each role: {user: uid, relevance: stars}; null: none."
    )
    sha256: str | None = Field(
        default=None, description="The SHA-256 hash that the file must have, as in resolved configurations."
    )


SourceOrPath: TypeAlias = Annotated[Source, BeforeValidator(_as_source, json_schema_input_type=str | Source)]


class Data(_Strict):
    """The tables that all systems share."""

    recommendations: SourceOrPath | None = Field(
        default=None, description="The recommendation lists, if there is one system."
    )
    truth: SourceOrPath | None = Field(default=None, description="The ground truth, or the folder of a split.")
    train: SourceOrPath | None = Field(default=None, description="Training interactions.")
    items: SourceOrPath | None = Field(
        default=None, description="The catalogue: categories, features, groups and titles of items."
    )
    users: SourceOrPath | None = Field(default=None, description="One row per user: groups and weights.")
    baseline: SourceOrPath | None = Field(default=None, description="The lists of another run, for overlap metrics.")
    interactions: SourceOrPath | None = Field(default=None, description="Interactions to be split by `split`.")


def _baseline_fields() -> dict[str, Any]:
    """Return the parameters of all baselines: which of them has which is checked later."""
    known: dict[str, Any] = {}
    for name, model in MODELS.items():
        hints = get_type_hints(model, vars(baselines))
        for entry in fields(model):
            if entry.init:
                text = f"Parameter of {name}.  [default: {entry.default}]"
                known[entry.name] = (hints[entry.name] | None, Field(None, description=text))
    return known


def _made(name: str, text: str, described: dict[str, Any]) -> Any:
    """Return a model of the fields that other code describes."""
    return create_model(name, __base__=_Strict, __doc__=text, **described)


Baseline: Any = _made(
    "Baseline",
    "A baseline of rankwise, fitted to the training interactions.",
    {
        "model": (Literal[tuple(MODELS)], Field(description="The baseline.")),
        "k": (int | None, Field(None, ge=1, description="Length of the lists.  [default: the largest cut-off]")),
        **_baseline_fields(),
    },
)


class Output(_Strict):
    """What is written, and where."""

    folder: str = Field(default="rankwise-results", description="The folder to write to.")
    report: bool | str = Field(
        default=True, description="Write the HTML report: true (report.html), false, or another name."
    )
    title: str | None = Field(default=None, description="The title of the report.")
    tables: list[Literal["markdown", "latex", "csv"]] = Field(
        default_factory=list, description="Formats of the table of the comparison or single result."
    )
    per_user: Literal["csv", "parquet", "json"] | None = Field(
        default=None, description="Also write per-user values as tables of this format."
    )
    audit: bool = Field(default=True, description="Audit the split for leakage, if there is training data.")


class Engine(_Strict):
    """Where the evaluation runs."""

    name: Literal["local", "spark"] = Field(default="local", description="Evaluate in this process, or on Spark.")
    master: str | None = Field(default=None, description="Spark's master, such as local[4] or yarn.")
    buckets: int | None = Field(default=None, ge=1, description="Number of buckets of users on Spark.")


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
    """Return a type as YAML can hold it: lists for sequences, mappings with keys of any kind."""
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


def _evaluation_options() -> dict[str, tuple[Any, Any]]:
    """Return the options of `Settings` as fields of a model, with the shorthands of `evaluate`."""
    known, types = option_fields(), option_types()
    made: dict[str, tuple[Any, Any]] = {}
    for name in ListOptions.__annotations__ | types:
        entry = known.get(name)
        default = None if entry is None else entry.default
        text = "" if entry is None else entry.metadata["text"].replace("``", "")
        kind = _plain_type(types[name])
        default = list(default) if isinstance(default, tuple) else default
        made[name] = (kind, Field(default, description=text or _SHORT.get(name, "")))
    return made


_SHORT = {"k": "Cut-offs of metrics that are given without one.", "threshold": "Alias of relevance_threshold."}

Evaluation: Any = _made(
    "Evaluation",
    "Metrics, and every option of `rankwise.evaluate`.",
    {
        "measures": (
            str | list[str] | None,
            Field(default=None, description='Measures as text: "ndcg@10", "ndcg(gain=exponential)@[5,10]".'),
        )
    }
    | WARPREC_FIELDS
    | _evaluation_options(),
)


def _fields_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the options of a function as fields of a model."""
    return {
        name: (
            kind,
            Field(description=text)
            if default is inspect.Parameter.empty
            else Field(list(default) if isinstance(default, tuple) else default, description=text),
        )
        for name, (kind, default, text) in options_of(function).items()
    }


Comparison: Any = _made("Comparison", "The comparison: every option of `rankwise.compare`.", _fields_of(compare))
Decision: Any = _made("Decision", "The decision: every option of `rankwise.decide`.", _fields_of(decide))


def _as_systems(value: Any) -> Any:
    """Return systems by name: files alone are called after themselves."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and all(isinstance(path, str) for path in value):
        return {plain_stem(path.replace("\\", "/")): path for path in value}
    return value


def _as_engine(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) or value is None else [value]


def _kind(value: Any) -> str:
    model = "model" in value if isinstance(value, Mapping) else isinstance(value, Baseline)
    return "baseline" if model else "run"


_System: Any = Annotated[
    Annotated[Source, Tag("run")] | Annotated[Baseline, Tag("baseline")],
    Discriminator(_kind),
    BeforeValidator(_as_source, json_schema_input_type=str | Source | Baseline),
]


class Config(_Strict):
    """A configuration file of ``rankwise run``."""

    data: Data = Field(default_factory=lambda: Data(), description="The tables.")
    split: Split | None = Field(default=None, description="The split of `data.interactions`.")
    systems: Annotated[
        dict[str, _System],
        BeforeValidator(_as_systems, json_schema_input_type=str | list[str] | dict[str, str | Source | Baseline]),
    ] = Field(default_factory=dict, description="The systems to evaluate, by name.")
    evaluation: Evaluation = Field(default_factory=lambda: Evaluation(), description="The metrics and their options.")
    comparison: Annotated[
        list[Comparison] | None, BeforeValidator(_as_list, json_schema_input_type=Comparison | list[Comparison] | None)
    ] = Field(default=None, description="The comparison of systems, or a list of comparisons.")
    decision: Decision | None = Field(default=None, description="Ship, hold or stop.")
    output: Output = Field(default_factory=lambda: Output(), description="The output files.")
    engine: Annotated[
        Engine, BeforeValidator(_as_engine, json_schema_input_type=Literal["local", "spark"] | Engine)
    ] = Field(default_factory=lambda: Engine(), description="Where the evaluation runs.")


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of configuration files, for editors."""
    schema = Config.model_json_schema()
    rules = schema["$defs"]["Split"]
    parameters = {name for rule in RULES.values() for name in rule.__dataclass_fields__}
    rules["properties"] |= {name: {} for name in sorted(parameters - {"filters"})}
    filters = {"type": "object", "required": ["filter"], "properties": {"filter": {"enum": sorted(FILTERS)}}}
    rules["properties"]["filters"] = {"type": "array", "items": filters}
    rules["additionalProperties"] = False
    schema["patternProperties"] = {"^x-": {}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "rankwise configuration"}
