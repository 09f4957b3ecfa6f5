"""Running a configuration: split, systems, results, comparisons, audit, tables and report."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from rankwise.comparison.compare import compare
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.decide import decide, held_to_plan
from rankwise.comparison.decision import Decision
from rankwise.comparison.storage import folder_names, result_folders, write_head
from rankwise.convention.convention import Convention
from rankwise.core import __version__
from rankwise.core.saved_forms import CONFIGURATION
from rankwise.errors import OutputError, RankwiseError
from rankwise.evidence.stability import Stability
from rankwise.experiments.checks import check_output, logged_sources, study_sources
from rankwise.experiments.document import Place
from rankwise.experiments.experiment import Experiment
from rankwise.experiments.inputs import Evaluate, Inputs, Say, evaluate_locally
from rankwise.experiments.keys import spelling_keys
from rankwise.experiments.plan import check_plan, plan_file
from rankwise.experiments.schema import Source, options_of
from rankwise.experiments.studies import FOLDERS, STUDIES, Evidence, make_studies, measure_stability
from rankwise.offpolicy.result import OffPolicy
from rankwise.reporting.report import report
from rankwise.results.result import Result
from rankwise.splits.audit import audit
from rankwise.splits.audit_parts import Audit
from rankwise.tables.files import source_hash
from rankwise.tables.storage import new_file, write_text
from rankwise.tables.table import Table

_HEAD = """\
# What was run, by rankwise {version}: every option in full, and the hash of every file.
# `rankwise run` of this file gives the same bits, or says which file has changed.
"""


def resolved_text(experiment: Experiment, folder: Path) -> str:
    """Return the text of the configuration to be saved in ``folder``.

    Paths are relative to that folder, metrics are written in full, and what other names or
    sections said stands where rankwise has it.
    """
    text = yaml.safe_dump(
        resolved(experiment, folder), sort_keys=False, allow_unicode=True, width=100
    )
    comment, convention = "", experiment.settings.convention
    definitions = (
        {} if convention is None else convention.own_definitions(experiment.settings.metrics)
    )
    if definitions:
        lines = "".join(f"#   {text}\n" for text in definitions.values())
        comment = (
            f"# These metrics are not of convention {convention}; they are rankwise's own "
            f"definitions:\n{lines}"
        )
    return _HEAD.format(version=__version__) + comment + text


def resolved(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return the full configuration, with paths relative to ``folder`` and hashes of files."""
    config = experiment.config
    values: dict[str, Any] = {
        CONFIGURATION.key: CONFIGURATION.version,
        "data": _data_section(experiment, folder),
    }
    if experiment.splitter is not None:
        values["split"] = _split_section(experiment)
    values["systems"] = {
        name: _system_entry(experiment, system, folder)
        for name, system in experiment.systems.items()
    }
    values["evaluation"] = _evaluation_section(experiment)
    values["comparison"] = [
        _plain({**_defaults(compare), **options}) for options in experiment.comparisons
    ]
    if experiment.decision is not None:
        options = _plain({**_defaults(decide), **experiment.decision})
        values["decision"] = {k: value for k, value in options.items() if value is not None}

    values |= _study_sections(experiment, folder)
    if config.off_policy is not None:
        values["off_policy"] = _logged_section(experiment, config.off_policy, folder)

    values["output"] = _output_section(experiment)
    values["engine"] = config.engine.model_dump(exclude_none=True)
    return values


