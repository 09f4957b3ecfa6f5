"""Checks of a configuration: what a run would refuse is told in advance.

It is told by the checks of the run itself, called with what is known before it: the names of tables
in place of their rows, and results without users in place of results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import polars as pl

from rankwise.comparison.comparability import common_cells
from rankwise.comparison.design import CompareOptions
from rankwise.comparison.parts import MEANS_OF_GROUPS
from rankwise.comparison.rule import deciding_cell, rule_for
from rankwise.comparison.systems import systems_of
from rankwise.convention.convention import Convention
from rankwise.core.arguments import TrainGroup
from rankwise.encoding.lists import check_kept
from rankwise.encoding.side_information import check_tables
from rankwise.errors import (
    MetricError,
    MissingValueError,
    OutputError,
    ParameterError,
    RankwiseError,
    nearest,
    nearest_name,
)
from rankwise.evaluation.evaluate import check_reads_no_truth, check_whole, without_truth
from rankwise.evaluation.plan import Plan, check_catalogue, check_sampled, plan_passes
from rankwise.evaluation.settings import DEFAULT_METRICS, Settings
from rankwise.experiments import warprec
from rankwise.experiments.config_errors import AS_BOOLEAN, ConfigErrors
from rankwise.experiments.document import Place
from rankwise.experiments.schema import MODELS, Config, LoggedTarget, Source
from rankwise.experiments.warprec import complex_metric
from rankwise.findings.margins import (
    LargestLoss,
    check_margin,
    largest_losses_by_cell,
    margins_by_cell,
)
from rankwise.metrics.base import LARGEST, Metric, parse_all
from rankwise.metrics.values import value_kinds
from rankwise.offpolicy.result import LOGGED
from rankwise.results.intervals import CROSSED, is_truth_slice
from rankwise.results.result import Result
from rankwise.results.values import Values
from rankwise.stats.differences import check_level
from rankwise.tables.columns import check_columns
from rankwise.tables.files import is_table_folder
from rankwise.tables.formats import plain_stem
from rankwise.tables.table import TableRole
from rankwise.tables.training import TRAIN_GROUPS

_TRAIN_HINT, TRUTH_HINT = "write data: {train: …}, or split", "write data: {truth: …}, or split"


def listed(values: Any) -> list[Any]:
    """Return values as a list: a text or a number alone is the only one, None is none."""
    return [values] if isinstance(values, str | int) else list(values or ())


def systems_by_name(config: Config, mistakes: ConfigErrors) -> dict[str, Any]:
    """Return the systems by name, including ``data.recommendations``."""
    single = config.data.recommendations
    if single is not None and config.systems:
        mistakes.add(("data", "recommendations"), "systems already give the recommendation lists")
    if single is not None:
        return {plain_stem(single.path): single}
    if not config.systems and config.off_policy is None:
        mistakes.add(("systems",), "there is nothing to evaluate", "write systems: {name: run.csv}")
    for name, system in config.systems.items():
        if isinstance(system, Source):
            continue
        parameters = MODELS[system.model].__dataclass_fields__
        for key in system.model_fields_set - {"model", "k"}:
            if key not in parameters:
                mistakes.add(("systems", name, key), f"{system.model} has no parameter {key!r}")
    return dict(config.systems)


def has_training(config: Config, folder: Path) -> bool:
    """Return whether training interactions exist: named, from a split, or in a split's folder."""
    if config.data.train is not None or config.split is not None:
        return True
    if config.data.truth is None:
        return False
    path = folder / config.data.truth.path
    if not path.is_dir():  # a folder that is missing is a mistake of its own
        return not path.exists() and not path.suffix
    return any("train" in part.name for part in path.iterdir())


def check_named_tables(
    config: Config, systems: Mapping[str, Any], folder: Path, mistakes: ConfigErrors
) -> None:
    """Check that the tables that are needed are named, and none twice."""
    trained = has_training(config, folder)
    _check_split_tables(config, mistakes)
    _check_baseline_tables(config, systems, mistakes, trained=trained)
    _check_group_tables(config, systems, mistakes, trained=trained)


