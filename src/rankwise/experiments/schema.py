"""The schema of configuration files: sections, their keys, and the types of values.

Options of the evaluation come from `Settings`, those of comparisons from the signature of
`rankwise.compare`, rules of splits from `rankwise.splits`: none of them is listed here again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args, get_type_hints

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
from rankwise.core.docstrings import parameter_texts
from rankwise.core.saved_forms import CONFIGURATION
from rankwise.evaluation.settings import ListOptions, option_fields, option_types
from rankwise.evidence.judged import judged
from rankwise.evidence.launches import validate_metrics
from rankwise.evidence.leaderboard import leaderboard
from rankwise.evidence.nulls import nulls
from rankwise.evidence.rank_agreement import rank_agreement
from rankwise.evidence.stability import stability
from rankwise.evidence.stages import stages
from rankwise.experiments.document import Section
from rankwise.experiments.warprec import WARPREC_FIELDS
from rankwise.models import recommenders
from rankwise.models.recommenders import ItemNeighbours, Popularity, Random, Transitions
from rankwise.offpolicy.off_policy import off_policy
from rankwise.splits.reading import FILTERS, RULES
from rankwise.tables.formats import FormatName, plain_stem

MODELS = {model.__name__: model for model in (Random, Popularity, Transitions, ItemNeighbours)}
"""The baselines that a system may name."""


def _as_named(key: str) -> Callable[[Any], Any]:
    """Return a function that turns a text into a section with one key; pydantic checks the rest."""
    return lambda value: {key: value} if isinstance(value, str) else value


class Source(Section):
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


class Data(Section):
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
    return create_model(name, __base__=Section, __doc__=text, **described)


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


class Output(Section):
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
    show_users: bool = Field(
        default=True,
        description="Name users in the report, with their lists and their training interactions.",
    )


class Engine(Section):
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


def options_of(function: Callable[..., Any]) -> dict[str, tuple[Any, Any, str]]:
    """Return the options of a function: type, default and description of each.

    >>> sorted(options_of(decide))[:3]
    ['alpha', 'baseline', 'deterioration']
    """
    hints, texts = get_type_hints(function), parameter_texts(function)
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
    "Comparison",
    "The comparison: every option of `rankwise.compare`.",
    {
        **_fields_of(compare),
        "noise": (
            bool | None,
            Field(
                default=None,
                description="Whether intervals also hold for other runs, by the noise that the "
                "section `stability` measures.",
            ),
        ),
        "movers": (
            int | None,
            Field(
                default=None,
                ge=1,
                description="Write the users that lose and that gain most against the baseline "
                "(`movers.csv`): so many of each.",
            ),
        ),
    },
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


Stability: Any = _made(
    "Stability",
    "The noise floor of one system: options of `rankwise.stability`.",
    {
        "runs": (
            list[SourceOrPath],
            Field(description="The recommendation lists of each run of the system, two or more."),
        ),
        "at_most": (
            float | None,
            Field(
                default=None,
                gt=0,
                description="The run ends with exit code 1 if the noise floor is above.",
            ),
        ),
        **{name: field for name, field in _fields_of(stability).items() if name != "runs"},
    },
)


Leaderboard: Any = _made(
    "Leaderboard",
    "Ranks of systems on tasks, from a table: options of `rankwise.leaderboard`.",
    {
        "table": (
            SourceOrPath,
            Field(
                description="A table with the columns system, task and value, or system and a "
                "column per task."
            ),
        ),
        **{
            name: field
            for name, field in _fields_of(leaderboard).items()
            if name not in ("systems", "over", "metric")
        },
    },
)


Nulls: Any = _made(
    "Nulls",
    "How much of the systems' values is personal: options of `rankwise.nulls`.",
    {
        "systems": (
            list[str] | None,
            Field(default=None, description="The systems.  [default: all]"),
        ),
        "metric": (
            str,
            Field(default="ndcg@10", description="A metric with one cut-off.  [default: ndcg@10]"),
        ),
        **{
            name: field
            for name, field in _fields_of(nulls).items()
            if name not in ("lists", "truth", "train", "options")
        },
    },
)


Stages: Any = _made(
    "Stages",
    "What candidates, a ranker and the final list lose: options of `rankwise.stages`.",
    {
        "sources": (
            dict[str, SourceOrPath],
            Field(description="The candidates of each source, by name."),
        ),
        "ranked": (
            SourceOrPath | None,
            Field(default=None, description="The candidates in the order of the ranker."),
        ),
        "final": (
            SourceOrPath | None,
            Field(default=None, description="What is shown in the end."),
        ),
        "metrics": (
            list[str],
            Field(default=["ndcg@10"], description="Metrics with a cut-off.  [default: ndcg@10]"),
        ),
        "by": (
            list[str],
            Field(default=[], description="Groups of users, or slices of relevant items."),
        ),
        "confidence": _fields_of(stages)["confidence"],
    },
)


class LoggedTarget(Section):
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


class Config(Section):
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
    leaderboard: Leaderboard | None = Field(
        default=None, description="Which ranks of a table of systems and tasks are ties."
    )
    nulls: Nulls | None = Field(
        default=None, description="How much is personal, and what shortcuts score."
    )
    stages: Stages | None = Field(
        default=None, description="What candidates, a ranker and the final list lose."
    )
    stability: Stability | None = Field(
        default=None, description="How far one system moves from run to run."
    )
    off_policy: LoggedPolicies | None = Field(
        default=None,
        description="What policies would have earned on logged requests; needs no systems.",
    )
    plan: bool = Field(
        default=False, description="Check the run against the plan that `rankwise plan` wrote."
    )
    output: Output = Field(default_factory=lambda: Output(), description="The output files.")
    engine: Annotated[
        Engine,
        BeforeValidator(
            _as_named("name"), json_schema_input_type=Literal["local", "spark"] | Engine
        ),
    ] = Field(default_factory=lambda: Engine(), description="Where the evaluation runs.")


_SECTIONS = {
    "data": Data,
    "evaluation": Evaluation,
    "comparison": Comparison,
    "decision": Decision,
}
_STUDIES = {
    "launches": Launches,
    "judged": Judged,
    "agreement": Agreement,
    "leaderboard": Leaderboard,
    "nulls": Nulls,
    "stages": Stages,
    "stability": Stability,
    "off_policy": LoggedPolicies,
}


def section_of(name: str, within: str | None = None) -> str | None:
    """Return the configuration section that has a Python parameter; None if no section does.

    A message about the section ``within`` means its own key, if there is one of that name.

    >>> section_of("duplicates"), section_of("train"), section_of("correction"), section_of("folder")
    ('evaluation', 'data', 'comparison', None)
    >>> section_of("metrics"), section_of("metrics", within="stages")
    ('evaluation', 'stages')
    """
    own = {**_SECTIONS, **_STUDIES}.get(within or "")
    if own is not None and name in own.model_fields:
        return within
    return next(
        (section for section, model in _SECTIONS.items() if name in model.model_fields), None
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
