"""The paired t test and the bootstrap interval under familiar names, for arrays of values."""

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
    """The result of `paired_t_test`.

    Attributes
    ----------
    mean_improvement : float
        The mean of b − a.
    p_value : float
        Two-sided p-value.
    significant : bool
        Whether p_value < alpha.
    t_statistic : float
        Above 0 where b is better.
    cohens_d : float
        The mean difference over the standard deviation of the differences (d_z).
    interpretation : str
        The result in a sentence.
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
        One value per user, in the same order.
    alpha : float, default=0.05
        The significance level.

    Raises
    ------
    InputError
        If the lengths differ, or a value is NaN.

    Examples
    --------
    >>> test = paired_t_test([0.1, 0.2, 0.3, 0.2], [0.3, 0.3, 0.6, 0.4])
    >>> test.mean_improvement, test.significant
    (0.2, True)
    >>> test.interpretation
    'b is better by 0.2 on average (p = 0.0163 < 0.05); a large effect'
    """
    check_level("alpha", alpha)
    test = paired_t(metrics_b, metrics_a)
    d = effect(metrics_b, metrics_a).d_z
    significant = bool(test.p < alpha)
    sign = "<" if significant else ">="
    evidence = f"(p = {test.p:.3g} {sign} {alpha:g}); a {magnitude(d)} effect"
    if significant:
        word = "better" if test.difference > 0 else "worse"
        text = f"b is {word} by {abs(test.difference):.4g} on average {evidence}"
    elif test.p != test.p:
        text = "fewer than two users: nothing can be said"
    else:
        text = f"no difference was shown {evidence}, which does not show that there is none"
    return PairedTTest(test.difference, test.p, significant, test.statistic, d, text)


def bootstrap_confidence_interval(
    metric_values: Any, n_bootstrap: int = 1000, confidence: float = 0.95, seed: int | None = None
) -> Interval:
    """Return the bootstrap confidence interval of a mean over users (BCa).

    Parameters
    ----------
    metric_values : array, shape (n,)
        One value per user.
    n_bootstrap : int, default=1000
        Number of resamples.
    confidence : float, default=0.95
        The confidence level.
    seed : int, default=None
        Seed of the random numbers; None is 0, so that the same values give the same interval.

    Examples
    --------
    >>> interval = bootstrap_confidence_interval([0.1, 0.4, 0.2, 0.8, 0.5, 0.3], seed=1)
    >>> interval.low < interval.estimate < interval.high
    True
    """
    return bootstrap(metric_values, n_resamples=n_bootstrap, confidence=confidence, seed=seed or 0)