def _check_split_tables(config: Config, mistakes: ConfigErrors) -> None:
    """Check that a split has interactions, and that nothing else names what it makes."""
    data = config.data
    if config.split is None:
        if data.interactions is not None:
            mistakes.add(
                ("data", "interactions"),
                "these are split by `split`, which is missing",
                "write split: {rule: GlobalTime, share: 0.2}",
            )
        return

    if data.interactions is None:
        mistakes.add(
            ("split",),
            "there are no interactions to split",
            "write data: {interactions: ratings.csv}",
        )
    for role in ("truth", "train"):
        if getattr(data, role) is not None:
            mistakes.add(("data", role), "split makes it from data.interactions")


def _check_baseline_tables(
    config: Config, systems: Mapping[str, Any], mistakes: ConfigErrors, *, trained: bool
) -> None:
    """Check that baselines have training interactions, and users to recommend to."""
    fitted = [name for name, system in systems.items() if not isinstance(system, Source)]
    if fitted and not trained:
        mistakes.add(("systems", fitted[0]), "a baseline needs training interactions", _TRAIN_HINT)
    if fitted and config.data.truth is None and config.split is None:
        mistakes.add(
            ("systems", fitted[0]), "a baseline needs the users of the ground truth", TRUTH_HINT
        )


def _check_group_tables(
    config: Config, systems: Mapping[str, Any], mistakes: ConfigErrors, *, trained: bool
) -> None:
    """Check that groups of users have the table that tells them."""
    has_users = config.data.users is not None
    sliced = config.decision.slices if systems and config.decision is not None else None
    named = [*listed(config.evaluation.by), *listed(sliced)]
    check_groups(named, ("evaluation", "by"), mistakes, has_users=has_users, trained=trained)


def check_groups(
    named: Iterable[str], place: Place, mistakes: ConfigErrors, *, has_users: bool, trained: bool
) -> None:
    """Check that there is a table that tells the groups of users that are named in a place."""
    groups = {name for crossed in named for name in crossed.split(CROSSED)}
    by = {name for name in groups if not is_truth_slice(name)}
    of_train = by & set(get_args(TrainGroup))

    if by - of_train and not has_users:
        mistakes.add(
            place, "groups of users need the table of users", "write data: {users: users.csv}"
        )
    may_be_a_column = {"history"} if has_users else set[str]()
    if of_train - may_be_a_column and not trained:
        mistakes.add(
            place,
            f"{', '.join(sorted(of_train))}: these groups of users need training interactions",
            _TRAIN_HINT,
        )


def check_output(out: Path, folder: Path, sources: Sequence[Source]) -> None:
    """Raise if the output folder is a file, or holds the configuration or an input.

    Raises
    ------
    ParameterError
        If it holds what is read, which a run would replace.
    OutputError
        If it is a file.
    """
    target, here = out.resolve(), folder.resolve()
    held = [
        path
        for source in sources
        if (path := (folder / source.path).resolve()).is_relative_to(target)
    ]
    if target == here or here.is_relative_to(target) or held:
        raise ParameterError(
            "the output folder holds the configuration, or what it reads",
            where=str(out),
            found=str(held[0] if held else here),
            hint="name another: output: {folder: results}",
        )
    if out.exists() and not out.is_dir():
        raise OutputError("this is a file, not a folder", where=str(out))


def check_ranking(
    config: Config, systems: Mapping[str, Any], folder: Path, mistakes: ConfigErrors
) -> list[str]:
    """Check samples, candidate sets and seen items; return notes on keys without effect."""
    evaluation, trained = config.evaluation, has_training(config, folder)
    sampled, notes = evaluation.strategy == "sampled", []
    keys = evaluation.model_fields_set
    drawn_by = evaluation.negative_sampling if sampled else "uniform"
    if sampled and config.data.truth is None and config.split is None:
        mistakes.add(("evaluation", "strategy"), "sampling needs the ground truth", TRUTH_HINT)
    if drawn_by == "popularity" and not trained:
        mistakes.add(
            ("evaluation", "negative_sampling"),
            "drawing by popularity needs training interactions",
            _TRAIN_HINT,
        )
    if not sampled:
        notes += [
            f"evaluation.{key} has no effect with strategy: full"
            for key in ("negative_sampling", "neg_alpha")
            if key in keys
        ]
    elif "neg_alpha" in keys and drawn_by == "uniform":
        notes.append("evaluation.neg_alpha has no effect with negative_sampling: uniform")
    if evaluation.candidates != "all" and sampled:
        notes.append("evaluation.candidates has no effect with strategy: sampled")
    _check_candidates(config, systems, mistakes, trained=trained)
    return notes


