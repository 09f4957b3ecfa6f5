"""``rankwise measures``: what there is, and what each one means."""

from __future__ import annotations

import inspect
import json
import math
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rankwise.measures.measure import Measure

__all__ = ["command"]


@click.command("measures")
@click.argument("name", required=False)
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table")
def command(name: str | None, format_: str) -> None:
    """List the measures; with NAME, print its definition."""
    from rankwise.measures import registry

    if name is not None:
        from rankwise.measures.parsing import parse

        cls = type(parse(name))
        click.echo(json.dumps(_known(cls)) if format_ == "json" else _definition(cls))
        return
    every = registry.every()
    if format_ == "json":
        click.echo(json.dumps([_known(cls) for cls in every], indent=2))
        return
    click.echo(_listing(every))


def _known(cls: type[Measure]) -> dict[str, Any]:
    low, high = cls.range
    return {
        "name": cls.name,
        "aliases": list(cls.aliases),
        "family": cls.family,
        "range": [None if math.isinf(end) else end for end in (low, high)],
        "higher_is_better": cls.higher_is_better,
        "cutoff": cls.cutoff,
        "parameters": {key: str(value) for key, value in cls().parameters.items()},
        "needs": _needs(cls),
        "summary": inspect.getdoc(cls).splitlines()[0],  # type: ignore[union-attr]
    }


def _needs(cls: type[Measure]) -> list[str]:
    needs = ["scores"] if "scores" in cls.needs else []
    return needs + (["catalogue"] if cls.needs_catalogue else [])


def _range(cls: type[Measure]) -> str:
    low, high = (f"{end:g}" for end in cls.range)
    return f"[{low}, {high}{')' if high == 'inf' else ']'}"


def _listing(every: list[type[Measure]]) -> str:
    lines = []
    arrows = {True: "higher", False: "lower", None: "–"}
    width = max(len(cls.name) for cls in every)
    for family in dict.fromkeys(cls.family for cls in every):
        lines += ["", family]
        for cls in every:
            if cls.family == family:
                at = {"required": "@k", "optional": "[@k]", "none": ""}[cls.cutoff]
                summary = inspect.getdoc(cls).splitlines()[0]  # type: ignore[union-attr]
                lines.append(
                    f"  {cls.name:{width}} {at:4}  {_range(cls):10} "
                    f"{arrows[cls.higher_is_better]:6}  {summary}"
                )
    return "\n".join(lines[1:])


def _definition(cls: type[Measure]) -> str:
    head = [f"{cls.name}" + (f"  (also {', '.join(cls.aliases)})" if cls.aliases else "")]
    needs = _needs(cls)
    head.append(f"family: {cls.family}; range: {_range(cls)}" + (
        f"; needs: {', '.join(needs)}" if needs else ""))  # fmt: skip
    return "\n".join([*head, "", inspect.getdoc(cls) or ""])