def _data_section(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return the tables without their columns, which are among the options of the evaluation."""
    data = experiment.config.data
    entries = {
        role: _source(experiment, source, folder)
        for role in type(data).model_fields
        if role != "recommendations" and (source := getattr(data, role)) is not None
    }
    for entry in entries.values():
        entry.pop("columns", None)
    return entries


def _split_section(experiment: Experiment) -> dict[str, Any]:
    """Return the rule of the split with all its parameters, and the clock of its table."""
    split = experiment.config.split
    assert split is not None
    assert experiment.splitter is not None
    clock = split.model_dump(include={"time_unit", "time_format"}, exclude_none=True)
    rule: dict[str, Any] = _plain(experiment.splitter.to_dict())
    return rule | clock


def _system_entry(experiment: Experiment, system: Any, folder: Path) -> dict[str, Any]:
    """Return a system: its file, or the model with its parameters."""
    if isinstance(system, Source):
        return _source(experiment, system, folder)
    entry: dict[str, Any] = system.model_dump(exclude_none=True)
    return entry


def _evaluation_section(experiment: Experiment) -> dict[str, Any]:
    """Return the metrics and their options, with those of samples if they are drawn."""
    options = {name: _plain(value) for name, value in experiment.options.items()}
    values = {"metrics": experiment.metrics, **options}
    if experiment.sampled:
        keys = ("strategy", "num_negatives", "negative_sampling", "neg_alpha", "seed")
        values |= {key: getattr(experiment.config.evaluation, key) for key in keys}
    if experiment.candidates != "all":
        values["candidates"] = experiment.candidates
    return values


def _study_sections(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return the sections of studies with their files as they are now."""
    config = experiment.config
    names = [file.removesuffix(".json") for file in STUDIES if file != "off_policy.json"]
    values = {
        name: section.model_dump(exclude_none=True)
        for name in names
        if (section := getattr(config, name)) is not None
    }
    for place, source in study_sources(config):
        _set_at(values, place, _source(experiment, source, folder))
    return values


def _output_section(experiment: Experiment) -> dict[str, Any]:
    """Return the output, to another folder, with the table that WarpRec's name asks for."""
    config = experiment.config
    values: dict[str, Any] = config.output.model_dump(exclude_none=True)
    values["folder"] = "rerun"
    if config.evaluation.save_per_user and config.output.per_user is None:
        values["per_user"] = "csv"
    return values


def _logged_section(experiment: Experiment, section: Any, folder: Path) -> dict[str, Any]:
    """Return the section of logged requests with its files as they are now."""
    values: dict[str, Any] = _plain(section.model_dump(exclude_none=True))
    for place, source in logged_sources(section):
        entry = _source(experiment, source, folder)
        policy = _value_at(values, place)
        kinds = [kind for kind in ("probabilities", "lists", "scores") if kind in policy]
        _set_at(values, (*place, *kinds[:1]), entry)
    return values


def _value_at(values: Any, place: Place) -> Any:
    """Return the value at a place of a configuration."""
    for name in place:
        values = values[name]
    return values


def _set_at(values: Any, place: Place, value: Any) -> None:
    """Set the value at a place of a configuration."""
    _value_at(values, place[:-1])[place[-1]] = value


def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    options = options_of(function).items()
    return {
        name: default for name, (_, default, _) in options if default is not inspect.Parameter.empty
    }


def _source(experiment: Experiment, source: Source, folder: Path) -> dict[str, Any]:
    path = experiment.path(source)
    entry = source.model_dump(exclude_defaults=True)
    entry["path"] = Path(os.path.relpath(path, folder)).as_posix()
    digest = source_hash(path)
    if digest is not None:
        entry["sha256"] = digest
    return entry


def _plain(value: Any) -> Any:
    """Return values as YAML holds them."""
    if isinstance(value, Convention):
        return _plain(value.to_dict())
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


_CONFIG = "config.yaml"
_DECISION = "decision.json"
_NOTE = "unfinished.txt"
_OURS = (
    _NOTE,
    "comparison.json",
    "comparison-*.json",
    _DECISION,
    "table.md",
    *STUDIES,
    *FOLDERS.values(),
    "movers.csv",
    "table.tex",
    "table.csv",
    "report.html",
    "results",
    "per_user",
    "runs",
    "split",
)
"""What a run writes, beside its configuration, and clears where that of an earlier run lies beside it."""
_BY_SYSTEM = ("results", "per_user", "runs")
"""The folders that have a folder or file of each system."""
_SUFFIXES = {"markdown": "md", "latex": "tex", "csv": "csv"}


def _clear(experiment: Experiment, out: Path) -> None:
    """Make a folder ready: nothing of an earlier run is left to be taken for this one's.

    The resolved configuration is written first, beside a note that says that the run has not
    finished: so it stays if the run is killed.

    Raises
    ------
    ParameterError
        If the folder holds the configuration or one of its inputs.
    OutputError
        If a file or folder that the run would replace is not of an earlier run, or is a link to
        somewhere else.
    """
    check_output(out, experiment.folder, experiment.sources)
    resolved = resolved_text(experiment, out)
    out.mkdir(parents=True, exist_ok=True)
    earlier = _outputs(experiment, out)
    _check_replaceable(out, earlier)

    for old in earlier:
        if old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()
    write_text(out / _NOTE, _RUNNING)
    write_text(out / _CONFIG, resolved)


def _outputs(experiment: Experiment, out: Path) -> list[Path]:
    """Return the paths in a folder whose names a run writes to."""
    report = experiment.config.output.report
    names = [_CONFIG, *_OURS, *([report] if isinstance(report, str) else [])]
    return sorted({path for name in names for path in out.glob(name)})


def _check_replaceable(out: Path, paths: Sequence[Path]) -> None:
    """Raise if a run would replace a link, or files that no earlier run wrote."""
    links = [path for path in paths if path.is_symlink()]
    if links:
        raise OutputError(
            "a run writes into its folder, and this is a link to somewhere else",
            where=str(links[0]),
            found=str(links[0].readlink()),
            hint="remove the link, or name another folder: -o DIR",
        )
    strange = _not_of_run(_earlier_run(out), paths)
    if strange:
        raise OutputError(
            "the output folder has files that no run wrote, and that this run would replace",
            where=str(out),
            found=", ".join(path.relative_to(out).as_posix() for path in strange[:6]),
            hint="move them, or name another folder: -o DIR, or output: {folder: results}",
        )


def _earlier_run(out: Path) -> dict[str, Any] | None:
    """Return the configuration of the run that wrote a folder; None if none did."""
    config = out / _CONFIG
    if not config.is_file() or not config.read_bytes().startswith(_HEAD.split("{")[0].encode()):
        return None
    with suppress(yaml.YAMLError):
        values = yaml.safe_load(config.read_bytes())
        return values if isinstance(values, dict) else None
    return None


def _not_of_run(earlier: Mapping[str, Any] | None, paths: Sequence[Path]) -> list[Path]:
    """Return the paths that a run of this configuration did not write."""
    if earlier is None:
        return [*paths]
    absent = _outputs_not_asked_for(earlier)
    page = _report_name(earlier)
    systems = {*folder_names(earlier.get("systems") or {}).values()}

    strange = []
    for path in paths:
        if path.name in absent or (path.suffix == ".html" and path.name != page):
            strange.append(path)
        elif path.name in _BY_SYSTEM and path.is_dir():
            strange += [one for one in sorted(path.iterdir()) if not _is_of_system(one, systems)]
    return strange


def _outputs_not_asked_for(config: Mapping[str, Any]) -> set[str]:
    """Return the names of outputs that a resolved configuration does not ask for."""
    output, comparisons = config.get("output") or {}, config.get("comparison") or []
    tables = output.get("tables") or []
    absent = {f"table.{suffix}" for form, suffix in _SUFFIXES.items() if form not in tables}
    if all(options.get("movers") is None for options in comparisons):
        absent.add("movers.csv")
    if "decision" not in config:
        absent.add(_DECISION)
    if "per_user" not in output:
        absent.add("per_user")
    return absent


def _report_name(config: Mapping[str, Any]) -> str | None:
    """Return the name of the report that a resolved configuration asks for; None without one."""
    report = (config.get("output") or {}).get("report", True)
    if isinstance(report, str):
        return report
    return "report.html" if report else None


def _is_of_system(path: Path, systems: Collection[str]) -> bool:
    """Return whether a path is named after one of these systems, or is hidden."""
    return path.name.startswith(".") or path.name in systems or path.stem in systems


_RUNNING = """\
This run is in progress, or it was stopped. Every file here is complete; missing files were not
written. `rankwise run` of config.yaml makes everything anew.
"""


def _unfinished(out: Path, done: Sequence[str], error: BaseException) -> str:
    """Write a note with the error and the finished parts of a run, and return a short version."""
    kept = ", ".join(done) or "nothing"
    reason = str(error) if isinstance(error, RankwiseError) else f"{type(error).__name__}: {error}"
    text = f"This run did not finish.\n\nFinished before: {kept}\n\nIt ended with:\n\n{reason}\n"
    with suppress(OSError):  # a full disk is what ended the run, and is told
        write_text(out / _NOTE, text)
    return f"finished before, and kept in {out}: {kept}; {_NOTE} has the error"


def _write_comparisons(
    out: Path, results: Mapping[str, Result], comparisons: Sequence[Comparison]
) -> None:
    """Write comparisons of saved results."""
    write_head(out, comparisons[0].to_dict(), results)
    for at, other in enumerate(comparisons[1:], start=2):
        name = f"comparison-{at}-{other.design.test}-{other.design.correction}.json"
        write_text(out / name, other.export("json"))


def _write_results(
    experiment: Experiment,
    out: Path,
    results: Mapping[str, Result],
    comparisons: Sequence[Comparison],
) -> None:
    """Write tables of all users and of each of them."""
    output = experiment.config.output
    for form in output.tables if results else ():
        shown: Any = comparisons[0] if comparisons else next(iter(results.values()))
        write_text(out / f"table.{_SUFFIXES[form]}", shown.export(form))
    per_user = output.per_user or ("csv" if experiment.config.evaluation.save_per_user else None)
    if per_user is not None and results:
        folder = out / "per_user"
        folder.mkdir(exist_ok=True)
        for name, part in folder_names(results).items():
            new_file(
                folder / f"{part}.{per_user}", getattr(results[name].per_user, f"write_{per_user}")
            )


def _write_report(
    experiment: Experiment,
    out: Path,
    results: Mapping[str, Result],
    comparisons: Sequence[Comparison],
    audited: Audit | None,
    inputs: Inputs,
    runs: Mapping[str, Any],
    decision: Decision | None,
    evidence: Sequence[Evidence],
) -> Mapping[str, str]:
    """Write the report, and return the parts that are missing, with reasons."""
    output = experiment.config.output
    if output.report is False:
        return {}
    truth, train = (
        (inputs.graded_truth, inputs.parts[1]) if inputs.truth is not None else (None, None)
    )
    options = {"truth": truth, "train": train, "items": inputs.items}
    local = {name: run for name, run in runs.items() if isinstance(run, Table)}
    if not results:  # of logged requests alone
        page = report(_log_of(evidence), title=output.title, decision=decision)
        page.save(out / (output.report if isinstance(output.report, str) else "report.html"))
        return page.missing
    page = report(
        comparisons[0] if comparisons else dict(results),
        title=output.title,
        audit=audited if output.audit else False,
        show_users=output.show_users,
        decision=decision,
        evidence=evidence,
        recommendations=local,
        columns=inputs.columns_of("recommendations", "truth", "train", "items"),
        **options,
    )
    page.save(out / (output.report if isinstance(output.report, str) else "report.html"))
    return page.missing


@dataclass(frozen=True)
class Outcome:
    """Everything that the run of a configuration produced.

    Attributes
    ----------
    folder : Path
        Where everything was written.
    results : mapping of str to Result
        The result of each system.
    comparisons : sequence of Comparison
        What was compared, the first one for the report; empty for a single system.
    audit : Audit or None
        What was found in the split.
    decision : Decision or None
        Whether to ship, if the configuration asks for it.
    missing : mapping of str to str
        What the report is without, and why.
    evidence : sequence of MetricValidation, JudgedResult, RankAgreement, Leaderboard, Nulls, \
Stability, OffPolicy
        What past launches, human labels, a second order, runs of one system and logged requests
        say, if the configuration names them.
    is_too_noisy : bool
        Whether a noise floor is above the number that the configuration allows.
    plan : dict or None
        Whether the run was as planned, as `check_plan` returns it; None if it was not held against
        a plan.
    """

    folder: Path
    results: Mapping[str, Result]
    comparisons: Sequence[Comparison]
    audit: Audit | None
    missing: Mapping[str, str]
    decision: Decision | None = None
    evidence: Sequence[Evidence] = ()
    plan: dict[str, Any] | None = None
    is_too_noisy: bool = False

    @property
    def is_as_planned(self) -> bool:
        """Whether nothing differs from the plan; True without one."""
        return self.plan is None or not self.plan["differences"]


def execute(
    experiment: Experiment,
    *,
    evaluate: Evaluate = evaluate_locally,
    folder: Path | None = None,
    say: Say = lambda _: None,
    plan: bool = False,
) -> Outcome:
    """Run an experiment, and write all outputs to its folder.

    Parameters
    ----------
    experiment : Experiment
        What to do.
    evaluate : callable, default=evaluate_locally
        The engine.
    folder : Path, optional
        Where to write; by default where the configuration says.
    say : callable, optional
        Is told what is being done.
    plan : bool, default=False
        Hold the run against its plan, whatever the configuration says: every output tells the
        outcome.

    Raises
    ------
    RankwiseError
        If a table cannot be evaluated as it is, or a file cannot be written. What was finished
        before stays in the folder, with a note.
    """
    out = experiment.folder / experiment.config.output.folder if folder is None else folder
    held = None
    if plan or experiment.config.plan:
        held = check_plan(
            experiment, resolved(experiment, experiment.folder), plan_file(experiment.file)
        )
        say(held["statement"])
    _clear(experiment, out)
    done: list[str] = []
    try:
        outcome = _executed(experiment, out, evaluate, say, done, held)
    except BaseException as error:
        say(_unfinished(out, done, error))
        raise
    (out / _NOTE).unlink(missing_ok=True)
    return outcome


def _executed(
    experiment: Experiment,
    out: Path,
    evaluate: Evaluate,
    say: Say,
    done: list[str],
    held: dict[str, Any] | None,
) -> Outcome:
    """Run an experiment; write each part when finished, and name the part in ``done``."""
    for note in experiment.notes:
        say(note)
    inputs = Inputs(experiment, out, say)
    if experiment.splitter is not None:
        done.append("the split")
    folders = result_folders(out, experiment.systems)
    runs, results = {}, {}
    for name, system in experiment.systems.items():
        say(f"evaluating {name} …")
        runs[name] = inputs.run(name, system)
        options = inputs.options(system)
        results[name] = evaluate(runs[name], inputs.truth, experiment.metrics, options)
        results[name].provenance.update({} if held is None else {"plan": held})
        results[name].save(folders[name])
        done.append(f"the result of {name}")
    floor = measure_stability(inputs, evaluate, say)
    comparisons = _compared(experiment, results, floor, say)
    if comparisons:
        _write_movers(experiment, out, comparisons, floor)
        _write_comparisons(out, results, comparisons)
        done.append("the comparison")
    _write_results(experiment, out, results, comparisons)
    decision = None
    if results:  # as the first comparison was made, so that both say the same of a pair
        systems = comparisons[0] if comparisons else results
        decision = _decided(experiment, out, systems, done, held)
    studies: list[Evidence] = []
    for file, study in make_studies(inputs, results, runs, floor, evaluate):
        studies.append(study)
        study.settings["plans"] = [] if held is None else [held["statement"]]
        write_text(out / file, study.export("json"))
        if file in FOLDERS:
            study.save(out / FOLDERS[file])
        done.append(STUDIES[file])
    if not results:
        decision = _decided(experiment, out, _log_of(studies), done, held)
    audited = _audited(experiment, inputs, say)
    missing = _write_report(
        experiment, out, results, comparisons, audited, inputs, runs, decision, studies
    )
    at_most = getattr(experiment.config.stability, "at_most", None)
    is_too_noisy = at_most is not None and floor is not None and floor.is_above(at_most)
    return Outcome(
        out, results, comparisons, audited, missing, decision, studies, held, is_too_noisy
    )


def _decided(
    experiment: Experiment,
    out: Path,
    results: Comparison | Mapping[str, Result] | OffPolicy,
    done: list[str],
    held: dict[str, Any] | None,
) -> Decision | None:
    """Return and save the decision about systems or logged policies; None if not requested."""
    if experiment.decision is None:
        return None
    with spelling_keys("decision"):
        decision = decide(results, **experiment.decision)
    if isinstance(results, OffPolicy) and held is not None:  # results name their plan themselves
        decision = held_to_plan(decision, [held])
    decision.save(out / _DECISION)
    done.append("the decision")
    return decision


def _log_of(studies: Iterable[Evidence]) -> OffPolicy:
    return next(study for study in studies if isinstance(study, OffPolicy))


def _compared(
    experiment: Experiment, results: Mapping[str, Result], floor: Stability | None, say: Say
) -> list[Comparison]:
    """Return every comparison; a single system has none."""
    if len(results) < 2:
        return []
    say("comparing …")
    made = []
    for options in experiment.comparisons:
        asked = {name: value for name, value in options.items() if name != "movers"}
        made.append(compare(results, **asked | {"noise": floor if asked.get("noise") else None}))
    return made


def _write_movers(
    experiment: Experiment, out: Path, comparisons: Sequence[Comparison], floor: Stability | None
) -> None:
    """Write the users that moved most, of every comparison that asks for them."""
    tables = []
    for options, comparison in zip(experiment.comparisons, comparisons, strict=False):
        if options.get("movers") is None:
            continue
        baseline = comparison.design.baseline or next(iter(comparison.results))
        for system in comparison.results:
            if system != baseline:
                found = comparison.movers(
                    system, baseline=baseline, n=options["movers"], noise=floor
                )
                named = [pl.lit(text).alias(name) for name, text in found.names.items()]
                tables.append(found.table.select(*named, pl.all()))
    if tables:
        new_file(out / "movers.csv", pl.concat(tables, how="diagonal_relaxed").write_csv)


def _audited(experiment: Experiment, inputs: Inputs, say: Say) -> Audit | None:
    """Return the audit of the split, where there is training data."""
    truth, train = inputs.parts if inputs.truth is not None else (None, None)
    if not experiment.config.output.audit or train is None or truth is None:
        return None
    say("auditing the split …")
    try:
        return audit(train, truth, columns=inputs.columns_of("interactions"))
    except RankwiseError as error:
        say(f"no audit: {error.what}")
        return None