def _check_candidates(
    config: Config, systems: Mapping[str, Any], mistakes: ConfigErrors, *, trained: bool
) -> None:
    """Check the items that may be ranked: cold or warm ones, seen ones."""
    evaluation = config.evaluation
    if evaluation.candidates != "all" and evaluation.strategy == "full":
        if not trained:
            mistakes.add(
                ("evaluation", "candidates"),
                "cold and warm items are told apart by training interactions",
                _TRAIN_HINT,
            )
        if evaluation.candidates == "cold" and config.data.items is None:
            mistakes.add(
                ("evaluation", "candidates"),
                "cold items are those of the catalogue without training interactions",
                "write data: {items: …}",
            )
    fitted = [name for name, system in systems.items() if not isinstance(system, Source)]
    warprec.check_seen(evaluation, fitted, mistakes)


def sources_of(config: Config, systems: Mapping[str, Any]) -> list[tuple[Place, Source]]:
    """Return every file that is named, and where."""
    roles = type(config.data).model_fields
    tables = [(("data", role), getattr(config.data, role)) for role in roles]
    sources: list[tuple[Place, Source]] = [(place, s) for place, s in tables if s is not None]
    sources += [
        (("systems", name), system)
        for name, system in systems.items()
        if isinstance(system, Source) and system is not config.data.recommendations
    ]
    sources += study_sources(config)
    if config.off_policy is not None:
        logged = logged_sources(config.off_policy)
        sources += [(("off_policy", *place), source) for place, source in logged]
    return sources


_FILES_OF_STUDIES = (
    ("launches", "table"),
    ("stages", "sources"),
    ("stages", "ranked"),
    ("stages", "final"),
    ("judged", "human"),
    ("agreement", "truth"),
    ("leaderboard", "table"),
    ("stability", "runs"),
)
"""The sections of studies and their keys with files: one, several by name, or a list."""


def study_sources(config: Config) -> list[tuple[Place, Source]]:
    """Return every file of the studies, and where it is named."""
    sources: list[tuple[Place, Source]] = []
    for section, key in _FILES_OF_STUDIES:
        value = getattr(getattr(config, section), key, None)
        if isinstance(value, Source):
            sources.append(((section, key), value))
        elif isinstance(value, dict):
            sources += [((section, key, name), source) for name, source in value.items()]
        elif isinstance(value, list):
            sources += [((section, key, at), source) for at, source in enumerate(value)]
    return sources


def logged_sources(section: Any) -> list[tuple[Place, Source]]:
    """Return every file of logged requests, with its place in the configuration."""
    tables = ("exposures", "outcomes", "predictions", "items")
    named: list[tuple[Place, Source | None]] = [
        ((name,), getattr(section, name)) for name in tables
    ]
    named += [(("targets", name), target.source) for name, target in section.targets.items()]
    if isinstance(section.propensity, LoggedTarget):
        named.append((("propensity",), section.propensity.source))
    return [(place, source) for place, source in named if source is not None]


def _near_path(folder: Path, path: str) -> str | None:
    """Return a hint with the path of a file that was probably meant; None if none is similar."""
    inside = (folder / path).parent
    names = [other.name for other in inside.glob("*")] if inside.is_dir() else []
    near = nearest_name(Path(path).name, names)
    return None if near is None else f"did you mean {(Path(path).parent / near).as_posix()!r}?"


def check_files(
    config: Config, systems: Mapping[str, Any], folder: Path, mistakes: ConfigErrors
) -> None:
    """Check that files exist, and that their format options make sense."""
    for place, source in sources_of(config, systems):
        path = folder / source.path
        if not path.exists():
            mistakes.add(place, f"there is no file {source.path}", _near_path(folder, source.path))
        elif path.is_dir() and source.format not in (None, "parquet"):
            mistakes.add(
                (*place, "format"), "the files of a folder tell their format", "leave format out"
            )
        elif (
            path.is_dir()
            and not is_table_folder(path)
            and place not in (("data", "truth"), ("data", "train"))
        ):
            mistakes.add(place, f"{source.path} is a folder, and not of Parquet files")
        if (source.separator or source.header) and source.format not in ("csv", "movielens"):
            mistakes.add(
                (*place, "format"), "separator and header go with format: csv or movielens"
            )
        if source.format is not None and config.engine.name == "spark":
            mistakes.add((*place, "format"), "Spark recognises formats itself")


