"""Summaries in Markdown for pull requests and pipelines: verdict, table, users that moved most."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankwise.comparison.comparison import Comparison
from rankwise.comparison.gate import GateOutcome, gravest_first
from rankwise.comparison.movers import find_movers
from rankwise.core.arguments import Missing
from rankwise.core.terminal import Marked, markdown, markdown_text
from rankwise.errors import ParameterError
from rankwise.results.result import Result

MOVERS = 5
"""How many losses, and how many gains, a summary lists."""
_LINKED = r"(?<!\w)@(?=\w)|#(?=\d)"
"""Where a forge reads a person or an issue."""


def verdict_line(word: str, sentence: str) -> str:
    """Return the first line of a summary.

    >>> verdict_line("HOLD", "Do not replace a_b with c yet.")
    '**HOLD** Do not replace a_b with c yet.'
    """
    return markdown_text(Marked(word, "bold"), sentence)


def join_paragraphs(paragraphs: Iterable[str]) -> str:
    r"""Return paragraphs of Markdown as one text, in which a forge links no id.

    A comment on a pull request would otherwise notify the person called ``@ann``, and leave a
    trace at issue ``#12``.

    >>> join_paragraphs(["@ann, #12: recall@10", "", "done"])
    '@<!-- -->ann, #<!-- -->12: recall@10\n\ndone\n'
    """
    text = "\n\n".join(text.rstrip("\n") for text in paragraphs if text) + "\n"
    return re.sub(_LINKED, r"\g<0><!-- -->", text)


def movers_text(
    results: Mapping[str, Any], pair: tuple[str, str], metrics: Sequence[str], missing: Missing
) -> str:
    """Return the users that moved most on the first metric that is a mean over users.

    The text is empty if there is no such metric, or if a system has no values of single users, as
    policies on logged requests.
    """
    both = [results.get(name) for name in pair]
    if not all(isinstance(result, Result) for result in both):
        return ""
    means = [name for name in metrics if all(_has_values_of_users(each, name) for each in both)]
    if not means:
        return ""
    return markdown(*find_movers(results, pair, means[0], n=MOVERS, missing=missing).views)


def _has_values_of_users(result: Any, metric: str) -> bool:
    is_mean: bool = result.is_mean_of_users(metric)
    return is_mean and metric in result.per_user.columns


def gate_summary(outcomes: Sequence[GateOutcome], comparison: Comparison) -> str:
    """Return the outcomes of a gate, the gravest first, its pairs, and the users that moved most."""
    paragraphs = []
    for outcome in gravest_first(outcomes):
        paragraphs += [
            verdict_line(outcome.word, outcome.sentence),
            markdown_text(outcome.reason),
        ]
    paragraphs.append(comparison.export("markdown", layout="pairs"))

    baseline = comparison.design.baseline
    assert baseline is not None  # a gate has one
    if _is_plain(comparison):
        systems = dict.fromkeys(outcome.system for outcome in outcomes)
        paragraphs += [
            movers_text(
                comparison.results,
                (baseline, system),
                [comparison.design.primary],
                comparison.design.missing,
            )
            for system in systems
        ]
    return join_paragraphs(paragraphs)


def _is_plain(comparison: Comparison) -> bool:
    """Return whether every system has one result on one data set, whose users can be listed."""
    try:
        comparison.design.check_is_plain("a list of users", over_requests=True, with_noise=True)
    except ParameterError:
        return False
    return True
