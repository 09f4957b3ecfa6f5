"""``rankwise inspect``: what is recognised in a file, before it is trusted."""

from __future__ import annotations

import json
from typing import Any

import click

__all__ = ["command"]


@click.command("inspect")
@click.argument("file")
@click.option("--column", "columns", multiple=True, metavar="ROLE=COLUMN", help="As for evaluate.")
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table")
def command(file: str, columns: tuple[str, ...], format_: str) -> None:
    """Show the format of FILE, its columns, and what each would be taken for."""  # fmt: skip
    from rankwise.tables.files import read_file

    named = dict(pair.partition("=")[::2] for pair in columns)
    raw = read_file(file)
    facts: dict[str, Any] = {
        "file": raw.name,
        "format": str(raw.format),
        "rows": len(raw.frame),
        "sha256": raw.sha256,
        "columns": {name: str(dtype) for name, dtype in raw.frame.schema.items()},
        "as recommendations": _as(raw, "recommendations", named),
        "as truth": _as(raw, "truth", named),
    }
    if format_ == "json":
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    for name, fact in facts.items():
        if isinstance(fact, dict):
            click.echo(f"{name}:")
            for key, value in fact.items():
                click.echo(f"  {key}: {value}")
        else:
            click.echo(f"{name}: {fact}")
    click.echo("first rows:")
    for row in raw.frame.head(3).iter_rows():
        click.echo("  " + "  ".join(map(str, row)))


def _as(raw: Any, kind: Any, named: dict[str, str]) -> dict[str, Any]:
    """Say what the file would be as a table of some kind, or why it cannot be one."""
    from rankwise.errors import RankwiseError
    from rankwise.tables.columns import choose
    from rankwise.tables.read import from_file

    try:
        chosen = choose({key: value or None for key, value in named.items()}, kind)
        table = from_file(raw, kind, chosen)
    except RankwiseError as error:
        return {"problem": "; ".join(line.strip() for line in str(error).splitlines())}
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