def check_tools(config: Config, mistakes: ConfigErrors) -> None:
    """Check that the libraries that the outputs need are installed, before any work."""
    if config.output.report is not False:
        needed = ("jinja2", "altair", "vl_convert")
        missing = [name for name in needed if find_spec(name) is None]
        if missing:
            mistakes.add(
                ("output", "report"),
                f"a report needs {', '.join(missing)}",
                'pip install "rankwise[report]", or write report: false',
            )
    if isinstance(config.output.report, str):
        _check_report_name(config.output.report, mistakes)
    _check_engine(config, mistakes)


def _check_report_name(name: str, mistakes: ConfigErrors) -> None:
    """Check that the report is named as a page in the output folder."""
    if name.lower() in AS_BOOLEAN:
        mistakes.add(
            ("output", "report"),
            f"{name!r} is text, not a boolean",
            f"write report: {AS_BOOLEAN[name.lower()]}",
        )
    elif Path(name).name != name or Path(name).suffix != ".html":
        mistakes.add(
            ("output", "report"),
            f"{name!r} is no name of a file in the output folder",
            "write report: page.html",
        )


def _check_engine(config: Config, mistakes: ConfigErrors) -> None:
    """Check that Spark is installed, and that the engine knows the options that are given."""
    engine = config.engine
    if engine.name != "spark":
        if engine.master is not None or engine.buckets is not None:
            mistakes.add(("engine",), "master and buckets need the engine spark")
        return

    if find_spec("pyspark") is None:
        mistakes.add(("engine",), "pyspark is missing", 'pip install "rankwise[spark]"')
    if config.evaluation.strategy == "sampled":
        mistakes.add(("evaluation", "strategy"), "sampling needs the engine local")
    elif config.evaluation.candidates != "all":
        mistakes.add(("evaluation", "candidates"), "candidate sets need the engine local")


def check_inputs(
    config: Config,
    folder: Path,
    metrics: Mapping[Metric, Place],
    settings: Settings,
    explicit: Mapping[str, Any],
    mistakes: ConfigErrors,
) -> None:
    """Check that metrics and options have their tables; ``explicit`` holds the file's options."""
    tables = named_tables(config, folder, mistakes)
    for metric, place in metrics.items():
        for check in _input_checks(metric, config, settings, tables):
            mistakes.tried(place, check)
    if "truth" not in tables and not any(metric.reads_truth for metric in metrics):
        mistakes.tried(("evaluation",), partial(without_truth, settings, explicit))
    read = [
        role for role in type(config.data).model_fields if getattr(config.data, role) is not None
    ]
    named: list[Any] = [*dict.fromkeys(["recommendations", *read, *tables])]
    mistakes.tried(("evaluation", "columns"), partial(check_columns, settings.columns, named))
    train = True if "train" in tables else None
    if settings.exclude_seen:
        key = "mask_seen" if config.evaluation.mask_seen else "exclude_seen"
        mistakes.tried(("evaluation", key), partial(check_whole, settings, train))
    if isinstance(settings.weights, str) and "users" not in tables:
        mistakes.add(
            ("evaluation", "weights"),
            f"weights {settings.weights!r} is a column of the table of users, and there is none",
            "write data: {users: users.csv}, or weights: {user: weight}",
        )


def check_questions(
    metrics: Sequence[str], options: Mapping[str, Any], mistakes: ConfigErrors
) -> None:
    """Check that the metrics can be evaluated together, read from text as the run reads them."""

    def check() -> None:
        for settings in plan_passes(metrics, options)[1]:
            plan = Plan(settings.metrics, settings.rules, settings.by)
            plan.check_sums(settings.evaluated)
            assert plan.leaf_rules is not None  # raises where a part would have two rules

    mistakes.tried(("evaluation",), check)


