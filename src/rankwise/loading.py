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
    INTERLEAVING,
    JUDGED,
    LAUNCHES,
    LEADERBOARD,
    NULLS,
    OFF_POLICY,
    SHIPPED,
    STABILITY,
    STAGES,
    SavedForm,
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
    try:
        names = {entry.name for entry in path.iterdir()}
    except NotADirectoryError:
        if SHIPPED.key in _keys(path):
            from rankwise.results.storage import open_result

            return open_result(path)
        from rankwise.comparison.decision import Decision

        return Decision.load(path)
    except OSError as error:
        raise FileError(
            "nothing that rankwise has saved is here", where=str(path), found=error.strerror
        ) from error

    if "comparison.json" in names:
        from rankwise.comparison.comparison import Comparison

        return Comparison.load(path)

    if "split.json" in names:
        from rankwise.splits.reading import read

        return read(path)

    if "result.json" in names:
        return _load_tables(path)

    raise FileError(
        "nothing that rankwise has saved is here",
        where=str(path),
        found="a folder without result.json, comparison.json and split.json",
    )


def _load_tables(folder: Path) -> Any:
    """Read a folder of tables with a ``result.json``, whose version key tells its form."""
    keys = _keys(folder / "result.json")
    for form, (module, name) in _STUDIES.items():
        if form.key in keys:
            return getattr(importlib.import_module(module), name).load(folder)

    from rankwise.results.storage import load as load_result

    return load_result(folder)


_STUDIES: dict[SavedForm, tuple[str, str]] = {
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
"""The module and class of each form of tables beside a ``result.json``."""


def _keys(path: Path) -> frozenset[str]:
    """Return the keys of a JSON file; none if unreadable, which the reader of results reports."""
    if not path.is_file():  # a device never ends
        return frozenset()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return frozenset()
    return frozenset(content) if isinstance(content, dict) else frozenset()
