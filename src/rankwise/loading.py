"""Loading of saved files of any form, known by the file and by the key of its version.

What reads a form is imported when there is one to read, because a saved result needs neither splits
nor logs.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from rankwise.core.arguments import check_path
from rankwise.core.saved_forms import (
    AGREEMENT,
    CLAIM,
    COMPARISON,
    DECISION,
    INTERLEAVING,
    JUDGED,
    LAUNCHES,
    LEADERBOARD,
    NULLS,
    OFF_POLICY,
    RESULT,
    SHIPPED,
    SPLIT,
    STABILITY,
    STAGES,
    SavedForm,
    form_of_keys,
)
from rankwise.errors import FileError

__all__ = ["load"]


def load(path: str | Path) -> Any:
    """Load what rankwise saved: a result, comparison, decision, study or split.

    Parameters
    ----------
    path : str or Path
        The folder or file that ``save``, or ``rankwise run``, wrote. For the file that names what
        shipped last, which ``rankwise decide --record`` moves, it is the result that shipped.

    Returns
    -------
    Result, Comparison, Decision, OffPolicy, Interleaving, JudgedResult, MetricValidation, \
RankAgreement, Stability, Claim, Leaderboard, Nulls, Stages, Split or Folds
        What was saved.

    Raises
    ------
    FileError
        If it is nothing that rankwise saved, of a version that cannot be read, or was changed after
        it was saved.

    See Also
    --------
    Comparison.load, Decision.load, OffPolicy.load : The same for one form.

    Examples
    --------
    >>> import tempfile
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 2]}, {"ann": {2}}, "mrr@2")
    >>> log = {"item": [1, 2], "propensity": [0.5, 0.5], "click": [1, 0], "p_new": [1.0, 0.0]}
    >>> values = rw.off_policy(log, targets={"new": "p_new"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rw.load(result.save(folder + "/out"))["mrr@2"]
    ...     rw.load(values.save(folder + "/log")).table["support"].to_list()
    0.5
    ['observed', 'none']
    """
    path = check_path("path", path)
    form = form_of(path)
    if form is None:
        is_folder = path.is_dir()
        found = "a folder without result.json, comparison.json and split.json"
        raise FileError(
            "nothing that rankwise has saved is here",
            where=str(path),
            found=found if is_folder else "a file that is neither a decision nor a pointer",
        )
    module, name = _READERS[form]
    reader = getattr(importlib.import_module(module), name)
    return getattr(reader, "load", reader)(path)


def form_of(path: Path) -> SavedForm | None:
    """Return the form of a saved folder or file, by its names and keys alone; None if unknown.

    Raises
    ------
    FileError
        If nothing is there.
    """
    try:
        names = {entry.name for entry in path.iterdir()}
    except NotADirectoryError:
        keys = _keys(path)
        # What is no JSON is left to the reader of decisions, which says why.
        return form_of_keys(keys) if keys else DECISION
    except OSError as error:
        raise FileError(
            "nothing that rankwise has saved is here", where=str(path), found=error.strerror
        ) from error
    if "comparison.json" in names:
        return COMPARISON
    if "split.json" in names:
        return SPLIT
    if "result.json" in names:
        return form_of_keys(_keys(path / "result.json")) or RESULT
    return None


_READERS: dict[SavedForm, tuple[str, str]] = {
    RESULT: ("rankwise.results.storage", "load"),
    SHIPPED: ("rankwise.results.storage", "open_result"),
    COMPARISON: ("rankwise.comparison.comparison", "Comparison"),
    DECISION: ("rankwise.comparison.decision", "Decision"),
    SPLIT: ("rankwise.splits.reading", "read"),
    OFF_POLICY: ("rankwise.offpolicy.result", "OffPolicy"),
    INTERLEAVING: ("rankwise.interleave.analysis", "Interleaving"),
    JUDGED: ("rankwise.evidence.judged", "JudgedResult"),
    LAUNCHES: ("rankwise.evidence.launches", "MetricValidation"),
    AGREEMENT: ("rankwise.evidence.rank_agreement", "RankAgreement"),
    CLAIM: ("rankwise.evidence.claim", "Claim"),
    LEADERBOARD: ("rankwise.evidence.leaderboard", "Leaderboard"),
    NULLS: ("rankwise.evidence.nulls", "Nulls"),
    STAGES: ("rankwise.evidence.stages", "Stages"),
    STABILITY: ("rankwise.evidence.stability", "Stability"),
}
"""The module of each form, and the function or the class with a method `load` that reads it."""


def _keys(path: Path) -> frozenset[str]:
    """Return the keys of a JSON file; none if unreadable, which the reader of results reports."""
    if not path.is_file():  # a device never ends
        return frozenset()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return frozenset()
    return frozenset(content) if isinstance(content, dict) else frozenset()