def named_tables(config: Config, folder: Path, mistakes: ConfigErrors) -> set[TableRole]:
    """Return the tables that the configuration names, wrongly or not, including the split's."""
    roles: tuple[TableRole, ...] = ("truth", "train", "items", "users", "reference")
    tables: set[TableRole] = {role for role in roles if mistakes.says(("data", role))}
    if mistakes.says(("split",)):
        tables |= {"truth", "train"}
    if config.data.truth is not None or config.split is not None:
        tables.add("truth")
    if has_training(config, folder):
        tables.add("train")
    return tables


def _input_checks(
    metric: Metric, config: Config, settings: Settings, tables: set[TableRole]
) -> list[Any]:
    """Return the checks of a metric's needs, one per table, so that every gap is reported."""
    plan = Plan((metric,), settings.rules, settings.by)
    groups = {*TRAIN_GROUPS} & {*settings.by}
    checks: list[Any] = [
        partial(check_tables, {fact: name}, tables, groups) for fact, name in plan.facts.items()
    ]
    checks.append(partial(check_catalogue, plan, settings.catalogue, tables))
    checks.append(partial(check_kept, plan.needs, settings, numbers_items=plan.numbers_items))
    if "truth" not in tables:
        checks.append(partial(check_reads_no_truth, metric))
    if config.evaluation.strategy == "sampled":
        checks.append(partial(check_sampled, plan, "strategy: sampled"))
    return checks


def check_comparisons(
    comparisons: Sequence[tuple[Place, dict[str, Any]]],
    expected: Mapping[str, Result],
    mistakes: ConfigErrors,
    *,
    complete: bool,
) -> None:
    """Check that compared metrics are evaluated and can be compared.

    Unless ``complete``, some metrics are wrong: others may be meant by them.
    """
    if len(expected) < 2:  # nothing is compared
        return
    first = next(iter(expected.values()))

    def is_known(name: str) -> bool:
        return not _is_group(first, name) and (complete or _is_evaluated(first, name))

    for place, options in comparisons:
        before = len(mistakes)
        _check_compared_metrics(options, place, expected, is_known, mistakes)
        _check_margins(options.get("margin"), place, first, is_known, mistakes)
        _check_largest_loss(options.get("largest_loss"), place, first, is_known, mistakes)
        if options.get("noise") and not mistakes.document.has(("stability",)):
            mistakes.add((*place, "noise"), "there is no section `stability` that measures it")

        names_metrics = options.get("primary") is not None or listed(options.get("metrics"))
        if not names_metrics and complete and len(mistakes) == before:
            mistakes.tried(place, _cells_check(options, expected, None))
        named = {key: value for key, value in options.items() if key not in _NOT_CHECKED}
        mistakes.tried_together(
            place,
            named,
            lambda subset: CompareOptions(**subset).check(systems_of((expected,))),
        )


def _check_compared_metrics(
    options: Mapping[str, Any],
    place: Place,
    expected: Mapping[str, Result],
    is_known: Callable[[str], bool],
    mistakes: ConfigErrors,
) -> None:
    """Check that the metrics that a comparison names can be compared, the primary one first."""
    named = [("primary", options.get("primary"))]
    named += [("metrics", name) for name in listed(options.get("metrics"))]
    for key, name in named:
        if name is None or not is_known(name):
            continue
        where = (*place, key)
        if key == "primary" and not mistakes.document.has(where):
            where = ("evaluation", "validation_metric")
        mistakes.tried(where, _cells_check(options, expected, name))


def _cells_check(
    options: Mapping[str, Any], expected: Mapping[str, Result], name: str | None
) -> Callable[[], Any]:
    """Return the check that a metric, or any at all, can be compared."""
    means_only = None if options.get("by") is None else MEANS_OF_GROUPS
    names = None if name is None else [name]
    return partial(common_cells, expected, names, name, means_only=means_only)


def _check_margins(
    margin: Any,
    place: Place,
    first: Result,
    is_known: Callable[[str], bool],
    mistakes: ConfigErrors,
) -> None:
    """Check the margins of metrics; one for all is checked with the options."""
    if not isinstance(margin, Mapping):
        return
    for name, size in margin.items():
        if is_known(name):
            stated = partial(margins_by_cell, {name: size}, first)
            mistakes.tried((*place, "margin", name), stated)


