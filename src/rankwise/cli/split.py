"""``rankwise split`` and ``rankwise audit``: split interactions, and check existing splits."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rankwise.cli.main import cli, examples
from rankwise.cli.options import (
    PATH,
    choice_option,
    column_option,
    detail_of,
    detail_options,
    named_values,
    time_format_option,
    time_unit_option,
)
from rankwise.cli.spelling import flag_of, spelling_of
from rankwise.core.arguments import Claim, Cold, FileFormat, FilterOn, Seen, TimeUnit
from rankwise.messages import Message

if TYPE_CHECKING:
    from rankwise.splits import Splitter
    from rankwise.splits.audit_parts import Audit

_ALLOWED = {
    "time": {"share", "at", "last", "gap"},
    "windows": {"window", "folds", "gap", "train_span"},
    "last": {"n", "share"},
    "random": {"share", "n", "per_user", "seed"},
    "folds": {"folds", "per_user", "seed"},
    "users": {"share", "seed"},
    "items": {"share", "seed"},
    "two-stage": {"share", "at", "last", "seed"},
}


@click.command(
    "split",
    epilog=examples(
        "rankwise split interactions.csv --test-ratio 0.2 -o by-time",
        "rankwise split interactions.csv --by last --n 2 -o by-user",
        "rankwise split interactions.csv --by windows --window 30d --folds 3 -o folds",
    ),
)
@click.argument("file")
@click.option("--by", type=click.Choice(list(_ALLOWED)), help="Splitting rule.  [default: time]")
@click.option(
    "--rule",
    type=PATH,
    metavar="FILE",
    help="JSON file with a rule, instead of --by: any rule of rankwise.splits with its parameters, "
    "or the split.json of another split.",
)
@click.option(
    "--test-ratio", "share", type=float, help="Share of the rows for testing.  [default: 0.2]"
)
@click.option("--at", help="time, two-stage: time of the split, ISO 8601 or a number; or 'best'.")
@click.option("--last", help="time, two-stage: length of the test period: 14d, 12h, 1mo.")
@click.option("--window", help="windows: length of each test window.  [default: 7d]")
@click.option("--gap", help="time, windows: rows within this time before the test are in no part.")
@click.option("--train-span", help="windows: length of the training period.  [default: all]")
@click.option(
    "--n",
    type=click.IntRange(1),
    help="last, random: number of test rows per user.  [default for last: 1]",
)
@click.option(
    "--per-user",
    is_flag=True,
    default=None,
    help="random, folds: split the rows of each user, instead of all rows together.",
)
@click.option(
    "--folds", type=click.IntRange(1), help="folds, windows: number of folds.  [default: 5]"
)
@click.option("--seed", type=int, help="Random seed.  [default: 0]")
@click.option(
    "--validation-ratio",
    type=float,
    help="Share of the training rows for validation, by the same rule.",
)
@click.option("--k-core", type=click.IntRange(1), help="Keep the k-core of the training rows.")
@click.option("--min-rating", type=float, help="Keep training rows of at least this rating.")
@choice_option(
    "--filter-on", kind=FilterOn, default="train", help="Rows to which the filters apply."
)
@choice_option(
    "--cold-users", kind=Cold, default="keep", help="What to do with test rows of cold-start users."
)
@choice_option(
    "--cold-items", kind=Cold, default="keep", help="What to do with test rows of cold-start items."
)
@click.option("--sessions", metavar="COLUMN", help="Column of sessions, each of which stays whole.")
@choice_option(
    "--seen", kind=Seen, default="keep", help="What to do with test rows seen in training."
)
@column_option
@time_unit_option
@time_format_option
@choice_option("--format", "form", kind=FileFormat, default="parquet")
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    metavar="DIR",
    help="New or empty folder to write to.",
)
@click.option("--overwrite", is_flag=True, help="Replace a split that the folder holds.")
@click.pass_context
def split_command(
    ctx: click.Context,
    /,
    file: str,
    by: str | None,
    rule: Path | None,
    columns: dict[str, Any],
    time_unit: Any,
    time_format: str | None,
    form: Any,
    output: Path,
    overwrite: bool,
    **options: Any,
) -> None:
    """Split the interactions in FILE, and write the parts and split.json into a folder.

    --by time: one point in time for all users; windows: successive time windows; last: each user's
    last rows; random: random rows; folds: k-fold cross-validation; users, items: held out with all
    their rows; two-stage: for a candidate model and a ranker.

    With --by time, windows and two-stage no training row is later than a test row. The other rules
    leak, and `rankwise audit DIR` says how much.
    """
    chosen = {name: value for name, value in options.items() if value is not None}
    if rule is None:
        splitter = _rule(ctx, by or "time", chosen)
    else:
        splitter, (unit, dates) = _read_rule(ctx, by, rule, chosen)
        if time_unit is None and time_format is None:
            time_unit, time_format = unit, dates
    split = splitter.split(  # type: ignore[attr-defined]
        file, columns=columns, time_unit=time_unit, time_format=time_format
    )
    split.save(output, format=form, overwrite=overwrite)
    for each in split if hasattr(split, "__len__") else [split]:
        click.echo(repr(each))
    click.echo(f"written to {output}", err=True)


_SHARED = ("share", "seed", "gap", "per_user")
_KEPT = ("filter_on", "cold_users", "cold_items", "seen")
_EXTRAS = ("validation_ratio", "k_core", "min_rating", "sessions", *_KEPT)


def _read_rule(
    ctx: click.Context, by: str | None, path: Path, chosen: dict[str, Any]
) -> tuple[Splitter, tuple[TimeUnit | None, str | None]]:
    """Return the rule of a file; of a card also the unit or format of times that was given."""
    from rankwise.errors import FileError
    from rankwise.splits import from_dict
    from rankwise.splits.reading import given_clock
    from rankwise.tables.table import read_json

    usual = {option.name: option.default for option in ctx.command.params}
    given_options = [name for name, value in chosen.items() if usual.get(name) != value]
    if by is not None or given_options:
        wrong = _flag(ctx, "by" if by is not None else given_options[0])
        raise click.UsageError(f"--rule defines the whole split; leave {wrong} out", ctx)
    try:
        content = read_json(path)
        is_card = isinstance(content["rule"], dict)
        rule = content["rule"] if is_card else content
    except (FileError, KeyError, TypeError) as error:
        reason = error.what if isinstance(error, FileError) else str(error)
        raise FileError(
            "this is not a rule",
            where=str(path),
            found=reason,
            hint='write {"rule": "GlobalTime", "share": 0.2}',
        ) from error
    return from_dict(rule), given_clock(content if is_card else {})


def _flag(ctx: click.Context, name: str) -> str:
    return next(flag_of(option) for option in ctx.command.params if option.name == name)


def _rule(ctx: click.Context, by: str, chosen: dict[str, Any]) -> Splitter:
    """Make the rule that the options describe."""
    from rankwise.splits import KCore, MinRating

    rule = {name: value for name, value in chosen.items() if name not in _EXTRAS}
    wrong = next((name for name in rule if name not in _ALLOWED[by]), None)
    if wrong is not None:
        raise click.UsageError(f"--by {by} takes no {_flag(ctx, wrong)}", ctx)
    kinds: dict[str, Any] = {"min_rating": MinRating, "k_core": KCore}
    filters = [make(chosen[name]) for name, make in kinds.items() if name in chosen]
    extras = {name: chosen[name] for name in (*_KEPT, "sessions") if name in chosen} | {
        "filters": filters
    }
    if {"n", "share"} <= set(rule):
        raise click.UsageError("give either --n or --test-ratio, not both", ctx)
    if "validation_ratio" in chosen:
        if by not in ("time", "random", "last"):
            raise click.UsageError(f"--by {by} takes no --validation-ratio", ctx)
        inner = {**rule, "share": chosen["validation_ratio"]}
        inner = {name: inner[name] for name in _SHARED if name in inner}
        extras["validation"] = _made(by, inner, {})
    return _made(by, rule, extras)


def _made(by: str, rule: dict[str, Any], extras: dict[str, Any]) -> Splitter:
    """Make the rule of a name from its parameters."""
    from rankwise import splits

    share, seed = rule.get("share", 0.2), rule.get("seed", 0)
    if by == "time":
        return splits.GlobalTime(**_moment(rule, share), **extras)
    if by == "two-stage":
        return splits.TwoStage(**_moment(rule, share), seed=seed, **extras)
    if by == "windows":
        window, train, gap = (_number(rule.get(name)) for name in ("window", "train_span", "gap"))
        window = "7d" if window is None else window
        return splits.TimeWindows(window, rule.get("folds", 5), train, gap, **extras)
    if by == "folds":
        per_user = rule.get("per_user", False)
        return splits.KFold(rule.get("folds", 5), per_user=per_user, seed=seed, **extras)
    if by == "users":
        return splits.UserHoldout(share, seed=seed, **extras)
    if by == "items":
        return splits.ItemHoldout(share, seed=seed, **extras)

    which: Any = by  # last or random
    if "n" in rule or (by == "last" and "share" not in rule):
        return splits.LeaveOut(rule.get("n", 1), which, seed=seed, **extras)
    per: Any = "user" if by == "last" or rule.get("per_user") else "rows"
    return splits.Holdout(share, per, which, seed=seed, **extras)


def _moment(rule: dict[str, Any], share: float) -> dict[str, Any]:
    """Return the start of the test part: a moment, a length, or else a share."""
    lengths = ("at", "last", "gap")
    moment = {name: _number(rule[name]) for name in lengths if name in rule}
    if not {"at", "last"} & set(moment) or "share" in rule:
        moment["share"] = share
    return moment


def _number(text: str | None) -> Any:
    """Read a number where there is one: a moment or a length in ticks."""
    for kind in (int, float):
        with suppress(ValueError, TypeError):  # TypeError: there is no text
            return kind(text)  # type: ignore[arg-type]
    return text


def _stages(ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Return the file of each part of a two-stage split."""
    return named_values(ctx, option, texts, "NAME=FILE", str)


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
@choice_option(
    "--claim",
    kind=Claim,
    help="What the split claims; a violated claim fails.  [default: from its card]",
)
@click.option("--repeats", is_flag=True, help="Users may consume an item more than once.")
@click.option("--items", metavar="FILE", help="Item features that models use.")
@click.option("--codes", metavar="COLUMN", help="Column of --items that has the code of each item.")
@click.option("--users", metavar="FILE", help="User features that models use.")
@click.option(
    "--features", metavar="FILE", help="Features with the time at which each became known."
)
@click.option(
    "--candidates", metavar="FILE", help="Candidate sets in the order in which they are scored."
)
@click.option("--runs", metavar="FILE", help="A log with columns run, part and purpose.")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    metavar="NAME=FILE",
    callback=_stages,
    help="Part of a two-stage split: candidate_train, ranker_train or ranker_validation; may be "
    "repeated.",
)
@column_option
@time_unit_option
@time_format_option
@choice_option("--format", "form", kind=Literal["table", "json", "markdown"], default="table")
@detail_options
@click.option("--rows", metavar="CODE", help="Print the rows at fault in one check, as CSV.")
@click.pass_context
def audit_command(
    ctx: click.Context,
    /,
    train: str,
    test: str | None,
    form: Any,
    rows: str | None,
    stages: dict[str, str],
    *,
    verbose: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Check the split into TRAIN and TEST for leakage; TRAIN may be a folder that holds both.

    Exit code 1 if a check fails.
    """
    import polars as pl

    from rankwise.splits.audit import audit

    report = _spell_findings(ctx, audit(train, test, stages=stages, **options))
    if rows is not None:
        failing = report.rows(rows)
        nested = [name for name, kind in failing.schema.items() if kind.is_nested()]
        text = [
            pl.Series(name, [repr(value) for value in failing[name].to_list()]) for name in nested
        ]
        click.echo(failing.with_columns(text).write_csv(), nl=False)
    elif form == "table":
        click.echo(report.text(detail_of(ctx, verbose=verbose, quiet=quiet)))
    else:
        click.echo(report.export(form), nl=False)
    return int(report.failed)


def _spell_findings(ctx: click.Context, report: Audit) -> Audit:
    """Return an audit whose findings name options as the command line does."""
    spell = spelling_of(ctx.command, cli)
    checks = (replace(check, said=Message(check.said).spelled(spell)) for check in report.checks)
    return replace(report, checks=tuple(checks))
