"""What an experiment writes: results, comparisons, tables, configuration and report."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rankwise.errors import RankwiseError
from rankwise.evaluation.config.experiment import Experiment
from rankwise.evaluation.config.inputs import Inputs
from rankwise.evaluation.config.named_tables import check_output
from rankwise.evaluation.config.resolved import HEAD, resolved_text
from rankwise.results.comparison import Comparison
from rankwise.results.comparison_folder import folder_names, write_head
from rankwise.results.decision import Decision
from rankwise.results.report.report import report
from rankwise.results.result import Result
from rankwise.splits.audit.findings import Audit
from rankwise.tables.atomic_files import new_file, write_text
from rankwise.tables.table import Table

__all__ = ["clear", "finished", "unfinished", "write_comparisons", "write_decision", "write_report", "write_results"]

_DECISION = "decision.json"
_NOTE = "unfinished.txt"
_OURS = (
    _NOTE,
    "comparison.json",
    "comparison-*.json",
    _DECISION,
    "table.md",
    "table.tex",
    "table.csv",
    "report.html",
    "results",
    "per_user",
    "runs",
    "split",
)
"""What a run writes, and clears if it finds its own configuration beside it."""
_SUFFIXES = {"markdown": "md", "latex": "tex", "csv": "csv"}


def clear(experiment: Experiment, out: Path) -> None:
    """Make a folder ready: nothing of an earlier run is left to be taken for this one's.

    The resolved configuration is written first, beside a note that says that the run has not
    finished: so it stays if the run is killed.

    Raises
    ------
    ParameterError
        If the folder holds the configuration or one of its inputs.
    """
    check_output(out, experiment.folder, experiment.sources)
    out.mkdir(parents=True, exist_ok=True)
    config = out / "config.yaml"
    resolved = resolved_text(experiment, out)
    if config.is_file() and config.read_text(encoding="utf-8").startswith(HEAD.split("{")[0]):
        for name in _OURS:
            for old in out.glob(name):
                if old.is_dir():
                    shutil.rmtree(old)
                else:
                    old.unlink()
    write_text(out / _NOTE, _RUNNING)
    write_text(config, resolved)


_RUNNING = """\
This run has not finished: it goes on, or it was ended from outside. What is in this folder is whole,
file by file; what is missing was not written. `rankwise run` of config.yaml makes everything anew.
"""


def unfinished(out: Path, done: Sequence[str], error: BaseException) -> str:
    """Write why a run ended and what was finished before, and return it in one line."""
    kept = ", ".join(done) or "nothing"
    reason = str(error) if isinstance(error, RankwiseError) else f"{type(error).__name__}: {error}"
    text = f"This run did not finish.\n\nFinished before: {kept}\n\nIt ended with:\n\n{reason}\n"
    with suppress(OSError):  # a full disk is what ended the run, and is told
        write_text(out / _NOTE, text)
    return f"finished before, and kept in {out}: {kept}; {_NOTE} has the error"


def finished(out: Path) -> None:
    """Remove the note: everything is written."""
    (out / _NOTE).unlink(missing_ok=True)


def write_comparisons(out: Path, results: Mapping[str, Result], comparisons: Sequence[Comparison]) -> None:
    """Write comparisons of saved results."""
    if comparisons:
        write_head(out, comparisons[0].to_dict(), results)
        for at, other in enumerate(comparisons[1:], start=2):
            settings = other.settings
            name = f"comparison-{at}-{settings['test']}-{settings['correction']}.json"
            write_text(out / name, other.export("json"))


def write_decision(out: Path, decision: Decision) -> None:
    """Write the decision."""
    decision.save(out / _DECISION)


def write_results(
    experiment: Experiment, out: Path, results: Mapping[str, Result], comparisons: Sequence[Comparison]
) -> None:
    """Write tables of all users and of each of them."""
    output = experiment.config.output
    for form in output.tables:
        shown: Any = comparisons[0] if comparisons else next(iter(results.values()))
        write_text(out / f"table.{_SUFFIXES[form]}", shown.export(form))
    per_user = output.per_user or ("csv" if experiment.config.evaluation.save_per_user else None)
    if per_user is not None:
        _write_per_user(out / "per_user", results, per_user)


def _write_per_user(folder: Path, results: Mapping[str, Result], form: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, part in folder_names(results).items():
        frame = results[name].per_user
        writers: dict[str, Any] = {"csv": frame.write_csv, "parquet": frame.write_parquet, "json": frame.write_json}
        new_file(folder / f"{part}.{form}", writers[form])


def write_report(
    experiment: Experiment,
    out: Path,
    results: Mapping[str, Result],
    comparisons: Sequence[Comparison],
    found: Audit | None,
    inputs: Inputs,
    runs: Mapping[str, Any],
    decision: Decision | None,
) -> Mapping[str, str]:
    """Write the report, and return what it is without."""
    output = experiment.config.output
    if output.report is False:
        return {}
    truth, train = inputs.parts if inputs.truth is not None else (None, None)
    options = {"truth": truth, "train": train, "items": inputs.items}
    local = {name: run for name, run in runs.items() if isinstance(run, Table)}
    page = report(
        comparisons[0] if comparisons else dict(results),
        title=output.title,
        audit=found,
        decision=decision,
        recommendations=local,
        columns=experiment.settings.columns,
        **options,
    )
    page.save(out / (output.report if isinstance(output.report, str) else "report.html"))
    return page.missing
