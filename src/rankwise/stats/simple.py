"""The paired t test and the bootstrap interval under familiar names, for arrays of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from rankwise.core.arguments import check_count
from rankwise.stats.bootstrap import bootstrap
from rankwise.stats.differences import Interval
from rankwise.stats.effects import effect, magnitude
from rankwise.stats.paired import paired_t
from rankwise.stats.values import check_level

__all__ = ["PairedTTest", "bootstrap_confidence_interval", "paired_t_test"]


@dataclass(frozen=True, eq=False)  # as a mapping, it equals the dict of its values
class PairedTTest(Mapping[str, float | bool | str]):
    """The result of `paired_t_test`: a mapping whose values are also attributes.

    Attributes
    ----------
    mean_improvement : float
        The mean of b − a.
    p_value : float
        Two-sided p-value.
    significant : bool
        Whether p_value < alpha.
    t_statistic : float
        Above 0 if b is better.
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

    def __getitem__(self, name: str) -> float | bool | str:
        if name not in tuple(self):
            raise KeyError(name)
        value: float | bool | str = getattr(self, name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(field.name for field in fields(self))

    def __len__(self) -> int:
        return len(fields(self))


def paired_t_test(metrics_a: Any, metrics_b: Any, alpha: float = 0.05) -> PairedTTest:
    """Test whether systems a and b differ on the same users, by the paired t test.

    Parameters
    ----------
    metrics_a, metrics_b : array, shape (n,)
        One value per user, in the same order.
    alpha : float, default=0.05
        The significance level.

    Returns
    -------
    PairedTTest
        Its values are attributes as well as items: ``test.p_value`` is ``test["p_value"]``.

    Raises
    ------
    InputError
        If the lengths differ, or a value is NaN.

    Examples
    --------
    >>> test = paired_t_test([0.1, 0.2, 0.3, 0.2], [0.3, 0.3, 0.6, 0.4])
    >>> test.mean_improvement, test["significant"]
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
        Random seed; None means 0, so that the same values always give the same interval.

    Returns
    -------
    Interval
        Unpacks to the lower and the upper limit.

    Examples
    --------
    >>> interval = bootstrap_confidence_interval([0.1, 0.4, 0.2, 0.8, 0.5, 0.3], seed=1)
    >>> lower, upper = interval
    >>> lower < interval.estimate < upper
    True
    """
    seed = 0 if seed is None else seed
    check_count(n_bootstrap=n_bootstrap)
    check_count(least=0, seed=seed)
    return bootstrap(metric_values, n_resamples=int(n_bootstrap), confidence=confidence, seed=int(seed))