def _check_largest_loss(
    loss: LargestLoss,
    place: Place,
    first: Result,
    is_known: Callable[[str], bool],
    mistakes: ConfigErrors,
) -> None:
    """Check the losses that are stated for all metrics together, or for each."""
    if loss is None:
        return
    if not isinstance(loss, Mapping):
        mistakes.tried(
            (*place, "largest_loss"),
            partial(largest_losses_by_cell, loss, first, list(first.values)),
        )
        return
    for name, size in loss.items():
        if is_known(name):
            stated = partial(largest_losses_by_cell, {name: size}, first, ())
            mistakes.tried((*place, "largest_loss", name), stated)


_NOT_CHECKED = (
    *(
        "primary",
        "metrics",
        "margin",
        "largest_loss",
        "noise",
        "movers",
        "force",
        "alpha",
        "baseline",
    ),
)
"""Options of a comparison that are checked one by one, with a path of their own."""


def _is_evaluated(result: Result, name: str) -> bool:
    """Return whether a value is evaluated, or is not the text of a metric."""
    try:
        return result.cell(name) in result.values
    except MissingValueError:
        try:
            parse_all(name, result.convention, cutoffs=False)
        except RankwiseError:
            return True
        return False


def _is_group(result: Result, name: str) -> bool:
    """Return whether a name is the value of a group, which only the tables name."""
    metric = (
        name.rpartition("[")[0] if name.endswith("]") and "=" in name.rpartition("[")[2] else ""
    )
    return bool(metric) and any(
        str(parsed @ ()) == str(one @ ())
        for parsed in parse_all(metric, result.convention, cutoffs=False)
        for one in result.metrics
    )


def check_decision(
    options: Mapping[str, Any],
    expected: Mapping[str, Result],
    mistakes: ConfigErrors,
    *,
    complete: bool,
) -> None:
    """Check that deciding metrics are evaluated and can decide; ``complete`` as for comparisons."""
    if not expected:
        return
    before, first = len(mistakes), next(iter(expected.values()))
    for key in ("success", "guardrails", "deterioration"):
        names = options.get(key) or ()
        for at, name in enumerate(listed(names)):
            place: Place = ("decision", key)
            place = (
                (*place, name)
                if key == "guardrails"
                else (*place, at)
                if not isinstance(names, str)
                else place
            )
            if complete or _is_evaluated(first, name):
                mistakes.tried(place, partial(deciding_cell, first, name))
    if len(expected) < 2 or not complete or len(mistakes) > before:
        return
    between = {name: options[name] for name in ("success", "baseline", "system") if name in options}
    mistakes.tried(("decision",), lambda: rule_for(expected, **between))
    if len(mistakes) == before:
        rest = {name: value for name, value in options.items() if name not in between}
        mistakes.tried_together(
            ("decision",), rest, lambda subset: rule_for(expected, **between, **subset)
        )


def expected_results(
    metrics: Mapping[Metric, Place], systems: Mapping[str, Any], settings: Settings
) -> dict[str, Result]:
    """Return results as the run will have them, with the names and kinds of values and no users.

    Their numbers are 0, for numbers that are not known yet are nothing that a check may read.
    """
    every, weighted = tuple(metrics), settings.weights is not None
    cells = [cell for metric in every for cell in metric.cells if not metric.cells_only]
    replicates = None
    if settings.jackknife is not None:
        jackknifed = [metric for metric in every if metric.needs_jackknife(weighted=weighted)]
        names = {cell for metric in jackknifed for cell in metric.cells}
        replicates = pl.DataFrame({name: [0.0] for name in ["group", *sorted(names)]})
    provenance = {
        "convention": None if settings.convention is None else settings.convention.to_dict(),
        "settings": settings.to_dict(by_request=False),
    }
    result = Result(
        metrics=every,
        values=Values(dict.fromkeys(cells, 0.0)),
        kinds=value_kinds(every, weighted=weighted),
        per_user=pl.DataFrame({"user": [0], **{cell: [0.0] for cell in cells}}),
        counts={},
        slices=None,
        provenance=provenance,
        replicates=replicates,
    )
    return dict.fromkeys(systems, result)


