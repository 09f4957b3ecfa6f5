"""What an experiment writes: results, comparisons, tables, configuration and report."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankwise.errors import OutputError, ParameterError
from rankwise.evaluation.config.experiment import Experiment
from rankwise.evaluation.config.inputs import Inputs
from rankwise.evaluation.config.resolved import HEAD, resolved_text
from rankwise.results.comparison import Comparison
from rankwise.results.comparison_folder import folder_names, write_head
from rankwise.results.decision import Decision
from rankwise.results.report.report import report
from rankwise.results.result import Result
from rankwise.splits.audit.findings import Audit
from rankwise.tables.atomic_files import new_file, write_text
from rankwise.tables.table import Table

__all__ = ["clear", "write_report", "write_results"]

_DECISION = "decision.json"
_OURS = (
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

    Raises
    ------
    ParameterError
        If the folder holds the configuration or one of its inputs.
    """
    inputs = [experiment.path(source).resolve() for source in experiment.sources]
    whole, here = out.resolve(), experiment.folder.resolve()
    held = [path for path in inputs if path.is_relative_to(whole)]
    if whole == here or here.is_relative_to(whole) or held:
        raise ParameterError(
            "the output folder holds the configuration, or what it reads",
            where=str(out),
            found=str(held[0] if held else here),
            hint="name another: output: {folder: results}",
        )
    if out.exists() and not out.is_dir():
        raise OutputError("this is a file, not a folder", where=str(out))
    out.mkdir(parents=True, exist_ok=True)
    config = out / "config.yaml"
    if config.is_file() and config.read_text(encoding="utf-8").startswith(HEAD.split("{")[0]):
        for name in _OURS:
            for old in out.glob(name):
                if old.is_dir():
                    shutil.rmtree(old)
                else:
                    old.unlink()


def write_results(
    experiment: Experiment,
    out: Path,
    results: Mapping[str, Result],
    comparisons: Sequence[Comparison],
    decision: Decision | None,
) -> None:
    """Write comparisons of saved results, tables and the resolved configuration."""
    output = experiment.config.output
    if comparisons:
        write_head(out, comparisons[0].to_dict(), results)
        for at, other in enumerate(comparisons[1:], start=2):
            settings = other.settings
            name = f"comparison-{at}-{settings['test']}-{settings['correction']}.json"
            write_text(out / name, other.export("json"))
    if decision is not None:
        decision.save(out / _DECISION)
    for form in output.tables:
        shown: Any = comparisons[0] if comparisons else next(iter(results.values()))
        write_text(out / f"table.{_SUFFIXES[form]}", shown.export(form))
    per_user = output.per_user or ("csv" if experiment.config.evaluation.save_per_user else None)
    if per_user is not None:
        _write_per_user(out / "per_user", results, per_user)
    write_text(out / "config.yaml", resolved_text(experiment, out))


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
        **options,
    )
    page.save(out / (output.report if isinstance(output.report, str) else "report.html"))
    return page.missing
