"""Two functions under the names that people know, for values at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankwise.stats.bootstrap import bootstrap
from rankwise.stats.differences import Interval, check_level
from rankwise.stats.effects import effect, magnitude
from rankwise.stats.paired import paired_t

__all__ = ["PairedTTest", "bootstrap_confidence_interval", "paired_t_test"]


@dataclass(frozen=True)
class PairedTTest:
    """What `paired_t_test` found.

    Attributes
    ----------
    mean_improvement : float
        The mean of b − a.
    p_value : float
        Two-sided.
    significant : bool
        Whether p_value < alpha.
    t_statistic : float
        Above 0 where b is better.
    cohens_d : float
        The mean difference over the standard deviation of the differences (d_z).
    interpretation : str
        All this in a sentence.
    """

    mean_improvement: float
    p_value: float
    significant: bool
    t_statistic: float
    cohens_d: float
    interpretation: str


def paired_t_test(metrics_a: Any, metrics_b: Any, alpha: float = 0.05) -> PairedTTest:
    """Test whether b is better or worse than a for the same users, by the paired t test.

    Parameters
    ----------
    metrics_a, metrics_b : array, shape (n,)
        A value a user, in the same order.
    alpha : float
        The level.

    Raises
    ------
    InputError
        If the lengths differ, or a value is NaN.

    Examples
    --------
    >>> found = paired_t_test([0.1, 0.2, 0.3, 0.2], [0.3, 0.3, 0.6, 0.4])
    >>> found.mean_improvement, found.significant
    (0.2, True)
    >>> found.interpretation
    'b is better by 0.2 on average (p = 0.0163 < 0.05); a large effect'
    """
    check_level("alpha", alpha)
    found = paired_t(metrics_b, metrics_a)
    d = effect(metrics_b, metrics_a).d_z
    significant = bool(found.p < alpha)
    sign = "<" if significant else ">="
    said = f"(p = {found.p:.3g} {sign} {alpha:g}); a {magnitude(d)} effect"
    if significant:
        word = "better" if found.difference > 0 else "worse"
        text = f"b is {word} by {abs(found.difference):.4g} on average {said}"
    elif found.p != found.p:
        text = "fewer than two users: nothing can be said"
    else:
        text = f"no difference was shown {said}, which does not show that there is none"
    return PairedTTest(found.difference, found.p, significant, found.statistic, d, text)


def bootstrap_confidence_interval(
    metric_values: Any, n_bootstrap: int = 1000, confidence: float = 0.95, seed: int | None = None
) -> Interval:
    """Return the bootstrap interval of a mean over users (BCa).

    Parameters
    ----------
    metric_values : array, shape (n,)
        A value a user.
    n_bootstrap : int
        How many resamples.
    confidence : float
        The confidence.
    seed : int, optional
        Decides the resamples; without it 0, so that the same values give the same interval.

    Examples
    --------
    >>> found = bootstrap_confidence_interval([0.1, 0.4, 0.2, 0.8, 0.5, 0.3], seed=1)
    >>> found.low < found.estimate < found.high
    True
    """
    return bootstrap(metric_values, n_resamples=n_bootstrap, confidence=confidence, seed=seed or 0)
