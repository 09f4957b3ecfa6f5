"""Running a configuration: split, systems, results, comparisons, audit, tables and report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.comparison.compare import compare
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.decide import decide, held_to_plan
from rankwise.comparison.decision import Decision
from rankwise.comparison.storage import folder_names, result_folders, write_head
from rankwise.errors import RankwiseError
from rankwise.evidence.stability import Stability
from rankwise.experiments.experiment import Experiment
from rankwise.experiments.inputs import Evaluate, Inputs, Say, evaluate_locally
from rankwise.experiments.keys import spelling_keys
from rankwise.experiments.output_folder import DECISION, NOTE, SUFFIXES, clear, write_unfinished
from rankwise.experiments.plan import check_plan, plan_file
from rankwise.experiments.resolved import resolved
from rankwise.experiments.studies import FOLDERS, STUDIES, Evidence, make_studies, measure_stability
from rankwise.offpolicy.result import OffPolicy
from rankwise.reporting.report import report
from rankwise.results.result import Result
from rankwise.splits.audit import audit
from rankwise.splits.audit_parts import Audit
from rankwise.tables.storage import new_file, write_text
from rankwise.tables.table import Table


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
        write_text(out / f"table.{SUFFIXES[form]}", shown.export(form))
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
    clear(experiment, out)
    done: list[str] = []
    try:
        outcome = _executed(experiment, out, evaluate, say, done, held)
    except BaseException as error:
        say(write_unfinished(out, done, error))
        raise
    (out / NOTE).unlink(missing_ok=True)
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
    decision.save(out / DECISION)
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
