"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

__all__ = ["column_option", "format_for", "format_option", "output_option", "time_unit_option",
           "write_out"]  # fmt: skip

_SUFFIXES = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".txt": "table"}


def _columns(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for text in given:
        role, equals, name = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not ROLE=COLUMN", ctx, option)
        out[role] = name or None
    return out


column_option = click.option(
    "--column",
    "columns",
    multiple=True,
    callback=_columns,
    metavar="ROLE=COLUMN",
    help="user=uid, truth.relevance=stars, rank= (not used), …; may be repeated.",
)

time_unit_option = click.option(
    "--time-unit",
    type=click.Choice(["s", "ms", "us", "ns"]),
    help="What numbers in timestamps count.  [default: guessed from their size]",
)

format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "csv", "markdown", "latex"]),
    help="Of the output.  [default: by the suffix of -o, else table]",
)

output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write there, not to stdout."
)


def format_for(ctx: click.Context, said: str | None, output: Path | None) -> str:
    """Return the format of the output: as said, or by its suffix."""
    if said is not None or output is None:
        return said or "table"
    if output.suffix not in _SUFFIXES:
        raise click.UsageError(f"-o writes {', '.join(_SUFFIXES)}; else say --format", ctx)
    return _SUFFIXES[output.suffix]


def write_out(found: Any, form: str, output: Path | None) -> None:
    """Write what has a display and an ``export`` to stdout or into a file."""
    from rankwise.io.writing import write_text

    text = f"{found!r}\n" if form == "table" else found.export(form)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(output, text)
