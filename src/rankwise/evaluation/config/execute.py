"""Running a configuration: split, systems, results, comparisons, audit, tables and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rankwise.errors import RankwiseError
from rankwise.evaluation.config.experiment import Experiment
from rankwise.evaluation.config.inputs import Inputs, Say
from rankwise.evaluation.config.outputs import (
    clear,
    finished,
    unfinished,
    write_comparisons,
    write_decision,
    write_report,
    write_results,
)
from rankwise.evaluation.evaluate import evaluate
from rankwise.results.compare import compare
from rankwise.results.comparison import Comparison
from rankwise.results.comparison_folder import result_folders
from rankwise.results.decide import decide
from rankwise.results.decision import Decision
from rankwise.results.result import Result
from rankwise.splits.audit.audit import audit
from rankwise.splits.audit.findings import Audit

__all__ = ["Outcome", "evaluate_locally", "execute"]


class Evaluate(Protocol):
    """An engine: `rankwise.evaluate`, or that of Spark with its session."""

    def __call__(self, recommendations: Any, truth: Any, measures: Any, options: Mapping[str, Any], /) -> Result: ...


def evaluate_locally(recommendations: Any, truth: Any, measures: Any, options: Mapping[str, Any], /) -> Result:
    """Evaluate in this process."""
    return evaluate(recommendations, truth, measures, **options)


@dataclass(frozen=True)
class Outcome:
    """What a configuration gave.

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
    """

    folder: Path
    results: Mapping[str, Result]
    comparisons: Sequence[Comparison]
    audit: Audit | None
    missing: Mapping[str, str]
    decision: Decision | None = None


def execute(
    experiment: Experiment,
    *,
    evaluate: Evaluate = evaluate_locally,
    folder: Path | None = None,
    say: Say = lambda _: None,
) -> Outcome:
    """Run an experiment, and write what it gives into its folder.

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

    Raises
    ------
    RankwiseError
        If a table cannot be evaluated as it is, or a file cannot be written. What was finished
        before stays in the folder, with a note.
    """
    out = experiment.folder / experiment.config.output.folder if folder is None else folder
    clear(experiment, out)
    done: list[str] = []
    try:
        outcome = _executed(experiment, out, evaluate, say, done)
    except BaseException as error:
        say(unfinished(out, done, error))
        raise
    finished(out)
    return outcome


def _executed(experiment: Experiment, out: Path, evaluate: Evaluate, say: Say, done: list[str]) -> Outcome:
    """Run an experiment; each part is written as soon as it is there, and named in ``done``."""
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
        results[name] = evaluate(runs[name], inputs.truth, experiment.measures, options)
        results[name].save(folders[name])
        done.append(f"the result of {name}")
    comparisons = _compared(experiment, results, say)
    if comparisons:
        write_comparisons(out, results, comparisons)
        done.append("the comparison")
    write_results(experiment, out, results, comparisons)
    decision = None if experiment.decision is None else decide(results, **experiment.decision)
    if decision is not None:
        write_decision(out, decision)
        done.append("the decision")
    found = _audited(experiment, inputs, say)
    missing = write_report(experiment, out, results, comparisons, found, inputs, runs, decision)
    return Outcome(out, results, comparisons, found, missing, decision)


def _compared(experiment: Experiment, results: Mapping[str, Result], say: Say) -> list[Comparison]:
    """Return every comparison; a single system has none."""
    if len(results) < 2:
        return []
    say("comparing …")
    return [compare(results, **options) for options in experiment.comparisons]


def _audited(experiment: Experiment, inputs: Inputs, say: Say) -> Audit | None:
    """Return the audit of the split, where there is training data."""
    truth, train = inputs.parts if inputs.truth is not None else (None, None)
    if not experiment.config.output.audit or train is None or truth is None:
        return None
    say("auditing the split …")
    try:
        return audit(train, truth, columns=experiment.settings.columns)
    except RankwiseError as error:
        say(f"no audit: {error.what}")
        return None
