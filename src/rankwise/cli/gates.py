"""The gate of ``rankwise compare --no-regression``: its lines and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import click

from rankwise.cli.main import cli
from rankwise.cli.options import coloured
from rankwise.cli.spelling import spelling_of
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.gate import GateOutcome, NotShown, holding_back


def without_company(comparison: Comparison) -> Comparison:
    """Return a comparison without the record of systems that are saved in the same place.

    The systems of a gate do not compete with systems that are saved beside them.
    """
    return replace(comparison, design=replace(comparison.design, test_set={}))


def tell_gate(ctx: click.Context, outcomes: Sequence[GateOutcome], not_shown: NotShown) -> int:
    """Print each system's outcome, and return exit code 0 (passed), 1 (failed) or 5 (not shown)."""
    spell = spelling_of(ctx.command, cli)
    for outcome in outcomes:
        head = click.style(outcome.head, bold=True) if coloured(sys.stderr) else outcome.head
        click.echo(head, err=True)
        click.echo(f"      {outcome.reason.spelled(spell)}", err=True)

    closing = {outcome.word for outcome in holding_back(outcomes, not_shown)}
    if not closing:
        return 0
    return 1 if "FAIL" in closing else 5
