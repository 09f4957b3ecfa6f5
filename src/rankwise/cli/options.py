"""Options that several commands have."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["column_option", "time_unit_option"]


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
