"""``rankwise metrics``: the list of metrics, and the definition of one."""

from __future__ import annotations

import json
import textwrap

import click

from rankwise.cli.formulas import plain_formula, plain_text
from rankwise.cli.main import examples
from rankwise.cli.options import table_or_json
from rankwise.core.terminal import terminal_width
from rankwise.metrics.description import Description

_UNLIMITED = 10_000  # columns: where there is no terminal, each metric has one line


_PAGE = 80  # columns of a definition where there is no terminal


@click.command(
    "metrics",
    epilog=examples(
        "rankwise metrics", "rankwise metrics ndcg", "rankwise metrics 'ndcg(gain=exponential)@10'"
    ),
)
@click.argument("name", required=False)
@table_or_json
def metrics_command(name: str | None, form: str) -> None:
    """List the metrics by family, describe those of the family NAME, or define the metric NAME."""
    from rankwise.metrics.description import Description, every_description

    family = [entry for entry in every_description() if entry.cls.family == name]
    if family:  # also that of a module of another package
        shown = (
            json.dumps([entry.as_dict() for entry in family], indent=2)
            if form == "json"
            else listing(family)
        )
        click.echo(shown)
    elif name is not None:
        from rankwise.metrics.base import parse

        description = Description(type(parse(name)))
        click.echo(json.dumps(description.as_dict()) if form == "json" else definition(description))
    elif form == "json":
        click.echo(json.dumps([entry.as_dict() for entry in every_description()], indent=2))
    else:
        click.echo(names_by_family(every_description()))


def names_by_family(every: list[Description]) -> str:
    """Return the names of all metrics, a paragraph per family."""
    from rankwise.core.terminal import PAGE

    width = terminal_width() or PAGE
    by_family: dict[str, list[str]] = {}
    for description in every:
        by_family.setdefault(description.cls.family, []).append(description.cls.name)
    room = max(map(len, by_family)) + 2
    lines = [
        textwrap.fill(
            " ".join(names), width, initial_indent=f"{family:{room}}", subsequent_indent=" " * room
        )
        for family, names in by_family.items()
    ]
    return "\n".join(
        [*lines, "", "One family, or one metric: rankwise metrics accuracy, rankwise metrics ndcg"]
    )


def listing(every: list[Description]) -> str:
    """Return one line per metric, wrapped in a terminal."""
    from rankwise.metrics.base import FAMILIES

    width = terminal_width()
    formatter = click.HelpFormatter(width=width or _UNLIMITED)
    for family in dict.fromkeys(description.cls.family for description in every):
        members = (description for description in every if description.cls.family == family)
        with formatter.section(FAMILIES.get(family, family)):
            rows = []
            for one in members:
                needs = f"; needs {', '.join(one.needs)}" if one.needs else ""
                rows.append(
                    (
                        one.cls.name + one.cutoff,
                        f"{one.summary} {one.range}, {one.direction}{needs}.",
                    )
                )
            formatter.write_dl(rows, col_max=30 if width else _UNLIMITED)
    return formatter.getvalue().strip("\n")


def definition(description: Description) -> str:
    """Return the definition of a metric as plain text, no wider than the terminal."""
    formatter = click.HelpFormatter(width=terminal_width() or _PAGE)
    sections = description.sections
    formatter.write(f"{description.cls.name}\n")
    for paragraph in sections[""].split("\n\n"):
        formatter.write_paragraph()
        if paragraph.startswith(".. math::"):
            for line in plain_formula(paragraph.removeprefix(".. math::")).split("\n"):
                filled = textwrap.fill(
                    line, formatter.width, initial_indent="    ", subsequent_indent="        "
                )
                formatter.write(f"{filled}\n")
        else:
            _write_paragraph(formatter, plain_text(paragraph))
    formatter.write_paragraph()
    formatter.write_dl(_facts(description))
    if description.parameters:
        with formatter.section("Parameters"):
            parameters = description.parameters
            texts = [
                (p.name, f"{p.values}; default {p.default}. {plain_text(p.text)}")
                for p in parameters
            ]
            formatter.write_dl(texts)
    for title in ("Notes", "References"):
        if title in sections:
            with formatter.section(title):
                _write_paragraph(formatter, plain_text(sections[title]))
    if "Examples" in sections:
        formatter.write(f"\nExamples:\n{sections['Examples']}\n")
    return formatter.getvalue().rstrip("\n")


def _write_paragraph(formatter: click.HelpFormatter, text: str) -> None:
    indent = " " * formatter.current_indent
    lines = textwrap.fill(
        " ".join(text.split()),
        formatter.width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    formatter.write(f"{lines}\n")


def _facts(description: Description) -> list[tuple[str, str]]:
    """Return the properties of a metric, and its spelling on the command line and in Python."""
    from rankwise.metrics.base import FAMILIES

    cls = description.cls
    at = "" if cls.cutoff == "none" else "@10"
    call = f"{cls.__module__.split('.')[0]}.{cls.__name__}()" + (" @ 10" if at else "")
    cutoffs = {
        "required": "required",
        "optional": "optional: without it, the whole list",
        "none": "none",
    }
    facts = {
        "also called": ", ".join(cls.aliases),
        "family": FAMILIES.get(cls.family, cls.family),
        "cut-off k": cutoffs[cls.cutoff],
        "needs": ", ".join(["recommendations", "truth", *description.needs]),
        "command line": f"rankwise evaluate RUN TRUTH -m {cls.name}{at}",
        "Python": f'"{cls.name}{at}", or {call}',
        "plain definition": description.plain,
    }
    return [(name, text) for name, text in facts.items() if text]
