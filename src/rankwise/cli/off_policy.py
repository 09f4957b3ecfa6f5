"""``rankwise off-policy``: what other policies would have earned on logged impressions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import (
    PATH,
    GroupedCommand,
    ResultOutput,
    column_option,
    engine_options,
    named_values,
    result_options,
    signature_options,
    spark_options,
)
from rankwise.offpolicy.off_policy import off_policy

if TYPE_CHECKING:
    from rankwise.offpolicy.result import OffPolicy


def _pairs(ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Return ``NAME=VALUE`` options as a dict."""

    def read(value: str) -> str:
        if not value:
            raise ValueError
        return value

    return named_values(ctx, option, texts, "NAME=VALUE", read)


def _numbers(
    ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, float]:
    """Return ``NAME=NUMBER`` options as a dict."""
    return named_values(ctx, option, texts, "NAME=NUMBER", float)


def _pair_option(
    flag: str, shape: str, text: str, *, numbers: bool = False, required: bool = False
) -> Callable[..., Any]:
    return click.option(
        flag,
        multiple=True,
        required=required,
        metavar=shape,
        help=text,
        callback=_numbers if numbers else _pairs,
    )


@click.command(
    "off-policy",
    cls=GroupedCommand,
    groups={
        "Policies": "target epsilon temperature baseline propensity within propensities slates items",
        "Rewards": "reward reward_range window missing predictions columns",
        "Estimates": "estimator by alpha correction margin",
        "Computation": "engine master buckets threads chunk_rows progress",
        "Output": "form output verbose quiet save report require",
    },
    epilog=examples("rankwise off-policy log.csv --target new=column:p_new"),
)
@click.argument("exposures")
@click.argument("outcomes", required=False)
@_pair_option(
    "--target",
    "NAME=FILE|COLUMN|uniform",
    "A policy: a table of probabilities, of lists, or of scores (with --temperature or --epsilon), "
    "a column of the "
    "exposures (column:NAME where a file has this name), or uniform; may be repeated.",
    required=True,
)
@_pair_option(
    "--epsilon", "NAME=SHARE", "Share of exploration of a target of lists or scores.", numbers=True
)
@_pair_option(
    "--temperature", "NAME=NUMBER", "Softmax temperature of a target of scores.", numbers=True
)
@signature_options(
    off_policy,
    "baseline",
    "propensity",
    "within",
    "propensities",
    "slates",
    "estimator",
    "predictions",
    "items",
    "reward_range",
)
@_pair_option(
    "--reward", "KIND=VALUE", "Reward of a kind of outcome, click=1; may be repeated.", numbers=True
)
@signature_options(
    off_policy,
    "window",
    "by",
    "alpha",
    "correction",
    "margin",
    "missing",
    "chunk_rows",
    "threads",
    "progress",
)
@engine_options
@click.option("--report", type=PATH, metavar="FILE", help="Write an HTML report.")
@click.option(
    "--require",
    metavar="NAME: VERDICT",
    help="Exit with 1 unless a target has this verdict, or one that says more: 'new: better'.",
)
@column_option
@result_options
@click.pass_context
def off_policy_command(
    ctx: click.Context,
    /,
    exposures: str,
    outcomes: str | None,
    target: dict[str, str],
    epsilon: dict[str, float],
    temperature: dict[str, float],
    reward: dict[str, float],
    require: str | None,
    report: Path | None,
    out: ResultOutput,
    columns: dict[str, Any],
    within: tuple[str, ...],
    engine: str,
    master: str | None,
    buckets: int | None,
    **options: Any,
) -> int:
    """Estimate what other policies would have earned on the logged impressions in EXPOSURES.

    EXPOSURES has one row per item that was shown, with its propensity; OUTCOMES, if clicks are a
    table of their own, one row per outcome. A target without enough support in the log has no
    number, and the reasons are printed.
    """
    targets = {
        name: _target(ctx, name, text, epsilon, temperature) for name, text in target.items()
    }
    unknown = (epsilon.keys() | temperature.keys()) - targets.keys()
    if unknown:
        raise click.UsageError(f"there is no target {min(unknown)!r}", ctx)
    condition = None if require is None else _condition(ctx, require, targets, options["baseline"])
    options |= {
        "targets": targets,
        "reward": reward or None,
        "within": within,
        "columns": columns or None,
    }
    on_spark = spark_options(ctx, engine, master, buckets)
    if on_spark is not None:
        from rankwise.spark import off_policy as off_policy_on_spark

        result = off_policy_on_spark(exposures, outcomes, **on_spark, **options)
    else:
        result = off_policy(exposures, outcomes, **options)
    if report is not None:
        from rankwise.reporting.report import report as make_report

        make_report(result).save(report)
    out.write(result)
    return 0 if condition is None or _holds(result, *condition) else 1


def _target(
    ctx: click.Context,
    name: str,
    text: str,
    epsilon: dict[str, float],
    temperature: dict[str, float],
) -> Any:
    """Return the policy that an option names."""
    from rankwise.offpolicy.policies import Column, Lists, Scores, Uniform

    explored = name in epsilon or name in temperature
    if text == "uniform" or text.startswith("column:"):
        if explored:
            raise click.UsageError(
                f"--epsilon and --temperature are for lists and scores, not for {name!r}", ctx
            )
        return Uniform() if text == "uniform" else Column(text.removeprefix("column:"))
    if name in temperature:
        return Scores(text, temperature=temperature[name], epsilon=epsilon.get(name))
    if explored:
        return Lists(text, epsilon=epsilon[name])
    is_file = os.path.exists(text) or bool(re.search(r"[./\\]", text))  # noqa: PTH110 - of a text that is too long
    return Path(text) if is_file else Column(text)


def _condition(
    ctx: click.Context, text: str, targets: dict[str, Any], baseline: str
) -> tuple[str, str]:
    """Return the target and the verdict that ``--require`` names."""
    name, colon, verdict = (part.strip() for part in text.partition(":"))
    if not colon or name not in targets or verdict not in ("better", "equivalent", "not worse"):
        raise click.UsageError(f"{text!r} is not 'NAME: better', with the name of a target", ctx)
    if name == baseline:
        raise click.UsageError(
            f"{text!r} is about the --baseline, which has no verdict against itself", ctx
        )
    return name, verdict


_STRONGER = {"not worse": ("better", "equivalent")}
"""The verdicts that say more than another one."""


def _holds(result: OffPolicy, name: str, verdict: str) -> bool:
    """Return whether a target has a verdict or a stronger one, over all requests; say if not."""
    found = result.differences.filter(primary=True, system=name)["verdict"][0]
    holds = found == verdict or found in _STRONGER.get(verdict, ())
    if not holds:
        click.echo(f"required: {name} is {verdict}; found: {found}", err=True)
    return bool(holds)
