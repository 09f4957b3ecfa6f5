"""``rankwise measures``: the list of metrics, and the definition of each."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import click

from rankwise.cli.options import examples
from rankwise.core.terminal import terminal_width

if TYPE_CHECKING:
    from rankwise.measures.describe import Description

__all__ = ["command"]

_UNLIMITED = 10_000  # columns: where there is no terminal, each measure has one line
_PAGE = 80  # columns of a definition where there is no terminal


@click.command(
    "measures",
    epilog=examples("rankwise measures", "rankwise measures ndcg", "rankwise measures 'ndcg(gain=exponential)@10'"),
)
@click.argument("name", required=False)
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(name: str | None, format_: str) -> None:
    """List the metrics, or print the definition of the one called NAME."""
    from rankwise.measures.describe import Description, every_description

    if name is not None:
        from rankwise.measures.read import parse

        description = Description(type(parse(name)))
        click.echo(json.dumps(description.as_dict()) if format_ == "json" else definition(description))
    elif format_ == "json":
        click.echo(json.dumps([entry.as_dict() for entry in every_description()], indent=2))
    else:
        click.echo(listing(every_description()))


def listing(every: list[Description]) -> str:
    """Return one line per measure, wrapped in a terminal."""
    from rankwise.measures.describe import FAMILIES

    width = terminal_width()
    formatter = click.HelpFormatter(width=width or _UNLIMITED)
    for family in dict.fromkeys(description.cls.family for description in every):
        own = (description for description in every if description.cls.family == family)
        with formatter.section(FAMILIES.get(family, family)):
            rows = [(one.cls.name + one.cutoff, _line(one)) for one in own]
            formatter.write_dl(rows, col_max=30 if width else _UNLIMITED)
    return formatter.getvalue().strip("\n")


def _line(description: Description) -> str:
    needs = f"; needs {', '.join(description.needs)}" if description.needs else ""
    return f"{description.summary} {description.range}, {_direction(description)}{needs}."


def _direction(description: Description) -> str:
    neither = description.cls.higher_is_better is None
    return "neither direction is better" if neither else f"{description.better} is better"


def definition(description: Description) -> str:
    """Return the definition of a metric as plain text, no wider than the terminal."""
    from rankwise.cli.formulas import plain_text

    formatter = click.HelpFormatter(width=terminal_width() or _PAGE)
    sections = description.sections
    formatter.write(f"{description.cls.name}\n")
    for paragraph in sections[""].split("\n\n"):
        formatter.write_paragraph()
        if paragraph.startswith(".. math::"):
            _write_formula(formatter, paragraph.removeprefix(".. math::"))
        else:
            _write_paragraph(formatter, plain_text(paragraph))
    formatter.write_paragraph()
    formatter.write_dl(_facts(description))
    if description.parameters:
        with formatter.section("Parameters"):
            formatter.write_dl(
                [
                    (one.name, f"{one.values}; default {one.default}. {plain_text(one.text)}")
                    for one in description.parameters
                ]
            )
    for title in ("Notes", "References"):
        if title in sections:
            with formatter.section(title):
                _write_paragraph(formatter, plain_text(sections[title]))
    if "Examples" in sections:
        formatter.write(f"\nExamples:\n{sections['Examples']}\n")
    return formatter.getvalue().rstrip("\n")


def _write_formula(formatter: click.HelpFormatter, latex: str) -> None:
    from rankwise.cli.formulas import plain_formula

    for line in plain_formula(latex).split("\n"):
        formatter.write(
            textwrap.fill(line, formatter.width, initial_indent="    ", subsequent_indent="        ") + "\n"
        )


def _write_paragraph(formatter: click.HelpFormatter, text: str) -> None:
    indent = " " * formatter.current_indent
    lines = textwrap.fill(
        " ".join(text.split()), formatter.width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    formatter.write(f"{lines}\n")


def _facts(description: Description) -> list[tuple[str, str]]:
    """Return the properties of a metric, and how to request it."""
    from rankwise.measures.describe import FAMILIES

    cls = description.cls
    at = "" if cls.cutoff == "none" else "@10"
    call = f"{cls.__module__.split('.')[0]}.{cls.__name__}()" + (" @ 10" if at else "")
    cutoffs = {"required": "required", "optional": "optional: without it, the whole list", "none": "none"}
    facts = {
        "also called": ", ".join(cls.aliases),
        "family": FAMILIES.get(cls.family, cls.family),
        "range": f"{description.range}; {_direction(description)}",
        "cut-off k": cutoffs[cls.cutoff],
        "needs": ", ".join(["recommendations", "truth", *description.needs]),
        "command line": f"rankwise evaluate RUN TRUTH -m {cls.name}{at}",
        "Python": f'"{cls.name}{at}", or {call}',
        "plain definition": description.plain,
    }
    return [(name, text) for name, text in facts.items() if text]
