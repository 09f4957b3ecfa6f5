"""What the difference of a pair says of users who were not sampled.

A verdict without a condition holds whatever users were not sampled: it rests on Gaffke's limit,
which allows an unseen user to lose the whole range of the metric. A conditional verdict needs the
test of the design besides, and names the largest loss of an unseen user up to which Gaffke's limit
shows the difference. The rule is in `docs/statistics.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from rankwise.findings.finding import LargestLossOf, UnseenLosses, UsersForAnyOf
from rankwise.results.sampling_unit import SamplingUnit

FEWEST_SKEWED = 50
"""Users below which a metric without a bound says nothing where differences are skewed."""
FEWEST_PLANNED = 200
"""Users below which a sample does not tell how many would be enough."""
SHARE_OF_RANGE = 0.2
"""The smallest condition of a verdict, as a share of the range of the metric.

That no user loses more than less than this is true of hardly any change of a recommender.
"""


@dataclass(frozen=True)
class Claim:
    """What the difference of a pair says of users who were not sampled.

    Attributes
    ----------
    unseen : UnseenLosses
        The largest loss and gain that were seen, and the loss that is possible.
    p_any : float
        The two-sided p-value that holds for any users; NaN without a bound.
    p_design : float
        The two-sided p-value of the test that a conditional verdict needs; NaN for none.
    largest_loss_of, users_for_any_of : callable or None
        As for a `Finding`.
    least_condition : float
        The smallest loss that a conditional verdict may name.
    is_conditional : bool
        Whether nothing can be shown for any users.
    is_broken : bool
        Whether a user or a cluster contradicts what was stated, so that nothing is shown.
    """

    unseen: UnseenLosses = field(default_factory=UnseenLosses)
    p_any: float = math.nan
    p_design: float = math.nan
    largest_loss_of: LargestLossOf | None = None
    users_for_any_of: UsersForAnyOf | None = None
    least_condition: float = math.nan
    is_conditional: bool = False
    is_broken: bool = False


def claim_of_users(
    changes: tuple[float, float],
    mean: float,
    largest: float,
    *,
    p_any: float,
    p_design: float,
    largest_loss_of: LargestLossOf,
    users_for_any_of: UsersForAnyOf | None = None,
    stated: float = math.nan,
    is_broken: bool = False,
    is_skewed: bool = False,
) -> Claim:
    """Return the claim of a pair over independent users.

    Parameters
    ----------
    changes : tuple of float
        The smallest and the largest difference of a user.
    mean : float
        The mean difference.
    largest : float
        The largest difference that is possible; infinite without a bound.
    p_any, p_design, largest_loss_of, users_for_any_of
        As for a `Claim`; ``p_design`` is NaN where no condition is to be named.
    stated : float
        The largest loss that was stated; NaN if none was.
    is_broken : bool
        Whether a user or a cluster contradicts what was stated, so that nothing is shown.
    is_skewed : bool
        Whether there are too few users for the skewness of their differences.
    """
    losses, gains = -changes[0], changes[1]
    seen = (losses, gains) if mean > 0 else (gains, losses)
    loss_seen, gain_seen = (max(0.0, change) for change in seen)
    is_bounded = math.isfinite(largest)
    if is_bounded:
        least = max(loss_seen, SHARE_OF_RANGE * largest)
    else:
        least = math.inf if is_skewed else max(loss_seen, gain_seen)
    if is_broken:
        least = math.inf
    return Claim(
        unseen=UnseenLosses(
            loss_seen=loss_seen,
            gain_seen=gain_seen,
            loss_possible=largest if is_bounded else math.nan,
            loss_stated=stated,
        ),
        p_any=p_any,
        p_design=p_design,
        largest_loss_of=largest_loss_of,
        users_for_any_of=users_for_any_of if is_bounded else None,
        least_condition=least,
        is_conditional=not is_bounded and not math.isnan(p_design),
        is_broken=is_broken,
    )


def stated_condition(
    unit: SamplingUnit, largest_loss: Mapping[str, float], largest_cluster: int | None
) -> str:
    """Return what was stated about users and clusters who were not sampled; empty for nothing.

    >>> from rankwise.results.sampling_unit import REQUESTS, USERS
    >>> stated_condition(USERS, {"ndcg@10": 0.5, "mrr@10": 0.5}, None)
    'no user changes by more than 0.5'
    >>> stated_condition(REQUESTS, {}, 24)
    'no user has more than 24 requests'
    """
    stated = []
    if largest_loss:
        sizes = dict.fromkeys(f"{loss:g}" for loss in largest_loss.values())
        by_metric = (f"{loss:g} of {metric}" for metric, loss in largest_loss.items())
        size = next(iter(sizes)) if len(sizes) == 1 else ", ".join(by_metric)
        stated.append(f"no {unit.row} changes by more than {size}")
    if largest_cluster is not None:
        stated.append(f"no {unit.cluster} has more than {largest_cluster:,} {unit.rows}")
    return " and ".join(stated)


BROKEN = "that was stated: nothing is shown"
"""How the caveat of a broken statement ends."""


def broken_statement(most: float, stated: float) -> tuple[str, ...]:
    """Return the caveat of a change that is larger than was stated to be possible.

    >>> broken_statement(0.62, 0.5)
    ('a user changed by 0.62, more than the 0.5 that was stated: nothing is shown',)
    """
    if not most > stated:
        return ()
    return (f"a user changed by {most:.2g}, more than the {stated:g} {BROKEN}",)