def comparisons_of(
    config: Config, systems: Mapping[str, Any], mistakes: ConfigErrors
) -> list[tuple[Place, dict[str, Any]]]:
    """Return the options of every comparison, with its place."""
    evaluation = config.evaluation
    options: list[dict[str, Any]] = []
    section: Place = ("comparison",)
    if evaluation.stat_significance is not None:
        section, options = warprec.comparisons_of_tests(
            evaluation, mistakes, is_compared=config.comparison is not None
        )
    elif config.comparison is not None:
        options = [one.model_dump(exclude_unset=True) for one in config.comparison]
    out: list[tuple[Place, dict[str, Any]]] = []
    for at, one in enumerate(options or [{}]):
        place = (*section, at) if mistakes.document.has((*section, at)) else section
        _check_names_and_alpha(one, ("baseline",), place, systems, mistakes)
        margin = one.get("margin")
        for name, size in margin.items() if isinstance(margin, Mapping) else [(None, margin)]:
            if size is not None:
                inner: Place = (*place, "margin") if name is None else (*place, "margin", name)
                mistakes.tried(inner, partial(check_margin, size))
        if evaluation.validation_metric is not None:
            one.setdefault("primary", evaluation.validation_metric)
        out.append((place, one))
    return out


def decision_of(
    config: Config, systems: Mapping[str, Any], mistakes: ConfigErrors
) -> dict[str, Any] | None:
    """Return the checked options of the decision, about logged policies if there are no systems."""
    if config.decision is None:
        return None
    options: dict[str, Any] = config.decision.model_dump(exclude_unset=True)
    section = None if systems else config.off_policy
    names = [*systems] if section is None else [LOGGED, *section.targets]
    _check_names_and_alpha(options, ("baseline", "system"), ("decision",), names, mistakes)
    if len(names) > 2 and options.get("system") is None:
        mistakes.add(("decision",), "a decision is about one system", "write system: NAME")
    if not options.get("success"):
        mistakes.add(("decision", "success"), "a decision needs a metric of success")
    if len(names) < 2:
        mistakes.add(("decision",), "a decision compares two systems")
    for name, margin in (options.get("guardrails") or {}).items():
        mistakes.tried(("decision", "guardrails", name), partial(check_margin, margin))
    if section is not None:
        _check_logged_decision(options, section, mistakes)
    return options


def _check_logged_decision(
    options: Mapping[str, Any], section: Any, mistakes: ConfigErrors
) -> None:
    """Check that a decision about policies uses the estimate's reward, level, margin and groups."""
    for key in ("success", "guardrails", "deterioration"):
        for name in listed(options.get(key) or ()):
            if name != "reward":
                mistakes.add(
                    ("decision", key),
                    f"there is no metric {name!r} of logged requests",
                    "write reward",
                )
    alpha, margin = (
        options.get("alpha", section.alpha),
        (options.get("guardrails") or {}).get("reward", section.margin),
    )
    if alpha != section.alpha:
        mistakes.add(
            ("decision", "alpha"),
            "the level is that of the estimate",
            f"off_policy: {{alpha: {alpha}}}",
        )
    if margin != section.margin:
        hint = f"off_policy: {{margin: {margin}}}"
        mistakes.add(("decision", "guardrails"), "the margin is that of the estimate", hint)
    for name in listed(options.get("slices") or ()):
        if name != section.by:
            mistakes.add(
                ("decision", "slices"),
                f"there are no groups by {name!r}",
                f"off_policy: {{by: {name}}}",
            )


def _check_names_and_alpha(
    options: Mapping[str, Any],
    keys: Sequence[str],
    place: Place,
    systems: Collection[str],
    mistakes: ConfigErrors,
) -> None:
    """Check that the systems that options name are there, and the significance level."""
    for key in keys:
        name = options.get(key)
        if name is not None and name not in systems:
            mistakes.add((*place, key), f"there is no system {name!r}", nearest(str(name), systems))
    if "alpha" in options:
        mistakes.tried((*place, "alpha"), partial(check_level, "alpha", options["alpha"]))


