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
        from rankwise.measures.read import parse

        description = Description(type(parse(name)))
        click.echo(
            json.dumps(description.as_dict()) if format_ == "json" else _definition(description)
        )
    elif format_ == "json":
        click.echo(json.dumps([entry.as_dict() for entry in every_description()], indent=2))
    else:
        click.echo(_listing(every_description()))


def _listing(every: list[Description]) -> str:
    from rankwise.measures.describe import FAMILIES

    lines = []
    width = max(len(description.cls.name) for description in every)
    for family in dict.fromkeys(description.cls.family for description in every):
        lines += ["", FAMILIES.get(family, family)]
        for one in every:
            if one.cls.family == family:
                needs = f"  (needs {', '.join(one.needs)})" if one.needs else ""
                lines.append(
                    f"  {one.cls.name:{width}} {one.cutoff:4}  {one.range:11} "
                    f"{one.better:6}  {one.summary}{needs}"
                )
    return "\n".join(lines[1:])


def _definition(description: Description) -> str:
    cls = description.cls
    head = [cls.name + (f"  (also {', '.join(cls.aliases)})" if cls.aliases else "")]
    facts = [f"{name}: {getattr(description, name)}" for name in ("range", "better")]
    facts.insert(0, f"family: {cls.family}")
    facts += [f"needs: {', '.join(description.needs)}"] if description.needs else []
    return "\n".join([*head, "; ".join(facts), "", description.text])
