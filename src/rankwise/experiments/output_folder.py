"""The folder of a run: made ready without what others put there, and its note until the end."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from rankwise.comparison.storage import folder_names
from rankwise.errors import OutputError, RankwiseError
from rankwise.experiments.checks import check_output
from rankwise.experiments.experiment import Experiment
from rankwise.experiments.resolved import HEAD, resolved_text
from rankwise.experiments.studies import FOLDERS, STUDIES
from rankwise.tables.storage import write_text

CONFIG = "config.yaml"
DECISION = "decision.json"
NOTE = "unfinished.txt"
_OURS = (
    NOTE,
    "comparison.json",
    "comparison-*.json",
    DECISION,
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
SUFFIXES = {"markdown": "md", "latex": "tex", "csv": "csv"}


def clear(experiment: Experiment, out: Path) -> None:
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
    write_text(out / NOTE, _RUNNING)
    write_text(out / CONFIG, resolved)


def _outputs(experiment: Experiment, out: Path) -> list[Path]:
    """Return the paths in a folder whose names a run writes to."""
    report = experiment.config.output.report
    names = [CONFIG, *_OURS, *([report] if isinstance(report, str) else [])]
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
    config = out / CONFIG
    if not config.is_file() or not config.read_bytes().startswith(HEAD.split("{")[0].encode()):
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
    absent = {f"table.{suffix}" for form, suffix in SUFFIXES.items() if form not in tables}
    if all(options.get("movers") is None for options in comparisons):
        absent.add("movers.csv")
    if "decision" not in config:
        absent.add(DECISION)
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


def write_unfinished(out: Path, done: Sequence[str], error: BaseException) -> str:
    """Write a note with the error and the finished parts of a run, and return a short version."""
    kept = ", ".join(done) or "nothing"
    reason = str(error) if isinstance(error, RankwiseError) else f"{type(error).__name__}: {error}"
    text = f"This run did not finish.\n\nFinished before: {kept}\n\nIt ended with:\n\n{reason}\n"
    with suppress(OSError):  # a full disk is what ended the run, and is told
        write_text(out / NOTE, text)
    return f"finished before, and kept in {out}: {kept}; {NOTE} has the error"
