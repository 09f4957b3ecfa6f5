"""The studies beside a comparison that a configuration asks for, each from its section."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from rankwise.errors import ParameterError
from rankwise.evidence.judged import JudgedResult, judged
from rankwise.evidence.launches import MetricValidation, validate_metrics
from rankwise.evidence.leaderboard import Leaderboard, leaderboard
from rankwise.evidence.nulls import Nulls, nulls
from rankwise.evidence.rank_agreement import RankAgreement, rank_agreement
from rankwise.evidence.stability import Stability, stability
from rankwise.evidence.stages import Stages, stages
from rankwise.experiments.inputs import Evaluate, Inputs, Say
from rankwise.experiments.keys import spelling_keys
from rankwise.experiments.schema import LoggedTarget, Source
from rankwise.offpolicy import policies
from rankwise.offpolicy.off_policy import off_policy
from rankwise.offpolicy.result import OffPolicy
from rankwise.results.result import Result
from rankwise.tables.columns import key_of
from rankwise.tables.read import read_table

Evidence: TypeAlias = (
    MetricValidation
    | JudgedResult
    | RankAgreement
    | Stability
    | Leaderboard
    | Nulls
    | Stages
    | OffPolicy
)
"""What other studies say."""
STUDIES = {
    "launches.json": "the validation of metrics",
    "leaderboard.json": "the leaderboard",
    "nulls.json": "the nulls",
    "stages.json": "the stages",
    "judged.json": "the values by human labels",
    "agreement.json": "the agreement of two orders",
    "stability.json": "the noise floor",
    "off_policy.json": "the policies on logged requests",
}
"""The files of studies, and what each is called in the note on an unfinished run."""
FOLDERS = {"off_policy.json": "off_policy", "stability.json": "stability"}
"""The folders of studies that other commands read, beside their files."""


def make_studies(
    inputs: Inputs,
    results: Mapping[str, Result],
    runs: Mapping[str, Any],
    floor: Stability | None,
    evaluate: Evaluate,
) -> Iterator[tuple[str, Evidence]]:
    """Yield file and study: past launches, labels, a second order, noise and logged requests."""
    config = inputs.experiment.config
    again = partial(_by_other_truth, inputs, evaluate, runs)
    makers: dict[str, tuple[str, Callable[[Any], Evidence | None]]] = {
        "launches": ("launches.json", partial(_validation, inputs)),
        "leaderboard": ("leaderboard.json", partial(_leaderboard, inputs)),
        "judged": ("judged.json", partial(_judged, results, again)),
        "agreement": ("agreement.json", partial(_agreement, results, again)),
        "nulls": ("nulls.json", partial(_nulls, inputs, runs)),
        "stages": ("stages.json", partial(_stages, inputs)),
        "stability": ("stability.json", lambda _: floor),
        "off_policy": ("off_policy.json", partial(_off_policy, inputs)),
    }
    for section, (file, make) in makers.items():
        asked = getattr(config, section)
        if asked is None:
            continue
        with spelling_keys(section):
            study = make(asked)
        if study is not None:  # noise without runs
            yield file, study


def _validation(inputs: Inputs, section: Any) -> MetricValidation:
    """Validate metrics by past launches."""
    return validate_metrics(inputs.path(section.table), **section.model_dump(exclude={"table"}))


def _leaderboard(inputs: Inputs, section: Any) -> Leaderboard:
    """Rank the systems of a table."""
    return leaderboard(inputs.path(section.table), **section.model_dump(exclude={"table"}))


def _judged(
    results: Mapping[str, Result], again: Callable[[Source], dict[str, Result]], section: Any
) -> JudgedResult:
    """Estimate the values by human labels."""
    options = section.model_dump(exclude={"human"})
    return judged(human=again(section.human), judge=results, **options)


def _agreement(
    results: Mapping[str, Result], again: Callable[[Source], dict[str, Result]], section: Any
) -> RankAgreement:
    """Tell whether two ground truths, or two metrics, order the systems alike."""
    second = None if section.truth is None else again(section.truth)
    return rank_agreement(results, second, **section.model_dump(exclude={"truth"}))


def _off_policy(inputs: Inputs, section: Any) -> OffPolicy:
    """Estimate the values of policies on logged requests."""
    tables = {
        name: getattr(section, name) for name in ("exposures", "outcomes", "predictions", "items")
    }
    named = {role: source for role, source in tables.items() if source is not None}
    columns = {
        f"{role}.{key}": name
        for role, source in named.items()
        for key, name in source.columns.items()
    }
    read = {role: inputs.table_or_path(source) for role, source in named.items()}
    propensity = section.propensity
    options = section.model_dump(exclude={*tables, "targets", "propensity"})
    return off_policy(
        read.pop("exposures"),
        read.pop("outcomes", None),
        targets={name: _policy(target, inputs) for name, target in section.targets.items()},
        propensity=_policy(propensity, inputs)
        if isinstance(propensity, LoggedTarget)
        else propensity,
        columns=columns or None,
        **read,
        **options,
    )


def _nulls(inputs: Inputs, runs: Mapping[str, Any], section: Any) -> Nulls:
    """Return the nulls of the systems that the configuration names."""
    names = section.systems or list(runs)
    unknown = [name for name in names if name not in runs]
    if unknown:
        raise ParameterError(f"there is no system {unknown[0]!r}", found=", ".join(runs))
    truth, train = inputs.parts
    return nulls(
        {name: runs[name] for name in names},
        truth,
        train=train,
        columns=inputs.columns_of("recommendations", "truth", "train") or None,
        relevance_threshold=inputs.experiment.options.get("relevance_threshold"),
        **section.model_dump(exclude={"systems"}),
    )


def _stages(inputs: Inputs, section: Any) -> Stages:
    """Compare the stages that a configuration describes."""
    orders = {
        name: inputs.table_or_path(getattr(section, name))
        for name in ("ranked", "final")
        if getattr(section, name) is not None
    }
    options = inputs.options(None)
    return stages(
        {name: inputs.table_or_path(source) for name, source in section.sources.items()},
        inputs.parts[0],
        section.metrics,
        by=section.by,
        confidence=section.confidence,
        columns=options["columns"],
        relevance_threshold=inputs.experiment.options.get("relevance_threshold"),
        **{name: options[name] for name in ("users", "items", "train")},
        **orders,
    )


def _policy(target: LoggedTarget, inputs: Inputs) -> policies.Policy:
    """Return the policy that a configuration describes."""
    if target.source is None:
        rules = {"uniform": policies.Uniform(), "logged": policies.Logged()}
        return policies.Column(str(target.column)) if target.rule is None else rules[target.rule]
    columns = {f"targets.{key}": name for key, name in target.source.columns.items()}
    table = read_table(inputs.table_or_path(target.source), "targets", columns)
    if target.scores is not None:
        return policies.Scores(table, temperature=target.temperature, epsilon=target.epsilon)
    return (
        policies.Probabilities(table)
        if target.lists is None
        else policies.Lists(table, target.epsilon or 0.0)
    )


def _by_other_truth(
    inputs: Inputs, evaluate: Evaluate, runs: Mapping[str, Any], source: Source
) -> dict[str, Result]:
    """Evaluate all systems against another ground truth."""
    experiment, results = inputs.experiment, {}
    for name, system in experiment.systems.items():
        options = inputs.options(system)
        columns = {
            key: column
            for key, column in (options.get("columns") or {}).items()
            if not key.startswith("truth.")
        }
        columns |= {key_of("truth", key): column for key, column in source.columns.items()}
        truth = inputs.table_or_path(source)
        results[name] = evaluate(
            runs[name], truth, experiment.metrics, options | {"columns": columns or None}
        )
    return results


def measure_stability(inputs: Inputs, evaluate: Evaluate, say: Say) -> Stability | None:
    """Return the noise floor of the runs that the configuration names; None without them."""
    experiment = inputs.experiment
    section = experiment.config.stability
    if section is None:
        return None
    runs = []
    for at, source in enumerate(section.runs, start=1):
        say(f"evaluating run {at} of {len(section.runs)} …")
        lists = inputs.run(f"run {at}", source)
        runs.append(evaluate(lists, inputs.truth, experiment.metrics, inputs.options(source)))
    with spelling_keys("stability"):
        return stability(runs, **section.model_dump(exclude={"runs", "at_most"}))