def cutoffs_of(config: Config, mistakes: ConfigErrors) -> list[int]:
    """Return the cut-offs of metrics that name none, without invalid cut-offs."""
    evaluation = config.evaluation
    key = warprec.key_of_cutoffs(evaluation, mistakes)
    cutoffs = getattr(evaluation, key)
    right: list[int] = []
    for at, k in enumerate(listed(cutoffs)):
        place: Place = ("evaluation", key) if isinstance(cutoffs, int) else ("evaluation", key, at)
        if not 1 <= k <= LARGEST:
            mistakes.add(place, f"a cut-off is a whole number from 1 to {LARGEST:,} ({k})")
        elif k in right:
            mistakes.add(place, f"duplicate cut-off ({k})")
        else:
            right.append(k)
    return right


def metrics_of(
    config: Config, convention: Convention | None, mistakes: ConfigErrors
) -> dict[Metric, Place]:
    """Return the requested metrics, each once, with the place of the first request."""
    evaluation, before = config.evaluation, len(mistakes)
    cutoffs = cutoffs_of(config, mistakes)
    strict = len(mistakes) == before and not any(
        mistakes.is_wrong(("evaluation", key)) for key in ("k", "top_k")
    )
    places: dict[Metric, Place] = {}

    def ask(place: Place, read: Callable[[], Iterable[Metric]]) -> None:
        for metric in mistakes.tried(place, read) or ():
            places.setdefault(warprec.with_propensities(metric, evaluation, mistakes), place)

    for place, name in _names_of_metrics(config):
        ask(place, partial(_named, name, cutoffs, convention, strict))
    for at, metric in enumerate(evaluation.complex_metrics):
        place = ("evaluation", "complex_metrics", at)
        ask(place, partial(_complex, metric, cutoffs, convention))

    primary = evaluation.validation_metric
    if primary is not None:
        place = ("evaluation", "validation_metric")
        for metric in mistakes.tried(place, partial(_named, primary, cutoffs, convention)) or ():
            if not any(set(metric.cells) <= set(other.cells) for other in places):
                places[metric] = place
    if not places and len(mistakes) == before:
        for name in _default_names(cutoffs, convention):
            ask(("evaluation",), partial(_named, name, cutoffs, convention))
    return places


def _names_of_metrics(config: Config) -> list[tuple[Place, str]]:
    """Return the texts of metrics, each with its place."""
    names = config.evaluation.metrics
    if isinstance(names, list):
        return [(("evaluation", "metrics", at), name) for at, name in enumerate(names)]
    return [(("evaluation", "metrics"), name) for name in listed(names)]


def _complex(metric: Any, cutoffs: Sequence[int], convention: Convention | None) -> tuple[Metric]:
    """Return the metric of an entry of ``complex_metrics``."""
    return (complex_metric(metric, cutoffs, convention),)


def _default_names(cutoffs: Sequence[int], convention: Convention | None) -> list[str]:
    """Return the default metrics that a convention has, without cut-offs if some are given."""
    names = [
        name for name in DEFAULT_METRICS if convention is None or convention.means(name) is not None
    ]
    return [name.partition("@")[0] if cutoffs else name for name in names]


def _named(
    name: str, cutoffs: Sequence[int], convention: Convention | None, strict: bool = True
) -> tuple[Metric, ...]:
    """Return the metrics of a text, with ``cutoffs`` where a metric has no cut-off.

    Unless ``strict`` they may lack one, because the cut-offs themselves are wrong.
    """
    out = []
    for metric in _parsed(name, convention):
        at = (
            metric @ list(cutoffs)
            if (cutoffs and not metric.k and metric.cutoff != "none")
            else metric
        )
        if strict:
            at.require_cutoff()
        out.append(at)
    return tuple(out)


def _parsed(name: str, convention: Convention | None) -> tuple[Metric, ...]:
    """Return the metrics of a text; raise with a hint if a comma in YAML cut the text short."""
    try:
        return parse_all(name, convention, cutoffs=False)
    except RankwiseError as error:
        if any(name.count(left) != name.count(right) for left, right in ("()", "[]")):
            hint = "a comma begins another entry: put the metric in quotation marks"
            raise MetricError(error.what, found=error.found, hint=hint) from error
        raise
