"""``rankwise audit``: the parts of a split in, twenty verdicts out."""

from __future__ import annotations

from typing import Any

import click

from rankwise.cli.options import column_option, time_unit_option

__all__ = ["command"]


@click.command("audit")
@click.argument("train")
@click.argument("test", required=False)
@click.option("--validation", metavar="FILE", help="The validation part.")
@click.option("--recommendations", metavar="FILE", help="Lists made for the test users.")
@click.option(
    "--claim",
    type=click.Choice(["time", "users", "none"]),
    help="What the split claims: what breaks it fails.  [default: from its card]",
)
@click.option("--repeats", is_flag=True, help="Users may have an item again.")
@click.option("--items", metavar="FILE", help="What models know about items.")
@click.option("--users", metavar="FILE", help="What models know about users.")
@click.option("--features", metavar="FILE", help="Features with the time they are of.")
@click.option("--candidates", metavar="FILE", help="Candidates in the order they are scored in.")
@click.option("--runs", metavar="FILE", help="A log with columns run, part and purpose.")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    metavar="NAME=FILE",
    help="candidate_train, ranker_train or ranker_validation; may be repeated.",
)
@column_option
@time_unit_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    show_default=True,
)
@click.option("--rows", metavar="CODE", help="Print the rows that one check speaks of, as CSV.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    train: str,
    test: str | None,
    format_: Any,
    rows: str | None,
    stages: tuple[str, ...],
    **options: Any,
) -> int:
    """Look for leaks in the split of TRAIN and TEST, or of the folder TRAIN that holds both.

    Exit code 1 if a check fails.
    """  # fmt: skip
    import polars as pl

    from rankwise.auditing.audit import audit

    named = dict(_pair(ctx, text) for text in stages)
    found = audit(train, test, stages=named, **options)
    if rows is not None:
        own = found.rows(rows)
        nested = [name for name, kind in own.schema.items() if kind.is_nested()]
        text = [pl.Series(name, [repr(value) for value in own[name].to_list()]) for name in nested]
        click.echo(own.with_columns(text).write_csv(), nl=False)
    elif format_ == "table":
        click.echo(repr(found))
    else:
        click.echo(found.export(format_), nl=False)
    return int(found.failed)


def _pair(ctx: click.Context, text: str) -> tuple[str, str]:
    name, equals, file = text.partition("=")
    if not equals:
        raise click.UsageError(f"--stage {text!r} is not NAME=FILE", ctx)
    return name, file
