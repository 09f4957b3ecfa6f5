"""``rankwise audit``: the parts of a split in, 21 verdicts out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import click

from rankwise.cli.options import choice_option, column_option, examples, time_format_option, time_unit_option
from rankwise.cli.spelling import in_options
from rankwise.core.choices import Claim

if TYPE_CHECKING:
    from rankwise.splits.audit.findings import Audit

__all__ = ["command"]


@click.command(
    "audit",
    epilog=examples(
        "rankwise audit split",
        "rankwise audit split/train.csv split/test.csv --claim time",
        "rankwise audit split --recommendations runs/neighbours.csv --format json",
    ),
)
@click.argument("train")
@click.argument("test", required=False)
@click.option("--validation", metavar="FILE", help="The validation part.")
@click.option("--recommendations", metavar="FILE", help="Recommendation lists of the test users.")
@choice_option("--claim", kind=Claim, help="What the split claims; a violated claim fails.  [default: from its card]")
@click.option("--repeats", is_flag=True, help="Users may consume an item more than once.")
@click.option("--items", metavar="FILE", help="Item features that models use.")
@click.option("--users", metavar="FILE", help="User features that models use.")
@click.option("--features", metavar="FILE", help="Features with the time at which each became known.")
@click.option("--candidates", metavar="FILE", help="Candidate sets in the order in which they are scored.")
@click.option("--runs", metavar="FILE", help="A log with columns run, part and purpose.")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    metavar="NAME=FILE",
    help="Part of a two-stage split: candidate_train, ranker_train or ranker_validation; may be repeated.",
)
@column_option
@time_unit_option
@time_format_option
@choice_option("--format", "form", kind=Literal["table", "json", "markdown"], default="table")
@click.option("--rows", metavar="CODE", help="Print the rows at fault in one check, as CSV.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    train: str,
    test: str | None,
    form: Any,
    rows: str | None,
    stages: tuple[str, ...],
    **options: Any,
) -> int:
    """Check the split into TRAIN and TEST for leakage; TRAIN may be a folder that holds both.

    Exit code 1 if a check fails.
    """
    import polars as pl

    from rankwise.splits.audit.audit import audit

    wrong = next((text for text in stages if "=" not in text), None)
    if wrong is not None:
        raise click.UsageError(f"--stage {wrong!r} is not NAME=FILE", ctx)
    named = dict(text.split("=", 1) for text in stages)
    report = _respelled(ctx, audit(train, test, stages=named, **options))
    if rows is not None:
        failing = report.rows(rows)
        nested = [name for name, kind in failing.schema.items() if kind.is_nested()]
        text = [pl.Series(name, [repr(value) for value in failing[name].to_list()]) for name in nested]
        click.echo(failing.with_columns(text).write_csv(), nl=False)
    elif form == "table":
        click.echo(repr(report))
    else:
        click.echo(report.export(form), nl=False)
    return int(report.failed)


def _respelled(ctx: click.Context, report: Audit) -> Audit:
    """Return an audit whose findings name options as the command line does."""
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    checks = (replace(check, said=in_options(check.said, ctx.command, group)) for check in report.checks)
    return replace(report, checks=tuple(checks))
