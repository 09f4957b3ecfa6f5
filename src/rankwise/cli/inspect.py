"""``rankwise inspect``: what is recognised in a file or a folder, before it is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.options import column_option, examples
from rankwise.cli.spelling import respelled
from rankwise.errors import printable

__all__ = ["command"]


@click.command(
    "inspect",
    epilog=examples(
        "rankwise inspect runs/neighbours.csv", "rankwise inspect results/neighbours", "rankwise inspect split"
    ),
)
@click.argument("path")
@column_option
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(path: str, columns: dict[str, Any], format_: str) -> None:
    """Show how PATH is read: the format and columns of a file, or the content of a folder.

    For a file, the role of each column is shown as well; for a folder, the saved result, or the
    split with its card.
    """
    from rankwise.core.view import as_json
    from rankwise.tables.on_disk import is_folder
    from rankwise.tables.parts import is_table_folder

    is_other = is_folder(path) and not is_table_folder(path)
    facts = _of_folder(Path(path), columns) if is_other else _of_file(path, columns)
    first_rows = facts.pop("first rows", [])
    if format_ == "json":
        click.echo(as_json(facts), nl=False)
        return
    rows = ["first rows:", *(f"  {row}" for row in first_rows)] if first_rows else []
    click.echo("\n".join(map(printable, [*_lines(facts), *rows])))


def _lines(facts: dict[str, Any], indent: str = "") -> list[str]:
    """Return facts as lines, those of a group below its name."""
    lines = []
    for name, fact in facts.items():
        if isinstance(fact, dict) and fact:
            lines += [f"{indent}{name}:", *_lines(fact, indent + "  ")]
        else:
            text = ", ".join(map(str, fact)) if isinstance(fact, list) else fact
            lines.append(f"{indent}{name}: {'–' if text in (None, '', {}) else text}")
    return lines


def _of_folder(folder: Path, columns: dict[str, Any]) -> dict[str, Any]:
    """Return what a folder holds: a saved result, or the parts of a split."""
    from rankwise.errors import FileError
    from rankwise.splits import read
    from rankwise.splits.split import Folds

    if (folder / "result.json").is_file():
        return _of_result(folder)
    try:
        split = read(folder, columns=columns or None)
    except FileError as error:
        raise FileError(
            "this folder holds neither a saved result nor a split that can be read",
            where=error.where,
            found=f"{error.what}: {error.found}",
            hint=error.hint,
        ) from error
    if isinstance(split, Folds):
        return {"folder": str(folder), "holds": f"{len(split)} folds", "fold 0": split[0].card}
    return {"folder": str(folder), "holds": "a split", **split.card}


def _of_result(folder: Path) -> dict[str, Any]:
    from rankwise.results.saving import load

    result = load(folder)
    provenance = result.provenance
    own = provenance.get("own_definitions")
    settings = {name: value for name, value in provenance["settings"].items() if name != "measures"}
    return {
        "folder": str(folder),
        "holds": "a saved result",
        "date": provenance["date"],
        "versions": provenance["versions"],
        "users": result.counts["users"],
        "values": result.values,
        "settings": settings,
        **({"rankwise's own definitions": ", ".join(own.values())} if own else {}),
        "inputs": {name: f"{source['source']}, {source['rows']} rows" for name, source in provenance["inputs"].items()},
    }


def _of_file(path: str, columns: dict[str, Any]) -> dict[str, Any]:
    from rankwise.tables.files import read_file
    from rankwise.tables.on_disk import is_folder
    from rankwise.tables.parts import read_parts

    raw = read_parts(path) if is_folder(path) else read_file(path)
    return {
        "file": raw.name,
        "format": str(raw.format),
        "rows": len(raw.frame),
        "sha256": raw.sha256,
        "columns": {name: str(dtype) for name, dtype in raw.frame.schema.items()},
        "as recommendations": _as(raw, "recommendations", columns),
        "as truth": _as(raw, "truth", columns),
        "first rows": ["  ".join(map(str, row)) for row in raw.frame.head(3).iter_rows()],
    }


def _as(raw: Any, kind: Any, columns: dict[str, Any]) -> dict[str, Any]:
    """Say what the file would be as a table of some kind, or why it cannot be one."""
    from rankwise.errors import RankwiseError
    from rankwise.tables.columns import choose
    from rankwise.tables.read import from_file

    try:
        table = from_file(raw, kind, choose(columns, kind))
    except RankwiseError as error:
        ctx = click.get_current_context()
        group = ctx.find_root().command
        said = respelled(error, ctx.command, group) if isinstance(group, click.Group) else error
        return {"problem": "; ".join(line.strip() for line in str(said).splitlines())}
    frame = table.frame
    facts: dict[str, Any] = {
        role: f"column {column!r}, {frame.schema[role]!s}" for role, column in table.columns.items()
    }
    for role in ("user", "item"):
        facts[f"{role}s"] = frame[role].n_unique()
    again = len(frame) - frame.select("user", "item").n_unique()
    facts["repeated user-item pairs"] = again
    for role in ("score", "relevance"):
        if role in frame.columns:
            facts[f"{role} from, to"] = f"{frame[role].min()!s}, {frame[role].max()!s}"
    return facts
