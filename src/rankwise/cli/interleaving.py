"""``rankwise interleaving``: which ranker of an interleaving experiment users preferred."""

from __future__ import annotations

from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import (
    ResultOutput,
    column_option,
    named_values,
    result_options,
    signature_options,
)
from rankwise.interleave.analysis import interleaving


def _rewards(
    ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, float] | None:
    """Return the reward of each kind; None if none is given."""
    return named_values(ctx, option, texts, "KIND=NUMBER", float) or None


@click.command("interleaving", epilog=examples("rankwise interleaving drafts.csv"))
@click.argument("exposures")
@click.argument("outcomes", required=False)
@signature_options(interleaving, "teams", "credit", "shown")
@click.option(
    "--reward",
    multiple=True,
    default=(),
    show_default=False,
    metavar="KIND=NUMBER",
    callback=_rewards,
    help="The reward of each action or kind of outcome; click=1 by default for click events; may "
    "be repeated.",
)
@signature_options(interleaving, "alpha", "window", "missing")
@column_option
@result_options
def interleaving_command(
    exposures: str,
    outcomes: str | None,
    out: ResultOutput,
    columns: Any,
    **options: Any,
) -> int:
    """Test which ranker of an interleaving experiment users preferred.

    EXPOSURES has one row per item that was shown, with its team, or one row per request with the
    credit of each team (credit_a, credit_b), or the click events of a search engine (UBI), which
    need no OUTCOMES. Users are the sampling units; an unfair draft has no verdict.
    """
    result = interleaving(exposures, outcomes, columns=columns or None, **options)
    out.write(result)
    return 0
