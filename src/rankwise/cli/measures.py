"""``rankwise measures``: what there is, and what each one means."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rankwise.measures.describe import Description

__all__ = ["command"]


@click.command("measures")
@click.argument("name", required=False)
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table")
def command(name: str | None, format_: str) -> None:
    """List the measures; with NAME, print its definition."""
    from rankwise.measures.describe import Description, every_description

    if name is not None:
        from rankwise.measures.parsing import parse

        found = Description(type(parse(name)))
        click.echo(json.dumps(found.as_dict()) if format_ == "json" else _definition(found))
        return
    every = every_description()
    if format_ == "json":
        click.echo(json.dumps([found.as_dict() for found in every], indent=2))
        return
    click.echo(_listing(every))


def _listing(every: list[Description]) -> str:
    from rankwise.measures.describe import FAMILIES

    lines = []
    width = max(len(found.cls.name) for found in every)
    for family in dict.fromkeys(found.cls.family for found in every):
        lines += ["", FAMILIES.get(family, family)]
        for found in every:
            if found.cls.family == family:
                needs = f"  (needs {', '.join(found.needs)})" if found.needs else ""
                lines.append(
                    f"  {found.cls.name:{width}} {found.cutoff:4}  {found.range:11} "
                    f"{found.better:6}  {found.summary}{needs}"
                )
    return "\n".join(lines[1:])


def _definition(found: Description) -> str:
    cls = found.cls
    head = [cls.name + (f"  (also {', '.join(cls.aliases)})" if cls.aliases else "")]
    facts = [f"family: {cls.family}", f"range: {found.range}", f"better: {found.better}"]
    facts += [f"needs: {', '.join(found.needs)}"] if found.needs else []
    return "\n".join([*head, "; ".join(facts), "", found.text])
