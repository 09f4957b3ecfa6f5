"""Plans of evaluations and comparisons, written before the results and checked against them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rankwise.core import __version__
from rankwise.core.hashing import json_hash
from rankwise.core.terminal import as_json
from rankwise.errors import FileError, UsageError
from rankwise.experiments.experiment import Experiment
from rankwise.tables.storage import write_text
from rankwise.tables.table import read_card, read_json

_SECTIONS = (
    *(
        "data",
        "split",
        "systems",
        "evaluation",
        "comparison",
        "decision",
        "launches",
        "judged",
        "agreement",
        "leaderboard",
        "nulls",
        "stages",
        "stability",
    ),
    "off_policy",
)
_NO_EFFECT = ("path", "threads", "block_size", "progress")
"""Keys that may differ from the plan: they change no value. Files are known by their hashes."""
_MOST = 5  # differences in one statement


def plan_file(config: str | Path) -> Path:
    """Return the path of a configuration's plan, in the same folder."""
    return Path(config).with_suffix(".plan.json")


def write_plan(experiment: Experiment, values: Mapping[str, Any], file: Path) -> str:
    """Write the plan of a resolved configuration, and return a description of the plan.

    A plan that is there is replaced, and the new one says when it was written and what has changed.

    Raises
    ------
    UsageError
        If the configuration does not say what decides.
    """
    content = _content(experiment, values)
    _check_primary(content)
    old = _read(file) if file.exists() else None
    if old is not None and old["plan"] == content:
        return f"this is the plan already: {_name(old)}"
    earlier = []
    if old is not None:
        changes = list(_differences(old["plan"], content))
        earlier = [
            *old["earlier"],
            {"time": old["time"], "sha256": old["sha256"], "changes": changes},
        ]
    plan = {
        "rankwise": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "results_existed": (
            experiment.folder / experiment.config.output.folder / "results"
        ).exists(),
        "earlier": earlier,
        "plan": content,
    }
    write_text(file, as_json({**plan, "sha256": json_hash(plan)}))
    return _name(_read(file))


def check_plan(experiment: Experiment, values: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Compare a resolved configuration with its plan, and return the record for results.

    Raises
    ------
    FileError
        If there is no plan, or it was edited after it was written.
    """
    plan = _read(file)
    differences = list(_differences(plan["plan"], _content(experiment, values)))
    verdict = "as planned" if not differences else f"not as planned: {_listed(differences)}"
    return {
        "statement": f"{verdict}; {_name(plan)}",
        "sha256": plan["sha256"],
        "time": plan["time"],
        "differences": differences,
        "earlier": plan["earlier"],
    }


def _content(experiment: Experiment, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a plan: data, splits, systems, metrics, options, tests and decision."""
    content = {name: _without_paths(values[name]) for name in _SECTIONS if name in values}
    for role in ("truth", "train"):
        source = getattr(experiment.config.data, role)
        path = None if source is None else experiment.path(source)
        card = None if path is None else read_card(path if path.is_dir() else path.parent)
        if card is not None:
            content["data"][role]["split"] = {
                "id": card["id"],
                "rule": card["rule"],
                "files": card["files"],
            }
    return content


def _without_paths(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_paths(inner) for key, inner in value.items() if key not in _NO_EFFECT}
    return [_without_paths(inner) for inner in value] if isinstance(value, list) else value


def _check_primary(content: Mapping[str, Any]) -> None:
    """Raise unless the plan names the metric that decides between several systems."""
    compared = content.get("comparison") or [{}]
    if (
        len(content["systems"]) > 1
        and compared[0].get("primary") is None
        and "decision" not in content
    ):
        raise UsageError(
            "a plan says which metric decides, before the results do",
            where="comparison.primary",
            hint="write comparison: {primary: ndcg@10}, or a section decision",
        )


def _read(file: Path) -> dict[str, Any]:
    """Return a plan, checked against its digest."""
    if not file.exists():
        raise FileError(
            "there is no plan of this configuration",
            where=str(file),
            hint="write it with `rankwise plan`",
        )
    plan = read_json(file)
    digest = plan.pop("sha256", None) if isinstance(plan, dict) else None
    if digest is None or digest != json_hash(plan):
        raise FileError(
            "this plan was edited after it was written",
            where=str(file),
            hint="change the configuration and run `rankwise plan` again: the new plan says what "
            "has changed",
        )
    return {**plan, "sha256": digest}


def _name(plan: Mapping[str, Any]) -> str:
    """Return the date and digest of a plan, with facts that weaken the plan."""
    text = f"plan of {plan['time'][:16].replace('T', ' ')} UTC, digest {plan['sha256'][:12]}"
    changes = [change for earlier in plan["earlier"] for change in earlier["changes"]]
    text += (
        f", changed {len(plan['earlier'])} time(s) since {plan['earlier'][0]['time'][:10]}: "
        if changes
        else ""
    )
    text += _listed(changes) if changes else ""
    return text + (", written when there were results already" if plan["results_existed"] else "")


def _listed(differences: list[str]) -> str:
    more = f"; and {len(differences) - _MOST} more" if len(differences) > _MOST else ""
    return "; ".join(differences[:_MOST]) + more


def _differences(planned: Any, actual: Any, place: str = "") -> Iterator[str]:
    """Yield every value that differs, with its place."""
    if isinstance(planned, dict) and isinstance(actual, dict):
        for key in dict.fromkeys([*planned, *actual]):
            inner = f"{place}.{key}".lstrip(".")
            yield from _differences(planned.get(key, _ABSENT), actual.get(key, _ABSENT), inner)
    elif isinstance(planned, list) and isinstance(actual, list) and len(planned) == len(actual):
        for at, pair in enumerate(zip(planned, actual, strict=True)):
            yield from _differences(*pair, f"{place}[{at}]")
    elif planned != actual:
        yield f"{place} is {_shown(actual)}, planned {_shown(planned)}"


_ABSENT = "absent"


def _shown(value: Any) -> str:
    text = value[:12] if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
